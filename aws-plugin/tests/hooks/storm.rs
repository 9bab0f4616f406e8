//! Very many calls at once, and half of them dropped wherever they are.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_ssm::config::{Builder, IdentityCache};
use cloud_governor::Scope;
use cloud_governor_aws::{AwsHooks, GovernorInterceptor};
use tokio::time::timeout;

use crate::common::{ACCOUNT, Reply, Server, governor, plain, seconds, totals};

fn leaf() -> Scope {
    Scope::new("aws", ACCOUNT, "eu-west-1", "ssm")
}

async fn storm(calls: u64, change: impl FnOnce(Builder) -> Builder) {
    let server = Server::new(|_, number| match number % 10 {
        0 => Reply::json_error(400, "ThrottlingException").after(Duration::from_millis(30)),
        1 => Reply::Reset,
        2 => Reply::Broken { status: 200, start: "{".into() },
        _ => Reply::parameter().after(Duration::from_millis(50)),
    });
    let governor = governor(|aws| {
        let aws = aws.max_rps(100.0).floor_rps(50.0).retry_budget(100_000).breaker_failures(100_000);
        aws.account_concurrency(NonZeroUsize::new(10).expect("not zero")).max_retries(14)
    });
    let config = AwsHooks::builder().account(ACCOUNT).governor(governor.clone()).install(&plain(&server).build());
    let client = aws_sdk_ssm::Client::from_conf(change(Builder::from(&config)).build());
    let running: Vec<_> = (0..calls)
        .map(|number| {
            let call = client.get_parameter().name("a").send();
            let patience = match number % 2 {
                0 => seconds(3600),
                _ => Duration::from_millis(number.wrapping_mul(7919) % 5000),
            };
            tokio::spawn(timeout(patience, call))
        })
        .collect();
    let (mut answered, mut dropped) = (0, 0);
    for (number, call) in running.into_iter().enumerate() {
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
    assert!(answered >= calls / 2 && dropped > calls / 10, "{answered} {dropped}");
    let seen = governor.inspect(&leaf()).expect("a leaf");
    assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0), "{seen:?}");
    assert_eq!(totals(&governor).calls, server.count() as u64);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_at_once_all_end_and_half_of_them_dropped_leave_nothing_behind() {
    storm(1000, |config| config).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_the_same_with_the_interceptor() {
    storm(300, |config| config.interceptor(GovernorInterceptor::new())).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_the_same_with_the_interceptor_and_without_a_gate() {
    storm(300, |config| config.interceptor(GovernorInterceptor::new()).identity_cache(IdentityCache::no_cache())).await;
}
