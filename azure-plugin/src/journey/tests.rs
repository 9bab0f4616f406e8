use std::sync::Arc;

use async_trait::async_trait;
use azure_core::error::ErrorKind;
use azure_core::http::headers::Headers;
use azure_core::http::{Request, StatusCode};
use cloud_governor::FakeClock;
use futures_util::FutureExt;

use super::*;

#[derive(Debug)]
struct Nothing;

#[async_trait]
impl Policy for Nothing {
    async fn send(&self, _: &Context, _: &mut Request, _: &[Arc<dyn Policy>]) -> PolicyResult {
        answer(200)
    }
}

fn answer(status: u16) -> PolicyResult {
    Ok(AsyncRawResponse::from_bytes(StatusCode::from(status), Headers::new(), ""))
}

fn error() -> Error {
    Error::with_message(ErrorKind::Other, "other")
}

fn pipeline() -> Vec<Arc<dyn Policy>> {
    (0..4).map(|_| Arc::new(Nothing) as Arc<dyn Policy>).collect()
}

fn journey(clock: &FakeClock, pipeline: &[Arc<dyn Policy>], timeout: Option<Duration>) -> Journey {
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    Journey::new(&pipeline[1..], &clock, timeout, false)
}

fn sent(journey: &Journey, next: &[Arc<dyn Policy>], outcome: PolicyResult) -> PolicyResult {
    let send = journey.send(next, false).expect("the outermost on the wire");
    send.within(std::future::ready(outcome)).now_or_never().flatten().expect("at once")
}

#[test]
fn every_place_behind_a_journeys_start_is_along_it_and_none_in_another_pipeline() {
    let (clock, one, other) = (FakeClock::new(), pipeline(), pipeline());
    let journey = journey(&clock, &one, None);
    let copy = one.clone();
    assert!((2..4).all(|place| journey.is_along(&one[place..]) && journey.is_along(&copy[place..])));
    assert!(!journey.is_along(&one[1..]), "a second journey begins there");
    assert!(!(0..4).any(|place| journey.is_along(&other[place..])));
    assert!(journey.send(&other[3..], false).is_none());
}

#[test]
fn the_outermost_watcher_of_the_wire_is_the_only_one() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, None);
    assert!(!journey.reached_the_wire());
    assert!(journey.send(&pipeline[2..], true).is_some());
    assert!(journey.send(&pipeline[3..], false).is_none(), "one that is further in");
    assert!(journey.was_authorized());
    assert!(journey.send(&pipeline[2..], false).is_some(), "the same, for another send");
    assert!(journey.reached_the_wire() && !journey.was_authorized());
}

#[test]
fn a_journey_is_over_once_its_attempt_has_come_back_or_was_dropped() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, None);
    let under_way = journey.under_way();
    assert!(!journey.is_over());
    drop(under_way);
    assert!(journey.is_over());
}

#[test]
fn the_time_of_all_sends_is_taken_from_the_attempts_and_no_other() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, Some(Duration::from_secs(5)));
    clock.advance(Duration::from_secs(60));
    for left in [3, 1] {
        let send = journey.send(&pipeline[2..], false).expect("the outermost");
        let slow = async {
            clock.advance(Duration::from_secs(2));
            answer(200)
        };
        assert!(send.within(slow).now_or_never().flatten().is_some());
        assert_eq!(journey.time_left(), Some(Duration::from_secs(left)));
    }
    let send = journey.send(&pipeline[2..], false).expect("the outermost");
    let mut late = Box::pin(send.within(std::future::pending()));
    assert!(late.as_mut().now_or_never().is_none());
    clock.advance(Duration::from_secs(1));
    assert!(late.now_or_never().expect("the time is over").is_none());
    assert!(matches!(journey.came(Err(error())), Came::Late(_)));
}

#[test]
fn what_was_held_is_what_came() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, None);
    let hold = |outcome: PolicyResult| journey.send(&pipeline[2..], false).expect("the outermost").hold(outcome);
    hold(answer(503));
    assert!(matches!(journey.came(Err(error())), Came::Answer(response) if u16::from(response.status()) == 503));
    hold(Err(Error::with_message(ErrorKind::Io, "broken")));
    assert!(matches!(journey.came(Err(error())), Came::Broken(error) if *error.kind() == ErrorKind::Io));
    hold(answer(503));
    assert!(matches!(journey.came(answer(200)), Came::Answer(response) if u16::from(response.status()) == 200));
}

#[test]
fn what_an_earlier_send_came_to_is_forgotten_with_the_next() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, None);
    journey.send(&pipeline[2..], false).expect("the outermost").hold(answer(503));
    sent(&journey, &pipeline[2..], answer(401)).expect("an answer");
    assert!(matches!(journey.came(Err(error())), Came::Above(_)));
}

#[test]
fn an_error_is_the_wires_only_if_the_wire_saw_one_last() {
    let (clock, pipeline) = (FakeClock::new(), pipeline());
    let journey = journey(&clock, &pipeline, None);
    assert!(matches!(journey.came(Err(error())), Came::Above(_)));
    sent(&journey, &pipeline[2..], Err(error())).expect_err("broken");
    assert!(matches!(journey.came(Err(error())), Came::Broken(_)));
    sent(&journey, &pipeline[2..], answer(401)).expect("an answer");
    assert!(matches!(journey.came(Err(error())), Came::Above(_)));
}
