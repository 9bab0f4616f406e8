//! The simulated AWS, seen on the wire.

use std::sync::LazyLock;

use crate::common::{OTHER_REGION, REGION, Site, signed, signed_at, size, start, wide_open};
use cloud_governor_examples::sim::Cloud;
use cloud_governor_examples::sim::aws::{Aws, Fleet, Limits};
use proptest::prelude::*;
use serde_json::{Value, json};

const GROUPS: &str = "Logs_20140328.DescribeLogGroups";
const STREAMS: &str = "Logs_20140328.DescribeLogStreams";
const PARAMETERS: &str = "AmazonSSM.DescribeParameters";
const PARAMETER: &str = "AmazonSSM.GetParameter";
const SECRETS: &str = "secretsmanager.ListSecrets";
const SECRET: &str = "secretsmanager.DescribeSecret";

/// Follows a list to its end. `names` are the members: rows, a row's name, the token.
async fn follow(site: &Site, target: &str, first: Value, [rows, name, token]: [&str; 3]) -> (Vec<String>, usize) {
    let (mut found, mut pages, mut request) = (Vec::new(), 0, first);
    loop {
        let got = site.json(0, REGION, target, request.clone()).await.expect("an answer");
        assert_eq!(got.status, 200, "{}", got.body);
        let page = got.json();
        let page_rows = page[rows].as_array().expect("rows");
        found.extend(page_rows.iter().map(|row| row[name].as_str().expect("a name").to_owned()));
        pages += 1;
        match page.get(token) {
            Some(next) => request[token] = next.clone(),
            None => return (found, pages),
        }
    }
}

#[tokio::test]
async fn sts_says_whose_key_it_is_in_the_query_protocols_xml() {
    let site = start(Limits::default()).await;
    for account in [0, 1] {
        let got = site.identity(account, OTHER_REGION).await.expect("an answer");
        assert_eq!(got.status, 200);
        assert_eq!(got.headers["content-type"], "text/xml");
        let id = site.account(account).id();
        let request_id = got.headers["x-amzn-requestid"].to_str().expect("text");
        assert_eq!(
            got.body,
            format!(
                "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
                 <GetCallerIdentityResult><Arn>arn:aws:iam::{id}:user/inventory</Arn>\
                 <UserId>AIDASIM00{id}</UserId><Account>{id}</Account></GetCallerIdentityResult>\
                 <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>\
                 </GetCallerIdentityResponse>"
            )
        );
    }
}

#[tokio::test]
async fn log_groups_and_their_streams_are_all_found_page_by_page() {
    let site = start(wide_open()).await;
    let estate = site.account(0).estate(REGION);
    let (groups, pages) = follow(&site, GROUPS, json!({}), ["logGroups", "logGroupName", "nextToken"]).await;
    assert_eq!(groups, estate.log_groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>());
    assert_eq!(pages, groups.len().div_ceil(50));

    let group = estate.log_groups.iter().max_by_key(|group| group.streams).expect("a group");
    let first = json!({ "logGroupName": group.name, "limit": 7 });
    let (streams, pages) = follow(&site, STREAMS, first, ["logStreams", "logStreamName", "nextToken"]).await;
    assert_eq!(streams, (0..group.streams).map(|n| group.stream(n)).collect::<Vec<_>>());
    assert_eq!(pages, streams.len().div_ceil(7));
}

#[tokio::test]
async fn a_prefix_narrows_the_log_groups() {
    let site = start(wide_open()).await;
    let prefix = "/aws/lambda/search/";
    let first = json!({ "logGroupNamePrefix": prefix, "limit": 5 });
    let (groups, _) = follow(&site, GROUPS, first, ["logGroups", "logGroupName", "nextToken"]).await;
    let all = &site.account(0).estate(REGION).log_groups;
    let expected: Vec<_> = all.iter().filter(|group| group.name.starts_with(prefix)).map(|g| g.name.clone()).collect();
    assert!(expected.len() > 5, "more than one page");
    assert_eq!(groups, expected);
}

