//! Every way in which a read of Cloud Storage can end, by the program's line, events and exit code.

use std::io::Write;
use std::process::{Command, Output};
use std::sync::Arc;

use cloud_governor_examples::gcs_reader::Args;
use cloud_governor_examples::sim::Server;
use cloud_governor_examples::sim::gcp::{Fleet, Gcp, Limits};
use serde_json::Value;

/// What one run told.
struct Told {
    code: Option<i32>,
    /// Lines of standard output.
    lines: Vec<String>,
    /// Events: target and name.
    events: Vec<(String, String)>,
}

impl Told {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let (said, events) = (text(&output.stdout), text(&output.stderr));
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let part = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            (part("target"), part("message"))
        };
        Told {
            code: output.status.code(),
            lines: said.lines().map(str::to_owned).collect(),
            events: events.lines().map(event).collect(),
        }
    }

    fn has(&self, target: &str, name: &str) -> bool {
        self.events.iter().any(|(of, message)| of == target && message == name)
    }

    /// What the governor says at the end of a call, without its steps.
    fn ends(&self) -> Vec<&str> {
        const ENDS: [&str; 4] =
            ["retries_exhausted", "retry_deadline_exceeded", "retry_budget_exhausted", "circuit_rejected"];
        let names = self.events.iter().filter(|(target, _)| target == "cloud_governor").map(|(_, name)| name.as_str());
        names.filter(|name| ENDS.contains(name)).collect()
    }
}

/// The program, without whatever this process's environment says about Google Cloud or the governor.
fn gcs_reader(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcs_reader"));
    let ours = |name: &str| name.starts_with("CLOUD_GOVERNOR") || name.starts_with("GOOGLE_") || name == "RUST_LOG";
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.args(args);
    command
}

/// Short waits.
const QUICK: &str = "base_delay: 0.01, max_backoff: 0.05";

/// A run with these settings of the provider.
fn run(settings: &str, args: &[&str]) -> Told {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "ratelimit: {{ gcp: {{ {settings} }} }}").expect("written");
    let mut command = gcs_reader(args);
    command.args(["--log", "json", "--config"]).arg(file.path());
    Told::of(&command.output().expect("the program starts"))
}

/// One read that ended with this code and this event of the program, after these of the governor.
fn assert_ended(told: &Told, code: i32, event: &str, governor: &[&str]) {
    assert_eq!(told.code, Some(code), "{:?}", told.lines);
    assert!(told.has("gcs_reader", event), "{event}: {:?}", told.events);
    assert_eq!(told.ends(), governor, "{:?}", told.lines);
    assert_eq!(told.lines.len(), 1, "{:?}", told.lines);
}

#[test]
fn an_object_is_read() {
    let told = run(QUICK, &[]);
    assert_ended(&told, 0, "read", &[]);
    assert!(told.lines[0].ends_with("exports/part 000000.csv: read, 4096 bytes (attempts: 1)"), "{:?}", told.lines);
}

#[test]
fn failures_that_pass_are_not_seen_but_in_the_attempts() {
    let told = run(QUICK, &["--fault", "fail=503*1/2", "--reads", "2"]);
    assert_eq!((told.code, told.ends().len()), (Some(0), 0), "{:?}", told.lines);
    assert!(told.lines[0].ends_with("(attempts: 1)") && told.lines[1].ends_with("(attempts: 2)"), "{:?}", told.lines);
    assert!(told.has("cloud_governor", "retrying"));
}

#[test]
fn what_the_service_says_is_an_ending_of_its_own_and_is_not_asked_twice() {
    for (object, said) in [("nothing", "(HTTP 404)"), ("exports/part 000004.csv", "forbidden (HTTP 403)")] {
        let told = run(QUICK, &["--object", object]);
        assert_ended(&told, 66, "answered", &[]);
        assert!(told.lines[0].ends_with(&format!("{said} (attempts: 1)")), "{:?}", told.lines);
    }
}

#[test]
fn attempts_are_exhausted() {
    let told = run(QUICK, &["--object", "exports/part 000005.csv", "--max-retries", "2"]);
    assert_ended(&told, 73, "gave_up", &["retries_exhausted"]);
    assert!(told.lines[0].contains("(retries_exhausted): backendError (HTTP 503)"), "{:?}", told.lines);
    assert!(told.lines[0].ends_with("(attempts: 3)"), "{:?}", told.lines);
}

#[test]
fn a_deadline_that_no_further_attempt_would_keep_ends_it() {
    let told = run("base_delay: 60, max_backoff: 60", &["--fault", "down", "--deadline", "30s"]);
    assert_ended(&told, 75, "gave_up", &["retry_deadline_exceeded"]);
    assert!(told.lines[0].contains("gave up (deadline_exceeded): "), "{:?}", told.lines);
}

