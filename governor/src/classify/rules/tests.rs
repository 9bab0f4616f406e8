use super::*;
use crate::InvalidRule;

fn class(rules: &Rules, facts: Facts<'_>) -> Class {
    rules.classify(&facts).class
}

#[test]
fn user_rules_come_first_and_in_order() {
    let rule = |class| Rule::when().code("SlowDown").then(class).unwrap();
    let rules = Rules::from_iter([rule(Class::Locked), rule(Class::Fatal)]);
    assert_eq!(class(&rules, Facts::new().provider("aws").code("SlowDown")), Class::Locked);
    assert_eq!(class(&Rules::new(), Facts::new().provider("aws").code("SlowDown")), Class::Throttled);
}

#[test]
fn all_matchers_must_fit_and_each_by_one_of_its_alternatives() {
    let rule =
        Rule::when().code("A").code("B").status(400).status(420).message("Later").then(Class::Transient).unwrap();
    let rules = Rules::from_iter([rule]);
    let fitting = || Facts::new().code("b").status(420).message("try LATER, please");
    assert_eq!(class(&rules, fitting()), Class::Transient);
    assert_eq!(class(&rules, fitting().code("C")), Class::Fatal);
    assert_eq!(class(&rules, fitting().status(421)), Class::Fatal);
    assert_eq!(class(&rules, fitting().message("never")), Class::Fatal);
    assert_eq!(class(&rules, Facts::new().code("A").status(400)), Class::Fatal, "no message");
}

#[test]
fn an_unknown_provider_may_be_any_but_an_unknown_service_is_none() {
    let rules =
        Rules::from_iter([Rule::when().provider("aws").service("batch").code("Full").then(Class::Transient).unwrap()]);
    let full = || Facts::new().code("Full");
    assert_eq!(class(&rules, full().provider("AWS").service("batch")), Class::Transient);
    assert_eq!(class(&rules, full().service("batch")), Class::Transient);
    assert_eq!(class(&rules, full().provider("gcp").service("batch")), Class::Fatal);
    assert_eq!(class(&rules, full().provider("aws").service("glue")), Class::Fatal);
    assert_eq!(class(&rules, full().provider("aws")), Class::Fatal);
}

#[test]
fn a_bare_status_does_not_tell_the_provider() {
    let rules = Rules::from_iter([Rule::when().provider("azure").status(429).then(Class::Locked).unwrap()]);
    assert_eq!(class(&rules, Facts::new().status(429).provider("azure")), Class::Locked);
    assert_eq!(class(&rules, Facts::new().status(429)), Class::Throttled);
}

#[test]
fn a_rule_can_be_bound_to_a_provider_afterwards() {
    let rule = Rule::when().code("Full").then(Class::Transient).unwrap();
    assert_ne!(rule, rule.clone().for_provider("aws"));
    let rules = Rules::from_iter([rule.for_provider("aws")]);
    assert_eq!(class(&rules, Facts::new().provider("aws").code("Full")), Class::Transient);
    assert_eq!(class(&rules, Facts::new().provider("azure").code("Full")), Class::Fatal);
}

#[test]
fn a_rules_code_may_be_written_as_it_is_sent() {
    let rules = Rules::from_iter([Rule::when().code("com.example#Full:http://x").then(Class::Transient).unwrap()]);
    assert_eq!(class(&rules, Facts::new().code("org.example#Full")), Class::Transient);
}

#[test]
fn resend_follows_the_class_unless_set() {
    let resend = |rule: RuleBuilder, class| rule.then(class).map(|rule| rule.resend);
    let rule = || Rule::when().status(420);
    assert_eq!(resend(rule(), Class::Throttled), Ok(Resend::Safe));
    assert_eq!(resend(rule(), Class::Locked), Ok(Resend::Safe));
    assert_eq!(resend(rule(), Class::Transient), Ok(Resend::IfIdempotent));
    assert_eq!(resend(rule().resend(Resend::Safe), Class::Transient), Ok(Resend::Safe));
    assert_eq!(resend(rule().resend(Resend::IfIdempotent), Class::Throttled), Ok(Resend::IfIdempotent));
}

#[test]
fn a_rules_claim_on_the_budget_reaches_the_verdict() {
    let rules = Rules::from_iter([Rule::when().status(420).pays_budget(true).then(Class::Throttled).unwrap()]);
    assert!(rules.classify(&Facts::new().status(420)).pays_budget);
    assert!(!rules.classify(&Facts::new().status(429)).pays_budget);
}

#[test]
fn rules_that_fit_everything_or_nothing_are_not_built() {
    let build = |rule: RuleBuilder| rule.then(Class::Throttled).unwrap_err();
    assert_eq!(build(Rule::when()), InvalidRule::NoMatcher);
    assert_eq!(build(Rule::when().provider("aws").service("ec2")), InvalidRule::NoMatcher);
    assert_eq!(build(Rule::when().message("")), InvalidRule::EmptyText("message"));
    assert_eq!(build(Rule::when().code("ns#")), InvalidRule::EmptyText("code"));
    assert_eq!(build(Rule::when().reason(" ")), InvalidRule::EmptyText("reason"));
    assert_eq!(build(Rule::when().status(429).service("")), InvalidRule::EmptyText("services"));
    assert_eq!(build(Rule::when().status(429).provider("")), InvalidRule::EmptyText("provider"));
    assert_eq!(build(Rule::when().status(99)), InvalidRule::NoStatus(99));
    assert_eq!(build(Rule::when().status(1000)), InvalidRule::NoStatus(1000));
}

#[test]
fn a_long_message_is_searched_at_its_start_only() {
    let padded = |before: usize| "é".repeat(before / 2) + "rate exceeded";
    assert_eq!(class(&Rules::new(), Facts::new().message(padded(1_000))), Class::Throttled);
    assert_eq!(class(&Rules::new(), Facts::new().message(padded(100_000))), Class::Fatal);
}

#[test]
fn texts_that_are_searched_by_part_stand_in_lower_case_in_the_table() {
    for rule in table::built_in() {
        for text in rule.matchers.messages.iter().chain(&rule.matchers.quotas) {
            assert_eq!(*text, text.to_ascii_lowercase());
        }
        assert!(!rule.matchers.is_empty(), "{rule:?} would match every failure");
    }
}
