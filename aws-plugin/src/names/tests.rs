use super::{GLOBAL, HYPHENATED, OTHER_WORDS, scope_region, service_name, squashed};

/// All services of botocore's data, each with its Smithy service id.
const SERVICES: &str = include_str!("services.tsv");

/// Botocore has this one service under two names: `sms-voice` besides the one kept here.
const TWICE: &str = "Pinpoint SMS Voice";

fn services() -> impl Iterator<Item = (&'static str, &'static str)> {
    SERVICES.lines().skip(1).filter_map(|line| line.split_once('\t'))
}

#[test]
fn every_service_id_has_the_name_that_botocore_gives_it() {
    let wrong: Vec<_> = services().filter(|(id, name)| *id != TWICE && service_name(id) != *name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(services().count(), 445);
    assert!(services().any(|(id, name)| id == TWICE && service_name(id) == name));
}

#[test]
fn the_module_name_of_a_user_agent_finds_the_same_name_as_the_service_id() {
    let wrong: Vec<_> = services().filter(|(id, _)| service_name(&squashed(id)) != service_name(id)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_tables_hold_only_the_odd_ones() {
    assert!(OTHER_WORDS.iter().all(|(key, name)| key != name && !is_plain(name, key)));
    assert!(HYPHENATED.iter().all(|name| name.contains('-')));
    assert!(GLOBAL.iter().all(|global| services().any(|(_, name)| name == *global)));
}

fn is_plain(name: &str, key: &str) -> bool {
    super::is_squashed(name, key)
}

#[test]
fn an_unknown_service_is_its_id_in_lower_case_without_spaces() {
    assert_eq!(service_name("Brand New Thing"), "brandnewthing");
    assert_eq!(service_name(""), "");
}

#[test]
fn a_global_service_has_one_region_whatever_the_client_is_set_to() {
    assert_eq!(scope_region("iam", Some("eu-west-1")), "aws-global");
    assert_eq!(scope_region("ec2", Some("eu-west-1")), "eu-west-1");
    assert_eq!(scope_region("ec2", None), "");
}
