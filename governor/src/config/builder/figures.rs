//! Sets the figures of single buckets in code.

use crate::catalogue::Per;
use crate::config::node::{Node, Value};
use crate::config::settings::{Counts, LawName};
use crate::scope::Verb;

/// Sets the figures of one service, a verb of it, or an operation in code.
#[derive(Clone, Debug)]
#[must_use]
pub struct ServiceBuilder {
    node: Node,
}

/// Sets the figures of a bucket that operations or services share in code.
#[derive(Clone, Debug)]
#[must_use]
pub struct SharedBuilder {
    node: Node,
}

/// What every bucket has.
macro_rules! figures {
    ($builder:ident) => {
        impl $builder {
            pub(in crate::config) fn new() -> Self {
                $builder { node: Node::new(Value::Map(Vec::new())) }
            }

            pub(in crate::config) fn into_value(self) -> Value {
                self.node.value
            }

            fn set(mut self, path: &[&str], value: Value) -> Self {
                self.node.put(path, Node::new(value));
                self
            }

            /// What the rate follows from.
            pub fn law(self, law: LawName) -> Self {
                self.set(&["law"], Value::Text(law.name().to_owned()))
            }

            /// The ceiling of the rate, in calls per second; `None` where nobody knows it.
            pub fn max_rps(self, rps: impl Into<Option<f64>>) -> Self {
                self.set(&["max_rps"], number(rps.into()))
            }

            /// How many calls each full minute of the clock brings, all of which may be used at once: in place of a rate
            /// and a burst, as Google Cloud counts.
            pub fn per_minute(self, calls: f64) -> Self {
                self.set(&["per_minute"], Value::Number(calls))
            }

            /// How many calls a rested bucket lets through at once.
            pub fn burst(self, calls: impl Into<Option<f64>>) -> Self {
                self.set(&["burst"], number(calls.into()))
            }

            /// The rate that throttles never go under, in calls per second.
            pub fn floor_rps(self, rps: f64) -> Self {
                self.set(&["floor_rps"], Value::Number(rps))
            }

            /// What takes tokens: calls, or what they [cost](crate::Call::cost).
            pub fn counts(self, counts: Counts) -> Self {
                self.set(&["counts"], Value::Text(counts.name().to_owned()))
            }
        }
    };
}

figures!(ServiceBuilder);
figures!(SharedBuilder);

impl ServiceBuilder {
    /// Gives each operation of the service, or of the verb, a bucket and a breaker of its own.
    pub fn per_operation(self, per_operation: bool) -> Self {
        self.set(&["per_operation"], Value::Bool(per_operation))
    }

    /// The share of what is known that is used, above 0 and at most 1: what is left over is for others. That of an operation or
    /// of a pattern does not reach the buckets that operations share.
    pub fn share(self, share: f64) -> Self {
        self.set(&["share"], Value::Number(share))
    }

    /// A bucket that the service's operations share, by its name, in kebab case: each call takes from it besides its own.
    pub fn shared(self, name: impl AsRef<str>, set: impl FnOnce(SharedBuilder) -> SharedBuilder) -> Self {
        self.set(&["shared", name.as_ref()], set(SharedBuilder::new()).into_value())
    }
}

impl SharedBuilder {
    /// Whether it is there at all: `false` does without one that is [published](crate::catalogue).
    pub fn enabled(self, enabled: bool) -> Self {
        self.set(&["enabled"], Value::Bool(enabled))
    }

    /// The operations that take from it, named without their service; one `*`, at the beginning or at the end, stands for any text. All
    /// of the service's where this is not called; an empty list is refused.
    pub fn operations(self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set(&["operations"], list(operations))
    }

    /// The verbs whose calls take from it. All where this is not called; an empty list is refused.
    pub fn verbs(self, verbs: impl IntoIterator<Item = Verb>) -> Self {
        self.set(&["verbs"], list(verbs.into_iter().map(Verb::code)))
    }

    /// Whose it is: one of each account in each region where nothing is set.
    pub fn per(self, per: Per) -> Self {
        self.set(&["per"], Value::Text(per.name().to_owned()))
    }
}

pub(super) fn number(number: Option<f64>) -> Value {
    number.map_or_else(|| Value::Text("none".to_owned()), Value::Number)
}

fn list(texts: impl IntoIterator<Item = impl Into<String>>) -> Value {
    Value::List(texts.into_iter().map(|text| Node::new(Value::Text(text.into()))).collect())
}
