//! What a failed call means for the listing it belongs to.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use cloud_governor::{Class, Facts, Refusal, RefusalKind, Rules};

use super::cloud::Cloud;

/// Whether it is worth asking again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Worth {
    /// Yes, and after this time, where that is known.
    Later(Option<Duration>),
    /// No: the answer would be the same.
    Never,
}

/// Why a call failed. It tells codes, never messages: a service may quote the request in one, signature and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    operation: &'static str,
    text: String,
    worth: Worth,
    refusal: Option<RefusalKind>,
    answered: bool,
}

/// An SDK's error, as far as it matters here.
pub(super) trait Failed: Error + 'static {
    /// The cloud whose rules classify it.
    const CLOUD: Cloud;

    /// What it says.
    fn reading(&self) -> Reading<'_>;
}

/// What an error says.
pub(super) struct Reading<'a> {
    /// The facts to classify, unless the call failed for want of something that waiting does not bring.
    pub(super) facts: Option<Facts<'a>>,
    /// What a person reads.
    pub(super) text: String,
    /// Whether a service answered.
    pub(super) answered: bool,
}

impl Failure {
    /// Reads an SDK's error.
    pub(super) fn of<E: Failed>(operation: &'static str, error: &E, rules: &Rules) -> Self {
        if let Some(refusal) = Refusal::find(error) {
            let worth = Worth::Later(refusal.retry_after());
            return Failure {
                operation,
                text: refusal.to_string(),
                worth,
                refusal: Some(refusal.kind()),
                answered: false,
            };
        }
        let Reading { facts, text, answered } = error.reading();
        let worth = match facts {
            Some(facts) => {
                let verdict = rules.classify(&facts.provider(E::CLOUD.provider()));
                if verdict.class == Class::Fatal { Worth::Never } else { Worth::Later(verdict.retry_after) }
            }
            None => Worth::Never,
        };
        Failure { operation, text, worth, refusal: None, answered }
    }

    /// Whether it is worth asking again.
    pub fn worth(&self) -> Worth {
        self.worth
    }

    /// Whether a service answered, if only to say no.
    pub fn answered(&self) -> bool {
        self.answered
    }

    /// The governor's refusal, if that is what it was.
    pub fn refusal(&self) -> Option<RefusalKind> {
        self.refusal
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.text)
    }
}

/// How far an error's sources are followed: one may name itself as its own source.
const DEEPEST: usize = 32;

/// The error and what is behind it.
pub(super) fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    let step = move || {
        let error = next?;
        next = error.source();
        Some(error)
    };
    std::iter::from_fn(step).take(DEEPEST)
}

/// The error and its sources in one line. What an error repeats of its source is told once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for error in sources(error) {
        let line = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.contains(&line) {
            let colon = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{colon}{line}");
        }
    }
    text
}
