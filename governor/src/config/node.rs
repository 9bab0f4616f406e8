//! A document as a tree whose every node knows its line, so that an error about any of them can name it.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{MergeKeyPolicy, Spanned, UserMessageFormatter};

use crate::classify::Rule;

/// A value and the line it starts on (none where it did not come from a document).
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) line: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Whole(i128),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Written by code only: a document writes a number of seconds or a text.
    Duration(Duration),
    /// Written by code only: a document writes a list.
    Rules(Vec<Rule>),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: Option<u64>,
    pub(super) node: Node,
}

/// A text that is not one YAML document.
#[derive(Debug)]
pub(super) struct NotYaml {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl Node {
    /// Reads one YAML document. An empty one is null.
    pub(super) fn parse(text: &str) -> Result<Node, NotYaml> {
        // The parser's default budget bounds depth (64), nodes and alias expansion.
        let options = serde_saphyr::options! {
            strict_booleans: true,
            merge_keys: MergeKeyPolicy::Merge,
            // Refused later, by the reader that knows the key's path.
            non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options).map(Node::from).map_err(|error| {
            let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
            let message = match &error {
                serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                    format!("the key `{key}` is given twice in one mapping")
                }
                _ => format!("not valid YAML: {}", error.render_with_formatter(&UserMessageFormatter)),
            };
            NotYaml { line, message }
        })
    }

    /// A node that no document holds.
    pub(super) fn new(value: Value) -> Node {
        Node { value, line: None }
    }

    /// Puts `node` at `path`, making the mappings on the way there; what was there before is replaced.
    pub(super) fn put(&mut self, path: &[&str], node: Node) {
        let Some((first, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(entries) = &mut self.value else { return };
        match entries.iter_mut().find(|entry| entry.key == *first) {
            Some(entry) => entry.node.put(rest, node),
            None => {
                let mut child = Node::new(Value::Null);
                child.put(rest, node);
                entries.push(Entry { key: (*first).to_owned(), line: None, node: child });
            }
        }
    }
}

impl Entry {
    /// The line to name for the value: its own, save where it starts below its key, or is not there at all.
    pub(super) fn value_line(&self) -> Option<u64> {
        match self.node.value {
            Value::Null | Value::List(_) | Value::Map(_) => self.line.or(self.node.line),
            _ => self.node.line.or(self.line),
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Node {
        let line = spanned.referenced.line();
        Node { value: spanned.value, line: (line > 0).then_some(line) }
    }
}

impl Value {
    /// A whole number; one too large for the type is too large for every key.
    pub(super) fn whole(value: usize) -> Value {
        Value::Whole(i128::try_from(value).unwrap_or(i128::MAX))
    }

    /// What this is, for a message. A text is not repeated: it may be anything, pasted by mistake.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Whole(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::Text(_) => "a text".to_owned(),
            Value::List(_) | Value::Rules(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Duration(value) => format!("{value:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        // Far beyond every bound either way, so the lost digits decide nothing.
        Ok(i128::try_from(value).map_or(Value::Number(value as f64), Value::Whole))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(item.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Spanned<Value>>()? {
            let line = Some(key.referenced.line()).filter(|line| *line > 0);
            entries.push(Entry { key: key.value, line, node: node.into() });
        }
        Ok(Value::Map(entries))
    }
}
