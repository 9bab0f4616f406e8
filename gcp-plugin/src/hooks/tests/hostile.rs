//! Credentials and call sites that behave in ways that nobody should.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use cloud_governor::{FakeClock, Governor};
use futures_util::future::BoxFuture;
use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::error::Error;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_throttler::RetryThrottler;
use http::{Extensions, HeaderMap};

use crate::credentials::GovernedCredentials;
use crate::testing::{ACCOUNT, Asked, Bench, Tokens, answered, config, fast, governor, inspect, seconds, totals};
use crate::{CallOptions, call};

fn with_credentials(mut bench: Bench, credentials: impl CredentialsProvider + Send + Sync + 'static) -> Bench {
    bench.credentials = Arc::new(GovernedCredentials::new(&bench.client, Credentials::from(credentials)));
    bench
}

/// Never has a token at once.
#[derive(Debug, Clone)]
struct Hesitant {
    asked: Arc<AtomicUsize>,
    most: usize,
}

impl Hesitant {
    fn new(most: usize) -> Self {
        Hesitant { asked: Arc::default(), most }
    }
}

impl CredentialsProvider for Hesitant {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        assert!(self.asked.fetch_add(1, Ordering::Relaxed) < self.most, "asked without end");
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
    let credentials = Hesitant::new(100);
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

/// Whether nobody holds or waits for anything.
fn is_at_rest(governor: &Governor) -> bool {
    let scopes = governor.summary().scopes.into_keys();
    let mut leaves = scopes.filter_map(|scope| governor.inspect(&scope));
    leaves.all(|leaf| leaf.slots_in_use == 0 && leaf.waiting_for_slot == 0 && leaf.waiting_for_rate == 0)
}

/// Fails twice, each after a moment, and is served.
fn thrice(bench: &Bench) -> BoxFuture<'static, Result<u32, Error>> {
    bench.send(Asked::of(ACCOUNT), |number| async move {
        tokio::task::yield_now().await;
        if number < 3 { Err(answered(503)) } else { Ok(1) }
    })
}

