//! Nothing secret in any error, event or `Debug` of ours.

use std::error::Error;
use std::fmt::Write as _;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor_aws::{AssumedRole, AwsHooks, AwsOptions, CallOptions, GovernorInterceptor, refusal};

use crate::common::{Reply, Server, governor, plain, seconds};
use crate::warnings::Warnings;

const SECRETS: [&str; 6] =
    ["AKIDPRIVATE", "wJalrPRIVATE", "tokenPRIVATE", "Signature=", "bodyPRIVATE", "AWS4-HMAC-SHA256"];

fn assert_clean(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// An error and its sources, by display and by debug. The SDK's own raw answer, which it shows in `Debug`, is its own.
fn told(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let _infallible = writeln!(text, "{error}");
        next = error.source();
    }
    if let Some(refusal) = refusal(error) {
        let _infallible = writeln!(text, "{refusal:?}");
    }
    text
}

#[tokio::test(start_paused = true)]
async fn no_key_token_signature_or_body_is_in_an_event_an_error_or_a_debug_text() {
    let events = Warnings::everything();
    let _subscribed = tracing::subscriber::set_default(events.clone());
    let private = r#"{"__type":"ThrottlingException","message":"bodyPRIVATE"}"#;
    let server = Server::script([
        Reply::new(400, private),
        Reply::new(429, "bodyPRIVATE"),
        Reply::Broken { status: 200, start: "bodyPRIVATE".into() },
        Reply::Reset,
        Reply::new(200, "bodyPRIVATE").after(seconds(3600)),
    ]);
    let keys = Credentials::new("AKIDPRIVATE", "wJalrPRIVATE", Some("tokenPRIVATE".to_owned()), None, "t");
    let config = plain(&server)
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build())
        .build();
    let governor = governor(|aws| aws.max_retries(6).breaker_failures(1));
    let options = AwsOptions::default().governor(governor.clone()).account("1");
    let shown = format!("{options:?} {:?} {:?}", CallOptions::new(), GovernorInterceptor::new());
    let config = options.install(&config);
    let role =
        AssumedRole::new("arn:aws:iam::123456789012:role/r").expect("sound").config(&config, AwsOptions::default());
    let client = aws_sdk_ssm::Client::new(&config);
    let call = || client.put_parameter().name("a").value("bodyPRIVATE").send();
    let timed_out = call().await.expect_err("hangs");
    let refused = call().await.expect_err("open");
    assert!(refusal(&refused).is_some());
    let hooks = format!("{:?} {:?}", config.identity_cache(), config.http_client());
    let inventory = format!("{:?} {:?} {:?}", governor.summary(), governor.messages(), AwsHooks::builder());
    let roles = format!("{:?} {:?}", role.identity_cache(), role.http_client());
    for text in [shown, told(&timed_out), told(&refused), format!("{refused:?}"), hooks, inventory, roles] {
        assert_clean(&text);
    }
    assert!(events.about("") >= 6, "the events of a call in trouble");
    for secret in SECRETS {
        assert_eq!(events.about(secret), 0, "{secret}");
    }
}
