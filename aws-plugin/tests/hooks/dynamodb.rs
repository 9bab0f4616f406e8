//! DynamoDB: the account's own endpoint, and what its errors mean.

use std::collections::BTreeSet;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem};
use aws_types::endpoint_config::AccountIdEndpointMode;
use cloud_governor::Governor;
use cloud_governor_aws::AwsHooks;

use crate::common::{ACCOUNT, Reply, Request, Server, governed, governor, leaf, plain, totals};

fn dynamodb(server: &Server, governor: &Governor) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::new(&governed(server, governor))
}

fn failed(code: &str) -> Reply {
    Reply::json_error(400, &format!("com.amazonaws.dynamodb.v20120810#{code}"))
}

fn item() -> Reply {
    Reply::new(200, r#"{"Item":{"id":{"S":"1"}}}"#).header("content-type", "application/x-amz-json-1.0")
}

fn key() -> AttributeValue {
    AttributeValue::S("1".into())
}

// ===== the account's endpoint =====

fn host(request: &Request) -> &str {
    request.uri.trim_start_matches("https://").split('/').next().unwrap_or_default()
}

/// What the user agent says of the features in use.
fn features(request: &Request) -> BTreeSet<String> {
    let agent = request.header("x-amz-user-agent");
    let features = agent.split(' ').find_map(|part| part.strip_prefix("m/")).unwrap_or_default();
    features.split(',').map(str::to_owned).collect()
}

/// One call without hooks, and two attempts with them.
async fn without_and_with(mode: AccountIdEndpointMode, credentials: Credentials) -> Vec<Request> {
    let server = Server::script([item(), failed("ThrottlingException"), item()]);
    let config = plain(&server).credentials_provider(SharedCredentialsProvider::new(credentials)).build();
    let hooked = AwsHooks::builder().governor(governor(|aws| aws)).install(&config);
    for config in [config, hooked] {
        let config = aws_sdk_dynamodb::config::Builder::from(&config).account_id_endpoint_mode(mode.clone()).build();
        let get = aws_sdk_dynamodb::Client::from_conf(config).get_item().table_name("t").key("id", key());
        get.send().await.expect("an item");
    }
    server.requests()
}

#[tokio::test(start_paused = true)]
async fn requests_go_to_the_accounts_own_endpoint_as_without_hooks() {
    let regional = "dynamodb.eu-west-1.amazonaws.com".to_owned();
    let own = format!("{ACCOUNT}.ddb.eu-west-1.amazonaws.com");
    for (mode, expected) in [
        (AccountIdEndpointMode::Preferred, &own),
        (AccountIdEndpointMode::Required, &own),
        (AccountIdEndpointMode::Disabled, &regional),
    ] {
        let requests = without_and_with(mode.clone(), crate::common::credentials()).await;
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| host(request) == expected), "{mode:?}: {requests:?}");
        // "T" is RESOLVED_ACCOUNT_ID; the mode has a letter of its own.
        assert!(features(&requests[0]).contains("T"), "{:?}", features(&requests[0]));
        assert_eq!(features(&requests[0]), features(&requests[1]), "{mode:?}");
        assert_eq!(features(&requests[0]), features(&requests[2]), "{mode:?}, at the second attempt");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_name_no_account_get_none_from_the_hooks() {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let requests = without_and_with(AccountIdEndpointMode::Preferred, credentials).await;
    assert!(requests.iter().all(|request| host(request) == "dynamodb.eu-west-1.amazonaws.com"));
    assert_eq!(features(&requests[0]), features(&requests[1]));
}

// ===== errors =====

#[tokio::test(start_paused = true)]
async fn its_throttles_slow_the_leaf_down_and_end_as_themselves() {
    for code in ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"] {
        let server = Server::always(failed(code));
        let governor = governor(|aws| aws.max_retries(2));
        let get = dynamodb(&server, &governor).get_item().table_name("t").key("id", key());
        let error = get.send().await.expect_err(code);
        assert_eq!((error.code(), server.count()), (Some(code), 3));
        assert_eq!(totals(&governor).throttled, 3);
        let leaf = leaf(&governor, "dynamodb");
        assert!(leaf.rate_rps < leaf.ceiling_rps, "{leaf:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_does_not_hold_is_an_answer() {
    for code in ["ConditionalCheckFailedException", "ResourceNotFoundException", "ValidationException"] {
        let server = Server::always(failed(code));
        let governor = governor(|aws| aws);
        let put = dynamodb(&server, &governor).put_item().table_name("t").item("id", key());
        let error = put.send().await.expect_err(code);
        assert_eq!((error.code(), server.count()), (Some(code), 1));
        let totals = totals(&governor);
        assert_eq!((totals.throttled, totals.transient_errors, totals.gave_up), (0, 0, 0));
    }
}

// ===== transactions =====

fn cancelled(reasons: &[&str]) -> Reply {
    let listed: Vec<String> = reasons.iter().map(|reason| format!(r#"{{"Code":"{reason}"}}"#)).collect();
    let body = format!(
        r#"{{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [{}]"}}"#,
        listed.join(","),
        reasons.join(", "),
    );
    Reply::new(400, body).header("content-type", "application/x-amz-json-1.0")
}

/// How many requests it took, and the reasons that the caller was given in the end.
async fn transact(reasons: &[&str]) -> (usize, Vec<String>, Governor) {
    let server = Server::always(cancelled(reasons));
    let governor = governor(|aws| aws.max_retries(2));
    let delete = Delete::builder().table_name("t").key("id", key()).build().expect("sound");
    let write = TransactWriteItem::builder().delete(delete).build();
    let error = dynamodb(&server, &governor).transact_write_items().transact_items(write).send().await;
    let Err(error) = error else { panic!("it was cancelled") };
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
        panic!("{error:?}")
    };
    let codes = cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code().map(str::to_owned));
    let tokens: BTreeSet<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(tokens.len(), 1, "the same idempotency token each time");
    (server.count(), codes.collect(), governor)
}

#[tokio::test(start_paused = true)]
async fn a_transaction_cancelled_by_throttles_alone_is_made_again() {
    for reasons in [&["None", "ThrottlingError"][..], &["ProvisionedThroughputExceeded", "None"]] {
        let (requests, codes, governor) = transact(reasons).await;
        assert_eq!((requests, codes), (3, reasons.iter().map(|code| code.to_string()).collect()));
        let totals = totals(&governor);
        assert_eq!((totals.throttled, totals.gave_up), (3, 1));
    }
}

/// Another attempt would meet the same condition, and whether to try a conflict again is the caller's to say, as with the
/// SDK alone.
#[tokio::test(start_paused = true)]
async fn a_transaction_cancelled_for_another_reason_is_returned_at_once() {
    for reasons in [
        &["ConditionalCheckFailed", "None"][..],
        &["ConditionalCheckFailed", "ThrottlingError"],
        &["ProvisionedThroughputExceeded", "ValidationError"],
        &["TransactionConflict", "None"],
    ] {
        let (requests, codes, governor) = transact(reasons).await;
        assert_eq!((requests, codes), (1, reasons.iter().map(|code| code.to_string()).collect()));
        let totals = totals(&governor);
        assert_eq!((totals.throttled, totals.gave_up), (0, 0));
    }
}
