//! Reads sections of a document key by key, collecting every problem with its path and place.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::bounds::{self, Range};
use super::error::{ConfigOrigin, ConfigProblem};
use super::names::place_of;
use super::node::{Entry, Node, Value};
use super::settings::Jitter;

/// What a document is, so that each of its lines can be named.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Yaml(Arc<str>),
    Variable(Arc<str>),
    Code,
}

impl Source {
    pub(super) fn at(&self, line: Option<u64>) -> ConfigOrigin {
        match self {
            Source::Yaml(name) => ConfigOrigin::Yaml { name: Arc::clone(name), line },
            Source::Variable(name) => ConfigOrigin::Variable(Arc::clone(name)),
            Source::Code => ConfigOrigin::Code,
        }
    }
}

/// A value, and where it was written.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) path: String,
    pub(super) origin: ConfigOrigin,
}

impl<T> At<T> {
    pub(super) fn problem(&self, message: impl Into<String>) -> ConfigProblem {
        ConfigProblem::new(self.path.clone(), self.origin.clone(), message)
    }
}

/// One document being read, and what is wrong with it so far.
pub(super) struct Reading<'a> {
    pub(super) source: &'a Source,
    pub(super) problems: RefCell<Vec<ConfigProblem>>,
}

impl Reading<'_> {
    pub(super) fn report(&self, path: impl Into<String>, line: Option<u64>, message: impl Into<String>) {
        self.problems.borrow_mut().push(ConfigProblem::new(path, self.source.at(line), message));
    }
}

/// A mapping whose keys are taken one by one. What is left over at the end is unknown.
pub(super) struct Section<'a> {
    reading: &'a Reading<'a>,
    path: String,
    entries: Vec<Entry>,
    known: Vec<&'static str>,
    elsewhere: Vec<(&'static str, String)>,
}

impl<'a> Section<'a> {
    /// Nothing at all is an empty mapping: a section whose keys are all commented out.
    pub(super) fn new(reading: &'a Reading<'a>, path: String, node: Node) -> Self {
        let entries = match node.value {
            Value::Map(entries) => entries,
            Value::Null => Vec::new(),
            other => {
                reading.report(path.as_str(), node.line, format!("is {}, but must be a mapping", other.describe()));
                Vec::new()
            }
        };
        Section { reading, path, entries, known: Vec::new(), elsewhere: Vec::new() }
    }

    pub(super) fn reading(&self) -> &'a Reading<'a> {
        self.reading
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn entry(&mut self, key: &'static str) -> Option<Entry> {
        self.known.push(key);
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// The value of a key, if it is there and `parse` accepts it.
    pub(super) fn take<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<At<T>> {
        let entry = self.entry(key)?;
        let path = self.path_of(key);
        match parse(&entry.node.value) {
            Ok(value) => Some(At { value, path, origin: self.reading.source.at(entry.value_line()) }),
            Err(message) => {
                self.reading.report(path, entry.value_line(), message);
                None
            }
        }
    }

    /// The node of a key, with its path.
    pub(super) fn node(&mut self, key: &'static str) -> Option<(String, Node)> {
        let entry = self.entry(key)?;
        let line = entry.value_line();
        Some((self.path_of(key), Node { line, ..entry.node }))
    }

    /// The section under a key; an empty one where there is none.
    pub(super) fn section(&mut self, key: &'static str) -> Section<'a> {
        let reading = self.reading;
        match self.node(key) {
            Some((path, node)) => Section::new(reading, path, node),
            None => Section::new(reading, self.path_of(key), Node::new(Value::Null)),
        }
    }

    /// Says, should this key be here, where it belongs.
    pub(super) fn belongs(&mut self, key: &'static str, place: String) {
        self.elsewhere.push((key, place));
    }

    /// Everything not yet taken, in the document's order, with the path of each.
    pub(super) fn rest(mut self) -> Vec<(String, Entry)> {
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().map(|entry| (self.path_of(&entry.key), entry)).collect()
    }

    /// Reports what was not taken.
    pub(super) fn finish(mut self) {
        self.known.sort_unstable();
        for entry in &self.entries {
            let told = self.elsewhere.iter().find(|(key, _)| *key == entry.key).map(|(_, place)| place.clone());
            let place = told.or_else(|| place_of(&entry.key).map(|place| format!("it stands under {place}")));
            let place = place.map(|place| format!("; {place}")).unwrap_or_default();
            let message = format!("unknown key `{}`{place}; known here: {}", entry.key, self.known.join(", "));
            self.reading.report(self.path_of(&entry.key), entry.line, message);
        }
    }
}

// ===== values =====

fn wrong(value: &Value, expected: &str) -> String {
    format!("is {}, but must be {expected}", value.describe())
}

pub(super) fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(wrong(other, "true or false")),
    }
}

/// A whole number from `least` to [`bounds::MOST`].
pub(super) fn count(least: u32) -> impl FnOnce(&Value) -> Result<u32, String> {
    move |value| {
        let whole = match value {
            Value::Whole(whole) => u32::try_from(*whole).ok(),
            _ => None,
        };
        whole
            .filter(|whole| (least..=bounds::MOST).contains(whole))
            .ok_or_else(|| wrong(value, &format!("a whole number from {least} to {}", bounds::MOST)))
    }
}

pub(super) fn number(range: Range) -> impl FnOnce(&Value) -> Result<f64, String> {
    move |value| match value {
        Value::Whole(whole) => range.check(*whole as f64),
        Value::Number(number) => range.check(*number),
        other => Err(wrong(other, range.what())),
    }
}

/// A number, or `none` for none.
pub(super) fn optional_number(range: Range) -> impl FnOnce(&Value) -> Result<Option<f64>, String> {
    move |value| match value {
        Value::Text(text) if text.trim().eq_ignore_ascii_case("none") => Ok(None),
        other => number(range)(other).map(Some).map_err(|message| format!("{message}; or none")),
    }
}

/// A number of seconds, or a text such as `500ms`.
pub(super) fn duration(value: &Value) -> Result<Duration, String> {
    let duration = match value {
        Value::Whole(whole) => seconds(*whole as f64)?,
        Value::Number(number) => seconds(*number)?,
        Value::Text(text) => humantime::parse_duration(text.trim()).map_err(|error| {
            format!("is no duration ({error}); write a number of seconds, or a text such as 500ms or 2m")
        })?,
        Value::Duration(duration) => *duration,
        other => return Err(wrong(other, "a number of seconds, or a text such as 500ms or 2m")),
    };
    bounds::check_duration(duration)
}

fn seconds(value: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(value).map_err(|_| format!("is {value} s, but must be above 0 s and at most 365 days"))
}

/// A duration, or `none` or null for none.
pub(super) fn optional_duration(value: &Value) -> Result<Option<Duration>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) if text.trim().eq_ignore_ascii_case("none") => Ok(None),
        other => duration(other).map(Some).map_err(|message| format!("{message}; or none")),
    }
}

