//! moto's server, for one test.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use aws_config::BehaviorVersion;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Builder;
use aws_types::SdkConfig;
use aws_types::region::Region;
use serde_json::Value;

pub(crate) const REGIONS: [&str; 2] = ["us-east-1", "eu-west-1"];

/// A moto server of the test's own, which ends with it.
pub(crate) struct Moto {
    process: Child,
    pub(crate) url: String,
}

impl Moto {
    pub(crate) fn start() -> Self {
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

    /// A client's configuration for it.
    pub(crate) fn config(&self, region: &'static str) -> SdkConfig {
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .credentials_provider(SharedCredentialsProvider::new(Credentials::for_tests()))
            .region(Region::from_static(region))
            .endpoint_url(&self.url)
            .http_client(Builder::new().build_http())
            .build()
    }

    /// The output of a program that takes it for AWS.
    pub(crate) fn output(&self, program: &str, args: &[&str]) -> Output {
        Command::new(program)
            .args(args)
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", REGIONS[0])
            .env("CLOUD_GOVERNOR__AWS__MAX_RPS", "200")
            .output()
            .expect("the program runs")
    }

    /// The report of an inventory of both regions in which nothing was lost.
    pub(crate) fn inventory(&self, services: &str) -> Value {
        let regions = ["--region", REGIONS[0], "--region", REGIONS[1]];
        let what = ["--endpoint-url", &self.url, "--services", services, "--json"];
        let output = self.output(env!("CARGO_BIN_EXE_inventory"), &[&what[..], &regions].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert!(output.status.success(), "{report:#}");
        assert_eq!((&report["lost"], &report["summary"]["totals"]["gave_up"]), (&0.into(), &0.into()), "{report:#}");
        report
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It has nothing to lose, and the test has nobody to tell.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
