use cloud_governor::{Governor, Scope};

use super::*;
use crate::common;

fn operation(key: &str) -> Arc<Operation> {
    let scope = Scope::new("aws", "1", "eu-west-1", "ssm");
    Operation::new(Some(key.to_owned()), scope, Governor::builder().build(), false)
}

fn parked(registry: &Registry) -> usize {
    registry.lock().parked.len()
}

#[test]
fn an_operation_is_known_as_long_as_it_lives_and_its_id_is_free_again_then() {
    let registry = Registry::default();
    let first = operation("id");
    assert!(registry.register(&first));
    assert!(!registry.register(&operation("id")), "taken");
    assert!(registry.find("id").is_some());
    drop(first);
    assert!(registry.find("id").is_none());
    assert!(registry.register(&operation("id")));
}

#[test]
fn the_longest_parked_operation_goes_when_there_are_too_many() {
    let registry = Registry::default();
    for number in 0..=MOST_PARKED {
        registry.park(operation(&number.to_string()));
    }
    assert_eq!(parked(&registry), MOST_PARKED);
    assert!(registry.unpark("0").is_none());
    assert!(registry.unpark("1").is_some());
}

#[test]
fn an_operation_that_nobody_came_back_for_goes_when_its_time_is_over() {
    let registry = Registry::default();
    registry.park(operation("old"));
    let parked_at = registry.lock().parked.front().map(|parked| parked.since).expect("parked");
    assert!(registry.lock().stale(parked_at + KEPT_FOR / 2).is_empty());
    assert_eq!(registry.lock().stale(parked_at + KEPT_FOR).len(), 1);
    assert_eq!(parked(&registry), 0);
}

/// Invocation ids of the SDK's own making, which no other unit test has.
fn left_behind() -> usize {
    let entries = REGISTRY.lock();
    let parked = entries.parked.iter().filter_map(|parked| parked.operation.key());
    entries.running.keys().map(String::as_str).chain(parked).filter(|key| key.len() == 36).count()
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_and_calls_that_are_dropped_anywhere_leave_nothing_in_the_registry() {
    let server = common::Server::new(|_, number| match number % 4 {
        0 => common::Reply::new(429, "").after(Duration::from_millis(30)),
        1 => common::Reply::Broken { status: 200, start: "{".into() },
        _ => common::Reply::parameter().after(Duration::from_millis(50)),
    });
    let governor = common::governor(|aws| aws.max_rps(100.0).floor_rps(50.0).retry_budget(1000).breaker_failures(1000));
    let client = common::ssm(&server, &governor);
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let patience = if number % 2 == 0 { 3_600_000 } else { (number * 7919) % 2000 };
            tokio::spawn(tokio::time::timeout(Duration::from_millis(patience), client.get_parameter().name("a").send()))
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(left_behind() > 0);
    for call in calls {
        let _answered_or_dropped = call.await.expect("no panic");
    }
    assert_eq!(left_behind(), 0);
}
