//! Tokens and bodies stay where they are.

use std::fmt::Debug;

use bytes::Bytes;
use cloud_governor::{Governor, RetryPolicy};
use cloud_governor_gcp::{CallOptions, CallReport, call, facts, refusal};
use google_cloud_gax::error::Error;
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::common::{BUCKET, HOME, TOKEN, assets, by, control, governor, instances, seconds, storage, timed, totals};
use crate::log::logging;
use crate::reply::Reply;
use crate::server::Server;

/// Stands in bodies of requests and of answers, in headers and in trailers.
const SECRET: &str = "hunter2-of-a-body";

fn is_clean(what: &str, text: &str) {
    assert!(!text.contains(TOKEN) && !text.contains(SECRET), "{what}: {text}");
}

fn shows_nothing(what: &str, shown: &dyn Debug) {
    is_clean(what, &format!("{shown:?} {shown:#?}"));
}

/// Failures of every kind, all of which hold the secret somewhere, and then an answer that does.
fn leaking() -> Server {
    Server::start(|asked, number| {
        let is_grpc = asked.path.starts_with("/google.storage");
        let details = || Some(ErrorDetails::with_error_info(SECRET, SECRET, [(SECRET.to_owned(), SECRET.to_owned())]));
        match number % 6 {
            1 if is_grpc => Reply::trailers(Code::Unavailable, details()),
            2 if is_grpc => Reply::trailers_only(Code::ResourceExhausted, details()),
            _ if is_grpc => Reply::trailers_only(Code::PermissionDenied, details()).header("x-secret", SECRET),
            1 => Reply::saying(503, "UNAVAILABLE", SECRET).header("x-secret", SECRET),
            2 => Reply::saying(429, "RESOURCE_EXHAUSTED", SECRET),
            3 => Reply::new(500, SECRET),
            4 => Reply::Reset,
            5 => Reply::new(503, SECRET).cut(),
            _ => Reply::saying(403, "PERMISSION_DENIED", SECRET),
        }
    })
}

async fn failures(server: &Server, governor: &Governor) -> Vec<Error> {
    let mut errors = Vec::new();
    let assets = assets(server, by(governor)).await;
    let instances = instances(server, by(governor)).await;
    let storage = storage(server, by(governor)).await;
    let control = control(server, by(governor)).await;
    for _ in 0..6 {
        errors.extend(assets.list_assets().set_parent(HOME).set_page_token(SECRET).send().await.err());
        errors.extend(instances.list().set_project("home").set_zone("z").set_filter(SECRET).send().await.err());
        let mut content = vec![7_u8; 1 << 20];
        content[..SECRET.len()].copy_from_slice(SECRET.as_bytes());
        let small = content[..100].to_vec();
        errors.extend(storage.write_object(BUCKET, "o", Bytes::from(small)).send_buffered().await.err());
        errors.extend(storage.write_object(BUCKET, "o", Bytes::from(content)).send_buffered().await.err());
        errors.extend(storage.read_object(BUCKET, "o").send().await.err());
        errors.extend(control.get_bucket().set_name(BUCKET).send().await.err());
    }
    errors
}

#[tokio::test(start_paused = true)]
async fn nothing_of_ours_logs_a_token_or_a_body() {
    let (log, _guard) = logging();
    let server = leaking();
    let governor = governor(|gcp| gcp.max_retries(2).breaker_failures(1));
    let errors = failures(&server, &governor).await;
    assert!(errors.len() > 20, "{} failures", errors.len());
    assert!(errors.iter().any(|error| refusal(error).is_some()), "a circuit has opened");
    assert!(server.count_of(|asked| asked.header("authorization").is_some_and(|value| value.contains(TOKEN))) > 20);
    let text = log.text();
    assert!(text.contains("cloud_governor") && text.contains("circuit"), "{text}");
    is_clean("the log", &text);
    let totals = totals(&governor);
    assert!(totals.throttled > 0 && totals.transient_errors > 0 && totals.rejected > 0, "{totals:?}");
    shows_nothing("the summary", &governor.summary());
    shows_nothing("the messages", &governor.messages());
    shows_nothing("the governor", &governor);
    for scope in governor.summary().scopes.keys() {
        is_clean("a scope", &scope.to_string());
        shows_nothing("a leaf", &governor.inspect(scope));
    }
}

#[tokio::test(start_paused = true)]
async fn no_refusal_holds_a_token_or_a_body() {
    let server = leaking();
    let governor = governor(|gcp| gcp.max_retries(1).breaker_failures(1));
    let errors = failures(&server, &governor).await;
    let refused: Vec<_> = errors.iter().filter(|error| refusal(*error).is_some()).collect();
    assert!(refused.len() > 5, "{} refused", refused.len());
    for error in refused {
        shows_nothing("a refused call's error", error);
        is_clean("its text", &error.to_string());
        is_clean("the refusal's text", &refusal(error).expect("a refusal").to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn clients_options_and_reports_show_no_token() {
    let server = leaking();
    let governor = governor(|gcp| gcp.max_retries(1));
    shows_nothing("options", &by(&governor));
    shows_nothing("a client of Cloud Asset", &assets(&server, by(&governor)).await);
    shows_nothing("a client of Compute", &instances(&server, by(&governor)).await);
    shows_nothing("a client of Storage", &storage(&server, by(&governor)).await);
    let control = control(&server, by(&governor)).await;
    shows_nothing("a client of Storage's control", &control);
    let report = CallReport::new();
    let options = CallOptions::from(RetryPolicy::none()).report(&report);
    shows_nothing("call options", &options);
    call(options, control.get_bucket().set_name(BUCKET).send()).await.expect_err("leaking");
    shows_nothing("a report", &report);
    assert_eq!(report.attempts(), 1);
}

/// A client that is asked for while calls are in line and in flight: what is kept of them is shown with it.
#[tokio::test]
async fn a_client_with_calls_under_way_shows_no_token() {
    let server = Server::always(Reply::Silence);
    let clock = cloud_governor::FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.account_concurrency(std::num::NonZeroUsize::MIN));
    let client = assets(&server, by(&governor).lease(seconds(60))).await;
    let sending: Vec<_> =
        (0..3).map(|_| tokio::spawn(client.list_assets().set_parent(HOME).set_page_token(SECRET).send())).collect();
    crate::common::until("on its way", || server.count() == 1).await;
    shows_nothing("the client", &client);
    shows_nothing("the governor", &governor);
    sending.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn the_facts_of_an_error_show_no_body() {
    let server = leaking();
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1_000_000));
    let errors = failures(&server, &governor).await;
    for error in &errors {
        shows_nothing("facts", &facts(error));
    }
}
