//! The program, governed and not, by its figures and its exit code.

use std::io::Write;
use std::process::{Command, Output};

use serde_json::Value;

/// The program, without whatever this process's environment says about the governor.
fn pubsub(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubsub"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CLOUD_GOVERNOR") || name == "RUST_LOG") {
        command.env_remove(name);
    }
    command.args(line.split_whitespace());
    command
}

/// What one run told.
struct Told {
    code: Option<i32>,
    report: Value,
}

impl Told {
    fn of(output: &Output) -> Self {
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        Told { code: output.status.code(), report }
    }

    fn count(&self, name: &str) -> u64 {
        self.report[name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.report))
    }

    /// A figure of the server's about an RPC.
    fn seen(&self, rpc: &str, figure: &str) -> u64 {
        self.report["truth"]["actions"][format!("pubsub.{rpc}")][figure].as_u64().unwrap_or_default()
    }

    fn throttled(&self) -> u64 {
        self.report["truth"]["totals"]["throttled"].as_u64().expect("a figure")
    }

    /// Everything came, once.
    fn assert_whole(&self, messages: u64) {
        assert_eq!(self.code, Some(0), "{}", self.report);
        assert_eq!((self.count("published"), self.count("received")), (messages, messages), "{}", self.report);
        assert_eq!(self.count("lost"), 0);
        assert_eq!(self.report["service"]["left"], 0);
    }
}

/// A run that ends with a report.
fn run(line: &str) -> Told {
    Told::of(&pubsub(line).arg("--json").output().expect("the program starts"))
}

/// A run with these settings of the provider.
fn run_with(settings: &str, line: &str) -> Told {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "ratelimit: {{ gcp: {{ {settings} }} }}").expect("written");
    Told::of(&pubsub(line).args(["--json", "--config"]).arg(file.path()).output().expect("the program starts"))
}

const PER_RPC: &str = "services: { pubsub: { per_operation: true } }";

#[test]
fn governed_with_its_limits_known_nothing_is_throttled_lost_or_sent_twice() {
    let told = run("--messages 900");
    told.assert_whole(900);
    assert_eq!((told.throttled(), told.count("duplicated")), (0, 0), "{}", told.report);
    for rpc in ["Publish", "CreateTopic", "CreateSubscription", "Pull", "Acknowledge"] {
        assert_eq!(told.seen(rpc, "requests"), told.seen(rpc, "answered"), "{rpc}");
    }
    assert_eq!((told.seen("Publish", "requests"), told.seen("CreateTopic", "requests")), (90, 3));
    let service = &told.report["service"];
    assert_eq!(
        (&service["stored"], &service["delivered"], &service["acknowledged"]),
        (&900.into(), &900.into(), &900.into())
    );
}

#[test]
fn governed_with_its_limits_unknown_it_is_throttled_and_loses_nothing() {
    let told = run_with(PER_RPC, "--messages 900 --limit Publish=10 --limit Pull=5 --limit Acknowledge=5");
    told.assert_whole(900);
    assert!(told.seen("Publish", "throttled") > 0, "{}", told.report);
    assert_eq!(told.seen("Publish", "answered"), 90);
}

#[test]
fn the_library_s_own_retry_gives_up_where_the_quota_is_used_up_longer_than_it_tries() {
    let told = run("--ungoverned --messages 900 --limit Publish=5 --in-flight 30");
    assert_eq!(told.code, Some(1), "{}", told.report);
    assert!(told.seen("Publish", "throttled") > 30, "{}", told.report);
    assert_eq!(told.count("published"), told.report["service"]["stored"].as_u64().expect("a figure"));
    assert_eq!(told.count("lost"), 900 - told.count("published"));
    // Five are granted at once and five a second, for the three seconds that a call is tried.
    assert!(told.count("lost") >= 150 && told.count("published") >= 150, "{}", told.report);
    assert_eq!(told.report["failed"]["publish"], told.count("lost") / 10);
}

#[test]
fn a_call_that_fails_for_good_is_sent_as_often_as_the_governor_says_and_the_library_adds_nothing() {
    let line = "--projects 1 --messages 1 --fault fail=503:operation=Publish";
    let told = run_with("max_retries: 2, base_delay: 0.01, max_backoff: 0.02", line);
    assert_eq!((told.code, told.seen("Publish", "requests")), (Some(1), 3), "{}", told.report);
    let told = run(&format!("{line} --ungoverned"));
    assert_eq!((told.code, told.seen("Publish", "requests")), (Some(1), 6), "{}", told.report);
}

#[test]
fn failures_in_headers_and_behind_them_and_resets_lose_nothing() {
    let line = "--messages 900 --hurry 20 --fault fail=503*1/7 --fault cut=1/5:operation=Publish --fault cut=1/5:operation=Pull";
    let told = run_with(&format!("base_delay: 0.01, max_backoff: 0.1, {PER_RPC}"), line);
    assert_eq!((told.code, told.count("lost")), (Some(0), 0), "{}", told.report);
    assert_eq!(told.count("received"), 900);
    assert!(told.seen("Publish", "faulted") > 0 && told.seen("Pull", "faulted") > 0, "{}", told.report);
}

