use std::time::Duration;

use super::*;

fn scope() -> Scope {
    Scope::new("gcp", "projects/p", "", "pubsub")
}

fn refusal(kind: RefusalKind) -> Refusal {
    Refusal::new(kind, scope(), "because", None)
}

#[test]
fn a_scope_and_a_policy_are_options() {
    assert_eq!(CallOptions::from(scope()).own_scope(), Some(&scope()));
    assert_eq!(CallOptions::from(RetryPolicy::none()).own_policy(), Some(RetryPolicy::none()));
    let plain = CallOptions::new();
    assert_eq!((plain.own_scope(), plain.own_policy(), plain.own_idempotence()), (None, None, None));
    assert!(!plain.is_skipped() && plain.skip().is_skipped());
}

#[test]
fn a_report_is_empty_before_anything_happens_and_its_clones_are_one() {
    let report = CallReport::new();
    assert_eq!((report.attempts(), report.scope(), report.gave_up()), (0, None, None));
    let options = CallOptions::new().report(&report);
    options.note_admitted(&scope());
    options.note_given_up(GiveUp::Stopped);
    let clone = report.clone();
    assert_eq!((clone.attempts(), clone.scope(), clone.gave_up()), (1, Some(scope()), Some(GiveUp::Stopped)));
}

#[test]
fn a_report_forgets_why_retrying_stopped_when_a_call_is_done_and_not_when_one_goes_on() {
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    options.note_verdict(Verdict::GiveUp(GiveUp::RetriesExhausted));
    options.note_verdict(Verdict::Retry { delay: Duration::ZERO });
    assert_eq!(report.gave_up(), Some(GiveUp::RetriesExhausted));
    options.note_verdict(Verdict::Done);
    assert_eq!(report.gave_up(), None);
}

#[test]
fn a_refusal_is_reported_with_its_reason_and_its_scope() {
    for (kind, reason) in [
        (RefusalKind::CircuitOpen, GiveUp::CircuitOpen),
        (RefusalKind::DeadlineExceeded, GiveUp::DeadlineExceeded),
        (RefusalKind::RetryBudgetExhausted, GiveUp::RetryBudgetExhausted),
        (RefusalKind::AttemptTimedOut, GiveUp::Stopped),
    ] {
        let report = CallReport::new();
        CallOptions::new().report(&report).note_refused(&refusal(kind));
        assert_eq!((report.gave_up(), report.scope(), report.attempts()), (Some(reason), Some(scope()), 0));
    }
}
