//! Credentials and call sites that behave in ways that nobody should.

use std::error::Error as StdError;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::error::Error;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_throttler::RetryThrottler;
use http::{Extensions, HeaderMap};

use crate::credentials::GovernedCredentials;
use crate::testing::{ACCOUNT, Asked, Bench, answered, fast, governor, inspect, seconds, totals};
use crate::{CallOptions, call};

fn with_credentials(
    mut bench: Bench,
    credentials: impl CredentialsProvider + Send + Sync + fmt::Debug + 'static,
) -> Bench {
    bench.credentials = Arc::new(GovernedCredentials::new(&bench.client, Credentials::from(credentials)));
    bench
}

/// Never has a token at once.
#[derive(Debug, Default, Clone)]
struct Hesitant {
    asked: Arc<AtomicUsize>,
}

impl CredentialsProvider for Hesitant {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        assert!(self.asked.fetch_add(1, Ordering::Relaxed) < 100, "asked without end");
        tokio::task::yield_now().await;
        Ok(CacheableResource::New { entity_tag: EntityTag::new(), data: HeaderMap::new() })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

#[tokio::test]
async fn credentials_that_never_have_a_token_at_once_are_not_asked_without_end() {
    let governor = governor(fast);
    let credentials = Hesitant::default();
    let bench = with_credentials(Bench::new(&governor), credentials.clone());
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert!(credentials.asked.load(Ordering::Relaxed) <= 2);
}

/// An error that is its own cause.
#[derive(Debug, Default)]
struct Circular(AtomicUsize);

impl fmt::Display for Circular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("because of itself")
    }
}

impl StdError for Circular {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) < 100_000, "followed without end");
        Some(self)
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_its_own_cause_is_not_followed_without_end() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(Error::io(Circular::default()))]).await.unwrap_err();
    assert!(error.is_io());
    assert!(crate::refusal(&error).is_none());
}

/// Has nothing to say, and tells nobody.
#[derive(Debug)]
struct Mute;

impl RetryThrottler for Mute {
    fn throttle_retry_attempt(&self) -> bool {
        false
    }

    fn on_retry_failure(&mut self, _: &RetryResult) {}

    fn on_success(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_accounted_for_though_another_calls_throttler_kept_its_own() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(1000));
    // Its outcome is known to the throttler alone.
    let bench = Bench::new(&governor).policy(NeverRetry);
    let mut muted = Bench::new(&governor);
    muted.throttler = Arc::new(Mutex::new(Mute));
    let slow = |_| async {
        tokio::time::sleep(seconds(3)).await;
        Err(answered(500))
    };
    let quick = |_| async {
        tokio::time::sleep(seconds(1)).await;
        Err(answered(500))
    };
    let later = async {
        tokio::time::sleep(seconds(1)).await;
        muted.send(Asked::of(ACCOUNT), quick).await
    };
    let (one, other) = tokio::join!(bench.send(Asked::of(ACCOUNT), slow), later);
    one.unwrap_err();
    other.unwrap_err();
    assert_eq!(totals(&governor).transient_errors, 2);
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_retry_goes_on_though_another_request_could_not_be_made() {
    let governor = governor(|gcp| fast(gcp).max_retries(1));
    let mut bench = Bench::new(&governor);
    bench.backoff = Arc::new(super::apart::Slowly);
    let fails = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500)), || Ok(1)]);
    let unmade = async {
        tokio::time::sleep(seconds(1)).await;
        // It fails before it asks for a token.
        let never = async |_| Err(Error::ser("no such name"));
        bench.recorded(&Asked::of("projects/other"), bench.looped(true, never)).await
    };
    let (failed, unmade) = tokio::join!(fails, unmade);
    failed.unwrap();
    unmade.unwrap_err();
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.retries), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn requests_dropped_inside_a_call_that_goes_on_give_their_slots_back_when_their_lease_ends() {
    let governor = governor(|gcp| fast(gcp).account_concurrency(1.try_into().unwrap()).deadline(None));
    let bench = Bench::new(&governor);
    let work = async {
        let lost = bench.send(Asked::of(ACCOUNT), |_| std::future::pending::<Result<u32, Error>>());
        tokio::time::timeout(seconds(1), lost).await.unwrap_err();
        bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await
    };
    let result = tokio::time::timeout(seconds(3600), call(CallOptions::new(), work)).await;
    result.expect("no slot in an hour").unwrap();
}

#[tokio::test(start_paused = true)]
async fn streams_opened_inside_a_call_that_goes_on_are_not_remembered_for_ever() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let asked = Asked::of(ACCOUNT).rpc(Some("google.storage.v2.Storage/BidiReadObject")).grpc();
    let work = async {
        for _ in 0..1000 {
            let opened = async {
                bench.headers().await?;
                Ok(1)
            };
            bench.recorded(&asked, opened).await.unwrap();
            tokio::time::sleep(seconds(1)).await;
        }
        crate::call::Context::current(&bench.client).store().len()
    };
    let remembered = call(CallOptions::new(), work).await;
    assert!(remembered < 100, "{remembered}");
}
