use cloud_governor::Governor;

use super::*;
use crate::testing::{Bench, governor};

fn bench() -> (Governor, Bench) {
    let governor = governor(|gcp| gcp);
    let bench = Bench::new(&governor);
    (governor, bench)
}

#[tokio::test]
async fn an_inner_call_replaces_an_outer_one_while_it_lasts() {
    let (_, bench) = bench();
    let skips = || Context::current(&bench.client).options().is_skipped();
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
