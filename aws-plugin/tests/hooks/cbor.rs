//! A service that speaks rpc-v2-cbor: AWS Marketplace Entitlement Service.

use aws_sdk_marketplaceentitlement::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_marketplaceentitlement::operation::get_entitlements::GetEntitlementsError as Failure;
use aws_sdk_marketplaceentitlement::operation::get_entitlements::GetEntitlementsOutput;
use cloud_governor::Governor;

use crate::common::{ACCOUNT, Reply, Server, governed, governor, leaf, totals};

const SERVICE: &str = "marketplace-entitlement";

fn cbor(status: u16, body: Vec<u8>) -> Reply {
    Reply::new(status, body).header("content-type", "application/cbor").header("smithy-protocol", "rpc-v2-cbor")
}

fn map(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut body);
    encoder.map(fields.len() as u64).expect("written");
    for (name, value) in fields {
        encoder.str(name).and_then(|encoder| encoder.str(value)).expect("written");
    }
    body
}

fn error(status: u16, code: &str) -> Reply {
    cbor(status, map(&[("__type", &format!("com.amazonaws.marketplace.entitlement#{code}")), ("message", "no")]))
}

fn entitled() -> Reply {
    cbor(200, map(&[("NextToken", "n")]))
}

async fn entitlements(server: &Server, governor: &Governor) -> Result<GetEntitlementsOutput, SdkError<Failure>> {
    let client = aws_sdk_marketplaceentitlement::Client::new(&governed(server, governor));
    client.get_entitlements().product_code("p").send().await
}

#[tokio::test(start_paused = true)]
async fn it_is_throttled_by_the_code_in_its_body_and_ends_with_its_own_error() {
    let server = Server::always(error(400, "ThrottlingException"));
    let governor = governor(|aws| aws.max_retries(3));
    let error = entitlements(&server, &governor).await.expect_err("throttled");
    assert!(matches!(error.as_service_error(), Some(Failure::ThrottlingException(_))), "{error:?}");
    assert_eq!((error.message(), server.count()), (Some("no"), 4));
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.throttled, totals.gave_up), (4, 4, 1));
    let leaf = leaf(&governor, SERVICE);
    assert!(leaf.rate_rps < leaf.ceiling_rps, "{leaf:?}");
    let request = &server.requests()[0];
    assert_eq!(request.header("smithy-protocol"), "rpc-v2-cbor");
    assert!(request.uri.ends_with("/operation/GetEntitlements"), "{}", request.uri);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_service_is_transient_and_got_over() {
    let server = Server::script([error(500, "InternalServiceErrorException"), entitled()]);
    let governor = governor(|aws| aws);
    let answer = entitlements(&server, &governor).await.expect("the second answer");
    assert_eq!(answer.next_token(), Some("n"));
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_wrong_is_said_so_once() {
    let server = Server::always(error(400, "InvalidParameterException"));
    let governor = governor(|aws| aws);
    let error = entitlements(&server, &governor).await.expect_err("invalid");
    assert!(matches!(error.as_service_error(), Some(Failure::InvalidParameterException(_))), "{error:?}");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.throttled, totals.transient_errors), (1, 0, 0));
}

/// Services that once spoke the query protocol give the code of those days in a header, and the SDK takes it.
#[tokio::test(start_paused = true)]
async fn it_is_throttled_by_the_query_protocols_code_in_the_head() {
    let reply = error(400, "SomethingElse").header("x-amzn-query-error", "RequestThrottled;Sender");
    let server = Server::always(reply);
    let governor = governor(|aws| aws.max_retries(2));
    let error = entitlements(&server, &governor).await.expect_err("throttled");
    assert_eq!((error.code(), server.count()), (Some("RequestThrottled"), 3));
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn a_code_in_pieces_or_without_a_content_type_is_read_all_the_same() {
    let mut body = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut body);
    let written = encoder
        .begin_map()
        .and_then(|e| e.str("message")?.null()?.str("__type")?.begin_str()?.str("Throttling")?.str("Exception")?.end())
        .and_then(|e| e.end());
    assert!(written.is_ok());
    let server = Server::script([Reply::new(400, body), entitled()]);
    let governor = governor(|aws| aws);
    entitlements(&server, &governor).await.expect("the second answer");
    assert_eq!(totals(&governor).throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn garbage_panics_nowhere_and_ends_as_an_error_of_the_sdk() {
    let whole = map(&[("__type", "ThrottlingException"), ("message", "no")]);
    let mut bodies: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
    bodies.extend([
        vec![0xbf; 1000],
        vec![0xa1, 0x61, b'a', 0xff],
        b"{}".to_vec(),
        vec![0xbb, 255, 255, 255, 255, 255, 255, 255, 255],
    ]);
    for body in bodies {
        for status in [400, 503] {
            let server = Server::always(cbor(status, body.clone()));
            let governor = governor(|aws| aws.max_retries(1));
            let error = entitlements(&server, &governor).await.expect_err("garbage");
            assert!(
                matches!(error, SdkError::ServiceError(_) | SdkError::ResponseError(_)),
                "{status} {body:?}: {error:?}"
            );
            assert!(server.count() <= 2, "{status} {body:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_parse_ends_as_an_error_of_the_sdk() {
    for body in [vec![0xff], vec![0xa1], b"no cbor".to_vec()] {
        let server = Server::always(cbor(200, body));
        let governor = governor(|aws| aws);
        let error = entitlements(&server, &governor).await.expect_err("garbage");
        assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
        assert!(server.count() <= 9);
    }
}

#[tokio::test(start_paused = true)]
async fn its_calls_land_in_the_leaf_that_its_documents_name() {
    let server = Server::always(entitled());
    let governor = governor(|aws| aws.service(SERVICE, |service| service.per_operation(true)));
    entitlements(&server, &governor).await.expect("an answer");
    let scopes: Vec<String> = governor.summary().scopes.keys().map(ToString::to_string).collect();
    assert_eq!(scopes, [format!("aws/{ACCOUNT}/eu-west-1/{SERVICE}/GetEntitlements")]);
}
