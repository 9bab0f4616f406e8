//! A client that knows nothing of the SDK: it builds each request by hand, so that the wire itself is tested.

use std::sync::Arc;

use bytes::Bytes;
use cloud_governor_examples::sim::Server;
use cloud_governor_examples::sim::aws::{Account, Aws, Ec2Size, Fleet, FleetSize, Limits};
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

pub(crate) const REGION: &str = "eu-west-1";
pub(crate) const OTHER_REGION: &str = "us-east-1";

/// What came back.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    /// The code in a JSON service's error.
    pub(crate) fn code(&self) -> String {
        self.json()["__type"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) struct Site {
    pub(crate) aws: Arc<Aws>,
    pub(crate) server: Server,
    pub(crate) client: Client<HttpConnector, Full<Bytes>>,
}

/// Two accounts of two regions, with more of everything than fits a page.
pub(crate) fn size() -> FleetSize {
    FleetSize {
        accounts: 2,
        regions: 2,
        log_groups: 120..=130,
        log_streams: 0..=110,
        parameters: 101..=120,
        secrets: 201..=230,
        ec2: Ec2Size { vpcs: 12..=30, instances: 40..=90, volumes: 60..=110, subnets: 0..=12, security_groups: 1..=12 },
    }
}

pub(crate) async fn start(limits: Limits) -> Site {
    let fleet = Fleet::seeded(11, &size()).expect("a possible size");
    let aws = Arc::new(Aws::new(fleet, limits));
    let server = Server::start(aws.clone(), 5).await.expect("a free port");
    Site { aws, server, client: Client::builder(TokioExecutor::new()).build_http() }
}

/// Throttles that no test reaches.
pub(crate) fn wide_open() -> Limits {
    let names: Vec<_> = Limits::default().quotas().iter().map(|quota| quota.bucket).collect();
    names.into_iter().fold(Limits::default(), |limits, name| limited(limits, name, 1e6, 1e6))
}

pub(crate) fn limited(limits: Limits, bucket: &str, capacity: f64, refill_per_s: f64) -> Limits {
    let limit = cloud_governor_examples::sim::Limit::new(capacity, refill_per_s).expect("a possible limit");
    limits.with(bucket, limit).expect("a known bucket")
}

/// The headers of a request that is signed, as far as the simulation looks.
pub(crate) fn signed(account: &Account, region: &str, service: &str) -> hyper::http::request::Builder {
    signed_at(account, region, service, jiff::Timestamp::now())
}

pub(crate) fn signed_at(
    account: &Account,
    region: &str,
    service: &str,
    at: jiff::Timestamp,
) -> hyper::http::request::Builder {
    let (date, day) = (at.strftime("%Y%m%dT%H%M%SZ").to_string(), at.strftime("%Y%m%d"));
    let scope = format!("{}/{day}/{region}/{service}/aws4_request", account.access_key_id());
    let authorization = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00");
    Request::post("/").header("authorization", authorization).header("x-amz-date", date)
}

impl Site {
    pub(crate) fn account(&self, index: usize) -> &Account {
        &self.aws.fleet().accounts()[index]
    }

    pub(crate) async fn send(&self, request: hyper::http::request::Builder, body: &str) -> Result<Got, String> {
        let mut request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).expect("a request");
        *request.uri_mut() = format!("{}/", self.server.url()).parse().expect("a URL");
        let answer = self.client.request(request).await.map_err(|error| format!("no answer: {error}"))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| format!("body cut: {error}"))?.to_bytes();
        let body = String::from_utf8(body.to_vec()).expect("text");
        Ok(Got { status: head.status, headers: head.headers, body })
    }

    /// One call of a JSON service, by its `X-Amz-Target`.
    pub(crate) async fn json(&self, account: usize, region: &str, target: &str, body: Value) -> Result<Got, String> {
        let service = match target.split('.').next() {
            Some("Logs_20140328") => "logs",
            Some("AmazonSSM") => "ssm",
            _ => "secretsmanager",
        };
        let request = signed(self.account(account), region, service)
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amz-target", target);
        self.send(request, &body.to_string()).await
    }

    /// One call of EC2. `form` follows the action and the version.
    pub(crate) async fn ec2(&self, account: usize, region: &str, action: &str, form: &str) -> Result<Got, String> {
        let request =
            signed(self.account(account), region, "ec2").header("content-type", "application/x-www-form-urlencoded");
        self.send(request, &format!("Action={action}&Version=2016-11-15{form}")).await
    }

    pub(crate) async fn identity(&self, account: usize, region: &str) -> Result<Got, String> {
        let request =
            signed(self.account(account), region, "sts").header("content-type", "application/x-www-form-urlencoded");
        self.send(request, "Action=GetCallerIdentity&Version=2011-06-15").await
    }
}
