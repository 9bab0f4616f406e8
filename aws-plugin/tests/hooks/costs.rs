//! What calls cost where instances are counted.
//!
//! EC2's own SDK is too big for a test. STS speaks nearly the same protocol, so its client is made to call EC2: by an
//! interceptor that puts EC2's name and form in place of its own.

use std::num::NonZeroU32;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use cloud_governor::{Governor, Scope};
use cloud_governor_aws::{CallOptions, GovernorInterceptor};

use crate::common::{ACCOUNT, Reply, Server, governed, governor, seconds, totals};

/// What EC2's client would send.
#[derive(Debug, Clone)]
struct AsEc2 {
    operation: &'static str,
    form: String,
}

#[dyn_dispatch_hint]
impl Intercept for AsEc2 {
    fn name(&self) -> &'static str {
        "AsEc2"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        bag.interceptor_state().store_put(Metadata::new(self.operation, "EC2"));
        Ok(())
    }

    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let form = format!("Action={}&Version=2016-11-15&{}", self.operation, self.form);
        let length = form.len().to_string();
        let request = context.request_mut();
        *request.body_mut() = SdkBody::from(form);
        request.headers_mut().insert("content-length", length);
        // Where no gate is passed, the user agent tells the service.
        request.headers_mut().insert("x-amz-user-agent", "aws-sdk-rust/1.0 api/ec2/1.0.0");
        Ok(())
    }
}

fn run(instances: u32) -> AsEc2 {
    AsEc2 { operation: "RunInstances", form: format!("ImageId=ami-1&MaxCount={instances}&MinCount=1") }
}

fn on_instances(operation: &'static str, count: usize) -> AsEc2 {
    let ids: Vec<String> = (1..=count).map(|number| format!("InstanceId.{number}=i-{number:017x}")).collect();
    AsEc2 { operation, form: ids.join("&") }
}

fn client(server: &Server, governor: &Governor, call: AsEc2, steered: bool) -> aws_sdk_sts::Client {
    aws_sdk_sts::Client::from_conf(config(server, governor, call, steered).build())
}

fn config(server: &Server, governor: &Governor, call: AsEc2, steered: bool) -> aws_sdk_sts::config::Builder {
    let config = aws_sdk_sts::config::Builder::from(&governed(server, governor)).interceptor(call);
    if steered { config.interceptor(GovernorInterceptor::new()) } else { config }
}

/// How much of the bucket of 1000 instances is gone, in whole instances.
fn spent(governor: &Governor, operation: &str, bucket: &str) -> u32 {
    let called = Scope::new("aws", ACCOUNT, "eu-west-1", "ec2").with_operation(operation);
    spent_of(governor, &called, bucket)
}

fn spent_of(governor: &Governor, called: &Scope, bucket: &str) -> u32 {
    let seen = governor.inspect(called).expect("a leaf that was called");
    let shared = seen.shared.iter().find(|shared| shared.scope.operation() == Some(bucket)).expect("it is shared");
    let brim = shared.burst;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a thousand")]
    let spent = (brim - shared.tokens).round() as u32;
    spent
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_call_costs_the_instances_that_its_request_names() {
    for (call, bucket, cost) in [
        (run(40), "run-instances", 40),
        (on_instances("StartInstances", 3), "start-instances", 3),
        (on_instances("StopInstances", 7), "stop-instances", 7),
        (on_instances("TerminateInstances", 200), "terminate-instances", 200),
    ] {
        let server = Server::always(Reply::caller());
        let governor = governor(|aws| aws);
        let operation = call.operation;
        client(&server, &governor, call, true).get_caller_identity().send().await.expect("an answer");
        assert_eq!(spent(&governor, operation, bucket), cost, "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_interceptor_a_call_costs_one() {
    let server = Server::always(Reply::caller());
    let governor = governor(|aws| aws);
    client(&server, &governor, run(40), false).get_caller_identity().send().await.expect("an answer");
    assert_eq!(spent(&governor, "RunInstances", "run-instances"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_task_says_that_its_calls_cost_holds_with_the_interceptor_and_without() {
    for steered in [true, false] {
        let server = Server::always(Reply::caller());
        let governor = governor(|aws| aws);
        let client = client(&server, &governor, run(40), steered);
        let options = CallOptions::new().cost(NonZeroU32::new(5).expect("not zero"));
        options.scope(client.get_caller_identity().send()).await.expect("an answer");
        assert_eq!(spent(&governor, "RunInstances", "run-instances"), 5, "{steered}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_costs_as_much() {
    let server = Server::script([Reply::new(503, ""), Reply::caller()]);
    let governor = governor(|aws| aws);
    client(&server, &governor, run(100), true).get_caller_identity().send().await.expect("the second answer");
    assert_eq!((server.count(), totals(&governor).calls), (2, 2));
    // Some come back while the second waits.
    let spent = spent(&governor, "RunInstances", "run-instances");
    assert!((190..=200).contains(&spent), "{spent}");
}

/// Credentials of an operation's own pass no gate: the observer admits the request.
#[tokio::test(start_paused = true)]
async fn a_call_that_passes_no_gate_costs_the_instances_too() {
    let server = Server::always(Reply::caller());
    let governor = governor(|aws| aws);
    let own = Credentials::new("AKIDX", "secret", None, None, "test");
    let own = aws_sdk_sts::Config::builder().credentials_provider(SharedCredentialsProvider::new(own));
    let client = client(&server, &governor, run(40), true);
    client.get_caller_identity().customize().config_override(own).send().await.expect("an answer");
    let scopes: Vec<Scope> = governor.summary().scopes.into_keys().collect();
    let called = scopes.iter().find(|scope| scope.operation() == Some("RunInstances")).expect("it was called");
    assert!(called.account().starts_with("unknown-"), "{called}");
    assert_eq!(spent_of(&governor, called, "run-instances"), 40);
}

/// 1000 instances are ready, and 2 more come each second.
#[tokio::test(start_paused = true)]
async fn instances_beyond_those_that_are_ready_are_waited_for() {
    let server = Server::always(Reply::caller());
    let governor = governor(|aws| aws);
    let client = client(&server, &governor, run(500), true);
    for _ in 0..3 {
        client.get_caller_identity().send().await.expect("an answer");
    }
    let requests = server.requests();
    assert!(requests[1].at < seconds(2), "{:?}", requests[1].at);
    assert!(requests[2].at > seconds(240) && requests[2].at < seconds(260), "{:?}", requests[2].at);
}
