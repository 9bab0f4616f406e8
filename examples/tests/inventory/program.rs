use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use cloud_governor_examples::sim::aws::{Aws, Fleet, Limits};
use cloud_governor_examples::sim::{Server, azure, gcp};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::common::{LOOK, args};

const SMALL: &str = "--accounts 1 --regions 2 --size log_groups=4,log_streams=2,parameters=4,secrets=4,vpcs=2,subnets=3,\
                     security_groups=1,instances=4,volumes=5";

/// What SMALL has of EC2 in both regions, where EC2 is compiled in, and the operations that list it.
const SMALL_EC2: (u64, usize) = if cfg!(feature = "ec2") { (2 * (2 + 2 * 3 + 2 + 4 + 5), 5) } else { (0, 0) };

/// The program, without whatever this process's environment says about AWS or the governor.
fn inventory(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inventory"));
    let ours = |name: &str| {
        name.starts_with("AWS_")
            || name.starts_with("AZURE_")
            || name.starts_with("GCE_")
            || name.starts_with("GOOGLE_")
            || name.starts_with("CLOUD_GOVERNOR")
            || name == "RUST_LOG"
    };
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.args(line.split_whitespace());
    command
}

async fn output(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output()).await.expect("a thread").expect("the program starts")
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_one_object_with_the_promised_keys() {
    let output = output(inventory(&format!("{SMALL} --json"))).await;
    assert_eq!(output.status.code(), Some(0));
    let report = object(&output);
    assert_eq!(report["lost"], 0);
    assert_eq!(report["listed"], 1 + 2 * (4 + 4 * 2 + 4 + 4) + SMALL_EC2.0);
    assert!(report["wall_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert!(report["ideal_s"].is_number());
    assert_eq!(report["server"]["throttled"], 0);
    let requests = report["server"]["requests"].as_u64().expect("a count");
    let by_action = report["server"]["by_action"].as_object().expect("counts");
    assert_eq!(by_action.len(), 7 + SMALL_EC2.1);
    assert_eq!(by_action.values().filter_map(|counts| counts["requests"].as_u64()).sum::<u64>(), requests);
    assert_eq!(report["summary"]["totals"]["calls"], requests);
    assert!(output.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_tell_places_messages_and_the_server_s_counts() {
    let output = output(inventory(SMALL)).await;
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    for expected in
        ["eu-west-1", "us-east-1", "governed:", "0 lost", "the governor says:", "the server saw", "GetParameter"]
    {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_services_that_are_named_are_listed() {
    let output = output(inventory(&format!("{SMALL} --services ssm,secretsmanager,ssm --json"))).await;
    assert_eq!(output.status.code(), Some(0));
    let report = object(&output);
    assert_eq!((&report["lost"], &report["listed"]), (&0.into(), &(1 + 2 * (4 + 4)).into()));
    assert_eq!(report["services"], serde_json::json!(["ssm", "secretsmanager"]));
    let by_action = report["server"]["by_action"].as_object().expect("counts");
    assert!(
        by_action.keys().all(|name| ["sts", "ssm", "secretsmanager"].contains(&name.split('.').next().unwrap_or("")))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fan_out_will_do() {
    for fan_out in [0, u64::MAX] {
        let output = output(inventory(&format!("{SMALL} --fan-out {fan_out} --services logs --json"))).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(object(&output)["lost"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_json_lines_on_standard_error() {
    let output = output(inventory(&format!("{SMALL} --json --log json --fault brownout=1/4:service=ssm"))).await;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(object(&output)["lost"], 0);
    let text = String::from_utf8(output.stderr).expect("text");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    assert!(events.iter().any(|event| event["target"] == "cloud_governor" && event["message"] == "retrying"), "{text}");
}

/// A simulation that the program does not know to be one.
async fn elsewhere() -> (Arc<Aws>, Server) {
    elsewhere_of(SMALL).await
}

async fn elsewhere_of(line: &str) -> (Arc<Aws>, Server) {
    let size = args(line).simulation.size.fleet(1, 2);
    let aws = Arc::new(Aws::new(Fleet::seeded(3, &size).expect("a possible size"), Limits::default()));
    let server = Server::start(aws.clone(), 3).await.expect("a free port");
    (aws, server)
}

fn signed_for(aws: &Aws, mut command: Command) -> Command {
    let account = &aws.fleet().accounts()[0];
    command
        .env("AWS_ACCESS_KEY_ID", account.access_key_id())
        .env("AWS_SECRET_ACCESS_KEY", account.secret_access_key())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/dev/null")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compatible_server_is_listed_like_a_real_aws() {
    let (aws, server) = elsewhere().await;
    let line = format!("--endpoint-url {} --region eu-west-1 --region us-east-1 --region eu-west-1", server.url());
    let json = output(signed_for(&aws, inventory(&format!("{line} --json")))).await;
    assert_eq!(json.status.code(), Some(0), "{json:?}");
    let report = object(&json);
    assert_eq!(report["lost"], 0);
    assert_eq!(report["found"]["parameters"], aws.fleet().totals().parameters);
    assert!(report["server"].is_null() && report["ideal_s"].is_null());
    let text = output(signed_for(&aws, inventory(&line))).await;
    assert!(String::from_utf8_lossy(&text.stdout).contains(aws.fleet().accounts()[0].id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_configuration_ends_it_before_any_request() {
    let (aws, server) = elsewhere().await;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "ratelimit:\n  aws:\n    max_retires: 3").expect("written");
    let line = format!("--endpoint-url {} --region eu-west-1 --json --config", server.url());
    for log in ["off", "json"] {
        let mut command = signed_for(&aws, inventory(&line));
        command.arg(file.path()).args(["--log", log]);
        let refused = output(command).await;
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(refused.stdout.is_empty());
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(complaint.contains("max_retires") && complaint.contains("line 3"), "{complaint}");
        assert_eq!(serde_json::from_str::<Value>(&complaint).is_ok(), log == "json", "{complaint}");
    }
    assert_eq!(server.truth().snapshot().totals.requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_nobody_has_ends_it_before_any_request() {
    let (aws, server) = elsewhere().await;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "[profile dev]\nregion = eu-west-1").expect("written");
    let path = file.path().to_owned();
    let run = async |profile: &str| {
        let line = format!("--endpoint-url {} --services ssm --profile dev --profile {profile}", server.url());
        let mut command = signed_for(&aws, inventory(&line));
        command.env("AWS_CONFIG_FILE", &path);
        output(command).await
    };
    let refused = run("nobody").await;
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(refused.stdout.is_empty());
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(complaint.contains("no profile is called nobody"), "{complaint}");
    assert_eq!(server.truth().snapshot().totals.requests, 0);
    assert_eq!(run("dev").await.status.code(), Some(0));

    write!(file, "[profile").expect("written");
    let refused = run("dev").await;
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && complaint.contains("line 3"), "{complaint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_command_line_has_the_same_exit_code() {
    for line in [
        "--fault earthquake",
        "--limit logs.Nothing=4",
        "--accounts 0",
        "--size huge",
        "--size vpcs=1000000,subnets=1000000",
        "--ungoverned legacy",
        "--services s3",
        "--cloud oracle",
        "--cloud azure --subscriptions 0",
        "--cloud azure --subscriptions 10001",
        "--cloud azure --ungoverned adaptive",
        "--cloud all --ungoverned adaptive",
        "--cloud azure --services ssm",
        "--cloud all --services ssm",
        "--services network",
        "--limit arm.reads=4",
        "--cloud azure --limit logs.DescribeLogGroups=4",
        "--cloud azure --limit arm.nothing=4",
        "--subscription 04e95f3e-eaff-4ec2-9c05-43c3e1110eef",
        "--cloud all --subscription 04e95f3e-eaff-4ec2-9c05-43c3e1110eef",
        "--cloud azure --subscriptions 2 --subscription 04e95f3e-eaff-4ec2-9c05-43c3e1110eef",
        "--cloud azure --subscription=",
        "--cloud azure --region eu-west-1",
        "--cloud azure --endpoint-url https://127.0.0.1:1",
        "--cloud azure --subscription a --endpoint-url https://",
        "--cloud azure --ungoverned standard --ignore-quota-headers",
        "--cloud gcp --projects 0",
        "--cloud gcp --projects 10001",
        "--cloud gcp --projects many",
        "--cloud gcp --size disks=1000001",
        "--cloud gcp --minute 0s",
        "--cloud gcp --minute soon",
        "--cloud gcp --minute 100000y",
        "--cloud gcp --minute 1s --minute-left 2s",
        "--cloud gcp --minute-left 0s",
        "--cloud gcp --ungoverned adaptive",
        "--cloud gcp --services ssm",
        "--cloud gcp --services compute",
        "--cloud all --services ssm,compute",
        "--services cloudasset",
        "--cloud gcp --limit arm.reads=4",
        "--cloud gcp --limit cloudasset.ListAssets=0",
        "--cloud gcp --limit cloudasset.Nothing=4",
        "--limit cloudasset.ListAssets=4",
        "--project p",
        "--cloud all --project p",
        "--cloud gcp --project=",
        "--cloud gcp --project p",
        "--cloud gcp --zone us-central1-a",
        "--cloud gcp --projects 2 --project p --zone us-central1-a",
        "--cloud gcp --minute 1s --project p --zone us-central1-a",
        "--cloud gcp --region eu-west-1",
        "--cloud gcp --subscription a",
        "--cloud gcp --endpoint-url https://127.0.0.1:1",
        "--cloud gcp --project p --zone us-central1-a --endpoint-url http://example.com",
    ] {
        let refused = output(inventory(line)).await;
        assert_eq!(refused.status.code(), Some(2), "{line}");
        assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_in_no_output() {
    let (aws, server) = elsewhere().await;
    let line = format!("--endpoint-url {} --region eu-west-1 --log json", server.url());
    let mut command = signed_for(&aws, inventory(&line));
    command.env("RUST_LOG", "warn,cloud_governor=trace,inventory=trace");
    let output = output(command).await;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("eu-west-1"));
    assert!(!said.contains(aws.fleet().accounts()[0].secret_access_key()));
    assert!(!said.contains("value of "), "a parameter's value");
}

const SMALL_AZURE: &str =
    "--cloud azure --subscriptions 2 --size resource_groups=3,virtual_networks=4,network_subnets=2,virtual_machines=5";

#[tokio::test(flavor = "multi_thread")]
async fn azure_has_the_same_json_and_counts_of_its_own() {
    let output = output(inventory(&format!("{SMALL_AZURE} --json"))).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = object(&output);
    assert_eq!((&report["lost"], &report["listed"]), (&0.into(), &(2 + 2 * (3 + 4 + 4 * 2 + 5)).into()));
    assert_eq!(report["services"], serde_json::json!(["resources", "network", "compute"]));
    let azure =
        serde_json::json!({ "resource_groups": 6, "virtual_networks": 8, "subnets": 16, "virtual_machines": 10 });
    assert_eq!(report["found"]["azure"], azure);
    let requests = report["server"]["requests"].as_u64().expect("a count");
    assert_eq!(report["summary"]["totals"]["calls"], requests);
    assert!(report["server"]["by_action"]["compute.VirtualMachines.instanceView"]["answered"] == 10, "{report:#}");
    assert!(report["ideal_s"].is_number() && output.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_on_aws_does_not_mention_azure() {
    let report = object(&output(inventory(&format!("{SMALL} --json"))).await);
    assert!(report["found"].as_object().is_some_and(|found| !found.contains_key("azure")), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_line_that_is_of_no_use_says_what_would_be() {
    for (line, expected) in [
        ("--cloud azure --ungoverned adaptive", "--ungoverned standard"),
        ("--services network", "--cloud azure"),
        ("--cloud azure --limit arm.nothing=4", "arm.reads"),
        ("--limit arm.reads=4", "arm.reads is a bucket of Azure"),
        ("--cloud gcp --ungoverned adaptive", "--ungoverned standard"),
        ("--cloud gcp --limit cloudasset.Nothing=4", "cloudasset.SearchAllResources"),
        ("--services compute-engine", "compute-engine is a service of Google Cloud"),
        ("--cloud all --services ssm,compute", "there are cloudasset, compute-engine"),
        ("--cloud gcp --projects 0", "projects: 0 is not from 1 to 10000"),
        ("--cloud gcp --minute 1s --minute-left 2s", "--minute 1s, --minute-left 2s"),
        ("--cloud gcp --project p", "--zone"),
        ("--cloud gcp --endpoint-url https://127.0.0.1:1", "--project has to say"),
        ("--cloud gcp --project p --zone z --endpoint-url http://example.com", "unless to this machine"),
    ] {
        let refused = output(inventory(line)).await;
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(complaint.contains(expected), "{line}: {complaint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_subscription_is_not_listed_by_nobody() {
    // Without any program to be signed in with, and with no way to the network but to a port where nobody is.
    let mut command = inventory(
        "--cloud azure --subscription A --subscription a --endpoint-url https://127.0.0.1:1 --services compute --json",
    );
    command.env("PATH", "");
    let output = output(command).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = object(&output);
    assert_eq!((&report["simulated"], &report["lost"]), (&false.into(), &1.into()), "{report:#}");
    let incomplete = &report["incomplete"][0];
    assert_eq!((&incomplete["account"], &incomplete["kind"]), (&"a".into(), &"virtual_machines".into()), "{report:#}");
    assert!(
        incomplete["reason"].as_str().is_some_and(|reason| reason.contains("no token: ") && !reason.contains('\n')),
        "{report:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_tokens_of_azure_are_in_no_output() {
    let fleet = azure::Fleet::seeded(1, &args(SMALL_AZURE).simulation.size.tenant(2)).expect("a possible size");
    let mut command = inventory(&format!("{SMALL_AZURE} --fault brownout=1/20 --log json"));
    command.env("RUST_LOG", "warn,cloud_governor=trace,inventory=trace");
    let output = output(command).await;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains(&fleet.subscriptions()[0].id), "{said}");
    assert!(!said.contains(fleet.principals()[0].secret()));
    assert!(!said.contains("simulated.") && !said.contains("Bearer"), "a token");
}

const SMALL_GCP: &str =
    "--cloud gcp --projects 2 --size zone_instances=3,disks=105,service_accounts=1,storage_buckets=1";

#[tokio::test(flavor = "multi_thread")]
async fn google_cloud_has_the_same_json_and_counts_of_its_own() {
    let output = output(inventory(&format!("{SMALL_GCP} --json"))).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = object(&output);
    // The project itself, its instances in four zones, disks, service account and bucket.
    let assets = 1 + 4 * 3 + 105 + 1 + 1;
    assert_eq!((&report["lost"], &report["listed"]), (&0.into(), &(2 + 2 * (assets + assets + 12)).into()));
    assert_eq!(report["clouds"], serde_json::json!(["gcp"]));
    assert_eq!(report["services"], serde_json::json!(["cloudasset", "compute-engine"]));
    let gcp = serde_json::json!({ "assets": 2 * assets, "search_results": 2 * assets, "instances": 24 });
    assert_eq!(report["found"]["gcp"], gcp);
    assert!(report["found"].as_object().is_some_and(|found| !found.contains_key("azure")), "{report:#}");
    let by_action = report["server"]["by_action"].as_object().expect("counts");
    let requests: Vec<_> =
        by_action.iter().map(|(name, counts)| (name.as_str(), counts["requests"].as_u64())).collect();
    let expected = [("cloudasset.ListAssets", 4), ("cloudasset.SearchAllResources", 4), ("compute.instances.list", 8)];
    assert_eq!(requests, expected.map(|(name, count)| (name, Some(count))));
    assert_eq!(report["summary"]["totals"]["calls"], report["server"]["requests"]);
    assert!(report["ideal_s"].is_number() && output.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_complete_names_its_cloud() {
    let line = format!("{SMALL_GCP} --json --fault fail=403:service=compute --max-requeues 0");
    let report = object(&output(inventory(&line)).await);
    let incomplete = report["incomplete"].as_array().expect("listings");
    assert_eq!(incomplete.len(), 2, "{report:#}");
    assert!(incomplete.iter().all(|one| one["cloud"] == "gcp" && one["kind"] == "instances"), "{report:#}");
}

/// An endpoint that gives this token to whoever comes.
async fn tokens(token: &str) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/token", listener.local_addr().expect("an address"));
    let body = serde_json::json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }).to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            // One that hangs up asks again, or fails the test.
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compatible_server_is_listed_like_the_real_google_cloud() {
    let fleet = gcp::Fleet::seeded(3, &args(SMALL_GCP).simulation.size.organization(2)).expect("a possible size");
    let google = Arc::new(gcp::Gcp::new(fleet, gcp::Limits::default()));
    let server = Server::start(google.clone(), 3).await.expect("a free port");
    let (token_uri, serving) = tokens(google.fleet().caller().token()).await;
    let credentials = serde_json::json!({
        "type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": token_uri,
    });
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "{credentials}").expect("written");
    let [one, other] = google.fleet().projects() else { panic!("two projects") };
    let zones: Vec<_> = one.zones.iter().map(|zone| format!("--zone {zone}")).collect();
    let line = format!("--cloud gcp --endpoint-url {} {} --json", server.url(), zones.join(" "));
    let mut command = inventory(&format!("{line} --project {} --project {}", one.id, one.id));
    command.env("GOOGLE_APPLICATION_CREDENTIALS", file.path());
    let listed = output(command).await;
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    let report = object(&listed);
    assert_eq!((&report["simulated"], &report["lost"]), (&false.into(), &0.into()), "{report:#}");
    assert_eq!(report["found"]["gcp"]["instances"], one.instances.len());
    assert!(report["server"].is_null() && report["ideal_s"].is_null());
    let charged = server.truth().snapshot().leaves.into_iter().map(|one| one.leaf.account).collect::<BTreeSet<_>>();
    assert_eq!(charged, BTreeSet::from([one.account()]), "and the other's quota is not touched: {}", other.id);
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_no_use_end_it_before_any_request() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "{{ \"type\": \"hunter2\" }}").expect("written");
    for path in [file.path(), "/nonexistent/credentials.json".as_ref()] {
        let mut command = inventory("--cloud gcp --project p --services cloudasset --endpoint-url http://127.0.0.1:1");
        command.env("GOOGLE_APPLICATION_CREDENTIALS", path);
        let refused = output(command).await;
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.stdout.is_empty() && complaint.contains("Google Cloud's credentials: "), "{complaint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn google_s_tokens_are_in_no_output_whatever_is_told() {
    let fleet = gcp::Fleet::seeded(1, &args(SMALL_GCP).simulation.size.organization(2)).expect("a possible size");
    let mut command = inventory(&format!("{SMALL_GCP} --fault brownout=1/4 --log json"));
    command.env("RUST_LOG", "trace");
    let output = output(command).await;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains(&fleet.projects()[0].id), "{said}");
    assert!(!said.contains(fleet.caller().token()) && !said.contains("Bearer"), "a token");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_tells_what_was_found_so_far() {
    let (aws, server) = elsewhere_of("--size log_groups=400,log_streams=1,parameters=4,secrets=4").await;
    let line = format!("--endpoint-url {} --region eu-west-1 --json", server.url());
    let mut command = signed_for(&aws, inventory(&line));
    let program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    // Four hundred groups take twenty seconds at the governor's rate.
    while server.truth().snapshot().totals.answered < 40 {
        tokio::time::sleep(LOOK).await;
    }
    let interrupt = Command::new("sh").args(["-c", "kill -INT \"$0\"", &program.id().to_string()]).status();
    assert!(interrupt.expect("a shell").success());
    let ended = tokio::task::spawn_blocking(move || program.wait_with_output()).await.expect("a thread");
    let ended = ended.expect("the program ends");
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let report = object(&ended);
    assert_eq!((&report["interrupted"], &report["exit_code"]), (&true.into(), &130.into()));
    assert!(report["listed"].as_u64() > Some(0), "{report:#}");
    let incomplete = report["incomplete"].as_array().expect("listings");
    assert!(
        incomplete.iter().any(|listing| listing["kind"] == "log_groups" && listing["reason"].is_null()),
        "{report:#}"
    );
}
