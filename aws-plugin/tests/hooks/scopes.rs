//! Whom a call is charged to.

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use cloud_governor::{Governor, Scope};
use cloud_governor_aws::AwsHooks;

use crate::common::{ACCOUNT, Reply, Server, governed, governor, plain};

fn nameless(key: &str) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Credentials::new(key, "secret", None, None, "test"))
}

fn scopes(governor: &Governor) -> Vec<String> {
    governor.summary().scopes.keys().map(Scope::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn account_region_service_are_found_by_themselves() {
    let server =
        Server::new(|request, _| if request.uri.contains("sts") { Reply::caller() } else { Reply::parameter() });
    let governor = governor(|aws| aws.service("ssm", |ssm| ssm.per_operation(true)));
    let config = governed(&server, &governor);
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect("an answer");
    aws_sdk_sts::Client::new(&config).get_caller_identity().send().await.expect("an answer");
    let expected = [format!("aws/{ACCOUNT}/eu-west-1/ssm/GetParameter"), format!("aws/{ACCOUNT}/eu-west-1/sts")];
    assert_eq!(scopes(&governor), expected);
}

#[tokio::test(start_paused = true)]
async fn a_clients_own_region_is_its_scopes() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor))
        .region(aws_sdk_ssm::config::Region::new("us-east-2"))
        .build();
    aws_sdk_ssm::Client::from_conf(config).get_parameter().name("a").send().await.expect("an answer");
    assert_eq!(scopes(&governor), [format!("aws/{ACCOUNT}/us-east-2/ssm")]);
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_given_outranks_the_credentials() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let config =
        AwsHooks::builder().account("999999999999").governor(governor.clone()).install(&plain(&server).build());
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect("an answer");
    assert_eq!(scopes(&governor), ["aws/999999999999/eu-west-1/ssm"]);
}

#[tokio::test(start_paused = true)]
async fn unknown_accounts_of_two_installs_never_share_a_leaf() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    for key in ["AKIDA", "AKIDB"] {
        let config = plain(&server).credentials_provider(nameless(key)).build();
        let config = AwsHooks::builder().governor(governor.clone()).install(&config);
        aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect("an answer");
    }
    let scopes = scopes(&governor);
    assert_eq!(scopes.len(), 2, "{scopes:?}");
    assert!(scopes.iter().all(|scope| scope.starts_with("aws/unknown-")), "{scopes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_with_credentials_of_its_own_is_not_charged_to_the_installs_account() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let hooked = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(&server).build());
    let own = aws_sdk_ssm::config::Builder::from(&hooked).credentials_provider(nameless("AKIDX")).build();
    aws_sdk_ssm::Client::from_conf(own).get_parameter().name("a").send().await.expect("an answer");
    let other =
        Credentials::builder().access_key_id("A").secret_access_key("s").account_id("2").provider_name("t").build();
    let own = aws_sdk_ssm::config::Builder::from(&hooked).credentials_provider(other).build();
    aws_sdk_ssm::Client::from_conf(own).get_parameter().name("a").send().await.expect("an answer");
    let scopes = scopes(&governor);
    assert_eq!(scopes[0], "aws/2/eu-west-1/ssm");
    assert!(scopes[1].starts_with("aws/unknown-"), "{scopes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_operation_with_credentials_of_its_own_is_not_charged_to_the_installs_account() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let config = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(&server).build());
    let client = aws_sdk_ssm::Client::new(&config);
    let own = aws_sdk_ssm::Config::builder().credentials_provider(nameless("AKIDX"));
    client.get_parameter().name("a").customize().config_override(own).send().await.expect("an answer");
    client.get_parameter().name("a").send().await.expect("an answer");
    let scopes = scopes(&governor);
    assert_eq!(scopes.len(), 2, "{scopes:?}");
    assert_eq!(scopes[0], "aws/1/eu-west-1/ssm");
    assert!(scopes[1].starts_with("aws/unknown-"), "{scopes:?}");
}

#[tokio::test(start_paused = true)]
async fn one_account_through_two_configurations_has_one_leaf_and_one_set_of_slots() {
    let server = Server::always(Reply::parameter().after(crate::common::seconds(2)));
    let governor = governor(|aws| aws.account_concurrency(std::num::NonZeroUsize::MIN));
    let clients = ["AKIDA", "AKIDB"].map(|key| {
        let keys = Credentials::builder().access_key_id(key).secret_access_key("s").account_id(ACCOUNT);
        let config = plain(&server)
            .credentials_provider(SharedCredentialsProvider::new(keys.provider_name("t").build()))
            .build();
        aws_sdk_ssm::Client::new(&AwsHooks::builder().governor(governor.clone()).install(&config))
    });
    let calls = clients.each_ref().map(|client| client.get_parameter().name("a").send());
    let [first, second] = calls;
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_ok() && second.is_ok());
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= crate::common::seconds(2), "one at a time");
    assert_eq!(scopes(&governor), [format!("aws/{ACCOUNT}/eu-west-1/ssm")]);
}
