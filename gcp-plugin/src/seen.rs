//! What is seen of a request, whichever way it comes by.

use std::borrow::Cow;

/// One request, as a client's recorder or the request itself has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    /// The short name of its service; empty if it is not known.
    pub(crate) service: &'a str,
    /// The host that the client would call if it were not told another, or its first label.
    pub(crate) host: &'a str,
    /// `package.Service/Method`; `collection/method` where the API is described by a discovery document.
    pub(crate) rpc: Option<&'a str>,
    pub(crate) template: Option<&'a str>,
    /// `//host/collection/id/..`, or without the host: text from the request, of any length and with any character.
    pub(crate) resource: Option<Cow<'a, str>>,
    /// Whom the program says that the request is charged to.
    pub(crate) account: Option<Cow<'a, str>>,
}
