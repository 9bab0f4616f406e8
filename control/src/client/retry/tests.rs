use super::*;
use crate::server::{Shape, Tells};

const THROTTLED: Answer = Answer::Throttled { shape: Shape::Aws503, told: None };
const FAILED: Answer = Answer::Failed { status: 500 };

#[test]
fn the_standard_retry_makes_three_attempts() {
    let retry = StandardRetry::new(1);
    assert!(retry.after(1, FAILED).is_some());
    assert!(retry.after(2, FAILED).is_some());
    assert!(retry.after(3, FAILED).is_none());
}

#[test]
fn the_quota_pays_for_a_hundred_throttles_or_thirty_five_failures() {
    let count = |answer| {
        let retry = StandardRetry::new(1);
        std::iter::from_fn(|| retry.after(1, answer)).count()
    };
    assert_eq!(count(THROTTLED), 100);
    assert_eq!(count(FAILED), 35);
}

#[test]
fn a_success_gives_back_what_its_retry_took_and_one_otherwise() {
    let retry = StandardRetry::new(1);
    while retry.after(1, THROTTLED).is_some() {}
    retry.succeeded(Some(5.0));
    assert!(retry.after(1, THROTTLED).is_some());
    for _ in 0..4 {
        retry.succeeded(None);
        assert!(retry.after(1, THROTTLED).is_none());
    }
    retry.succeeded(None);
    assert!(retry.after(1, THROTTLED).is_some());
}

#[test]
fn the_server_s_wait_counts_within_five_seconds() {
    let told = |wait| Answer::Throttled { shape: Shape::Aws503, told: Some((Tells::RetryAfter, wait)) };
    let waits = |answer| StandardRetry::new(1).after(1, answer).map(|(wait, _)| wait).unwrap();
    assert!(waits(THROTTLED) <= 1.0);
    assert_eq!(waits(told(2.0)), 2.0);
    assert!((5.0..=6.0).contains(&waits(told(60.0))));
}

#[test]
fn the_patient_wait_longer_each_time_and_never_less_than_told() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut patient = Patient::new();
    let waits: Vec<f64> = (1..).map_while(|sends| patient.after(sends, FAILED, &mut rng)).collect();
    assert_eq!(waits.len(), 8);
    assert!(waits.iter().all(|wait| (0.5..=20.0).contains(wait)));
    let told = Answer::Throttled { shape: Shape::Azure429, told: Some((Tells::RetryAfter, 60.0)) };
    assert_eq!(Patient::new().after(1, told, &mut rng), Some(60.0));
}