#[test]
fn an_answer_that_is_later_than_the_deadline_is_not_waited_for() {
    let told = run(QUICK, &["--fault", "slow=60s", "--deadline", "200ms"]);
    assert_ended(&told, 75, "late", &[]);
}

#[test]
fn an_empty_budget_ends_it_after_the_free_retries() {
    let told = run(&format!("{QUICK}, retry_budget: 0"), &["--fault", "fail=503"]);
    assert_ended(&told, 76, "gave_up", &["retry_budget_exhausted"]);
    assert!(told.lines[0].ends_with("(attempts: 3)"), "{:?}", told.lines);
}

#[test]
fn an_open_circuit_ends_it_before_anything_is_sent() {
    let settings = "max_retries: 0, breaker: { failures: 2, cooldown: 60 }";
    let told = run(settings, &["--fault", "fail=503", "--reads", "3"]);
    assert_eq!(told.code, Some(69), "{:?}", told.lines);
    assert_eq!(told.ends(), ["retries_exhausted", "retries_exhausted", "circuit_rejected"]);
    assert!(told.has("cloud_governor", "circuit_opened") && told.has("gcs_reader", "refused"), "{:?}", told.events);
    assert_eq!(told.lines.len(), 3);
    assert!(told.lines[2].contains("refused (circuit_open)") && told.lines[2].ends_with("(attempts: 0)"));
}

#[test]
fn bytes_that_break_off_are_asked_for_again_and_not_for_ever() {
    // The first read is whole, the second breaks off once.
    let told = run(QUICK, &["--fault", "cut=1/2", "--reads", "2"]);
    assert_eq!((told.code, told.ends().len()), (Some(0), 0), "{:?}", told.lines);
    assert!(told.lines[1].ends_with("read, 4096 bytes (attempts: 2)"), "{:?}", told.lines);

    let told = run(QUICK, &["--fault", "cut=1/1"]);
    assert_ended(&told, 65, "broken_off", &[]);
    assert!(told.lines[0].ends_with("(attempts: 9)"), "the first and eight for the rest: {:?}", told.lines);
}

#[test]
fn a_rest_that_is_not_to_be_had_ends_it_like_a_first_request() {
    // The second answer breaks off, and the third, to the request for the rest, is a failure.
    let told = run(QUICK, &["--reads", "2", "--fault", "cut=1/2", "--fault", "fail=503*1/3", "--max-retries", "0"]);
    assert_eq!((told.code, told.ends()), (Some(73), vec!["retries_exhausted"]), "{:?}", told.lines);
    assert!(told.lines[1].ends_with("backendError (HTTP 503) (attempts: 2)"), "{:?}", told.lines);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_named_is_read_from() {
    let fleet = Fleet::seeded(1, &Args::fleet()).expect("a possible size");
    let bucket = fleet.projects()[0].buckets[0].name.clone();
    let server = Server::start(Arc::new(Gcp::new(fleet, Limits::default())), 1).await.expect("a free port");
    let url = server.url();
    let told = tokio::task::spawn_blocking(move || {
        run(QUICK, &["--endpoint", &url, "--bucket", &bucket, "--anonymous", "--account", "projects/p"])
    });
    let told = told.await.expect("a thread");
    // It has no anonymous readers.
    assert_ended(&told, 66, "answered", &[]);
    assert!(told.lines[0].contains("(HTTP 401)"), "{:?}", told.lines);
    assert_eq!(server.truth().snapshot().totals.requests, 1);
}

#[test]
fn what_is_of_no_use_ends_it_before_anything_is_sent() {
    for line in [
        "--fault earthquake",
        "--deadline 0s",
        "--deadline soon",
        "--max-retries -1",
        "--max-retries 4294967295",
        "--reads 0",
        "--anonymous",
        "--endpoint http://127.0.0.1:1",
        "--endpoint http://127.0.0.1:1 --bucket b --fault down",
        "--endpoint http://example.com --bucket b",
        "--config /nonexistent/governor.yaml",
    ] {
        let output = gcs_reader(&line.split(' ').collect::<Vec<_>>()).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn no_token_and_no_bytes_are_in_any_output() {
    let fleet = Fleet::seeded(1, &Args::fleet()).expect("a possible size");
    let content = fleet.projects()[0].buckets[0].content(0);
    let start = String::from_utf8_lossy(&content[..64]).into_owned();
    let mut command = gcs_reader(&["--log", "json", "--fault", "fail=503*1/2", "--reads", "2"]);
    let output = command.env("RUST_LOG", "trace,hyper=info").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("retrying") && !said.contains(fleet.caller().token()) && !said.contains(&start));
}
