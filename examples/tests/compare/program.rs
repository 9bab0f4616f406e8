use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::SMALL;

/// The program, without whatever this process's environment says about the governor.
fn compare(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compare"));
    let ours = |name: &str| name.starts_with("CLOUD_GOVERNOR") || name == "RUST_LOG";
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.args(line.split_whitespace());
    command
}

fn output(line: &str) -> Output {
    compare(line).output().expect("the program starts")
}

fn object(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(json)))
}

#[test]
fn json_is_one_object_with_the_promised_keys() {
    let output = output(&format!("{SMALL} --json --mode governed,standard"));
    assert_eq!(output.status.code(), Some(0));
    let comparison = object(&output.stdout);
    assert_eq!((&comparison["interrupted"], &comparison["exit_code"]), (&false.into(), &0.into()));
    let rows = comparison["rows"].as_array().expect("rows");
    let modes: Vec<_> = rows.iter().map(|row| row["mode"].as_str().expect("a name")).collect();
    assert_eq!(modes, ["governed", "standard"]);
    for row in rows {
        assert_eq!(row["job"], "base");
        for key in ["wall_s", "ideal_s", "ratio", "requests", "throttled", "throttled_share", "lost", "listed"] {
            assert!(row[key].is_number() || (key == "ratio" && row[key].is_null()), "{key}: {row:#}");
        }
        let actions = row["actions"].as_object().expect("actions");
        assert_eq!(actions.len(), 7);
        assert!(actions.values().all(|counts| counts["requests"].is_u64() && counts["throttled"].is_u64()));
    }
    assert_eq!(rows[0]["lost"], 0);
}

#[test]
fn standard_error_says_which_run_is_going_on() {
    for (log, json) in [("off", false), ("json", true)] {
        let output = output(&format!("{SMALL} --mode governed,adaptive --markdown --log {log}"));
        let said = String::from_utf8(output.stderr).expect("text");
        let runs: Vec<_> = said.lines().filter(|line| line.contains("governed") || line.contains("adaptive")).collect();
        assert_eq!(runs.len(), 2, "{said}");
        assert!(said.lines().all(|line| serde_json::from_str::<Value>(line).is_ok() == json), "{said}");
    }
}

#[test]
fn only_what_the_governor_loses_is_an_exit_code() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "ratelimit: {{ aws: {{ max_retries: 0, breaker: {{ failures: 1, cooldown: 60 }} }} }}")
        .expect("written");
    let config = file.path().display();
    let line =
        format!("{SMALL} --json --fault down:service=ssm --max-requeues 1 --requeue-pause 10ms --config {config}");
    for (mode, code) in [("standard", 0), ("governed", 69)] {
        let output = output(&format!("{line} --mode {mode}"));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let comparison = object(&output.stdout);
        assert_eq!(comparison["exit_code"], code);
        assert!(comparison["rows"][0]["lost"].as_u64() > Some(0), "{comparison:#}");
    }
}

#[test]
fn bad_input_ends_it_before_any_run() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "ratelimit:\n  aws:\n    max_retires: 3").expect("written");
    let config = format!("--config {}", file.path().display());
    let lines = [
        "--mode legacy",
        "--job s3",
        "--fault earthquake",
        "--limit logs.Nothing=4",
        "--limit arm.reads=4",
        "--size huge",
    ];
    for line in lines.into_iter().chain(["--json --markdown", "--endpoint-url http://127.0.0.1:1", config.as_str()]) {
        let refused = output(line);
        assert_eq!(refused.status.code(), Some(2), "{line}");
        assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{line}");
        assert!(!String::from_utf8_lossy(&refused.stderr).contains("run 1"), "{line}");
    }
    // That there is no such fleet is known once the first one is to be made.
    let refused = output("--accounts 0");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("accounts: 0"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_rows_that_are_complete() {
    let line = "--job base --accounts 1 --regions 1 --size log_groups=60,log_streams=1,parameters=5,secrets=5 --json \
                --mode governed,standard,standard,standard";
    let mut program = compare(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(program.stderr.take().expect("standard error")).lines();
    assert!(lines.any(|line| line.expect("text").contains("run 2 of 4")));
    let interrupt = Command::new("sh").args(["-c", "kill -INT \"$0\"", &program.id().to_string()]).status();
    assert!(interrupt.expect("a shell").success());
    let mut json = Vec::new();
    program.stdout.take().expect("standard output").read_to_end(&mut json).expect("all of it");
    assert_eq!(program.wait().expect("it ends").code(), Some(130));
    let comparison = object(&json);
    assert_eq!(comparison["interrupted"], true);
    let rows = comparison["rows"].as_array().expect("rows");
    assert!((1..4).contains(&rows.len()), "{comparison:#}");
    assert_eq!((&rows[0]["mode"], &rows[0]["lost"]), (&"governed".into(), &0.into()));
}
