//! What a failed answer says about itself, for code that has no types to ask.
//!
//! At the HTTP client there are only heads and bodies. Answers name their error in a header or in a small body of JSON, XML
//! or CBOR. All of it is read as the SDK's own parsers read it, so that the code is the one of the typed error.

use std::borrow::Cow;
use std::fmt;

use aws_smithy_runtime_api::http::Headers;
use cloud_governor::Facts;
use minicbor::data::Type;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// An error as far as its answer names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// The code, as sent.
    pub(crate) code: Option<String>,
    /// The message.
    pub(crate) message: Option<String>,
}

impl Named {
    /// From an answer's head and the first part of its body.
    pub(crate) fn of(headers: &Headers, body: &[u8]) -> Self {
        // The query-compatible code comes first: it is the one that the typed error carries too.
        let by_query = headers.get("x-amzn-query-error").filter(|error| error.find(';').is_some_and(|at| at > 0));
        let by_head = by_query.or_else(|| headers.get("x-amzn-errortype").filter(|code| !code.is_empty()));
        let mut named = in_body(body);
        if let Some(code) = by_head {
            named.code = Some(code.to_owned());
        }
        named
    }

    /// These facts, with what the head says besides.
    pub(crate) fn facts<'a>(&'a self, status: u16, headers: &'a Headers) -> Facts<'a> {
        let mut facts = Facts::new().status(status);
        if let Some(code) = &self.code {
            facts = facts.code(code.as_str());
        }
        if let Some(message) = &self.message {
            facts = facts.message(message.as_str());
        }
        facts.headers(headers.iter_bytes())
    }

    /// The code without its namespace, its link and its fault.
    pub(crate) fn bare_code(&self) -> Option<&str> {
        let code = self.code.as_deref()?.split([':', ';']).next()?;
        Some(code.rsplit('#').next().unwrap_or(code).trim()).filter(|code| !code.is_empty())
    }
}

/// By the first byte: an error of any protocol is one object, one element or one map.
fn in_body(body: &[u8]) -> Named {
    if body.first().is_some_and(|byte| byte >> 5 == CBOR_MAP) {
        return in_cbor(body);
    }
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => in_json(body),
        Some(b'<') => in_xml(body),
        _ => Named::default(),
    }
}

/// The major type of a map (RFC 8949, section 3.1).
const CBOR_MAP: u8 = 5;

fn in_json(body: &[u8]) -> Named {
    let mut fields = JsonFields::default();
    // A body cut off, or malformed, names what was read before it went wrong.
    let _cut_short = (&mut fields).deserialize(&mut serde_json::Deserializer::from_slice(body));
    Named { code: fields.code.or(fields.kind), message: fields.message }
}

/// The fields of an error, gathered as they come: of a long body only the start may be here.
#[derive(Default)]
struct JsonFields {
    code: Option<String>,
    kind: Option<String>,
    message: Option<String>,
}

impl<'de> DeserializeSeed<'de> for &mut JsonFields {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut JsonFields {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let field = match &*name {
                "code" | "Code" => &mut self.code,
                "__type" => &mut self.kind,
                "message" | "Message" | "errorMessage" => &mut self.message,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if let serde_json::Value::String(text) = map.next_value()? {
                *field = Some(text);
            }
        }
        Ok(())
    }
}

/// The first `Code` and the first `Message`, wherever they stand: S3, EC2 and the query protocol nest them differently.
fn in_xml(body: &[u8]) -> Named {
    let text = String::from_utf8_lossy(body);
    let mut reader = Reader::from_str(&text);
    let mut named = Named::default();
    while named.code.is_none() || named.message.is_none() {
        let field = match reader.read_event() {
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "Code" if named.code.is_none() => &mut named.code,
                "Message" if named.message.is_none() => &mut named.message,
                _ => continue,
            },
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => continue,
        };
        if let Ok(Event::Text(words)) = reader.read_event() {
            *field = Some((*words).to_owned());
        }
    }
    named
}

/// rpc-v2-cbor: a map that holds the text `__type`.
fn in_cbor(body: &[u8]) -> Named {
    let mut named = Named::default();
    // A body cut off names what was read before it went wrong.
    let _cut_short = read_cbor(body, &mut named);
    named
}

fn read_cbor(body: &[u8], named: &mut Named) -> Result<(), minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(body);
    let entries = decoder.map()?;
    for _ in 0..entries.unwrap_or(u64::MAX) {
        if entries.is_none() && decoder.datatype()? == Type::Break {
            break;
        }
        let name = cbor_text(&mut decoder)?;
        let field = match &*name {
            "__type" => &mut named.code,
            "message" | "Message" | "errorMessage" => &mut named.message,
            _ => {
                decoder.skip()?;
                continue;
            }
        };
        match decoder.datatype()? {
            Type::String | Type::StringIndef => *field = Some(cbor_text(&mut decoder)?),
            _ => decoder.skip()?,
        }
    }
    Ok(())
}

/// A text, in one piece or in several.
fn cbor_text(decoder: &mut minicbor::Decoder<'_>) -> Result<String, minicbor::decode::Error> {
    decoder.str_iter()?.collect()
}

/// What an answer's body is, by its outermost element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// An `Error`.
    Error,
    /// Anything else.
    Other,
    /// Too little of it is here to say.
    Unknown,
}

/// What the body is that begins like this.
pub(crate) fn root(start: &[u8]) -> Root {
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => return Root::Unknown,
        Some(b'<') => {}
        Some(_) => return Root::Other,
    }
    // The outermost element comes early, behind a declaration and white space at most: S3 sends it to keep a connection
    // alive, for minutes.
    let mut space = false;
    let prologue =
        start.iter().copied().filter(|byte| !std::mem::replace(&mut space, byte.is_ascii_whitespace()) || !space);
    let prologue: Vec<u8> = prologue.take(LONGEST_PROLOGUE).collect();
    let text = String::from_utf8_lossy(&prologue);
    let mut reader = Reader::from_str(&text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) if element.local_name().as_ref() == "Error" => {
                return Root::Error;
            }
            Ok(Event::Start(_) | Event::Empty(_)) => return Root::Other,
            Ok(Event::Eof) | Err(_) if prologue.len() >= LONGEST_PROLOGUE => return Root::Other,
            Ok(Event::Eof) | Err(_) => return Root::Unknown,
            Ok(_) => {}
        }
    }
}

/// How far into a body its outermost element is looked for, in bytes, runs of white space counted as one.
const LONGEST_PROLOGUE: usize = 1024;

#[cfg(test)]
mod tests;
