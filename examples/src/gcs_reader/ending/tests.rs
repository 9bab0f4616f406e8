use std::collections::BTreeSet;

use super::*;

fn gave_up(reason: GiveUp) -> Ending {
    Ending::GaveUp(reason, String::new())
}

#[test]
fn every_way_to_end_has_an_exit_code_of_its_own() {
    let endings = [
        Ending::Read(0),
        Ending::Answered(String::new()),
        gave_up(GiveUp::RetriesExhausted),
        gave_up(GiveUp::DeadlineExceeded),
        gave_up(GiveUp::RetryBudgetExhausted),
        gave_up(GiveUp::CircuitOpen),
        Ending::BrokenOff(String::new()),
        Ending::Failed(String::new()),
    ];
    let codes: BTreeSet<_> = endings.iter().map(Ending::exit_code).collect();
    assert_eq!(codes.len(), endings.len());
    let others = [RefusalKind::AttemptTimedOut, RefusalKind::CallEnded, RefusalKind::RuntimeThread];
    assert!(others.iter().all(|kind| !codes.contains(&kind.exit_code())));
    assert!(!codes.contains(&crate::inventory::UNUSABLE) && !codes.contains(&crate::inventory::INTERRUPTED));
}

#[test]
fn without_a_reason_to_give_up_an_answer_is_the_service_s_own_and_a_broken_connection_is_the_body_s() {
    let report = CallReport::new();
    let answer = Error::http(404, hyper::HeaderMap::new(), bytes::Bytes::new());
    assert_eq!(Ending::of(&answer, &report), Ending::Answered("an error without a code (HTTP 404)".to_owned()));
    assert_eq!(Ending::of(&Error::timeout("late"), &report), Ending::BrokenOff("timed out".to_owned()));
    assert!(matches!(Ending::of(&Error::io("reset"), &report), Ending::BrokenOff(_)));
    assert!(matches!(Ending::of(&Error::deser("checksum"), &report), Ending::Failed(_)));
}
