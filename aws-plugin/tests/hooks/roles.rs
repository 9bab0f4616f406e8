//! Many accounts through assumed roles.

use std::num::NonZeroUsize;

use cloud_governor::Scope;
use cloud_governor_aws::{AssumedRole, AwsOptions};

use crate::common::{ACCOUNT, Reply, Server, governed, governor, seconds, totals};

fn assumed(number: usize) -> Reply {
    let hour = 2 * number;
    Reply::new(
        200,
        format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>AKIDROLE</AccessKeyId>\
         <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
         <Expiration>2026-11-30T{hour:02}:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        ),
    )
}

fn server() -> Server {
    Server::new(|request, _| if request.uri.contains("sts") { assumed(1) } else { Reply::parameter() })
}

#[tokio::test(start_paused = true)]
async fn calls_made_with_a_role_are_charged_to_its_account_and_assuming_it_to_the_callers() {
    let server = server();
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let home = governed(&server, &governor);
    for account in ["111111111111", "222222222222"] {
        let role = AssumedRole::new(format!("arn:aws:iam::{account}:role/inventory")).expect("a role");
        let client = aws_sdk_ssm::Client::new(&role.config(&home, AwsOptions::default()));
        for _ in 0..2 {
            client.get_parameter().name("a").send().await.expect("an answer");
        }
    }
    let scopes: Vec<String> = governor.summary().scopes.keys().map(Scope::to_string).collect();
    let expected = [
        "aws/111111111111/eu-west-1/ssm".to_owned(),
        format!("aws/{ACCOUNT}/eu-west-1/sts"),
        "aws/222222222222/eu-west-1/ssm".to_owned(),
    ];
    assert_eq!(scopes, expected);
    assert_eq!(totals(&governor).calls, 2 + 4, "each role is assumed once");
    assert!(
        server.requests().iter().filter(|request| request.header("authorization").contains("AKIDROLE")).count() == 4
    );
}

#[tokio::test(start_paused = true)]
async fn assuming_a_role_of_the_same_account_does_not_wait_for_its_own_caller() {
    let server = server();
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let home = governed(&server, &governor);
    let role = AssumedRole::new(format!("arn:aws:iam::{ACCOUNT}:role/x")).expect("a role").session_name("nightly");
    let client = aws_sdk_ssm::Client::new(&role.config(&home, AwsOptions::default()));
    client.get_parameter().name("a").send().await.expect("an answer");
    assert!(String::from_utf8_lossy(&server.requests()[0].body).contains("RoleSessionName=nightly"));
}

/// The second attempt needs new credentials for the role: the slot of the first has to be free by then.
#[tokio::test(start_paused = true)]
async fn a_retry_that_assumes_the_role_again_does_not_wait_for_its_own_slot() {
    let server = Server::new(|request, number| match number {
        _ if request.uri.contains("sts") => assumed(number),
        2 => Reply::json_error(503, "InternalServerError").after(seconds(5000)),
        _ => Reply::parameter(),
    });
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN).deadline(None));
    let home = governed(&server, &governor);
    let role = AssumedRole::new(format!("arn:aws:iam::{ACCOUNT}:role/x")).expect("a role");
    let client = aws_sdk_ssm::Client::new(&role.config(&home, AwsOptions::default()));
    client.get_parameter().name("a").send().await.expect("the second answer");
    let calls: Vec<bool> = server.requests().iter().map(|request| request.uri.contains("sts")).collect();
    assert_eq!(calls, [true, false, true, false]);
}

#[test]
fn only_the_arn_of_a_role_is_one() {
    for arn in
        ["", "arn:aws:iam::1:role/x", "arn:aws:iam::123456789012:user/x", "arn:aws:sts::123456789012:role/x", "a:b"]
    {
        let error = AssumedRole::new(arn).expect_err("no role");
        assert!(error.to_string().contains("is not the ARN of a role"));
    }
    let role = AssumedRole::new("arn:aws-cn:iam::123456789012:role/path/x").expect("a role");
    assert_eq!(role.account(), "123456789012");
}
