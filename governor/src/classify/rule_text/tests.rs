use super::*;
use crate::{Facts, Rules};

fn yaml(text: &str) -> Result<Rule, String> {
    serde_saphyr::from_str::<Rule>(text).map_err(|error| error.to_string())
}

#[test]
fn a_yaml_item_is_a_rule() {
    let rule = yaml("{ code: SlowDownPlease, status: 420, class: throttled }").unwrap();
    assert_eq!(rule, Rule::when().code("SlowDownPlease").status(420).then(Class::Throttled).unwrap());
    let rules = Rules::from_iter([rule]);
    assert_eq!(rules.classify(&Facts::new().code("SlowDownPlease").status(420)).class, Class::Throttled);
}

#[test]
fn every_key_takes_one_value_or_a_list() {
    let text = "
services: [batch, glue]
code: [Full, 50009]
status: [420, 598]
reason: full
message: [At Capacity, later]
quota: PerHour
grpc: [ABORTED, 14]
transport: [timeout, body_cut_short]
class: transient
resend: safe
pays_budget: true
";
    let built = Rule::when()
        .service("batch")
        .service("glue")
        .code("Full")
        .code("50009")
        .status(420)
        .status(598)
        .reason("full")
        .message("at capacity")
        .message("later")
        .quota("perhour")
        .grpc(GrpcCode::Aborted)
        .grpc(GrpcCode::Unavailable)
        .transport(Transport::Timeout)
        .transport(Transport::BodyCutShort)
        .resend(Resend::Safe)
        .pays_budget(true)
        .then(Class::Transient)
        .unwrap();
    assert_eq!(yaml(text), Ok(built));
}

#[test]
fn the_same_rule_reads_from_json() {
    let rule: Rule = serde_json::from_str(r#"{"status": 420, "grpc": 8, "class": "locked"}"#).unwrap();
    assert_eq!(rule, Rule::when().status(420).grpc(GrpcCode::ResourceExhausted).then(Class::Locked).unwrap());
}

#[test]
fn an_unknown_class_is_told_the_valid_ones() {
    let error = yaml("{ status: 420, class: throtled }").unwrap_err();
    for part in ["throtled", "throttled", "transient", "locked", "fatal"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("{ status: 420 }", "class"),
        ("{ class: fatal }", "at least one of code, status"),
        ("{ services: ec2, class: fatal }", "at least one of code, status"),
        ("{ stauts: 420, class: fatal }", "stauts"),
        ("{ status: 42, class: fatal }", "42"),
        ("{ status: -1, class: fatal }", "an HTTP status"),
        ("{ status: 70000, class: fatal }", "an HTTP status"),
        ("{ status: teapot, class: fatal }", "an HTTP status"),
        ("{ status: [], class: fatal }", "at least one of code, status"),
        ("{ message: '', class: fatal }", "message"),
        ("{ grpc: OOPS, class: fatal }", "RESOURCE_EXHAUSTED"),
        ("{ transport: pigeon, class: fatal }", "body_cut_short"),
        ("{ status: 420, class: fatal, resend: maybe }", "if_idempotent"),
        ("{ code: { a: b }, class: fatal }", "a text"),
        ("{ code: true, class: fatal }", "a text"),
    ];
    for (text, part) in cases {
        let error = yaml(text).expect_err(text);
        assert!(error.contains(part), "{text}: {part:?} in {error}");
    }
}
