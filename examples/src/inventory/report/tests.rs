use super::*;
use crate::inventory::{Progress, aws};

const IDENTITY: Kind = Kind::Aws(aws::Kind::Identity);
const SECRETS: Kind = Kind::Aws(aws::Kind::Secrets);

fn listing(account: &str, region: &str, kind: Kind, progress: Progress) -> Ended {
    Ended { place: Place { account: account.to_owned(), region: region.to_owned() }, kind, progress }
}

fn complete() -> Progress {
    Progress { ended: true, ..Progress::default() }
}

#[test]
fn the_exit_code_tells_the_last_cause_of_a_loss() {
    assert_eq!(exit_code(false, false, None), 0);
    assert_eq!(exit_code(false, true, None), LOST);
    assert_eq!(exit_code(false, true, Some(RefusalKind::CircuitOpen)), RefusalKind::CircuitOpen.exit_code());
    assert_eq!(exit_code(true, true, Some(RefusalKind::CircuitOpen)), INTERRUPTED);
}

#[test]
fn an_account_is_listed_once_every_region_of_it_answered() {
    let listings = [
        listing("1", "a", IDENTITY, complete()),
        listing("1", "b", IDENTITY, complete()),
        listing("2", "a", IDENTITY, complete()),
        listing("2", "b", IDENTITY, Progress::default()),
        listing("3", "a", SECRETS, complete()),
    ];
    assert_eq!(accounts(&listings), 1);
}

#[test]
fn a_place_adds_up_its_listings_and_takes_the_account_s_name_once_it_is_known() {
    let known = Progress { account: Some("123456789012".to_owned()), ..complete() };
    let found = Progress { found: Found { secrets: 3, ..Found::default() }, ..Progress::default() };
    let listings = [listing("dev", "a", IDENTITY, known), listing("dev", "a", SECRETS, found)];
    let rows = places(&listings);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].place.account.as_str(), rows[0].found.secrets, rows[0].incomplete), ("123456789012", 3, 1));
}
