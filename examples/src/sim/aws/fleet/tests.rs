use super::*;

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_gives_another() {
    let fleet = |seed| Fleet::seeded(seed, &FleetSize::default()).expect("a possible size");
    assert_eq!(fleet(1), fleet(1));
    assert_ne!(fleet(1).totals(), fleet(2).totals());
}

#[test]
fn totals_add_up_what_the_estates_hold() {
    let ec2 = Ec2Size { vpcs: 2..=2, instances: 9..=9, volumes: 8..=8, subnets: 3..=3, security_groups: 5..=5 };
    let size = FleetSize {
        accounts: 2,
        regions: 3,
        log_groups: 5..=5,
        log_streams: 4..=4,
        parameters: 7..=7,
        secrets: 1..=1,
        ec2,
    };
    let totals = Fleet::seeded(9, &size).expect("a possible size").totals();
    let expected = Totals {
        accounts: 2,
        log_groups: 30,
        log_streams: 120,
        parameters: 42,
        secrets: 6,
        vpcs: 12,
        subnets: 36,
        security_groups: 60,
        instances: 54,
        volumes: 48,
    };
    assert_eq!(totals, expected);
}

#[test]
fn what_is_in_ec2_does_not_move_the_rest() {
    let fleet = |ec2: Ec2Size| Fleet::seeded(1, &FleetSize { ec2, ..FleetSize::default() }).expect("a possible size");
    let (some, more) = (fleet(Ec2Size::default()), fleet(Ec2Size { vpcs: 50..=90, ..Ec2Size::default() }));
    assert_ne!(some.totals().vpcs, more.totals().vpcs);
    for (some, more) in some.accounts().iter().zip(more.accounts()) {
        assert_eq!(some.secret_access_key(), more.secret_access_key());
        for region in REGIONS {
            let (some, more) = (some.estate(region), more.estate(region));
            assert_eq!((&some.log_groups, &some.parameters), (&more.log_groups, &more.parameters));
            assert_eq!(some.secrets, more.secrets);
        }
    }
}

#[test]
fn one_region_of_each_account_holds_the_most_of_ec2() {
    let ec2 = Ec2Size { vpcs: 10..=99, instances: 7..=300, volumes: 0..=200, ..Ec2Size::default() };
    let mut busiest = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let size = FleetSize { regions: 4, ec2: ec2.clone(), ..FleetSize::default() };
        let fleet = Fleet::seeded(seed, &size).expect("a possible size");
        for account in fleet.accounts() {
            let counts =
                |estate: &Estate| (estate.ec2.vpcs.len(), estate.ec2.instances.len(), estate.ec2.volumes.len());
            let (full, few): (Vec<_>, Vec<_>) =
                account.estates.iter().partition(|(_, estate)| counts(estate) == (99, 300, 200));
            assert_eq!(full.len(), 1, "seed {seed}");
            assert!(few.iter().all(|(_, estate)| (10..=15).contains(&estate.ec2.vpcs.len())), "seed {seed}");
            busiest.insert(*full[0].0);
        }
    }
    assert_eq!(busiest.len(), 4, "it is not always the same");
}

#[test]
fn instances_are_in_subnets_that_there_are_and_none_in_a_place_without() {
    let ec2 = Ec2Size { instances: 40..=40, ..Ec2Size::default() };
    let fleet = |ec2: Ec2Size| Fleet::seeded(4, &FleetSize { ec2, ..FleetSize::default() }).expect("a possible size");
    let some = fleet(ec2.clone());
    let mut seen = 0;
    for estate in some.accounts().iter().flat_map(|account| account.estates.values()) {
        for instance in &estate.ec2.instances {
            let vpc = estate.ec2.vpcs.iter().find(|vpc| vpc.id == instance.vpc).expect("its VPC");
            assert!(vpc.subnets.contains(&instance.subnet));
            seen += 1;
        }
    }
    assert_eq!(seen, some.totals().instances);
    assert_eq!(fleet(Ec2Size { subnets: 0..=0, ..ec2 }).totals().instances, 0);
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
    let error = refused(|size| size.ec2.subnets = 0..=2_000_000);
    assert!(matches!(error, FleetError::Resources("subnets", _)));
    let error = refused(|size| (size.ec2.vpcs, size.ec2.subnets) = (0..=1_000_000, 0..=1_000_000));
    assert!(matches!(error, FleetError::Whole(1_000_000_000_000..)), "{error}");
    let error = refused(|size| (size.accounts, size.regions, size.ec2.instances) = (10_000, 12, 0..=1_000_000));
    assert!(matches!(error, FleetError::Whole(_)), "{error}");
}

/// It is what decides whether there is memory for a fleet.
#[test]
fn no_fleet_has_more_than_its_size_may_come_to() {
    for seed in 0..20 {
        let size = FleetSize { accounts: 2, regions: 3, ..FleetSize::default() };
        let totals = Fleet::seeded(seed, &size).expect("a possible size").totals();
        let ec2 = totals.vpcs + totals.subnets + totals.security_groups + totals.instances + totals.volumes;
        assert!(totals.log_groups + totals.parameters + totals.secrets + ec2 <= size.most(), "{seed}");
    }
    let ec2 = Ec2Size { vpcs: 2..=2, instances: 9..=9, volumes: 8..=8, subnets: 3..=3, security_groups: 5..=5 };
    let size = FleetSize {
        accounts: 2,
        regions: 3,
        log_groups: 5..=5,
        parameters: 7..=7,
        secrets: 1..=1,
        ec2,
        ..FleetSize::default()
    };
    assert_eq!(size.most(), 30 + 42 + 6 + 12 + 36 + 60 + 54 + 48);
}

#[test]
fn debug_shows_no_key() {
    let fleet = Fleet::seeded(3, &FleetSize::default()).expect("a possible size");
    let account = &fleet.accounts()[0];
    assert!(!format!("{account:?}").contains(account.secret_access_key()));
}
