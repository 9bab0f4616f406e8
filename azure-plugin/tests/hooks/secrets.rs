//! Nothing secret in any error, event or `Debug` of ours.

use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{ClientOptions, Context, Method, Request};
use cloud_governor_azure::{AzureOptions, CallOptions, governed, refusal};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::common::{Client, Reply, Server, by, credential, governor, request, seconds};

const SECRETS: [&str; 5] = ["tokenPRIVATE", "passwordPRIVATE", "sigPRIVATE", "bodyPRIVATE", "Bearer"];

/// Keeps the governor's events.
#[derive(Debug, Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _infallible = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cloud_governor")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().expect("no panic before").push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An error and its sources by display, and all that is ours in it by debug.
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
async fn no_token_signature_or_body_is_in_an_event_an_error_or_a_debug_text() {
    let replies = [
        Reply::json(429, "TooManyRequests").header("x-ms-signature", "sigPRIVATE"),
        Reply::new(500, "bodyPRIVATE"),
        Reply::stream(400, [Some("bodyPRIVATE"), None]),
        Reply::Reset,
        Reply::new(200, "bodyPRIVATE").after(seconds(3600)),
    ];
    let refused = Reply::new(503, r#"{"error":"bodyPRIVATE","error_description":"bodyPRIVATE","error_codes":[1]}"#);
    let server = Server::with_tokens([refused, Reply::token()], replies);
    let events = Events::default();
    let subscribed = tracing::subscriber::set_default(events.clone());
    let governor = governor(|azure| azure.max_retries(6).breaker_failures(1).attempt_timeout(seconds(5)));
    let options = by(&governor);
    let call = CallOptions::new().idempotent(true);
    let shown = format!("{options:?} {call:?} {:?}", AzureOptions::default());
    let client_options = governed(server.options(), options);
    let policies = format!("{:?} {:?}", client_options.per_call_policies, client_options.per_try_policies);
    let client = Client::authorized(client_options.clone(), credential(client_options));
    let send = async || {
        let mut put = request(Method::Put);
        put.url_mut().set_query(Some("sig=sigPRIVATE"));
        put.set_body("bodyPRIVATE");
        client.send(Context::new().with_value(call.clone()), put).await
    };
    let late = send().await.expect_err("late at last");
    let open = send().await.expect_err("refused");
    assert!(refusal(&open).is_some());
    drop(subscribed);
    let summary = format!("{:?} {:?}", governor.summary(), governor.messages());
    let events = events.0.lock().expect("no panic before").join("\n");
    assert!(events.lines().count() >= 6, "the events of a call in trouble: {events}");
    for text in [shown, policies, told(&late), told(&open), format!("{open:?}"), summary, events] {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[derive(Debug)]
struct Own;

#[async_trait::async_trait]
impl Policy for Own {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        next[0].send(ctx, request, &next[1..]).await
    }
}

#[test]
fn the_policies_are_short_where_client_options_are_shown_and_the_users_own_are_between_them() {
    let own = || vec![Arc::new(Own) as Arc<dyn Policy>];
    let options = ClientOptions { per_call_policies: own(), per_try_policies: own(), ..Default::default() };
    let options = governed(options, AzureOptions::new());
    assert_eq!(format!("{:?}", options.per_call_policies), "[Own, GovernorPolicy]");
    assert_eq!(format!("{:?}", options.per_try_policies), "[WirePolicy, Own]");
}
