//! What `limits` writes, and how it ends.

use std::process::{Command, Output};

use serde_json::Value;

fn limits(line: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_limits"));
    program.args(line.split_whitespace()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn a_table_is_written_with_its_sources_below() {
    let output = limits("--provider gcp --service cloudasset");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let said = text(&output.stdout);
    assert!(said.contains("organization-list-assets, per organization"), "{said}");
    assert!(said.ends_with("[1] docs.cloud.google.com/asset-inventory/docs/quota, read 2026-11\n"), "{said}");
}

#[test]
fn json_has_the_same_limits() {
    let output = limits("--provider gcp --service cloudasset --json");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let list =
        rows.iter().find(|row| row["operations"] == serde_json::json!(["ListAssets"]) && row["counted"] == "each");
    let list = list.expect("what each project has of ListAssets");
    assert_eq!((&list["grant"]["calls"], &list["grant"]["per_seconds"]), (&100.0.into(), &60.0.into()));
    assert_eq!(list["source"]["page"], "docs.cloud.google.com/asset-inventory/docs/quota");
}

#[test]
fn what_is_not_known_ends_with_what_is() {
    for (line, known) in [("--provider oracle", "azure, gcp"), ("--provider azure --service ec2", "compute, keyvault")]
    {
        let output = limits(line);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{line}");
        assert!(said.starts_with("limits: --") && said.contains(known), "{said}");
    }
}

#[test]
fn of_a_scope_it_says_what_holds_under_the_configuration_that_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("governor.yaml");
    std::fs::write(&file, "ratelimit: { aws: { services: { ec2.RunInstances: { max_rps: 7 } } } }").expect("a file");
    let output = limits(&format!("--scope aws/1/eu-west-1/ec2/RunInstances --json --config {}", file.display()));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let own = &said["buckets"][0];
    assert_eq!((&own["known"], &own["grant"]["calls"]), (&"configured".into(), &7.0.into()), "{said}");

    std::fs::write(&file, "ratelimit: { aws: { services: { ec2.RunInstances: { max_rsp: 7 } } } }").expect("a file");
    let output = limits(&format!("--scope aws/1/eu-west-1/ec2/RunInstances --config {}", file.display()));
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    assert!(text(&output.stderr).contains("max_rsp"), "{}", text(&output.stderr));
}

#[test]
fn a_text_that_is_no_scope_is_refused() {
    let output = limits("--scope ec2/DescribeVpcs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is not a scope"), "{}", text(&output.stderr));
}
