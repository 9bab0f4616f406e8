//! CloudWatch Logs.

use serde::Deserialize;
use serde_json::{Value, json};

use super::page::LOGS_PAGE;
use super::wire::{self, Error};
use super::{LogGroup, Place};
use crate::sim::page::List;

/// When the first log group was created, in milliseconds since 1970. The others follow a minute apart.
const CREATED_MS: u64 = 1_767_225_600_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Groups {
    log_group_name_prefix: Option<String>,
    next_token: Option<String>,
    limit: Option<i64>,
}

/// Pages through the groups, by name.
pub(super) fn describe_log_groups(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: Groups = wire::read(body)?;
    let size = wire::page_size("InvalidParameterException", "limit", request.limit, LOGS_PAGE, LOGS_PAGE)?;
    let prefix = request.log_group_name_prefix.unwrap_or_default();
    let all = &place.estate.log_groups;
    let groups: Vec<_> = (0u64..).zip(all).filter(|(_, group)| group.name.starts_with(&prefix)).collect();
    let list = List { leaf: place.leaf, filter: &[&prefix] };
    let (rows, next) = list.page(groups.len(), size, request.next_token.as_deref()).map_err(|_| bad_token())?;
    let rows: Vec<_> = groups.get(rows).unwrap_or_default().iter().map(|(n, group)| row(place, *n, group)).collect();
    Ok(page("logGroups", rows, next))
}

fn row(place: &Place<'_>, number: u64, group: &LogGroup) -> Value {
    let arn = place.arn("logs", &format!("log-group:{}", group.name));
    json!({
        "logGroupName": group.name,
        "creationTime": CREATED_MS + 60_000 * number,
        "metricFilterCount": 0,
        "arn": format!("{arn}:*"),
        "logGroupArn": arn,
        "storedBytes": u64::from(group.streams) * 1024,
        "logGroupClass": "STANDARD",
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Streams {
    log_group_name: Option<String>,
    log_group_identifier: Option<String>,
    log_stream_name_prefix: Option<String>,
    next_token: Option<String>,
    limit: Option<i64>,
}

/// Pages through the streams of one group, by name.
pub(super) fn describe_log_streams(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: Streams = wire::read(body)?;
    let size = wire::page_size("InvalidParameterException", "limit", request.limit, LOGS_PAGE, LOGS_PAGE)?;
    let group = match (&request.log_group_name, &request.log_group_identifier) {
        (Some(name), None) => find(place, name),
        (None, Some(identifier)) => {
            let prefix = place.arn("logs", "log-group:");
            find(place, identifier.strip_prefix(&prefix).unwrap_or(identifier))
        }
        _ => {
            let message = "Exactly one of logGroupName and logGroupIdentifier must be given.";
            return Err(Error::bad_request("InvalidParameterException", message));
        }
    };
    let group = group
        .ok_or_else(|| Error::bad_request("ResourceNotFoundException", "The specified log group does not exist."))?;
    let prefix = request.log_stream_name_prefix.unwrap_or_default();
    let streams: Vec<_> =
        (0..group.streams).map(|n| group.stream(n)).filter(|name| name.starts_with(&prefix)).collect();
    let list = List { leaf: place.leaf, filter: &[&group.name, &prefix] };
    let (rows, next) = list.page(streams.len(), size, request.next_token.as_deref()).map_err(|_| bad_token())?;
    let arn = place.arn("logs", &format!("log-group:{}", group.name));
    let row = |name: &String| {
        json!({
            "logStreamName": name,
            "creationTime": CREATED_MS,
            "arn": format!("{arn}:log-stream:{name}"),
            "storedBytes": 0,
        })
    };
    Ok(page("logStreams", streams.get(rows).unwrap_or_default().iter().map(row).collect(), next))
}

fn find<'a>(place: &Place<'a>, name: &str) -> Option<&'a LogGroup> {
    let groups = &place.estate.log_groups;
    let index = groups.binary_search_by(|group| group.name.as_str().cmp(name)).ok()?;
    groups.get(index)
}

fn page(member: &str, rows: Vec<Value>, next: Option<String>) -> Value {
    match next {
        Some(token) => json!({ member: rows, "nextToken": token }),
        None => json!({ member: rows }),
    }
}

fn bad_token() -> Error {
    Error::bad_request("InvalidParameterException", "The specified nextToken is invalid.")
}
