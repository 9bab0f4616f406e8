//! Requests that no client here makes: by hand.

use std::sync::LazyLock;

use super::{ARM, Answered, Site, size, start};
use azure_core::http::{HttpClient, Method, Request, Url};
use cloud_governor_examples::sim::azure::{Azure, Fleet, Limits};
use cloud_governor_examples::sim::{Cloud, Verdict};
use proptest::prelude::*;

impl Site {
    async fn token(&self) -> String {
        let token = self.credential(0).get_token(&["https://management.azure.com/.default"], None).await;
        token.expect("a token").token.secret().to_owned()
    }

    /// Sends a request with this token. `path` may have a query.
    async fn send(&self, token: &str, method: Method, path: &str) -> Answered {
        let url = Url::parse(&format!("{}{path}", self.server.url())).expect("a URL");
        let mut request = Request::new(url, method);
        request.insert_header("host", "management.azure.com");
        request.insert_header("authorization", format!("Bearer {token}"));
        let answer = self.http.execute_request(&request).await.expect("an answer");
        let answer = answer.try_into_raw_response().await.expect("a body");
        let status = answer.status().into();
        let body: serde_json::Value = serde_json::from_slice(answer.body()).expect("JSON");
        let code = body["error"]["code"].as_str().unwrap_or_default().to_owned();
        Answered { status, code, answer }
    }
}

#[tokio::test(start_paused = true)]
async fn writes_and_deletes_have_buckets_of_their_own_and_no_principal_may_do_either() {
    let site = start(Limits::default()).await;
    let token = site.token().await;
    let subscription = &site.fleet().subscriptions()[0];
    let machine = &subscription.machines[0];
    let path = format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute/virtualMachines/{}?api-version=2024-07-01",
        subscription.id, machine.group, machine.name
    );
    let writes = "x-ms-ratelimit-remaining-subscription-writes";
    let deletes = "x-ms-ratelimit-remaining-subscription-deletes";
    for (method, header, left, operation) in [
        (Method::Put, writes, "199", "VirtualMachines.createOrUpdate"),
        (Method::Patch, writes, "198", "VirtualMachines.update"),
        (Method::Delete, deletes, "199", "VirtualMachines.delete"),
    ] {
        let got = site.send(&token, method, &path).await;
        assert_eq!((got.status, got.code.as_str()), (403, "AuthorizationFailed"));
        assert_eq!(got.header(header), Some(left), "{operation}");
        assert_eq!(got.header("x-ms-ratelimit-remaining-subscription-reads"), None);
        assert_eq!(got.header("x-ms-ratelimit-remaining-resource"), None, "it comes to no provider");
        assert_eq!(site.counts(&format!("compute.{operation}")).refused, 1);
    }
    let got = site.send(&token, Method::Get, &path).await;
    assert_eq!((got.status, got.json()["name"].as_str()), (200, Some(machine.name.as_str())));

    for _ in 0..198 {
        assert_eq!(site.send(&token, Method::Patch, &path).await.status, 403);
    }
    let got = site.send(&token, Method::Put, &path).await;
    assert_eq!((got.status, got.code.as_str()), (429, "SubscriptionRequestsThrottled"));
    assert!(got.json()["error"]["message"].as_str().is_some_and(|told| told.contains("'write' requests")));
    assert_eq!(site.send(&token, Method::Delete, &path).await.status, 403, "deletes are left");
}

#[tokio::test]
async fn a_request_has_to_name_a_version_and_what_there_is() {
    let site = start(Limits::default()).await;
    let token = site.token().await;
    let path = format!("/subscriptions/{}/resourcegroups", site.subscription(0));
    let good = format!("{path}?api-version=2024-03-01");
    for (path, expected) in [
        (path.clone(), (400, "MissingApiVersionParameter")),
        (format!("{path}?api-version=newest"), (400, "InvalidApiVersionParameter")),
        (format!("{good}&$filter=name"), (400, "UnsupportedQueryParameter")),
        (format!("{good}&$skiptoken=made-up"), (400, "InvalidSkipToken")),
        (
            format!("/subscriptions/{}/nothing?api-version=2024-03-01", site.subscription(0)),
            (404, "InvalidResourceType"),
        ),
    ] {
        let got = site.send(&token, Method::Get, &path).await;
        assert_eq!((got.status, got.code.as_str()), expected, "{path}");
        assert!(got.header("x-ms-request-id").is_some());
    }
    let got = site.send(&token, Method::Get, &good).await;
    let next = got.json()["nextLink"].as_str().expect("more").to_owned();
    assert!(next.starts_with(&format!("{ARM}{path}?api-version=2024-03-01&%24skiptoken=")), "{next}");
    let elsewhere = next.replace(site.subscription(0), site.subscription(1)).replace(ARM, "");
    assert_eq!(site.send(&token, Method::Get, &elsewhere).await.code, "InvalidSkipToken", "another list's");
}

static AZURE: LazyLock<Azure> =
    LazyLock::new(|| Azure::new(Fleet::seeded(1, &size()).expect("a possible size"), Limits::default()));

proptest! {
    #[test]
    fn no_request_is_too_odd_to_answer(
        path in "/[ -~]{0,60}|/subscriptions/[a-z0-9-]{0,8}(/[a-zA-Z.]{0,12}){0,7}",
        authorization in "\\PC*|Bearer simulated\\.[0-9a-f-]*\\.[0-9a-f]{16}",
    ) {
        let request = hyper::Request::get(path.as_str()).header("authorization", authorization.as_bytes()).body(());
        // What no request line or header may hold never reaches the cloud.
        if let Ok(request) = request {
            let answer = AZURE.identify(1, &request.into_parts().0, "".into()).expect_err("nobody's");
            prop_assert_eq!(answer.status(), 401);
        }
    }

    #[test]
    fn no_form_is_too_odd_for_a_token(
        tenant in "[a-z0-9-]{1,20}",
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "(client_id|client_secret|grant_type|scope|x)=[a-z_]{0,20}(&(client_id|grant_type|scope)=[a-z_]{0,20}){0,4}"
                .prop_map(Vec::from),
        ],
    ) {
        let request = hyper::Request::post(format!("/{tenant}/oauth2/v2.0/token")).body(()).expect("a request");
        let call = AZURE.identify(1, &request.into_parts().0, body.into()).expect("a request for a token");
        let mut answers = vec![AZURE.answer(&call), AZURE.throttled(&call, &Verdict::default())];
        for answer in &mut answers {
            AZURE.note(&call, &Verdict::default(), answer);
            prop_assert!(answer.status().is_client_error());
            prop_assert!(serde_json::from_slice::<serde_json::Value>(answer.body()).is_ok());
        }
    }
}
