//! What a client's own request recorder tells of the request that a hook is called for.

use google_cloud_gax_internal::observability::RequestRecorder;

/// One client request, as its recorder has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) service: &'static str,
    pub(crate) host: &'static str,
    pub(crate) rpc: Option<&'static str>,
    pub(crate) template: Option<&'static str>,
    pub(crate) resource: Option<String>,
}

impl Seen {
    pub(crate) fn of(recorder: &RequestRecorder) -> Seen {
        let snapshot = recorder.client_snapshot();
        Seen {
            service: snapshot.service_name(),
            host: snapshot.default_host(),
            rpc: snapshot.rpc_method(),
            template: snapshot.url_template(),
            resource: snapshot.resource_name().map(str::to_owned),
        }
    }
}
