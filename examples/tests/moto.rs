//! The inventory against moto, an implementation of AWS that is none of ours.
//!
//! `MOTO_SERVER=path/to/moto_server cargo test -p cloud-governor-examples --test moto -- --ignored`

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_sdk_ssm::config::{Credentials, Region};
use aws_sdk_ssm::types::ParameterType;

const REGIONS: [&str; 2] = ["us-east-1", "eu-west-1"];
const PARAMETERS: usize = 25;

/// A moto server of the test's own, which ends with it.
struct Moto {
    process: Child,
    url: String,
}

impl Moto {
    fn start() -> Self {
        let program = std::env::var("MOTO_SERVER").expect("MOTO_SERVER names moto's server program");
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).expect("a port").port();
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto starts");
        let moto = Moto { process, url: format!("http://127.0.0.1:{port}") };
        let patience = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < patience, "moto does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        moto
    }

    async fn put_parameters(&self, region: &'static str) {
        let config = aws_sdk_ssm::Config::builder()
            .behavior_version_latest()
            .credentials_provider(Credentials::for_tests())
            .region(Region::from_static(region))
            .endpoint_url(&self.url)
            .build();
        let ssm = aws_sdk_ssm::Client::from_conf(config);
        for number in 0..PARAMETERS {
            let put = ssm.put_parameter().name(format!("/app/{number}")).value("x").r#type(ParameterType::String);
            put.send().await.expect("moto takes parameters");
        }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It has nothing to lose, and the test has nobody to tell.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
#[ignore = "needs moto: MOTO_SERVER names its server program"]
async fn a_governed_inventory_of_another_implementation_finds_everything() {
    let moto = Moto::start();
    for region in REGIONS {
        moto.put_parameters(region).await;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_inventory"))
        .args(["--endpoint-url", &moto.url, "--region", REGIONS[0], "--region", REGIONS[1], "--json"])
        .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("CLOUD_GOVERNOR__AWS__MAX_RPS", "200")
        .output()
        .expect("the inventory runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(output.status.success(), "{report:#}");
    assert_eq!(report["lost"], 0, "{report:#}");
    assert!(report["listed"].as_u64() >= Some((REGIONS.len() * PARAMETERS) as u64), "{report:#}");
    // Each parameter is read once, and there is a caller identity and a listing for each region besides.
    let calls = report["summary"]["totals"]["calls"].as_u64();
    assert!(calls > Some((REGIONS.len() * (PARAMETERS + 1)) as u64), "{report:#}");
    assert_eq!(report["summary"]["totals"]["gave_up"], 0, "{report:#}");
}
