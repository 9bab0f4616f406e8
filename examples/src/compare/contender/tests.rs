use clap::{Parser, ValueEnum};

use super::*;

#[test]
fn a_contender_has_one_name_on_the_command_line_in_json_and_in_tables() {
    for contender in Contender::value_variants() {
        let value = contender.to_possible_value().expect("none is hidden");
        assert_eq!(value.get_name(), contender.id());
        assert_eq!(serde_json::to_value(contender).expect("a name"), contender.id());
    }
    assert_eq!(Contender::value_variants(), Contender::ALL);
}

#[test]
fn only_the_one_that_says_so_does_without_requeues() {
    let given = crate::compare::Args::parse_from(["compare", "--max-requeues", "5"]).job();
    for contender in Contender::ALL {
        let expected = if contender == Contender::StandardAlone { 0 } else { 5 };
        assert_eq!(contender.adapt(given.clone()).effort.max_requeues, expected, "{contender}");
    }
}

#[test]
fn each_run_has_a_governor_of_its_own() {
    let config = Config::from_yaml("ratelimit: { aws: { max_retries: 3 } }", "test").expect("valid");
    for (contender, retries) in [(Contender::Governed, 3), (Contender::Learning, 8)] {
        let (Mode::Governed(one), Mode::Governed(other)) = (contender.mode(&config, 1), contender.mode(&config, 1))
        else {
            panic!("{contender} is governed");
        };
        one.reconfigure(Config::from_yaml("ratelimit: { aws: { max_retries: 1 } }", "test").expect("valid"));
        assert_eq!(other.settings("aws").retry.max_retries, retries);
    }
}
