use super::*;
use crate::{Class, Rule};

fn rule(code: &str) -> Rule {
    Rule::when().code(code).then(Class::Throttled).unwrap()
}

#[test]
fn a_providers_own_rules_come_before_those_of_every_provider() {
    let config = yaml(
        "ratelimit:
  defaults:
    rules:
      - { code: Shared, class: throttled }
  aws:
    rules:
      - code: Own
        class: throttled
",
    )
    .unwrap();
    assert_eq!(config.provider("aws").rules, [rule("Own").for_provider("aws"), rule("Shared")]);
    assert_eq!(config.provider("gcp").rules, [rule("Shared")]);
}

#[test]
fn a_later_layer_replaces_the_list() {
    let file = "ratelimit: {aws: {rules: [{code: File, class: throttled}]}}";
    let variables = [("CLOUD_GOVERNOR__AWS__RULES", "[{code: Variable, class: throttled}]")];
    let below = Config::builder().yaml(file, "test.yaml").variables(variables);
    assert_eq!(below.clone().build().unwrap().provider("aws").rules, [rule("Variable").for_provider("aws")]);
    let code = below.provider("aws", |aws| aws.rules([rule("Code")])).build().unwrap();
    assert_eq!(code.provider("aws").rules, [rule("Code").for_provider("aws")]);
}

#[test]
fn every_kind_of_matcher_is_read_from_a_document() {
    let config = yaml(
        "ratelimit:
  aws:
    rules:
      - services: [batch, glue]
        code: 50009
        status: [420, 598]
        message: at capacity
        grpc: ABORTED
        transport: timeout
        class: transient
        resend: safe
        pays_budget: true
",
    );
    assert_eq!(config.unwrap().provider("aws").rules.len(), 1);
}

#[test]
fn each_bad_rule_is_named_with_its_place_in_the_list_and_its_line() {
    let error = yaml(
        "ratelimit:
  aws:
    rules:
      - { code: Fine, class: throttled }
      - code: NoClass
      - code: X
        clas: throttled
      - code: X
        class: slow
      - class: fatal
      - 3
      - code: X
        class: fatal
        status:
          - 420
          - never
",
    )
    .unwrap_err();
    let expected = [
        ("ratelimit.aws.rules[1]", Some(5)),
        ("ratelimit.aws.rules[2]", Some(7)),
        ("ratelimit.aws.rules[3]", Some(9)),
        ("ratelimit.aws.rules[4]", Some(10)),
        ("ratelimit.aws.rules[5]", Some(11)),
        ("ratelimit.aws.rules[6]", Some(16)),
    ];
    assert_eq!(places(&error), expected, "{error}");
}
