//! The name of the operation that a request belongs to.
//!
//! Every method of an SDK client puts its name into the context, whether the program traces or not. The value's only
//! field is private; the SDK gives it to whoever starts the operation's span. So a tracer is handed in that starts none,
//! and keeps the name.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use azure_core::http::policies::create_public_api_span;
use azure_core::http::{Context, Request};
use azure_core::tracing::{
    AsAny, Attribute, AttributeValue, PublicApiInstrumentationInformation, Span, SpanGuard, SpanKind, SpanStatus,
    Tracer,
};

/// The operation as the client named it, such as `Storage.Blob.BlobClient.upload`.
///
/// A tracer or a span that the program's own tracing put into the context is neither used nor changed: the name is asked
/// for in a context of its own.
pub(crate) fn operation(ctx: &Context<'_>) -> Option<Cow<'static, str>> {
    let named = ctx.value::<PublicApiInstrumentationInformation>()?.clone();
    let tracer = Arc::new(NameTracer::default());
    create_public_api_span(&Context::new(), Some(tracer.clone()), Some(named));
    let name = tracer.name.lock().unwrap_or_else(PoisonError::into_inner).take();
    name.filter(|name| !name.is_empty())
}

/// What follows `prefix` and a dot in a name, if the name begins with it in any case.
pub(crate) fn after_prefix<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = name.split_at_checked(prefix.len())?;
    let rest = rest.strip_prefix('.').filter(|rest| !rest.is_empty())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// What the clients of a service call it in the names of their operations, and what a scope calls it.
const PREFIXES: &[(&str, &str)] = &[
    ("Storage.Blob", "storage.blob"),
    ("Storage.Queues", "storage.queue"),
    ("Storage.Files.Shares", "storage.file"),
    ("Storage.Files.DataLake", "storage.dfs"),
    ("Data.Tables", "storage.table"),
    ("Data.AppConfiguration", "appconfig"),
    ("Messaging.ServiceBus", "servicebus"),
    ("Messaging.EventHubs", "servicebus"),
];

/// The service that an operation's name tells: a known one, or the first of at least two words, in lower case.
pub(crate) fn service_of(operation: &str) -> Option<Cow<'static, str>> {
    if let Some((_, service)) = PREFIXES.iter().find(|(prefix, _)| after_prefix(operation, prefix).is_some()) {
        return Some(Cow::Borrowed(service));
    }
    let (first, rest) = operation.split_once('.')?;
    let is_word = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_word && !rest.is_empty()).then(|| Cow::Owned(first.to_ascii_lowercase()))
}

/// The operation's name without the name of the service that the scope has already.
pub(crate) fn without_service<'a>(operation: &'a str, service: &str) -> &'a str {
    let prefixes = PREFIXES.iter().filter(|(_, of)| *of == service).map(|(prefix, _)| *prefix);
    prefixes.chain([service]).find_map(|prefix| after_prefix(operation, prefix)).unwrap_or(operation)
}

#[derive(Debug, Default)]
struct NameTracer {
    name: Mutex<Option<Cow<'static, str>>>,
}

impl Tracer for NameTracer {
    fn start_span(&self, name: Cow<'static, str>, _: SpanKind, _: Vec<Attribute>) -> Arc<dyn Span> {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
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
        None
    }
}

/// The span that a tracer has to return. Nothing ever asks it anything.
struct NoSpan;

impl Span for NoSpan {
    fn is_recording(&self) -> bool {
        false
    }

    fn span_id(&self) -> [u8; 8] {
        [0; 8]
    }

    fn end(&self) {}

    fn set_status(&self, _: SpanStatus) {}

    fn set_attribute(&self, _: &'static str, _: AttributeValue) {}

    fn record_error(&self, _: &dyn std::error::Error) {}

    fn set_current(&self, _: &Context<'_>) -> Box<dyn SpanGuard> {
        Box::new(NoSpan)
    }

    fn propagate_headers(&self, _: &mut Request) {}
}

impl SpanGuard for NoSpan {
    fn end(self) {}
}

impl AsAny for NoSpan {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests;
