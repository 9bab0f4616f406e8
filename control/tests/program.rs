//! The program, as its users start it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn control(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_control")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn an_unknown_name_ends_with_2_and_lists_those_that_there_are() {
    let output = control(&["--scenario", "nope"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("100/20"), "{}", text(&output.stderr));
    let output = control(&["--law", "nope"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cubic"), "{}", text(&output.stderr));
    assert_eq!(control(&["--seeds", "0"]).status.code(), Some(2));
}

#[test]
fn json_is_one_array_of_rows() {
    let output = control(&["--json", "--scenario", "4/0.3", "--law", "oracle", "--law", "cubic", "--seeds", "2"]);
    assert!(output.status.success());
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["scenario"], "4/0.3");
        for measure in ["goodput", "waste", "lost", "converge_s"] {
            assert!(row[measure].is_number(), "{measure}");
        }
        assert!(row["recover_s"].is_null() && row["jain"].is_null(), "there is no step, and one process");
    }
    assert_eq!(rows[1]["law"], "oracle");
    assert_eq!(rows[1]["met"], true);
}

#[test]
fn the_first_seed_says_which_runs_are_made() {
    let worst = |first: &str, seeds: &str| {
        let options = ["--json", "--worst", "--scenario", "4/0.3", "--law", "cubic"];
        let output = control(&[&options[..], &["--first-seed", first, "--seeds", seeds]].concat());
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        rows[0]["waste"].as_f64().unwrap()
    };
    let (third, fourth) = (worst("3", "1"), worst("4", "1"));
    assert_ne!(third, fourth, "another seed, another run");
    assert_eq!(worst("3", "2"), third.max(fourth));
}

#[test]
fn the_table_has_a_line_for_each_law() {
    let output = control(&["--scenario", "4/0.3"]);
    let table = text(&output.stdout);
    assert!(table.contains("| 4/0.3    |"), "{table}");
    assert!(!table.contains(" deaf "), "nothing is told that one could be deaf to: {table}");
    assert_eq!(table.lines().count(), 2 + cloud_governor_control::LAWS.len() - 1);
}

#[test]
fn each_run_is_drawn_into_a_file_of_its_own() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("drawings");
    let output = control(&["--scenario", "4/0.3", "--law", "cubic", "--draw", directory.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let drawing = std::fs::read_to_string(directory.join("4-0.3-cubic.svg")).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("throttled"));
}

#[test]
fn a_directory_that_cannot_be_made_is_said_so() {
    let output = control(&["--scenario", "4/0.3", "--draw", "/dev/null/drawings"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/dev/null/drawings"), "{}", text(&output.stderr));
}

#[test]
fn the_list_names_every_scenario_and_law() {
    let list = text(&control(&["--list"]).stdout);
    let names = cloud_governor_control::SCENARIOS.iter().map(|one| one.name);
    for name in names.chain(cloud_governor_control::LAWS.iter().map(|law| law.name)) {
        assert!(list.contains(&format!("  {name} ")), "{name}");
    }
}
