//! What is said when a client replaces a part of the hooks.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use aws_smithy_types::retry::RetryConfig;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::common::{Reply, Server, governed, governor};

/// Keeps the governor's warnings, or all its events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings {
    seen: Arc<Mutex<Vec<String>>>,
    all: bool,
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _infallible = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cloud_governor") && (self.all || *metadata.level() == Level::WARN)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.seen.lock().expect("no panic before").push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Warnings {
    pub(crate) fn everything() -> Self {
        Warnings { all: true, ..Warnings::default() }
    }

    pub(crate) fn about(&self, part: &str) -> usize {
        self.seen.lock().expect("no panic before").iter().filter(|text| text.contains(part)).count()
    }
}

async fn call_twice(client: aws_sdk_ssm::Client) -> Warnings {
    let warnings = Warnings::default();
    let _subscribed = tracing::subscriber::set_default(warnings.clone());
    for _ in 0..2 {
        let _answer = client.get_parameter().name("a").send().await;
    }
    warnings
}

fn builder(server: &Server) -> aws_sdk_ssm::config::Builder {
    aws_sdk_ssm::config::Builder::from(&governed(server, &governor(|aws| aws.max_retries(1))))
}

#[tokio::test(start_paused = true)]
async fn a_clients_own_retry_configuration_is_reported_once() {
    let server = Server::always(Reply::parameter());
    let config = builder(&server).retry_config(RetryConfig::standard()).build();
    assert_eq!(call_twice(aws_sdk_ssm::Client::from_conf(config)).await.about("retry configuration"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_clients_own_identity_cache_is_reported_once() {
    let server = Server::always(Reply::parameter());
    let config = builder(&server).identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache()).build();
    assert_eq!(call_twice(aws_sdk_ssm::Client::from_conf(config)).await.about("identity cache"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_clients_own_http_client_is_reported_once() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let config = builder(&server).http_client(server.clone()).build();
    assert_eq!(call_twice(aws_sdk_ssm::Client::from_conf(config)).await.about("never seen at the HTTP client"), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_of_a_client_that_replaces_nothing() {
    let server = Server::script([Reply::json_error(503, "InternalServerError"), Reply::parameter()]);
    let config = builder(&server).build();
    assert_eq!(call_twice(aws_sdk_ssm::Client::from_conf(config)).await.about(""), 0);
}
