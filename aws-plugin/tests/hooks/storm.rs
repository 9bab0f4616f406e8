//! Thousands of calls at once, and half of them dropped wherever they are.

use std::num::NonZeroUsize;
use std::time::Duration;

use cloud_governor::Scope;
use tokio::time::timeout;

use crate::common::{ACCOUNT, Reply, Server, governor, seconds, ssm, totals};

fn leaf() -> Scope {
    Scope::new("aws", ACCOUNT, "eu-west-1", "ssm")
}

#[tokio::test(start_paused = true)]
async fn thousands_of_calls_at_once_all_end_and_half_of_them_dropped_leave_nothing_behind() {
    const CALLS: u64 = 2_000;
    let server = Server::new(|_, number| match number % 10 {
        0 => Reply::json_error(400, "ThrottlingException").after(Duration::from_millis(30)),
        1 => Reply::Reset,
        2 => Reply::Broken { status: 200, start: "{".into() },
        _ => Reply::parameter().after(Duration::from_millis(50)),
    });
    let governor = governor(|aws| {
        let aws = aws.max_rps(400.0).floor_rps(100.0).retry_budget(100_000).breaker_failures(100_000);
        aws.account_concurrency(NonZeroUsize::new(20).expect("not zero")).max_retries(14)
    });
    let client = ssm(&server, &governor);
    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            let call = client.get_parameter().name("a").send();
            let patience = match number % 2 {
                0 => seconds(3600),
                _ => Duration::from_millis(number.wrapping_mul(7919) % 9000),
            };
            tokio::spawn(timeout(patience, call))
        })
        .collect();
    let (mut answered, mut dropped) = (0, 0);
    for (number, call) in calls.into_iter().enumerate() {
        match call.await.expect("no panic") {
            Ok(answer) => {
                answer.expect("an answer");
                answered += 1;
            }
            Err(_) => {
                assert_eq!(number % 2, 1, "only the impatient are dropped");
                dropped += 1;
            }
        }
    }
    assert!(answered >= CALLS / 2 && dropped > CALLS / 10, "{answered} {dropped}");
    let seen = governor.inspect(&leaf()).expect("a leaf");
    assert_eq!((seen.slots_in_use, seen.waiting_for_rate), (0, 0), "{seen:?}");
    assert_eq!(totals(&governor).calls, server.count() as u64);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
