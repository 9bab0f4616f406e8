use cloud_governor::{Governor, Scope};

use super::*;

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
