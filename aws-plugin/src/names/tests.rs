use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use cloud_governor::catalogue;

use super::{GLOBAL, HYPHENATED, OTHER_WORDS, scope_region, service_name, squashed};

/// All services of botocore's data, each with its Smithy service id.
const SERVICES: &str = include_str!("services.tsv");

/// Botocore has this one service under two names: `sms-voice` besides the one kept here.
const TWICE: &str = "Pinpoint SMS Voice";

fn services() -> impl Iterator<Item = (&'static str, &'static str)> {
    SERVICES.lines().skip(1).filter_map(|line| line.split_once('\t'))
}

#[test]
fn every_service_id_has_the_name_that_botocore_gives_it() {
    let wrong: Vec<_> = services().filter(|(id, name)| *id != TWICE && service_name(id) != *name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(services().count(), 445);
    assert!(services().any(|(id, name)| id == TWICE && service_name(id) == name));
}

#[test]
fn the_module_name_of_a_user_agent_finds_the_same_name_as_the_service_id() {
    let wrong: Vec<_> = services().filter(|(id, _)| service_name(&squashed(id)) != service_name(id)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_tables_hold_only_the_odd_ones() {
    assert!(OTHER_WORDS.iter().all(|(key, name)| key != name && !is_plain(name, key)));
    assert!(HYPHENATED.iter().all(|name| name.contains('-')));
    assert!(GLOBAL.iter().all(|global| services().any(|(_, name)| name == *global)));
}

fn is_plain(name: &str, key: &str) -> bool {
    super::is_squashed(name, key)
}

#[test]
fn an_unknown_service_is_its_id_in_lower_case_without_spaces() {
    assert_eq!(service_name("Brand New Thing"), "brandnewthing");
    assert_eq!(service_name(""), "");
}

#[test]
fn a_global_service_has_one_region_whatever_the_client_is_set_to() {
    assert_eq!(scope_region("iam", Some("eu-west-1")), "aws-global");
    assert_eq!(scope_region("ec2", Some("eu-west-1")), "eu-west-1");
    assert_eq!(scope_region("ec2", None), "");
}

#[test]
fn every_service_that_the_catalogue_names_is_one_of_botocores() {
    let aws = catalogue::published().filter(|limit| limit.provider == "aws");
    let unknown: Vec<_> =
        aws.map(|limit| limit.service).filter(|known| !services().any(|(_, name)| name == *known)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The service and the operation as the scope of a hooked call has them.
macro_rules! scopes {
    ($($sdk:ident: $($module:ident $operation:ident),+;)+) => {
        BTreeSet::from([$($({
            let layer = $sdk::operation::$module::$operation::new().config().expect("an operation's layer");
            let metadata = layer.load::<Metadata>().expect("the operation's names");
            (service_name(metadata.service()).into_owned(), metadata.name().to_owned())
        }),+),+])
    };
}

#[test]
fn the_operations_that_the_catalogue_names_are_called_so_by_the_sdk() {
    let called = scopes! {
        aws_sdk_ssm:
            describe_parameters DescribeParameters,
            get_parameter GetParameter,
            get_parameters GetParameters,
            get_parameters_by_path GetParametersByPath,
            start_automation_execution StartAutomationExecution;
        aws_sdk_sts:
            assume_role AssumeRole,
            decode_authorization_message DecodeAuthorizationMessage,
            get_access_key_info GetAccessKeyInfo,
            get_caller_identity GetCallerIdentity,
            get_federation_token GetFederationToken,
            get_session_token GetSessionToken;
    };
    let named: BTreeSet<_> = catalogue::published()
        .filter(|limit| limit.provider == "aws" && ["ssm", "sts"].contains(&limit.service))
        .flat_map(|limit| limit.operations.iter().map(|operation| (limit.service.to_owned(), (*operation).to_owned())))
        .collect();
    assert_eq!(named, called);
}
