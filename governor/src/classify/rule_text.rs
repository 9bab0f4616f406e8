//! Rules in configuration.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::{Class, GrpcCode, Resend, Rule, RuleBuilder, Transport};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(default)]
    services: OneOrMany<String>,
    #[serde(default)]
    code: OneOrMany<String>,
    #[serde(default)]
    status: OneOrMany<u16>,
    #[serde(default)]
    reason: OneOrMany<String>,
    #[serde(default)]
    message: OneOrMany<String>,
    #[serde(default)]
    quota: OneOrMany<String>,
    #[serde(default)]
    grpc: OneOrMany<GrpcCode>,
    #[serde(default)]
    transport: OneOrMany<Transport>,
    class: Class,
    resend: Option<Resend>,
    #[serde(default)]
    pays_budget: bool,
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RuleText::deserialize(deserializer)?;
        let rule = text.services.fold(Rule::when(), RuleBuilder::service);
        let rule = text.code.fold(rule, RuleBuilder::code);
        let rule = text.status.fold(rule, RuleBuilder::status);
        let rule = text.reason.fold(rule, RuleBuilder::reason);
        let rule = text.message.fold(rule, RuleBuilder::message);
        let rule = text.quota.fold(rule, RuleBuilder::quota);
        let rule = text.grpc.fold(rule, RuleBuilder::grpc);
        let rule = text.transport.fold(rule, RuleBuilder::transport);
        let rule = match text.resend {
            Some(resend) => rule.resend(resend),
            None => rule,
        };
        rule.pays_budget(text.pays_budget).then(text.class).map_err(D::Error::custom)
    }
}

/// One value, or a list of them.
struct OneOrMany<T>(Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn fold<B>(self, builder: B, add: impl FnMut(B, T) -> B) -> B {
        self.0.into_iter().fold(builder, add)
    }
}

/// What can stand as one plain value. A number is read as its text: an error code may be all digits.
trait Scalar: Sized {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Option<Self>;
}

impl Scalar for String {
    const EXPECTED: &'static str = "a text";
    fn read(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Scalar for u16 {
    const EXPECTED: &'static str = "an HTTP status from 100 to 999";
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Scalar for GrpcCode {
    const EXPECTED: &'static str = "a gRPC status: a number from 0 to 16 or a name such as RESOURCE_EXHAUSTED";
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Scalar for Transport {
    const EXPECTED: &'static str = "one of `connect`, `timeout`, `io`, `body_cut_short`";
    fn read(text: &str) -> Option<Self> {
        match text {
            "connect" => Some(Transport::Connect),
            "timeout" => Some(Transport::Timeout),
            "io" => Some(Transport::Io),
            "body_cut_short" => Some(Transport::BodyCutShort),
            _ => None,
        }
    }
}

struct One<T>(T);

impl<'de, T: Scalar> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneVisitor(PhantomData))
    }
}

struct OneVisitor<T>(PhantomData<T>);

impl<T: Scalar> Visitor<'_> for OneVisitor<T> {
    type Value = One<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<One<T>, E> {
        T::read(text).map(One).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<One<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<One<T>, E> {
        self.visit_str(&number.to_string())
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Scalar> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

impl<'de, T: Scalar> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a list of such", T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
        let One(one) = OneVisitor(PhantomData).visit_str(text)?;
        Ok(OneOrMany(vec![one]))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<OneOrMany<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<OneOrMany<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(One(one)) = list.next_element()? {
            all.push(one);
        }
        Ok(OneOrMany(all))
    }
}

#[cfg(test)]
mod tests;
