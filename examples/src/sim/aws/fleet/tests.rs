use super::*;

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_gives_another() {
    let fleet = |seed| Fleet::seeded(seed, &FleetSize::default()).expect("a possible size");
    assert_eq!(fleet(1), fleet(1));
    assert_ne!(fleet(1).totals(), fleet(2).totals());
}

#[test]
fn totals_add_up_what_the_estates_hold() {
    let size =
        FleetSize { accounts: 2, regions: 3, log_groups: 5..=5, log_streams: 4..=4, parameters: 7..=7, secrets: 1..=1 };
    let totals = Fleet::seeded(9, &size).expect("a possible size").totals();
    assert_eq!(totals, Totals { accounts: 2, log_groups: 30, log_streams: 120, parameters: 42, secrets: 6 });
}

#[test]
fn accounts_are_found_by_id_and_by_key() {
    let fleet = Fleet::seeded(3, &FleetSize::default()).expect("a possible size");
    for account in fleet.accounts() {
        assert_eq!(account.id().len(), 12);
        assert_eq!(account.access_key_id().len(), 20);
        assert_eq!(account.secret_access_key().len(), 40);
        assert_eq!(fleet.account(account.id()), Some(account));
        assert_eq!(fleet.account_of_key(account.access_key_id()), Some(account));
    }
}

#[test]
fn an_impossible_size_is_refused_by_name() {
    let refused = |change: fn(&mut FleetSize)| {
        let mut size = FleetSize::default();
        change(&mut size);
        Fleet::seeded(1, &size).expect_err("impossible")
    };
    assert_eq!(refused(|size| size.accounts = 0), FleetError::Accounts(0));
    assert_eq!(refused(|size| size.regions = 13), FleetError::Regions(13));
    #[expect(clippy::reversed_empty_ranges, reason = "the mistake under test")]
    let error = refused(|size| size.secrets = 2..=1);
    assert!(matches!(error, FleetError::Resources("secrets", _)));
}

#[test]
fn debug_shows_no_key() {
    let fleet = Fleet::seeded(3, &FleetSize::default()).expect("a possible size");
    let account = &fleet.accounts()[0];
    assert!(!format!("{account:?}").contains(account.secret_access_key()));
}
