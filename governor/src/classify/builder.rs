//! How a rule is built, and what makes one invalid.

use std::fmt;

use super::facts::normal_code;
use super::rules::{Matchers, Untold};
use super::{Class, Classification, GrpcCode, Resend, Rule, Transport};

/// A rule being built. Calling a matcher again adds an alternative; different matchers must all fit.
#[derive(Debug, Clone)]
#[must_use = "a rule is made by `then`"]
pub struct RuleBuilder {
    matchers: Matchers,
    resend: Option<Resend>,
    pays_budget: bool,
}

impl RuleBuilder {
    pub(super) fn new() -> Self {
        RuleBuilder { matchers: Matchers::default(), resend: None, pays_budget: false }
    }

    /// Only for this provider, as a [`Scope`](crate::Scope) spells it. Not a matcher by itself.
    pub fn provider(mut self, provider: impl AsRef<str>) -> Self {
        self.matchers.provider = Some(provider.as_ref().to_ascii_lowercase());
        self
    }

    /// Only for this service, as a [`Scope`](crate::Scope) spells it. Not a matcher by itself.
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.matchers.services.push(service.into());
        self
    }

    /// The error code, whole.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        let code: String = code.into();
        self.matchers.codes.push(normal_code(code.into()).unwrap_or_default().into_owned());
        self
    }

    /// The HTTP status, 100 to 999.
    pub fn status(mut self, status: u16) -> Self {
        self.matchers.statuses.push(status);
        self
    }

    /// Google's reason, whole.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.matchers.reasons.push(reason.into());
        self
    }

    /// A part of the message. Only the first 8 KiB of a message are searched.
    pub fn message(mut self, part: impl AsRef<str>) -> Self {
        self.matchers.messages.push(part.as_ref().to_ascii_lowercase());
        self
    }

    /// A part of the exceeded quota's name.
    pub fn quota(mut self, part: impl AsRef<str>) -> Self {
        self.matchers.quotas.push(part.as_ref().to_ascii_lowercase());
        self
    }

    /// The gRPC status.
    pub fn grpc(mut self, code: GrpcCode) -> Self {
        self.matchers.grpc.push(code);
        self
    }

    /// The kind of transport failure.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.matchers.transports.push(transport);
        self
    }

    /// Whether a re-send is safe. Unset, it is for [`Class::Throttled`] and [`Class::Locked`], and only for idempotent
    /// operations for [`Class::Transient`].
    pub fn resend(mut self, resend: Resend) -> Self {
        self.resend = Some(resend);
        self
    }

    /// Whether each retry pays the retry budget, a call's first ones too. Unset, it does not.
    pub fn pays_budget(mut self, pays: bool) -> Self {
        self.pays_budget = pays;
        self
    }

    /// The rule with its verdict.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] if there is no matcher, an empty text, or a status outside 100 to 999.
    pub fn then(self, class: Class) -> Result<Rule, InvalidRule> {
        let matchers = &self.matchers;
        if matchers.is_empty() {
            return Err(InvalidRule::NoMatcher);
        }
        let texts = [
            ("services", &matchers.services),
            ("code", &matchers.codes),
            ("reason", &matchers.reasons),
            ("message", &matchers.messages),
            ("quota", &matchers.quotas),
        ];
        let blank = |text: &String| text.trim().is_empty();
        if matchers.provider.as_ref().is_some_and(blank) {
            return Err(InvalidRule::EmptyText("provider"));
        }
        if let Some((name, _)) = texts.iter().find(|(_, texts)| texts.iter().any(blank)) {
            return Err(InvalidRule::EmptyText(name));
        }
        if let Some(status) = matchers.statuses.iter().find(|status| !(100..=999).contains(*status)) {
            return Err(InvalidRule::NoStatus(*status));
        }
        let resend = self.resend.unwrap_or_else(|| Classification::of(class).resend);
        Ok(Rule { matchers: self.matchers, class, resend, pays_budget: self.pays_budget, untold: Untold::Backoff })
    }
}

/// Why a rule was not built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidRule {
    /// It would match every failure.
    NoMatcher,
    /// The named matcher has an empty text, which fits nothing or everything.
    EmptyText(&'static str),
    /// This is no HTTP status.
    NoStatus(u16),
}

impl fmt::Display for InvalidRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidRule::NoMatcher => f.write_str(
                "the rule matches every failure: give at least one of code, status, reason, message, quota, grpc, transport",
            ),
            InvalidRule::EmptyText(name) => write!(f, "the rule's {name} is an empty text"),
            InvalidRule::NoStatus(status) => {
                write!(f, "the rule's status {status} is no HTTP status: expected 100 to 999")
            }
        }
    }
}

impl std::error::Error for InvalidRule {}
