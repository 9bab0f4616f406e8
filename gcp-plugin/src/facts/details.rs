//! The details of an answer, whichever way they were read.

use std::time::Duration;

use cloud_governor::Facts;

use super::Told;
use super::limit::{Limit, LimitText, counts_calls, is_daily, limit_of, period};

/// What `google.rpc.ErrorInfo` calls a rate limit, which is set here where only a message tells of one.
const RATE: &str = "RATE_LIMIT_EXCEEDED";
/// The code of what no wait helps, where the reason says otherwise or is missing. Google's own answers have no code.
const QUOTA: &str = "QUOTA_EXCEEDED";

/// The longest reason that `google.rpc.ErrorInfo` allows.
const LONGEST_REASON: usize = 63;
const LONGEST_NAME: usize = 128;
/// How much of a message rules look at.
const LONGEST_MESSAGE: usize = 8 * 1024;
/// Details and errors beyond these say nothing new.
pub(super) const MOST: usize = 32;

/// What the details say. Only what has the form of a name is kept, since facts are shown: an answer may quote anything.
#[derive(Default)]
pub(super) struct Details {
    reason: Option<String>,
    quotas: Vec<String>,
    consumer: Option<String>,
    limit: Option<Limit>,
    wait: Option<Duration>,
    /// Nothing was ever allowed, or what is allowed is in use: no rate.
    is_quota: bool,
}

impl Details {
    /// Takes a `google.rpc.ErrorInfo`, or an older `errors[]` entry. The first reason stays.
    pub(super) fn error_info<'a>(&mut self, reason: &str, metadata: impl Fn(&str) -> Option<&'a str>) {
        if self.reason.is_none() && is_reason(reason) {
            self.reason = Some(reason.to_owned());
        }
        let (name, unit) = (metadata("quota_limit"), metadata("quota_unit"));
        for quota in [name, unit].into_iter().flatten() {
            self.quota(quota);
        }
        if let Some(consumer) = metadata("consumer") {
            self.consumer(consumer);
        }
        let text = LimitText { name, unit, metric: metadata("quota_metric"), value: metadata("quota_limit_value") };
        if self.limit.is_none() {
            self.limit = limit_of(&text);
        }
        // A limit of nothing is how an API says that the project was not let in.
        self.is_quota |= text.value == Some("0");
    }

    /// Takes one violation of a `google.rpc.QuotaFailure`.
    pub(super) fn violation(&mut self, quota_id: &str, description: &str) {
        self.quota(quota_id);
        self.quota(description);
    }

    /// Takes the delay of a `google.rpc.RetryInfo`. The longest stays.
    pub(super) fn wait(&mut self, wait: Option<Duration>) {
        self.wait = self.wait.max(wait);
    }

    fn quota(&mut self, text: &str) {
        if is_name(text) {
            self.quotas.push(text.to_owned());
        }
        // Texts are not kept, and `CLIENT_PROJECT-1d` is not what rules know a day by.
        if is_daily(text) && !text.to_ascii_lowercase().contains("perday") {
            self.quotas.push("per day".to_owned());
        }
    }

    fn consumer(&mut self, consumer: &str) {
        let id = consumer.split_once('/').filter(|(collection, _)| is_name(collection)).map(|(_, id)| id);
        let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte));
        if self.consumer.is_none() && consumer.len() <= LONGEST_NAME && id.is_some_and(is_id) {
            self.consumer = Some(consumer.to_owned());
        }
    }

    /// What only the message tells, where the details were lost.
    fn look_into(&mut self, message: &str) {
        if let Some((_, after)) = message.split_once("Quota exceeded for quota ") {
            self.look_into_limit(after);
        }
        let nothing_known = self.reason.is_none() && self.quotas.is_empty();
        if let Some((_, after)) = message.split_once("Quota limit '")
            && let Some((name, _)) = after.split_once("' has been exceeded")
            && nothing_known
        {
            self.is_quota |= period(name).is_none() && !counts_calls(name);
        } else if nothing_known && message.contains("xceeded rate limits") {
            self.reason = Some(RATE.to_owned());
        }
    }

    /// "metric 'Read requests' and limit 'Read requests per minute' of service '..' for consumer
    /// 'project_number:123456'." Older ones have a group in place of the metric.
    fn look_into_limit(&mut self, text: &str) {
        let quoted = |start: &str| text.split_once(start)?.1.split_once('\'').map(|(text, _)| text);
        if let Some(name) = quoted("and limit '")
            && self.quotas.is_empty()
        {
            if is_daily(name) {
                self.quota(name);
            } else if self.reason.is_none() && period(name).is_some() {
                self.reason = Some(RATE.to_owned());
            }
        }
        if let Some(number) = quoted("for consumer 'project_number:") {
            self.consumer(&format!("projects/{number}"));
        }
    }

    /// All of it, with the message of the answer.
    pub(super) fn told<'a>(mut self, facts: Facts<'a>, message: &str) -> Told<'a> {
        let (message, _) = message.split_at(message.floor_char_boundary(LONGEST_MESSAGE));
        self.look_into(message);
        // The name of such a quota may well be that of a rate.
        let quotas = if self.is_quota { Vec::new() } else { self.quotas };
        let mut facts = quotas.into_iter().fold(facts.message(message.to_owned()), Facts::quota);
        if let Some(reason) = self.reason {
            facts = facts.reason(reason);
        }
        if let Some(wait) = self.wait {
            facts = facts.retry_info(wait);
        }
        if self.is_quota {
            facts = facts.code(QUOTA);
        }
        Told { facts, consumer: self.consumer, limit: self.limit }
    }
}

fn is_reason(text: &str) -> bool {
    let length = 1..=LONGEST_REASON;
    length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A quota's name or unit: `ReadRequestsPerMinutePerProject`, `USER-100s`, `1/min/{project}`.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/{}".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(is_part)
}
