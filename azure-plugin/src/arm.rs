//! Requests to Azure Resource Manager: whose they are, and what they ask for, by their path.
//!
//! A path is `/subscriptions/{id}/resourceGroups/{name}/providers/{namespace}/{type}/{name}/{type}/{name}..`: keywords and
//! types take turns with names and ids. An extension resource has a second `providers/{namespace}` behind the resource
//! that it extends. Segments are compared without regard to case, as the server does.

use std::borrow::Cow;

use azure_core::http::{Method, Url};
use cloud_governor::Verb;
use percent_encoding::percent_decode_str;

/// More than any resource is deep.
const MOST_TYPES: usize = 8;
const LONGEST_TYPE: usize = 64;
/// Types are words. A few have a number in them (`p2svpnGateways`, `privateLinkServicesV2`), an id has more.
const MOST_DIGITS: usize = 2;

const RESOURCES: &str = "resources";
const RESOURCE_GRAPH: &str = "resourcegraph";

/// What the path of a request to Resource Manager says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArmPath {
    /// In lower case.
    pub(crate) subscription: Option<String>,
    /// The resource provider's namespace in lower case, without `microsoft.`; `resources` where the path names none.
    pub(crate) service: Cow<'static, str>,
    /// The types behind the last namespace, without any name between them.
    types: Vec<String>,
}

impl ArmPath {
    pub(crate) fn of(url: &Url) -> Self {
        let segments: Vec<Cow<'_, str>> = url
            .path()
            .split('/')
            .skip_while(|segment| segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy())
            .collect();
        let subscription = match segments.as_slice() {
            [keyword, id, ..] if keyword.eq_ignore_ascii_case("subscriptions") && !id.is_empty() => {
                Some(id.to_ascii_lowercase())
            }
            _ => None,
        };
        let mut service = Cow::Borrowed(RESOURCES);
        let mut types = Vec::new();
        let mut rest = segments.as_slice();
        while let [first, after @ ..] = rest {
            if let Some((namespace, after)) = provider(rest) {
                service = service_of(namespace);
                types.clear();
                rest = after;
                continue;
            }
            if !first.is_empty() && types.len() < MOST_TYPES {
                types.push(type_of(first));
            }
            // A name follows, unless this was an action or a list that something else extends.
            rest = if provider(after).is_some() { after } else { after.get(1..).unwrap_or_default() };
        }
        ArmPath { subscription, service, types }
    }

    /// The operation's stand-in where the client gave no name: the method and the types, such as
    /// `GET virtualNetworks/subnets`. No name or id of a resource is part of it: they may be secrets, and have no end.
    pub(crate) fn operation(&self, method: Method) -> String {
        let types = match self.types.as_slice() {
            // Every path of a subscription begins so.
            [subscriptions, types @ ..] if subscriptions.eq_ignore_ascii_case("subscriptions") && !types.is_empty() => {
                types
            }
            types => types,
        };
        match types {
            [] => method.as_str().to_owned(),
            types => format!("{method} {}", types.join("/")),
        }
    }

    /// Under which of its limits Resource Manager counts a request. Resource Graph's queries are sent with POST.
    pub(crate) fn verb(&self, method: Method) -> Verb {
        match method {
            Method::Get | Method::Head => Verb::Read,
            Method::Post if self.service == RESOURCE_GRAPH => Verb::Read,
            Method::Delete => Verb::Delete,
            _ => Verb::Write,
        }
    }
}

/// The namespace that the segments begin with, and what follows it. The keyword alone may be anyone's name.
fn provider<'a, 'p>(segments: &'a [Cow<'p, str>]) -> Option<(&'a str, &'a [Cow<'p, str>])> {
    match segments {
        [keyword, namespace, rest @ ..] if keyword.eq_ignore_ascii_case("providers") && is_namespace(namespace) => {
            Some((namespace, rest))
        }
        _ => None,
    }
}

/// `Microsoft.Network`, `NewRelic.Observability`: words with a dot between. Types have none.
fn is_namespace(segment: &str) -> bool {
    segment.len() <= LONGEST_TYPE
        && segment.split('.').count() > 1
        && segment.split('.').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn service_of(namespace: &str) -> Cow<'static, str> {
    let namespace = namespace.to_ascii_lowercase();
    match namespace.strip_prefix("microsoft.") {
        Some(service) => Cow::Owned(service.to_owned()),
        None => Cow::Owned(namespace),
    }
}

/// A type as it is written, or `*` for what does not look like one: it may be a name in a path of another make.
fn type_of(segment: &str) -> String {
    let is_type = segment.len() <= LONGEST_TYPE
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && segment.bytes().filter(u8::is_ascii_digit).count() <= MOST_DIGITS;
    if is_type { segment.to_owned() } else { "*".to_owned() }
}

#[cfg(test)]
mod tests;
