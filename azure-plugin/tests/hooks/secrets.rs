//! Nothing secret in any error, event or `Debug` of ours.

use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use azure_core::http::{Context, Method};
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
    let events = Events::default();
    let subscribed = tracing::subscriber::set_default(events.clone());
    tracing::callsite::rebuild_interest_cache();
    let replies = [
        Reply::json(429, "TooManyRequests").header("x-ms-signature", "sigPRIVATE"),
        Reply::new(500, "bodyPRIVATE"),
        Reply::stream(400, [Some("bodyPRIVATE"), None]),
        Reply::Reset,
        Reply::new(200, "bodyPRIVATE").after(seconds(3600)),
    ];
    let refused = Reply::new(503, r#"{"error":"bodyPRIVATE","error_description":"bodyPRIVATE","error_codes":[1]}"#);
    let server = Server::with_tokens([refused, Reply::token()], replies);
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

#[test]
fn the_policies_are_short_where_client_options_are_shown() {
    let options = governed(azure_core::http::ClientOptions::default(), AzureOptions::new());
    assert_eq!(format!("{:?}", options.per_call_policies), "[GovernorPolicy]");
    assert_eq!(format!("{:?}", options.per_try_policies), "[WirePolicy]");
}
