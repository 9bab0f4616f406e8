use cloud_governor::Governor;

use super::*;
use crate::testing::{ACCOUNT, Bench, governor, leaf};

fn bench() -> (Governor, Bench) {
    let governor = governor(|gcp| gcp);
    let bench = Bench::new(&governor);
    (governor, bench)
}

#[tokio::test]
async fn an_inner_call_replaces_an_outer_one_while_it_lasts() {
    let (_, bench) = bench();
    let skips = || Context::current(&bench.client).options().skip;
    let outer = async {
        assert!(skips());
        call(CallOptions::new(), async { assert!(!skips()) }).await;
        assert!(skips());
    };
    call(CallOptions::new().skip(), outer).await;
    assert!(!skips());
}

#[tokio::test]
async fn calls_outside_share_a_place_with_those_of_the_same_governor_alone() {
    let (governor, one) = bench();
    let same = Bench::new(&governor);
    let (_, other) = bench();
    let outside = |bench: &Bench| Context::current(&bench.client);
    assert!(Arc::ptr_eq(&outside(&one), &outside(&same)));
    assert!(Arc::ptr_eq(&outside(&one), &outside(&one)));
    assert!(!Arc::ptr_eq(&outside(&one), &outside(&other)));
}

#[tokio::test]
async fn places_of_governors_that_are_gone_go_too() {
    let (_, kept) = bench();
    let place = Context::current(&kept.client);
    let gone: Vec<_> = (0..3)
        .map(|_| {
            let (_, bench) = bench();
            Arc::downgrade(&Context::current(&bench.client))
        })
        .collect();
    assert!(gone.iter().all(|place| place.strong_count() == 0));
    assert!(Arc::strong_count(&place) > 1);
}

#[test]
fn a_scope_and_a_policy_are_options() {
    assert_eq!(CallOptions::from(leaf(ACCOUNT)).scope, Some(leaf(ACCOUNT)));
    assert_eq!(CallOptions::from(RetryPolicy::none()).policy, Some(RetryPolicy::none()));
}

#[test]
fn a_report_is_empty_before_anything_happens_and_its_clones_are_one() {
    let report = CallReport::new();
    assert_eq!((report.attempts(), report.scope(), report.gave_up()), (0, None, None));
    let context = Context { options: CallOptions::new().report(&report), store: Store::inside() };
    context.note_admitted(&leaf(ACCOUNT));
    context.note_given_up(GiveUp::Stopped);
    let clone = report.clone();
    assert_eq!((clone.attempts(), clone.scope(), clone.gave_up()), (1, Some(leaf(ACCOUNT)), Some(GiveUp::Stopped)));
    context.note_verdict(Verdict::Done);
    assert_eq!(report.gave_up(), None);
}
