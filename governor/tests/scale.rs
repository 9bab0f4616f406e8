//! Many calls at once, on a paused clock: order, lateness, and what one scope does to another.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloud_governor::{Governor, MAX_LEAVES, Outcome, RetryPolicy, Scope};
use common::*;
use tokio::task::JoinHandle;
use tokio::time::Instant;

const CALLS: usize = 10_000;
const RATE: f64 = 50.0;
const BURST: f64 = 2.0;
const PATIENT: &str = "ratelimit: { github: { max_rps: 50, burst: 2, deadline: 1000 } }";
/// How much later than its time a call may be sent: the runtime's timer goes in milliseconds.
const LATE: f64 = 0.005;

type Sent = Arc<Mutex<Vec<(usize, Instant)>>>;

/// Begins calls one after the other, so that their order in line is known.
async fn begin(governor: &Governor, calls: usize) -> (Sent, Vec<JoinHandle<()>>) {
    let sent = Sent::default();
    let mut tasks = Vec::with_capacity(calls);
    for number in 0..calls {
        let (governor, sent) = (governor.clone(), Arc::clone(&sent));
        tasks.push(tokio::spawn(async move {
            let mut call = governor.call(&scope());
            let attempt = admit(&mut call).await;
            sent.lock().unwrap().push((number, Instant::now()));
            attempt.finish(Outcome::Success);
        }));
    }
    tokio::task::yield_now().await;
    (sent, tasks)
}

fn assert_on_time(sent: &Sent, start: Instant, expected: impl Iterator<Item = usize>) {
    let sent = sent.lock().unwrap();
    assert!(sent.iter().map(|(number, _)| *number).eq(expected), "first come, first served");
    for (index, (number, at)) in sent.iter().enumerate() {
        let (due, at) = ((index as f64 + 1.0 - BURST).max(0.0) / RATE, at.duration_since(start).as_secs_f64());
        assert!(at >= due - 1e-6 && at <= due + LATE, "call {number} was due after {due} s and sent after {at} s");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_are_sent_in_order_and_on_time() {
    let governor = governor(PATIENT);
    let start = Instant::now();
    let (sent, tasks) = begin(&governor, CALLS).await;
    for task in tasks {
        task.await.unwrap();
    }
    assert_on_time(&sent, start, 0..CALLS);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0, "no task is left behind");
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0));
    assert_eq!(governor.summary().totals.calls, CALLS as u64);
}

#[tokio::test(start_paused = true)]
async fn half_of_ten_thousand_are_cancelled_in_line_and_the_rest_are_not_late() {
    let governor = governor(PATIENT);
    let start = Instant::now();
    let (sent, tasks) = begin(&governor, CALLS).await;
    // The first two were sent at once.
    let stays = |number: &usize| *number < 2 || number.is_multiple_of(2);
    tasks.iter().enumerate().filter(|(number, _)| !stays(number)).for_each(|(_, task)| task.abort());
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.is_ok(), stays(&number));
    }
    assert_on_time(&sent, start, (0..CALLS).filter(stays));
    assert_eq!(governor.inspect(&scope()).unwrap().waiting_for_rate, 0);
}

#[tokio::test(start_paused = true)]
async fn a_huge_queue_in_one_scope_does_not_delay_another() {
    let governor = governor(PATIENT);
    let (_, tasks) = begin(&governor, CALLS).await;
    for account in ["octo", "hooli"] {
        let other = Scope::new("github", account, "", "graphql");
        let start = Instant::now();
        admit(&mut governor.call(&other)).await.finish(Outcome::Success);
        assert_eq!(start.elapsed(), Duration::ZERO, "{account}");
    }
    tasks.iter().for_each(JoinHandle::abort);
}