#[test]
fn streams_stay_open_and_hold_no_slot() {
    let concurrency = format!("account_concurrency: 2, {PER_RPC}");
    let told = run_with(&concurrency, "--messages 900 --pull streaming --pullers 4 --limit Publish=100");
    told.assert_whole(900);
    let streams = &told.report["streams"];
    assert_eq!((&streams["opened"], &streams["open"]), (&12.into(), &12.into()), "{}", told.report);
    assert_eq!((told.count("slots_in_use"), told.seen("StreamingPull", "requests")), (0, 12));
    assert_eq!(told.seen("Pull", "requests"), 0);
}

#[test]
fn for_people_there_is_a_table() {
    let output = pubsub("--messages 30 --pull streaming --pullers 1").output().expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let first = said.lines().next().unwrap_or_default();
    assert_eq!(first, "30 messages: 30 published, 30 received, 0 lost, 0 duplicated");
    assert!(said.contains("3 streams opened, 3 of them open at the end, with 0 slots in use"), "{said}");
    assert!(
        said.contains("pubsub.Publish")
            && said.contains("faulted: struck by a --fault")
            && said.contains("the buckets' bursts cover the whole job"),
        "{said}"
    );
}

#[test]
fn what_is_of_no_use_ends_it_before_anything_is_sent() {
    for line in [
        "--messages 0",
        "--projects 0",
        "--limit Seek=5",
        "--pull push",
        "--fault earthquake",
        "--ungoverned --config governor.yaml",
        "--config /nonexistent/governor.yaml",
    ] {
        let output = pubsub(line).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn a_bad_quota_window_or_patience_is_told_by_its_own_name_and_what_it_may_be() {
    for (line, flag, said) in [
        ("--limit Publish=0", "'Publish=0' for '--limit", "a quota is above 0"),
        ("--limit Publish=-5", "'Publish=-5' for '--limit", "a quota is above 0"),
        ("--window 0s", "'0s' for '--window", "it has to be longer than 0"),
        ("--window soon", "'soon' for '--window", "expected number"),
        ("--patience 0s", "'0s' for '--patience", "it has to be longer than 0"),
        ("--limit Pull=0.5", "--limit Pull=0.5 is too little", "has to be 1 at least"),
        ("--window 10ms", "--window 10ms is too short for --limit Publish=20", "grants 0.2 in a window"),
    ] {
        let output = pubsub(line).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert!(told.contains(flag) && told.contains(said), "{line}: {told}");
        let other = if flag.contains("--limit") { "--window <" } else { "--limit <" };
        assert!(!told.contains(other) && !told.contains("bucket"), "{line}: {told}");
    }
}

#[test]
fn where_there_is_no_service_the_patience_ends_the_set_up() {
    for line in ["--patience 300ms --fault down", "--patience 300ms --fault down --ungoverned --projects 1"] {
        let output = pubsub(line).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.stdout.is_empty() && output.status.code().is_some_and(|code| code != 0), "{line}: {output:?}");
        assert!(
            told.contains("no topic or subscription was made for 300ms, and the run is given up"),
            "{line}: {told}"
        );
    }
}

#[test]
fn where_the_service_goes_away_the_patience_ends_the_publishing() {
    let line = "--messages 900 --patience 2s --fault down:operation=Publish";
    for line in [line.to_owned(), format!("{line} --ungoverned")] {
        let told = run(&line);
        assert!(told.code.is_some_and(|code| code != 0), "{}", told.report);
        assert_eq!((told.count("lost"), &told.report["gave_up"]), (900, &true.into()), "{}", told.report);
        assert_eq!(told.seen("CreateSubscription", "answered"), 3);
    }
}

#[test]
fn a_refusal_that_ends_the_set_up_is_told_in_its_own_words_and_by_its_exit_code() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "ratelimit: {{ gcp: {{ max_retries: 0, attempt_timeout: 0.05 }} }}").expect("written");
    // Asked for often enough, the breaker is open; before that, attempts ran out of time.
    for (patience, code, kind) in [("1h", 69, "circuit_open"), ("2s", 74, "attempt_timed_out")] {
        let line = format!("--projects 1 --patience {patience} --fault slow=1h:operation=CreateTopic");
        let output = pubsub(&line).arg("--config").arg(file.path()).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("refused by the client-side governor ({kind}) for gcp")), "{told}");
        assert!(!told.contains("source:") && !told.contains("Broken"), "{told}");
    }
}

#[test]
fn messages_that_a_refusal_lost_end_it_by_the_refusal_s_exit_code() {
    let told = run_with("max_retries: 0", "--projects 1 --messages 300 --in-flight 1 --fault down:operation=Publish");
    assert_eq!((told.code, told.count("lost")), (Some(69), 300), "{}", told.report);
    let last = told.report["last_failure"].as_str().expect("a failure");
    assert!(last.starts_with("refused by the client-side governor (circuit_open)"), "{last}");
    assert_eq!(told.report["gave_up"], false);
}

#[test]
fn the_help_explains_the_columns_and_the_switch() {
    let output = pubsub("--help").output().expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("text");
    for words in ["answered: with success", "faulted: struck", "refused: with another error", "takes no value here"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn no_token_is_in_any_output() {
    let mut command = pubsub("--messages 30 --log json --fault fail=503*1/3");
    let output = command.env("RUST_LOG", "trace,hyper=info,h2=info").output().expect("the program starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("retrying") && !said.contains("ya29."), "{said}");
}
