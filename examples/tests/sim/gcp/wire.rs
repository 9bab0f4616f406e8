//! Requests that no client of Google's makes.

use std::sync::LazyLock;

use super::size;
use cloud_governor_examples::sim::gcp::{Fleet, Gcp, Limits};
use cloud_governor_examples::sim::{Answer, Cloud, Verdict};
use hyper::{Method, Request};
use proptest::prelude::*;
use serde_json::Value;

static GCP: LazyLock<Gcp> =
    LazyLock::new(|| Gcp::new(Fleet::seeded(11, &size()).expect("a possible size"), Limits::default()));

/// The answer to a request that carries the caller's token.
fn ask(method: Method, uri: &str) -> Option<Answer> {
    let token = format!("Bearer {}", GCP.fleet().caller().token());
    let request = Request::builder().method(method).uri(uri).header("authorization", token).body(()).ok()?;
    Some(match GCP.identify(1, &request.into_parts().0, "".into()) {
        Ok(call) => {
            let refusal = GCP.throttled(&call, &Verdict::default());
            assert!(refusal.status().is_client_error());
            GCP.answer(&call)
        }
        Err(answer) => *answer,
    })
}

fn json(answer: &Answer) -> Value {
    serde_json::from_slice(answer.body()).expect("JSON")
}

#[test]
fn what_is_known_of_an_object_comes_without_its_bytes() {
    let bucket = &GCP.fleet().projects()[0].buckets[0];
    let uri = format!("/storage/v1/b/{}/o/exports%2Fpart%20000001.csv", bucket.name);
    let answer = ask(Method::GET, &uri).expect("a request");
    let known = json(&answer);
    assert_eq!((answer.status().as_u16(), known["name"].as_str()), (200, Some("exports/part 000001.csv")));
    assert_eq!(known["size"], bucket.content(1).len().to_string());
    let missing = ask(Method::GET, &uri.replace("000001", "999999")).expect("a request");
    assert_eq!(
        (missing.status().as_u16(), json(&missing)["error"]["errors"][0]["reason"].as_str()),
        (404, Some("notFound"))
    );
}

#[test]
fn nothing_can_be_changed() {
    let project = &GCP.fleet().projects()[0].id;
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = ask(method, &format!("/v1/projects/{project}/assets")).expect("a request");
        assert_eq!((answer.status().as_u16(), json(&answer)["error"]["status"].as_str()), (404, Some("NOT_FOUND")));
    }
}

proptest! {
    #[test]
    fn no_request_is_too_odd_to_answer(
        path in prop_oneof![
            "/[ -~]{0,60}",
            "/v1/(projects|organizations|x)/[a-z0-9%:]{0,9}(/assets|:searchAllResources)",
            "/compute/v1/projects/[a-z0-9]{0,9}/(zones|aggregated)(/[a-z%0-9-]{0,9}){0,4}",
            "/storage/v1/b/[a-z%0-9]{0,9}/o/[ -~]{0,20}",
            r"\?(pageSize|pageToken|alt|assetTypes|x)=[ -~]{0,20}".prop_map(|query| {
                format!("/v1/projects/{}/assets{query}", GCP.fleet().projects()[0].id)
            }),
        ],
    ) {
        // What no request line may hold never reaches the cloud.
        if let Some(answer) = ask(Method::GET, &path) {
            prop_assert!(answer.status().is_client_error() || answer.status().is_success());
            prop_assert!(serde_json::from_slice::<Value>(answer.body()).is_ok());
        }
    }

    #[test]
    fn no_token_is_too_odd_to_be_refused(token in "\\PC*|Bearer simulated\\.[0-9a-f]{32}") {
        let request = Request::get("/v1/projects/p/assets").header("authorization", token.as_bytes()).body(());
        if let Ok(request) = request {
            let answer = GCP.identify(1, &request.into_parts().0, "".into()).expect_err("nobody's");
            prop_assert_eq!(answer.status(), 401);
        }
    }
}
