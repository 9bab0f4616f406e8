use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_core::http::Context;
use azure_core::tracing::{Attribute, PublicApiInstrumentationInformation, Span, SpanKind, Tracer};
use proptest::prelude::*;

use super::{NoSpan, after_prefix, operation, service_of, without_service};

fn named(name: &'static str) -> PublicApiInstrumentationInformation {
    PublicApiInstrumentationInformation::new(name, vec![Attribute { key: "az.x".into(), value: "y".into() }])
}

#[test]
fn the_name_comes_from_what_the_client_put_into_the_context() {
    let ctx = Context::new().with_value(named("Storage.Blob.BlobClient.upload"));
    assert_eq!(operation(&ctx).as_deref(), Some("Storage.Blob.BlobClient.upload"));
}

#[test]
fn a_context_that_names_nothing_has_no_operation() {
    assert_eq!(operation(&Context::new()), None);
    assert_eq!(operation(&Context::new().with_value(named(""))), None);
}

#[derive(Debug, Default)]
struct Theirs(AtomicUsize);

impl Tracer for Theirs {
    fn start_span(&self, _: Cow<'static, str>, _: SpanKind, _: Vec<Attribute>) -> Arc<dyn Span> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Arc::new(NoSpan)
    }

    fn start_span_with_parent(
        &self,
        name: Cow<'static, str>,
        kind: SpanKind,
        attributes: Vec<Attribute>,
        _: Arc<dyn Span>,
    ) -> Arc<dyn Span> {
        self.start_span(name, kind, attributes)
    }

    fn namespace(&self) -> Option<&'static str> {
        Some("Storage.Blob")
    }
}

#[test]
fn a_program_with_tracing_on_is_asked_for_no_span_of_its_own() {
    let theirs = Arc::new(Theirs::default());
    let ctx = Context::new().with_value(theirs.clone() as Arc<dyn Tracer>).with_value(named("KeyVault.setSecret"));
    assert_eq!(operation(&ctx).as_deref(), Some("KeyVault.setSecret"));
    let ctx = ctx.with_value(Arc::new(NoSpan) as Arc<dyn Span>);
    assert_eq!(operation(&ctx).as_deref(), Some("KeyVault.setSecret"));
    assert_eq!(theirs.0.load(Ordering::Relaxed), 0);
}

#[test]
fn the_name_tells_the_service() {
    let table = [
        ("Storage.Blob.BlobClient.upload", Some("storage.blob")),
        ("Storage.Queues.QueueClient.sendMessage", Some("storage.queue")),
        ("Storage.Files.Shares.ShareClient.create", Some("storage.file")),
        ("Storage.Files.DataLake.PathClient.create", Some("storage.dfs")),
        ("Data.Tables.TableClient.create", Some("storage.table")),
        ("Data.AppConfiguration.setKeyValue", Some("appconfig")),
        ("Messaging.EventHubs.x", Some("servicebus")),
        ("KeyVault.setSecret", Some("keyvault")),
        ("Network.VirtualNetworks.listAll", Some("network")),
        ("Storage.Blobs.x", Some("storage")),
        ("listAll", None),
        (".listAll", None),
        ("Network.", None),
        ("a b.c", None),
        ("", None),
    ];
    for (operation, service) in table {
        assert_eq!(service_of(operation).as_deref(), service, "{operation}");
    }
}

#[test]
fn only_the_services_own_prefix_is_taken_off() {
    let table = [
        ("storage.blob", "Storage.Blob.BlobClient.upload", "BlobClient.upload"),
        ("storage.queue", "Storage.Queues.QueueClient.sendMessage", "QueueClient.sendMessage"),
        ("keyvault", "KeyVault.setSecret", "setSecret"),
        ("network", "Network.VirtualNetworks.listAll", "VirtualNetworks.listAll"),
        ("servicebus", "Messaging.EventHubs.send", "send"),
        ("servicebus", "Messaging.ServiceBus.send", "send"),
        ("compute", "Network.VirtualNetworks.listAll", "Network.VirtualNetworks.listAll"),
        ("storage.dfs", "Storage.Blob.BlobClient.upload", "Storage.Blob.BlobClient.upload"),
        ("network", "Networks.list", "Networks.list"),
        ("network", "Network.", "Network."),
        ("network", "Network", "Network"),
        ("network", "", ""),
        ("network", "Nétwork.x", "Nétwork.x"),
    ];
    for (service, operation, left) in table {
        assert_eq!(without_service(operation, service), left, "{service} {operation}");
    }
}

proptest! {
    #[test]
    fn a_prefix_comes_off_whatever_its_case(prefix in "[A-Za-z.é]{0,8}", rest in ".{1,8}") {
        let name = format!("{}.{rest}", prefix.to_ascii_uppercase());
        prop_assert_eq!(after_prefix(&name, &prefix), Some(rest.as_str()));
    }

    #[test]
    fn any_name_is_read_without_a_panic(name in any::<String>(), service in any::<String>()) {
        prop_assert!(name.ends_with(without_service(&name, &service)));
        prop_assert!(service_of(&name).is_none_or(|service| !service.is_empty()));
    }
}
