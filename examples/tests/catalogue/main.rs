//! The operations that the catalogue names are called so by the SDKs whose clients are here. Those of STS and SSM are checked
//! beside the plugin; those of EC2 with the feature `ec2`, as its client takes minutes to compile.

#[cfg(feature = "ec2")]
mod ec2;

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use cloud_governor::catalogue;

/// The operation's name, as the SDK's own table has it.
macro_rules! names {
    ($($sdk:ident::$module:ident::$operation:ident),+ $(,)?) => {
        BTreeSet::from([$({
            let layer = $sdk::operation::$module::$operation::new().config().expect("an operation's layer");
            layer.load::<Metadata>().expect("the operation's names").name().to_owned()
        }),+])
    };
}

#[cfg(feature = "ec2")]
use names;

fn named(service: &str) -> BTreeSet<String> {
    let limits = catalogue::published().filter(|limit| limit.provider == "aws" && limit.service == service);
    limits.flat_map(|limit| limit.operations).map(|operation| (*operation).to_owned()).collect()
}

#[test]
fn cloudwatch_logs_has_the_operations_that_the_catalogue_names() {
    let known = names![
        aws_sdk_cloudwatchlogs::create_log_group::CreateLogGroup,
        aws_sdk_cloudwatchlogs::create_log_stream::CreateLogStream,
        aws_sdk_cloudwatchlogs::delete_log_group::DeleteLogGroup,
        aws_sdk_cloudwatchlogs::delete_log_stream::DeleteLogStream,
        aws_sdk_cloudwatchlogs::describe_log_groups::DescribeLogGroups,
        aws_sdk_cloudwatchlogs::describe_log_streams::DescribeLogStreams,
        aws_sdk_cloudwatchlogs::put_log_events::PutLogEvents,
    ];
    assert_eq!(named("logs"), known);
}

#[test]
fn secrets_manager_has_the_operations_that_the_catalogue_names() {
    let known = names![
        aws_sdk_secretsmanager::batch_get_secret_value::BatchGetSecretValue,
        aws_sdk_secretsmanager::cancel_rotate_secret::CancelRotateSecret,
        aws_sdk_secretsmanager::create_secret::CreateSecret,
        aws_sdk_secretsmanager::delete_resource_policy::DeleteResourcePolicy,
        aws_sdk_secretsmanager::delete_secret::DeleteSecret,
        aws_sdk_secretsmanager::describe_secret::DescribeSecret,
        aws_sdk_secretsmanager::get_random_password::GetRandomPassword,
        aws_sdk_secretsmanager::get_resource_policy::GetResourcePolicy,
        aws_sdk_secretsmanager::get_secret_value::GetSecretValue,
        aws_sdk_secretsmanager::list_secret_version_ids::ListSecretVersionIds,
        aws_sdk_secretsmanager::list_secrets::ListSecrets,
        aws_sdk_secretsmanager::put_resource_policy::PutResourcePolicy,
        aws_sdk_secretsmanager::put_secret_value::PutSecretValue,
        aws_sdk_secretsmanager::remove_regions_from_replication::RemoveRegionsFromReplication,
        aws_sdk_secretsmanager::replicate_secret_to_regions::ReplicateSecretToRegions,
        aws_sdk_secretsmanager::restore_secret::RestoreSecret,
        aws_sdk_secretsmanager::rotate_secret::RotateSecret,
        aws_sdk_secretsmanager::stop_replication_to_replica::StopReplicationToReplica,
        aws_sdk_secretsmanager::tag_resource::TagResource,
        aws_sdk_secretsmanager::untag_resource::UntagResource,
        aws_sdk_secretsmanager::update_secret::UpdateSecret,
        aws_sdk_secretsmanager::update_secret_version_stage::UpdateSecretVersionStage,
        aws_sdk_secretsmanager::validate_resource_policy::ValidateResourcePolicy,
    ];
    let unknown: Vec<_> = named("secretsmanager").difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
