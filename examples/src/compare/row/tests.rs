use super::*;
use crate::inventory::LOST;

fn row(mode: Contender, exit_code: u8) -> Row {
    Row {
        mode,
        job: Load::Base,
        wall_s: 1.0,
        ideal_s: 1.0,
        ratio: Some(1.0),
        requests: 1,
        throttled: 0,
        throttled_share: 0.0,
        faulted: 0,
        lost: u64::from(exit_code),
        listed: 1,
        requeues: 0,
        exit_code,
        actions: BTreeMap::new(),
    }
}

#[test]
fn what_the_plain_sdk_loses_is_no_failure_of_the_comparison() {
    let plain = [Contender::Adaptive, Contender::Standard, Contender::StandardAlone].map(|mode| row(mode, LOST));
    assert_eq!(exit_code(&plain, false), 0);
}

#[test]
fn what_the_governor_loses_is_with_its_own_code() {
    for (mode, code) in [(Contender::Governed, 69), (Contender::Learning, LOST)] {
        let rows = [row(Contender::Governed, 0), row(Contender::Standard, LOST), row(mode, code)];
        assert_eq!(exit_code(&rows, false), code);
    }
}

#[test]
fn stopping_outdoes_a_loss() {
    assert_eq!(exit_code(&[row(Contender::Governed, LOST)], true), INTERRUPTED);
}

#[test]
fn a_share_of_nothing_is_none() {
    assert_eq!(share(0, 0), 0.0);
    assert_eq!(share(1, 4), 0.25);
}