#[tokio::test]
async fn parameters_are_all_found_and_each_can_be_read() {
    let site = start(wide_open()).await;
    let names = ["Parameters", "Name", "NextToken"];
    let (parameters, pages) = follow(&site, PARAMETERS, json!({}), names).await;
    assert_eq!(parameters, site.account(0).estate(REGION).parameters);
    assert_eq!(pages, parameters.len().div_ceil(10), "ten a page, unless asked");
    let (again, pages) = follow(&site, PARAMETERS, json!({ "MaxResults": 50 }), names).await;
    assert_eq!(again, parameters);
    assert_eq!(pages, parameters.len().div_ceil(50));

    let request = json!({ "Name": parameters[3], "WithDecryption": true });
    let got = site.json(0, REGION, PARAMETER, request).await.expect("an answer").json();
    assert_eq!(got["Parameter"]["Name"], parameters[3]);
    assert_eq!(got["Parameter"]["Value"], format!("value of {}", parameters[3]));
    let by_arn = json!({ "Name": got["Parameter"]["ARN"] });
    assert_eq!(site.json(0, REGION, PARAMETER, by_arn).await.expect("an answer").json(), got);
}

#[tokio::test]
async fn secrets_are_all_found_and_each_can_be_described() {
    let site = start(wide_open()).await;
    let (secrets, pages) = follow(&site, SECRETS, json!({}), ["SecretList", "Name", "NextToken"]).await;
    assert_eq!(secrets, site.account(0).estate(REGION).secrets);
    assert_eq!(pages, secrets.len().div_ceil(100));

    let got = site.json(0, REGION, SECRET, json!({ "SecretId": secrets[5] })).await.expect("an answer").json();
    assert_eq!(got["Name"], secrets[5]);
    let by_arn = json!({ "SecretId": got["ARN"] });
    assert_eq!(site.json(0, REGION, SECRET, by_arn).await.expect("an answer").json(), got);
}

#[tokio::test]
async fn each_service_refuses_in_its_own_words() {
    let site = start(wide_open()).await;
    let cases = [
        (GROUPS, json!({ "nextToken": "made up" }), "InvalidParameterException"),
        (GROUPS, json!({ "limit": 51 }), "InvalidParameterException"),
        (GROUPS, json!({ "limit": 0 }), "InvalidParameterException"),
        (GROUPS, json!({ "limit": "ten" }), "SerializationException"),
        (GROUPS, json!({ "logGroupNamePattern": "x" }), "SerializationException"),
        (GROUPS, json!([]), "SerializationException"),
        (STREAMS, json!({ "logGroupName": "none such" }), "ResourceNotFoundException"),
        (STREAMS, json!({}), "InvalidParameterException"),
        (PARAMETERS, json!({ "NextToken": "00000000000000000000000000000000" }), "InvalidNextToken"),
        (PARAMETERS, json!({ "MaxResults": 51 }), "ValidationException"),
        (PARAMETER, json!({ "Name": "/none/such" }), "ParameterNotFound"),
        (PARAMETER, json!({}), "SerializationException"),
        (SECRETS, json!({ "NextToken": "" }), "InvalidNextTokenException"),
        (SECRETS, json!({ "MaxResults": 101 }), "ValidationException"),
        (SECRETS, json!({ "MaxResults": i64::MAX }), "ValidationException"),
        (SECRET, json!({ "SecretId": "none such" }), "ResourceNotFoundException"),
        ("Logs_20140328.TestTransformer", json!({}), "UnknownOperationException"),
        ("AmazonSSM.", json!({}), "UnknownOperationException"),
        ("secretsmanager", json!({}), "UnknownOperationException"),
    ];
    for (target, body, code) in cases {
        let got = site.json(0, REGION, target, body.clone()).await.expect("an answer");
        assert_eq!((got.status.as_u16(), got.code().as_str()), (400, code), "{target} {body}");
        assert!(got.headers.contains_key("x-amzn-requestid"), "{target}");
    }
    let seen = site.server.truth().snapshot();
    assert_eq!((seen.totals.refused, seen.unrecognised.refused), (19, 3));
}

#[tokio::test]
async fn sts_refuses_in_the_query_protocols_xml() {
    let site = start(Limits::default()).await;
    let cases = [
        ("Action=GetSessionToken&Version=2011-06-15", "InvalidAction"),
        ("Action=GetCallerIdentity&Version=1999-01-01", "InvalidAction"),
        ("Version=2011-06-15", "MissingAction"),
        ("%%%&&&==", "MissingAction"),
        ("", "MissingAction"),
    ];
    for (form, code) in cases {
        let got = site.send(signed(site.account(0), REGION, "sts"), form).await.expect("an answer");
        assert_eq!(got.status, 400, "{form}");
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>");
        assert!(got.body.contains(&error), "{form}: {}", got.body);
        assert!(got.body.starts_with("<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"));
    }
}

