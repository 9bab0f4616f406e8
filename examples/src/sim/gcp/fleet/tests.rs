use super::*;
use proptest::prelude::*;

fn small(projects: usize) -> FleetSize {
    FleetSize { projects, instances: 0..=3, disks: 0..=5, objects: 3..=9, ..FleetSize::default() }
}

proptest! {
    #[test]
    fn a_fleet_is_what_its_size_and_seed_say(seed: u64, projects in 1usize..60, zones in 1usize..=12) {
        let size = FleetSize { zones, ..small(projects) };
        let fleet = Fleet::seeded(seed, &size).expect("a possible size");
        prop_assert_eq!(&fleet, &Fleet::seeded(seed, &size).expect("a possible size"));
        prop_assert_eq!(fleet.projects().len(), projects);
        for project in fleet.projects() {
            prop_assert_eq!(fleet.project(&project.id), Some(project));
            prop_assert_eq!(fleet.project(&project.number.to_string()), Some(project));
            prop_assert_eq!(project.zones.len(), zones);
            let by_zone: usize = project.zones.iter().map(|zone| project.instances_in(zone).len()).sum();
            prop_assert_eq!(by_zone, project.instances.len());
            for instance in &project.instances {
                prop_assert_eq!(project.instance(instance.zone, &instance.name), Some(instance));
            }
            for bucket in &project.buckets {
                prop_assert_eq!(fleet.bucket(&bucket.name), Some((project, bucket)));
                for index in 0..bucket.objects {
                    prop_assert_eq!(bucket.find(&bucket.object(index)), Some(index));
                }
                prop_assert_eq!(bucket.find(&bucket.object(bucket.objects)), None);
            }
        }
    }

    #[test]
    fn every_asset_has_a_name_of_its_own_and_none_is_beyond_the_last(seed: u64) {
        let fleet = Fleet::seeded(seed, &small(3)).expect("a possible size");
        let mut names = std::collections::BTreeSet::new();
        for project in fleet.projects() {
            for kind in AssetKind::ALL {
                let count = project.assets(kind) as usize;
                names.extend((0..count).map(|index| project.asset(kind, index).expect("an asset").name));
                prop_assert_eq!(project.asset(kind, count), None);
            }
        }
        prop_assert_eq!(names.len() as u64, fleet.totals().assets);
    }
}

#[test]
fn the_last_objects_of_a_bucket_are_those_that_cannot_be_read() {
    let size = FleetSize { objects: 6..=6, forbidden_objects: 2, broken_objects: 1, ..small(1) };
    let fleet = Fleet::seeded(1, &size).expect("a possible size");
    let bucket = &fleet.projects()[0].buckets[0];
    let states: Vec<_> = (0..6).map(|index| bucket.state(index)).collect();
    use ObjectState::{Broken, Forbidden, Readable};
    assert_eq!(states, [Readable, Readable, Readable, Forbidden, Forbidden, Broken]);
    assert_eq!(bucket.content(0), bucket.content(0));
    assert_ne!(bucket.content(0), bucket.content(1));
}

#[test]
fn impossible_sizes_are_named() {
    let error = |size: FleetSize| Fleet::seeded(1, &size).expect_err("an impossible size").to_string();
    assert_eq!(error(small(0)), "projects: 0 is not from 1 to 10000");
    assert_eq!(error(FleetSize { zones: 13, ..small(1) }), "zones: 13 is not from 1 to 12");
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let empty = FleetSize { disks: 2..=1, ..small(1) };
    assert_eq!(error(empty), "disks: 2..=1 is empty or goes beyond 1000000");
    let large = FleetSize { object_bytes: 0..=20_000_000, ..small(1) };
    assert_eq!(error(large), "object_bytes: 0..=20000000 is empty or goes beyond 16777216");
    let large = FleetSize { projects: 10_000, instances: 0..=1_000, ..small(1) };
    assert!(error(large).starts_with("projects and sizes may come to 4"));
}

#[test]
fn neither_the_callers_token_nor_any_part_of_it_is_in_its_debug_form() {
    let fleet = Fleet::seeded(1, &small(1)).expect("a possible size");
    let token = fleet.caller().token().trim_start_matches("simulated.");
    assert!(!format!("{fleet:?}").contains(token));
}