/// One of these, by its name.
pub(super) fn one_of<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| named(value, all, &name)
}

/// A list without entries could be taken for none and for all.
const EMPTY: &str = "is an empty list: leave it out for all, and write enabled: false for none";

/// A list of these, by their names; or a single one.
pub(super) fn several_of<T: Copy>(
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> impl FnOnce(&Value) -> Result<Vec<T>, String> {
    move |value| match value {
        Value::List(items) if items.is_empty() => Err(EMPTY.to_owned()),
        Value::List(items) => items.iter().map(|item| named(&item.value, all, &name)).collect(),
        single => Ok(vec![named(single, all, &name)?]),
    }
}

fn named<T: Copy>(value: &Value, all: &[T], name: &impl Fn(T) -> &'static str) -> Result<T, String> {
    let found = all.iter().find(|known| matches!(value, Value::Text(text) if text == name(**known)));
    found.copied().ok_or_else(|| wrong(value, &all.iter().map(|known| name(*known)).collect::<Vec<_>>().join(" or ")))
}

/// A list of names, each of which may have one `*` at its beginning or its end, or be one.
pub(super) fn names(value: &Value) -> Result<Vec<String>, String> {
    const EXPECTED: &str = "a list of operations, such as [GetParameter, Describe*]";
    let Value::List(items) = value else { return Err(wrong(value, EXPECTED)) };
    if items.is_empty() {
        return Err(EMPTY.to_owned());
    }
    let name = |item: &Node| match &item.value {
        Value::Text(text) if is_pattern(text) => Ok(text.clone()),
        Value::Text(_) => Err(format!("has an entry that is no operation: it must be {EXPECTED}")),
        other => Err(wrong(other, EXPECTED)),
    };
    items.iter().map(name).collect()
}

fn is_pattern(text: &str) -> bool {
    let inner = text.strip_prefix('*').or_else(|| text.strip_suffix('*')).unwrap_or(text);
    let is_all = text == "*";
    is_all || (!inner.is_empty() && !inner.contains('*') && inner.trim() == inner)
}

pub(super) fn jitter(value: &Value) -> Result<Jitter, String> {
    let named = |jitter: &Jitter| matches!(value, Value::Text(text) if text == jitter.name());
    [Jitter::Decorrelated, Jitter::Full].into_iter().find(named).ok_or_else(|| wrong(value, "decorrelated or full"))
}
