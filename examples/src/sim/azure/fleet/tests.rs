use super::*;

fn fleet(seed: u64) -> Fleet {
    Fleet::seeded(seed, &FleetSize { principals: 2, ..FleetSize::default() }).expect("a possible size")
}

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_gives_another() {
    assert_eq!(fleet(1), fleet(1));
    assert_ne!(fleet(1), fleet(2));
}

#[test]
fn what_is_there_is_found_by_name_in_its_own_group_only() {
    let fleet = fleet(3);
    for subscription in fleet.subscriptions() {
        assert_eq!(fleet.subscription(&subscription.id), Some(subscription));
        for machine in &subscription.machines {
            assert_eq!(subscription.machine(&machine.group, &machine.name), Some(machine));
            assert_eq!(subscription.machine("another", &machine.name), None);
        }
        for network in &subscription.networks {
            assert_eq!(subscription.network(&network.group, &network.name), Some(network));
        }
    }
    assert_eq!(fleet.principal(fleet.principals()[1].client_id()), Some(&fleet.principals()[1]));
    assert_eq!(fleet.principal(fleet.tenant()), None);
}

#[test]
fn a_subscription_without_groups_has_nothing() {
    let size = FleetSize { resource_groups: 0..=0, ..FleetSize::default() };
    let totals = Fleet::seeded(1, &size).expect("a possible size").totals();
    assert_eq!(totals, Totals { subscriptions: 3, ..Totals::default() });
}

#[test]
fn totals_add_up_what_the_subscriptions_hold() {
    let size = FleetSize {
        subscriptions: 4,
        principals: 1,
        resource_groups: 2..=2,
        virtual_networks: 3..=3,
        subnets: 5..=5,
        virtual_machines: 7..=7,
    };
    let totals = Fleet::seeded(1, &size).expect("a possible size").totals();
    let expected =
        Totals { subscriptions: 4, resource_groups: 8, virtual_networks: 12, subnets: 60, virtual_machines: 28 };
    assert_eq!(totals, expected);
}

#[test]
fn an_impossible_size_is_refused_by_name() {
    let usual = FleetSize::default();
    #[allow(clippy::reversed_empty_ranges)]
    let cases = [
        (FleetSize { subscriptions: 0, ..usual.clone() }, "subscriptions: 0"),
        (FleetSize { principals: 101, ..usual.clone() }, "principals: 101"),
        (FleetSize { subnets: 5..=4, ..usual.clone() }, "subnets: 5..=4"),
        (FleetSize { virtual_machines: 0..=1_000_001, ..usual.clone() }, "virtual_machines: 0..=1000001"),
        (FleetSize { subscriptions: 9_999, virtual_machines: 0..=9_999, ..usual }, "may come to"),
    ];
    for (size, text) in cases {
        let error = Fleet::seeded(1, &size).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn debug_shows_no_secret() {
    let fleet = fleet(1);
    let shown = format!("{fleet:?}");
    assert!(shown.contains(fleet.principals()[0].client_id()));
    assert!(!shown.contains(fleet.principals()[0].secret()));
}