/// aio-libs/aiobotocore#912: a slow limiter stalled everything else on the event loop.
#[tokio::test(start_paused = true)]
async fn a_slow_scope_never_makes_a_heartbeat_late() {
    let governor = governor("ratelimit: { github: { max_rps: 0.5, burst: 1, deadline: 1000 } }");
    let heartbeat = tokio::spawn(async {
        let start = Instant::now();
        for beat in 1..=600_u32 {
            tokio::time::sleep_until(start + Duration::from_millis(100) * beat).await;
            assert!(start.elapsed() <= Duration::from_millis(100) * beat + Duration::from_millis(1));
        }
    });
    let (_, tasks) = begin(&governor, 200).await;
    heartbeat.await.unwrap();
    tasks.iter().for_each(JoinHandle::abort);
}

/// kubernetes-sigs/karpenter#2104, eksctl-io/eksctl#7877, treeverse/lakeFS#6621: an empty quota killed whole loops.
#[tokio::test(start_paused = true)]
async fn a_throttle_storm_slows_calls_and_loses_none() {
    let governor = governor(
        "ratelimit: { github: { max_rps: 40, max_retries: 1000, retry_budget: 1000000, deadline: 100000, \
         base_delay: 1, max_backoff: 20 } }",
    );
    // The server: twenty tokens, five a second.
    let server = Arc::new(Mutex::new((20.0_f64, Instant::now())));
    let serves = move || {
        let mut server = server.lock().unwrap();
        let now = Instant::now();
        server.0 = (server.0 + now.duration_since(server.1).as_secs_f64() * 5.0).min(20.0);
        server.1 = now;
        let served = server.0 >= 1.0;
        server.0 -= f64::from(u8::from(served));
        served
    };
    let tasks: Vec<_> = (0..500)
        .map(|_| {
            let (governor, serves) = (governor.clone(), serves.clone());
            tokio::spawn(async move {
                let outcome = |_| if serves() { Outcome::Success } else { fails(cloud_governor::Class::Throttled) };
                run(&governor, &scope(), outcome).await.0
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Some(cloud_governor::Verdict::Done));
    }
    let totals = governor.summary().totals;
    assert_eq!((totals.gave_up, totals.rejected), (0, 0));
    assert!(totals.throttled * 5 < totals.calls, "slowing down comes first: {totals:?}");
}

/// turbot/steampipe-plugin-sdk#595: as many accounts in flight as there are, each within its own cap.
#[tokio::test(start_paused = true)]
async fn the_account_cap_holds_for_each_account_by_itself() {
    let governor = governor("ratelimit: { github: { account_concurrency: 3, max_rps: 1000 } }");
    let of = |account: usize| Scope::new("github", account.to_string(), "", "rest");
    let mut held = Vec::new();
    for account in 0..50 {
        for _ in 0..3 {
            held.push(admit(&mut governor.call(&of(account))).await);
        }
        let hurried = RetryPolicy::builder().deadline(secs(0.001)).build().unwrap();
        let elsewhere = Scope::new("github", account.to_string(), "", "graphql");
        assert!(governor.call(&elsewhere).policy(hurried).admit().await.is_err(), "services share the account's cap");
    }
    assert_eq!(held.len(), 150);
}

#[test]
fn beyond_the_hard_cap_newcomers_share_a_leaf_and_memory_stays() {
    let clock = cloud_governor::FakeClock::new();
    let governor = Governor::builder().clock(clock.clone()).build();
    let of = |index: usize| Scope::new("github", index.to_string(), "", "rest");
    let held: Vec<_> = (0..MAX_LEAVES).map(|index| governor.call(&of(index))).collect();
    for index in 0..2_000 {
        let mut call = governor.call(&of(MAX_LEAVES + index));
        assert_eq!(call.scope(), &of(MAX_LEAVES + index));
        call.limit_deadline(Duration::ZERO);
    }
    let leaves = governor.summary().scopes.len();
    assert!(leaves <= MAX_LEAVES + 1, "{leaves}");
    drop(held);
    clock.advance(secs(2.0));
    drop(governor.call(&of(2 * MAX_LEAVES)));
    let leaves = governor.summary().scopes.len();
    assert!(leaves < MAX_LEAVES, "{leaves}: there is room again");
    assert!(governor.inspect(&of(2 * MAX_LEAVES)).is_some());
}
