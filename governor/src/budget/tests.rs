use proptest::prelude::*;

use super::*;

#[test]
fn an_empty_budget_pays_for_nothing() {
    assert!(Arc::new(RetryBudget::new(0)).charge().is_none());
}

#[test]
fn a_charge_that_is_dropped_comes_back_and_one_that_is_spent_does_not() {
    let budget = Arc::new(RetryBudget::new(2));
    drop(budget.charge());
    assert_eq!(budget.available(), 2);
    budget.charge().unwrap().spend();
    assert_eq!(budget.available(), 1);
}

#[test]
fn is_full_again_after_ten_answers_for_each_retry() {
    let budget = Arc::new(RetryBudget::new(500));
    while let Some(charge) = budget.charge() {
        charge.spend();
    }
    (0..4_999).for_each(|_| budget.refund());
    assert!(!budget.is_full());
    budget.refund();
    assert!(budget.is_full());
    (0..10_000).for_each(|_| budget.refund());
    assert_eq!(budget.available(), 500, "never above its capacity");
}

#[test]
fn resizing_keeps_what_was_spent_spent() {
    let budget = Arc::new(RetryBudget::new(10));
    (0..4).for_each(|_| budget.charge().unwrap().spend());
    budget.resize(20);
    assert_eq!(budget.available(), 16);
    budget.resize(3);
    assert_eq!(budget.available(), 0);
    budget.reset();
    assert_eq!(budget.available(), 3);
}

/// joshrotenberg/tower-resilience#370: a racy load and store lost deposits.
#[test]
fn loses_no_deposit_and_pays_nothing_twice_across_threads() {
    let budget = Arc::new(RetryBudget::new(1_000));
    let spent: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..1_000).filter_map(|_| budget.charge()).map(Charge::spend).count()))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(spent, 1_000);
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| (0..1_000).for_each(|_| budget.refund()))));
    });
    assert_eq!(budget.available(), 400);
}

proptest! {
    /// However answers and retries interleave, retries never exceed a tenth of the answers and the reserve
    /// (tower-rs/tower#857: a share of 60 % was cut to 100 %).
    #[test]
    fn retries_stay_within_a_tenth_of_the_answers_and_the_reserve(
        capacity in 0_u32..50,
        steps in prop::collection::vec(any::<bool>(), 0..2_000),
    ) {
        let budget = Arc::new(RetryBudget::new(capacity));
        let (mut answers, mut retries) = (0_u64, 0_u64);
        for answer in steps {
            if answer {
                budget.refund();
                answers += 1;
            } else if let Some(charge) = budget.charge() {
                charge.spend();
                retries += 1;
            }
            prop_assert!(retries * 10 <= answers + u64::from(capacity) * 10);
        }
    }
}
