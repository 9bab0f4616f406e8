use azure_core::http::headers::Headers;
use azure_core::http::{Method, Url};
use cloud_governor::Scope;

use crate::hosts::{HostRule, IDENTITY};

pub(crate) struct Target {
    pub(crate) scope: Scope,
    pub(crate) idempotent: bool,
    pub(crate) identity: bool,
}

pub(crate) struct Targets(String);

impl Targets {
    pub(crate) fn new(account: Option<&str>, _: Vec<HostRule>) -> Self {
        Targets(account.unwrap_or("unknown-1").to_owned())
    }

    pub(crate) fn of(&self, url: &Url, method: Method, _: &Headers, operation: Option<&str>) -> Target {
        let host = url.host_str().unwrap_or_default();
        let first = url.path_segments().and_then(|mut segments| segments.next()).unwrap_or_default();
        let (account, service) = match host {
            "169.254.169.254" => ("identity:imds".to_owned(), "imds"),
            _ if host.starts_with("login.") => (format!("identity:{first}"), IDENTITY),
            _ if host.contains(".blob.") => (host.split('.').next().unwrap_or_default().to_owned(), "storage.blob"),
            _ if host.contains(".vault.") => (host.split('.').next().unwrap_or_default().to_owned(), "keyvault"),
            _ => {
                let mut segments = url.path_segments().into_iter().flatten();
                let subscription = segments.find(|segment| *segment == "subscriptions").and_then(|_| segments.next());
                (subscription.unwrap_or(&self.0).to_owned(), "network")
            }
        };
        let identity = account.starts_with("identity:");
        let operation = if identity { "token" } else { operation.unwrap_or(method.as_str()) };
        let scope = Scope::new("azure", account, "", service).with_operation(operation);
        Target { scope, idempotent: identity || !matches!(method, Method::Post | Method::Patch), identity }
    }
}
