//! What Cloud Storage answers.

use std::ops::RangeInclusive;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use hyper::StatusCode;
use serde_json::json;

use super::fleet::{ObjectState, StorageBucket};
use super::operation::Service;
use super::route::{Ask, Query};
use super::wire::{self, Error};
use crate::sim::Answer;

const KIND: &str = "text/csv";

/// An object's bytes, or what is known of it.
pub(super) fn answer(bucket: &StorageBucket, ask: &Ask) -> Answer {
    let query = match Query::of(ask.operation, &ask.query) {
        Ok(query) => query,
        Err(error) => return wire::error(Service::Storage, &error),
    };
    let name = ask.place.name.as_str();
    let Some(index) = bucket.find(name) else {
        let message = format!("No such object: {}/{name}", bucket.name);
        return if query.media {
            // Downloads have it without an envelope.
            wire::bytes(StatusCode::NOT_FOUND, "text/html; charset=UTF-8", message.into())
        } else {
            wire::error(Service::Storage, &Error::not_found(message))
        };
    };
    match bucket.state(index) {
        ObjectState::Readable if query.media => media(bucket, index, ask.range.as_deref()),
        ObjectState::Readable => metadata(bucket, index),
        ObjectState::Forbidden => {
            let message = format!("The caller does not have storage.objects.get access to {}/{name}.", bucket.name);
            wire::error(Service::Storage, &Error::forbidden(message))
        }
        ObjectState::Broken => wire::error(Service::Storage, &Error::failed(StatusCode::SERVICE_UNAVAILABLE)),
    }
}

fn media(bucket: &StorageBucket, index: u32, range: Option<&str>) -> Answer {
    let content = Bytes::from(bucket.content(index));
    let (length, hash) = (content.len(), checksum(&content));
    let mut answer = match range.map(|range| bytes_of(range, length)) {
        None => wire::bytes(StatusCode::OK, KIND, content),
        Some(Some(range)) => {
            let told = format!("bytes {}-{}/{length}", range.start(), range.end());
            let mut answer = wire::bytes(StatusCode::PARTIAL_CONTENT, KIND, content.slice(range));
            wire::set(&mut answer, "content-range", &told);
            answer
        }
        Some(None) => {
            let error = Error::new(StatusCode::RANGE_NOT_SATISFIABLE, "Requested range not satisfiable");
            let error = Error { legacy: ("global", "requestedRangeNotSatisfiable"), ..error };
            let mut answer = wire::error(Service::Storage, &error);
            wire::set(&mut answer, "content-range", &format!("bytes */{length}"));
            return answer;
        }
    };
    wire::set(&mut answer, "x-goog-generation", &bucket.generation(index).to_string());
    wire::set(&mut answer, "x-goog-metageneration", "1");
    wire::set(&mut answer, "x-goog-stored-content-encoding", "identity");
    wire::set(&mut answer, "x-goog-stored-content-length", &length.to_string());
    wire::set(&mut answer, "x-goog-storage-class", "STANDARD");
    wire::set(&mut answer, "x-goog-hash", &format!("crc32c={hash}"));
    answer
}

fn metadata(bucket: &StorageBucket, index: u32) -> Answer {
    let content = bucket.content(index);
    let (name, generation) = (bucket.object(index), bucket.generation(index).to_string());
    let body = json!({
        "kind": "storage#object",
        "id": format!("{}/{name}/{generation}", bucket.name),
        "name": name,
        "bucket": bucket.name,
        "generation": generation,
        "metageneration": "1",
        "contentType": KIND,
        "storageClass": "STANDARD",
        "size": content.len().to_string(),
        "crc32c": checksum(&content),
    });
    wire::json(StatusCode::OK, &body)
}

/// The CRC-32C, as Google writes it: in big-endian order and base64.
fn checksum(content: &[u8]) -> String {
    BASE64_STANDARD.encode(crc32c::crc32c(content).to_be_bytes())
}

/// Which bytes of so many a range names; `None` if it names none of them. Of a range in several parts there is none.
fn bytes_of(range: &str, length: usize) -> Option<RangeInclusive<usize>> {
    let last = length.checked_sub(1)?;
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    match (from, to) {
        ("", most) => {
            let most: usize = most.parse().ok().filter(|most| *most > 0)?;
            Some(length.saturating_sub(most)..=last)
        }
        (from, to) => {
            let from = from.parse().ok().filter(|from| *from <= last)?;
            let to = if to.is_empty() { last } else { to.parse::<usize>().ok()?.min(last) };
            (from <= to).then_some(from..=to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_bytes_that_there_are() {
        for (range, expected) in [
            ("bytes=0-", Some(0..=9)),
            ("bytes=4-", Some(4..=9)),
            ("bytes=4-6", Some(4..=6)),
            ("bytes=4-99", Some(4..=9)),
            ("bytes=-3", Some(7..=9)),
            ("bytes=-99", Some(0..=9)),
            ("bytes=10-", None),
            ("bytes=6-4", None),
            ("bytes=-0", None),
            ("bytes=0-1,4-5", None),
            ("lines=0-1", None),
            ("bytes=", None),
        ] {
            assert_eq!(bytes_of(range, 10), expected, "{range}");
        }
        assert_eq!(bytes_of("bytes=0-", 0), None);
    }
}
