use cloud_governor::{FakeClock, Governor};
use google_cloud_gax_internal::observability::{ClientRequestAttributes, RequestRecorder};
use google_cloud_gax_internal::options::InstrumentationClientInfo;
use proptest::prelude::*;

use super::*;
use crate::call::Context;
use crate::testing::{ACCOUNT, Bench, config, fast, seconds};

fn recorder(resource: &str) -> RequestRecorder {
    let recorder = RequestRecorder::new(InstrumentationClientInfo::default());
    recorder.on_client_request(ClientRequestAttributes::default().set_resource_name(resource.to_owned()));
    recorder
}

async fn request(recorder: &RequestRecorder) -> Request {
    recorder.clone().scope(async { Ok(Request::current()) }).await.unwrap()
}

fn journey(bench: &Bench, request: Request) -> Journey {
    Journey::begin(&bench.client, &Context::current(&bench.client), request, true)
}

fn governor(clock: &FakeClock) -> Governor {
    Governor::builder().config(config(fast)).clock(clock.clone()).build()
}

fn any(_: &Parked) -> Option<u32> {
    Some(0)
}

#[tokio::test]
async fn each_of_many_is_found_by_its_own_recorder() {
    let bench = Bench::new(&Governor::default());
    let store = Store::unleased();
    let recorders: Vec<_> = (0..500).map(|number| recorder(&format!("//host/projects/p{number}"))).collect();
    for recorder in &recorders {
        store.park(journey(&bench, request(recorder).await), Stage::Between, seconds(1));
    }
    // From the middle outwards, and each once.
    for index in (0..500).map(|step| (250 + step * 7) % 500) {
        let request = request(&recorders[index]).await;
        let found = store.take(&bench.client, &request, any).unwrap();
        assert!(found.journey.request.recognised(|is_it| is_it(&request)));
        assert!(store.take(&bench.client, &request, any).is_none());
    }
}

#[tokio::test]
async fn without_a_recorder_the_one_of_the_task_that_waited_longest_comes_first() {
    let bench = Bench::new(&Governor::default());
    let store = Store::unleased();
    store.park(journey(&bench, request(&recorder("//host/projects/p")).await), Stage::Between, seconds(1));
    let mut starts = Vec::new();
    for _ in 0..2 {
        let request = Request::current();
        starts.push(request.earliest);
        store.park(journey(&bench, request), Stage::Between, seconds(1));
    }
    let take = || store.take(&bench.client, &Request::current(), any).unwrap();
    let (first, second) = (take(), take());
    assert_eq!([first.journey.request.earliest, second.journey.request.earliest], starts[..]);
    assert!(store.take(&bench.client, &Request::current(), any).is_none());
}

#[tokio::test]
async fn a_client_and_a_stage_are_asked_for_too() {
    let bench = Bench::new(&Governor::default());
    let other = Bench::new(&Governor::default());
    let store = Store::unleased();
    store.park(journey(&bench, Request::current()), Stage::Between, seconds(1));
    let request = Request::current();
    assert!(store.take(&other.client, &request, any).is_none());
    assert!(store.take(&bench.client, &request, |parked| parked.if_in_flight(None)).is_none());
    assert!(store.take(&bench.client, &request, any).is_some());
}

#[tokio::test]
async fn a_closed_store_keeps_nothing() {
    let governor = governor(&FakeClock::new());
    let bench = Bench::new(&governor);
    let store = Store::unleased();
    for _ in 0..2 {
        let mut journey = journey(&bench, request(&recorder(&format!("//host/{ACCOUNT}/secrets/s"))).await);
        let attempt = journey.admit(&bench.client).await.unwrap();
        let scope = journey.call.scope().clone();
        let slots = || governor.inspect(&scope).unwrap().slots_in_use;
        assert_eq!(slots(), 1);
        // The second comes to one that is closed already.
        store.park(journey, Stage::InFlight(attempt), seconds(1));
        store.close();
        assert_eq!(slots(), 0);
        assert!(store.lock().parked.is_empty());
    }
}

proptest! {
    /// Whenever a sweep comes, exactly those are gone whose lease has ended.
    #[test]
    fn leases_end_when_they_end(
        steps in prop::collection::vec((0_u64..20, prop::option::of(1_u64..60)), 1..60),
    ) {
        let clock = FakeClock::new();
        let governor = governor(&clock);
        let bench = Bench::new(&governor);
        let store = Store::leased(Arc::clone(governor.clock()));
        let (mut now, mut ends) = (0, Vec::new());
        for (step, lease) in steps {
            clock.advance(seconds(step));
            now += step;
            if let Some(lease) = lease {
                store.park(journey(&bench, Request::current()), Stage::Between, seconds(lease));
                ends.push(now + lease);
            } else {
                store.sweep();
            }
            ends.retain(|end| *end > now);
            prop_assert_eq!(store.lock().parked.len(), ends.len());
        }
    }
}
