//! Polls of long-running operations.

use google_cloud_gax::polling_backoff_policy::PollingBackoffPolicy;
use google_cloud_gax::polling_error_policy::PollingErrorPolicy;
use google_cloud_gax::polling_state::PollingState;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_gax::retry_result::RetryResult;

use crate::polling::Polling;
use crate::testing::{ACCOUNT, Asked, Bench, answered, fast, governor, inspect, retry_after, seconds, totals};
use cloud_governor::BreakerState;

const POLL: &str = "google.longrunning.Operations/GetOperation";

fn poll() -> Asked {
    Asked::of(ACCOUNT).rpc(Some(POLL)).grpc()
}

#[tokio::test(start_paused = true)]
async fn a_poll_holds_a_slot_and_its_failure_is_counted_once() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1));
    let bench = Bench::new(&governor).policy(NeverRetry);
    let watched = governor.clone();
    let answer = move |_| {
        assert_eq!(inspect(&watched, ACCOUNT).slots_in_use, 1);
        async { Err(answered(500)) }
    };
    bench.send(poll(), answer).await.unwrap_err();
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (1, 1, 1));
    let inspection = inspect(&governor, ACCOUNT);
    assert_eq!(inspection.slots_in_use, 0);
    assert_ne!(inspection.breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_poller_goes_on_after_what_passes_and_ends_with_what_does_not() {
    let governor = governor(fast);
    let polling = Polling::new(&Bench::new(&governor).client);
    let state = PollingState::default();
    for status in [429, 503, 500] {
        assert!(matches!(polling.on_error(&state, answered(status)), RetryResult::Continue(_)), "{status}");
    }
    assert!(matches!(polling.on_error(&state, answered(404)), RetryResult::Permanent(_)));
}

#[tokio::test(start_paused = true)]
async fn a_poller_gives_up_after_as_many_failures_in_a_row_as_a_call_may_have_retries() {
    let governor = governor(|gcp| fast(gcp).max_retries(2));
    let polling = Polling::new(&Bench::new(&governor).client);
    let state = PollingState::default();
    let goes_on = || matches!(polling.on_error(&state, answered(503)), RetryResult::Continue(_));
    assert!(goes_on() && goes_on());
    polling.on_in_progress(&state, "operations/1").unwrap();
    assert!(goes_on() && goes_on() && !goes_on());
}

#[tokio::test(start_paused = true)]
async fn a_poller_gives_up_when_its_failures_last_longer_than_a_call_may_take() {
    let governor = governor(|gcp| fast(gcp).deadline(seconds(60)));
    let polling = Polling::new(&Bench::new(&governor).client);
    let state = PollingState::default();
    assert!(matches!(polling.on_error(&state, answered(503)), RetryResult::Continue(_)));
    tokio::time::advance(seconds(61)).await;
    assert!(matches!(polling.on_error(&state, answered(503)), RetryResult::Exhausted(_)));
}

#[tokio::test(start_paused = true)]
async fn the_next_poll_waits_for_retry_after_and_the_one_after_that_does_not() {
    let governor = governor(fast);
    let polling = Polling::new(&Bench::new(&governor).client);
    let state = PollingState::default().set_attempt_count(1_u32);
    assert!(polling.wait_period(&state) <= seconds(1));
    assert!(matches!(polling.on_error(&state, retry_after(429, 40)), RetryResult::Continue(_)));
    assert_eq!(polling.wait_period(&state), seconds(40));
    assert!(polling.wait_period(&state) <= seconds(1));
    assert!(matches!(polling.on_error(&state, retry_after(429, 40)), RetryResult::Continue(_)));
    polling.on_in_progress(&state, "operations/1").unwrap();
    assert!(polling.wait_period(&state) <= seconds(1), "a poll that got through leaves no wait");
}

#[tokio::test(start_paused = true)]
async fn a_poller_waits_for_an_open_circuit() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1).max_retries(3));
    let bench = Bench::new(&governor).policy(NeverRetry);
    bench.play(poll(), &[|| Err(answered(500))]).await.unwrap_err();
    let refused = bench.play(poll(), &[|| Ok(1)]).await.unwrap_err();
    assert_eq!(bench.sent(), 1);
    let polling = Polling::new(&bench.client);
    let state = PollingState::default().set_attempt_count(1_u32);
    assert!(matches!(polling.on_error(&state, refused), RetryResult::Continue(_)));
    let wait = polling.wait_period(&state);
    assert!((seconds(29)..=seconds(30)).contains(&wait), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poller_of_a_disabled_provider_ends_with_its_first_failure() {
    let governor = governor(|gcp| gcp.enabled(false));
    let polling = Polling::new(&Bench::new(&governor).client);
    assert!(matches!(polling.on_error(&PollingState::default(), answered(503)), RetryResult::Permanent(_)));
}

#[tokio::test(start_paused = true)]
async fn waits_grow_up_to_a_minute_and_differ() {
    let governor = governor(fast);
    let polling = Polling::new(&Bench::new(&governor).client);
    let wait = |polls: u32| polling.wait_period(&PollingState::default().set_attempt_count(polls));
    for (polls, longest) in [(1, 1), (2, 2), (3, 4), (7, 60), (1000, 60)] {
        let wait = wait(polls);
        assert!((seconds(longest) / 2..=seconds(longest)).contains(&wait), "{polls}: {wait:?}");
    }
    assert_ne!(wait(1000), wait(1000));
}

#[tokio::test(start_paused = true)]
async fn each_of_thousands_of_pollers_gives_up_for_itself() {
    let governor = governor(|gcp| fast(gcp).max_retries(2));
    let polling = Polling::new(&Bench::new(&governor).client);
    let began = std::time::Instant::now();
    let pollers: Vec<_> = (0..3000)
        .map(|poller| PollingState::default().set_start(began + std::time::Duration::from_nanos(poller)))
        .collect();
    let go_on = || {
        let goes_on = |state| matches!(polling.on_error(state, answered(503)), RetryResult::Continue(_));
        pollers.iter().filter(|state| goes_on(state)).count()
    };
    assert_eq!((go_on(), go_on(), go_on()), (3000, 3000, 0));
}