#[tokio::test]
async fn whoever_does_not_sign_well_is_refused_by_each_protocol() {
    let site = start(Limits::default()).await;
    let account = site.account(0);
    let old = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(6);
    let stranger = signed(account, REGION, "ssm").header("x-amz-target", PARAMETERS);
    let mut stranger = stranger;
    let authorization = "AWS4-HMAC-SHA256 Credential=AKIANOBODY/20260101/eu-west-1/ssm/aws4_request";
    if let Some(headers) = stranger.headers_mut() {
        let date = headers["x-amz-date"].to_str().expect("text").to_owned();
        let scope = authorization.replace("20260101", &date[..8]);
        headers.insert("authorization", format!("{scope}, SignedHeaders=a, Signature=b").parse().expect("text"));
    }
    let post = || hyper::Request::post("/");
    let cases = [
        (post().header("x-amz-target", PARAMETERS), 400, "MissingAuthenticationTokenException"),
        (post(), 403, "MissingAuthenticationToken"),
        (
            post().header("authorization", "Basic abc").header("x-amz-target", GROUPS),
            400,
            "IncompleteSignatureException",
        ),
        (post().header("authorization", "AWS4-HMAC-SHA256 Credential=//////"), 403, "IncompleteSignature"),
        (signed_at(account, REGION, "ssm", old).header("x-amz-target", PARAMETERS), 400, "InvalidSignatureException"),
        (signed_at(account, REGION, "sts", old), 403, "SignatureDoesNotMatch"),
        (stranger, 400, "UnrecognizedClientException"),
        (signed(account, "mars-north-1", "ssm").header("x-amz-target", PARAMETERS), 400, "InvalidSignatureException"),
        (signed(account, REGION, "ec2"), 400, "MissingAction"),
        (signed(account, REGION, "ssm"), 400, "UnknownOperationException"),
    ];
    let total = cases.len() as u64;
    for (request, status, code) in cases {
        let got = site.send(request, "{}").await.expect("an answer");
        assert_eq!(got.status, status, "{code}: {}", got.body);
        assert!(got.body.contains(code), "{code}: {}", got.body);
    }
    let seen = site.server.truth().snapshot();
    assert_eq!(seen.unrecognised.refused, total);
    assert_eq!(seen.totals.requests, total);
}

#[tokio::test]
async fn a_body_beyond_the_cap_is_refused_unread() {
    let site = start(Limits::default()).await;
    let body = "x".repeat(300 * 1024);
    let got = site.send(signed(site.account(0), REGION, "sts"), &body).await.expect("an answer");
    assert_eq!(got.status, 413);
}

static AWS: LazyLock<Aws> =
    LazyLock::new(|| Aws::new(Fleet::seeded(1, &size()).expect("a possible size"), Limits::default()));

proptest! {
    #[test]
    fn no_request_is_too_odd_to_answer(
        authorization in "\\PC*|AWS4-HMAC-SHA256 Credential=[A-Z0-9/a-z_-]*, SignedHeaders=a, Signature=b",
        date in "\\PC{0,20}|20[0-9]{6}T[0-9]{6}Z",
        target in "\\PC{0,40}",
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let request = hyper::Request::post("/")
            .header("authorization", authorization.as_bytes())
            .header("x-amz-date", date.as_bytes())
            .header("x-amz-target", target.as_bytes())
            .body(());
        // Bytes that no header may hold never reach the cloud.
        if let Ok(request) = request {
            let answer = AWS.identify(1, &request.into_parts().0, body.into()).expect_err("signed by nobody");
            prop_assert!(answer.status().is_client_error());
        }
    }

    #[test]
    fn no_body_is_too_odd_for_an_operation(
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), "\\{\"[a-zA-Z]{1,15}\":[0-9\"a-z]{1,9}\\}".prop_map(Vec::from)],
        target in prop::sample::select(vec![GROUPS, STREAMS, PARAMETERS, PARAMETER, SECRETS, SECRET]),
    ) {
        let service = if target.starts_with('L') { "logs" } else if target.starts_with('A') { "ssm" } else { "secretsmanager" };
        let account = &AWS.fleet().accounts()[0];
        let request = signed(account, REGION, service).header("x-amz-target", target).body(()).expect("a request");
        let call = AWS.identify(1, &request.into_parts().0, body.into()).expect("a known call");
        let answer = AWS.answer(&call);
        prop_assert!(answer.status() == 200 || answer.status() == 400);
        prop_assert!(serde_json::from_slice::<Value>(answer.body()).is_ok());
    }
}