/// Polls a future so often, with as much time as it likes in between, and drops it.
async fn polled<F: Future>(most: usize, future: F) -> bool {
    let mut future = pin!(future);
    for _ in 0..most {
        if poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await {
            return true;
        }
        tokio::time::advance(std::time::Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn whatever_it_waits_for_a_call_that_is_dropped_leaves_nothing_behind() {
    let governor = governor(|gcp| {
        fast(gcp)
            .account_concurrency(1.try_into().unwrap())
            .deadline(None)
            .breaker_failures(1_000_000)
            .retry_budget(1_000_000)
    });
    let credentials = Hesitant::new(usize::MAX);
    let bench = with_credentials(Bench::new(&governor), credentials);
    let mut ended = 0;
    for most in 0..60 {
        ended += usize::from(polled(most, call(CallOptions::new(), thrice(&bench))).await);
        assert!(is_at_rest(&governor), "inside, after {most} polls");
        let nested = async {
            call(CallOptions::new(), thrice(&bench)).await?;
            thrice(&bench).await
        };
        polled(most, call(CallOptions::new(), nested)).await;
        assert!(is_at_rest(&governor), "nested, after {most} polls");
        let raced = async {
            tokio::select! {
                _ = call(CallOptions::new(), thrice(&bench)) => {}
                _ = call(CallOptions::new(), thrice(&bench)) => {}
            }
        };
        polled(most, raced).await;
        assert!(is_at_rest(&governor), "raced, after {most} polls");
        polled(most, thrice(&bench)).await;
        tokio::time::advance(seconds(301)).await;
        bench.client.outside().store().sweep();
        assert!(is_at_rest(&governor), "outside, after {most} polls");
        assert_eq!(bench.client.outside().store().len(), 0, "outside, after {most} polls");
    }
    assert!(ended > 10, "{ended}");
}

#[test]
fn a_runtime_that_is_shut_down_takes_its_calls_with_it_and_leaves_the_client_to_others() {
    let clock = FakeClock::new();
    let config = config(|gcp| fast(gcp).account_concurrency(50.try_into().unwrap()).deadline(None));
    let governor = Governor::builder().config(config).clock(clock.clone()).build();
    let bench = Bench::new(&governor);
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let first = runtime();
    for number in 0..100 {
        let never = bench.send(Asked::of(ACCOUNT), |_| std::future::pending());
        match number % 2 {
            0 => drop(first.spawn(never)),
            _ => drop(first.spawn(call(CallOptions::new(), never))),
        }
    }
    while bench.sent() < 50 || inspect(&governor, ACCOUNT).waiting_for_slot < 50 {
        std::thread::yield_now();
    }
    drop(first);
    clock.advance(seconds(301));
    let (second, third) = (runtime(), runtime());
    let many = |runtime: &tokio::runtime::Runtime| (0..50).map(|_| runtime.spawn(thrice(&bench))).collect::<Vec<_>>();
    let calls: Vec<_> = many(&second).into_iter().chain(many(&third)).collect();
    second.block_on(async {
        for call in calls {
            while !call.is_finished() {
                clock.advance(std::time::Duration::from_millis(100));
                tokio::task::yield_now().await;
            }
            call.await.unwrap().unwrap();
        }
    });
    assert!(is_at_rest(&governor));
    assert_eq!(bench.client.outside().store().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn resources_of_any_name_are_charged_under_a_name_of_bounded_length() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let names =
        ["", "projects/", "projects/-", "projects/\n\u{202e}x", "projects/ü/é", "////", "projects//x", "projects/%00"];
    for name in names {
        bench.play(Asked::of(name), &[|| Ok(1)]).await.unwrap();
    }
    bench.play(Asked::of(&format!("projects/{}", "x".repeat(1 << 20))), &[|| Ok(1)]).await.unwrap();
    assert!(governor.summary().scopes.keys().all(|scope| scope.to_string().len() < 4096));
    let project = "x".repeat(1 << 20);
    let scope = bench.client.targets.of(None, Some(project.as_str()));
    assert!(scope.to_string().len() < 4096);
    assert_eq!(totals(&governor).calls, 9);
}

/// Fails, has this done to the governor while it is on the way, and is served.
async fn meanwhile(bench: &Bench, what: impl Fn() + Clone + Send + Sync + 'static) -> Result<u32, Error> {
    let answer = move |number| {
        let what = what.clone();
        async move {
            if number == 1 {
                what();
                return Err(answered(500));
            }
            Ok(1)
        }
    };
    bench.send(Asked::of(ACCOUNT), answer).await
}

#[tokio::test(start_paused = true)]
async fn a_governor_that_changes_in_the_middle_of_a_call_holds_nothing_afterwards() {
    let one = cloud_governor::configure(config(fast));
    let bench = Bench::with(&one, Tokens::default(), |client| client.governor = None);
    meanwhile(&bench, || drop(cloud_governor::configure(config(fast)))).await.unwrap();
    let other = cloud_governor::get_governor();
    assert!(is_at_rest(&one) && is_at_rest(&other));
    meanwhile(&bench, || drop(cloud_governor::reset_governor())).await.unwrap();
    assert_eq!(bench.sent(), 4);
    assert!(is_at_rest(&other) && is_at_rest(&cloud_governor::get_governor()));
    assert_eq!(bench.client.outside().store().len(), 0);

    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let reset = governor.clone();
    meanwhile(&bench, move || reset.reset()).await.unwrap();
    assert!(is_at_rest(&governor));
    let off = governor.clone();
    let error = meanwhile(&bench, move || off.reconfigure(config(|gcp| fast(gcp).enabled(false)))).await.unwrap_err();
    assert_eq!(error.http_status_code(), Some(500));
    let on = governor.clone();
    // It began as one that passes through.
    meanwhile(&bench, move || on.reconfigure(config(fast))).await.unwrap_err();
    assert!(is_at_rest(&governor));
    assert_eq!(bench.client.outside().store().len(), 0);
}

/// Panics when a circuit closes.
struct Fragile;

impl tracing::Subscriber for Fragile {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "cloud_governor"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        assert_ne!(event.metadata().name(), "circuit_closed");
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_does_not_take_the_client_down() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    tokio::time::advance(seconds(31)).await;
    {
        let _fragile = tracing::subscriber::set_default(Fragile);
        // The probe's success closes the circuit.
        bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    }
    assert!(!bench.throttler.is_poisoned(), "every call that comes later would panic");
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
}
