//! Reads classification rules, which bring their own `Deserialize`, out of a document's tree.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Entry, Node, Value};
use crate::classify::Rule;

/// What a rule's own `Deserialize` found wrong, and on which line.
#[derive(Debug)]
pub(super) struct RuleError {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

pub(super) fn rule(node: &Node) -> Result<Rule, RuleError> {
    // A rule may be whole and yet be refused: then no node of it failed.
    Rule::deserialize(node).map_err(|error| error.at(node.line))
}

impl RuleError {
    /// The innermost node that failed is the one whose line counts.
    fn at(mut self, line: Option<u64>) -> Self {
        self.line = self.line.or(line);
        self
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

impl serde::de::Error for RuleError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        RuleError { line: None, message: message.to_string() }
    }
}

impl<'de> IntoDeserializer<'de, RuleError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A mapping's key, which is a string and knows its line.
struct Key<'de>(&'de Entry);

impl<'de> IntoDeserializer<'de, RuleError> for Key<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = RuleError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RuleError> {
        visitor.visit_borrowed_str(&self.0.key).map_err(|error: RuleError| error.at(self.0.line))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = RuleError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RuleError> {
        let result = match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Whole(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_i128(*value),
            },
            Value::Number(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::List(items) => SeqDeserializer::new(items.iter()).deserialize_any(visitor),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|entry| (Key(entry), &entry.node));
                MapDeserializer::new(pairs).deserialize_any(visitor)
            }
            Value::Duration(_) | Value::Rules(_) => Err(serde::de::Error::custom("not a value of a document")),
        };
        result.map_err(|error: RuleError| error.at(self.line))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RuleError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, RuleError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RuleError> {
        let result = match &self.value {
            Value::Text(variant) => IntoDeserializer::<RuleError>::into_deserializer(variant.as_str())
                .deserialize_enum(name, variants, visitor),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|entry| (Key(entry), &entry.node));
                visitor.visit_enum(serde::de::value::MapAccessDeserializer::new(MapDeserializer::new(pairs)))
            }
            other => Err(serde::de::Error::custom(format!("{} is none of {}", other.describe(), variants.join(", ")))),
        };
        result.map_err(|error: RuleError| error.at(self.line))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
