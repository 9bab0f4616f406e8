//! Which keys name a provider, and which an operation.

use super::node::Value;

/// Names that are keys of a provider: as a provider's name they are a key written one level too high.
const SETTINGS: [&str; 21] = [
    "account_concurrency",
    "attempt_timeout",
    "base_delay",
    "breaker",
    "burst",
    "connect_timeout",
    "cooldown",
    "deadline",
    "default",
    "failures",
    "floor_rps",
    "jitter",
    "law",
    "max_backoff",
    "max_retries",
    "max_rps",
    "read_timeout",
    "retry_budget",
    "rules",
    "services",
    "throttle",
];

/// Whether a key under `ratelimit`, in lower case and as it was written, is a provider's name.
pub(super) fn check_provider(name: &str, written: &str, value: &Value) -> Result<(), String> {
    const KNOWN: &str = "known here: enabled, defaults and the names of providers (a setting of every provider stands \
                         under ratelimit.defaults)";
    if SETTINGS.contains(&name) {
        return Err(format!("unknown key `{written}`; {KNOWN}"));
    }
    if !matches!(value, Value::Map(_) | Value::Null) {
        let is = value.describe();
        return Err(format!(
            "is {is}, but must be a mapping if `{written}` is a provider, else an unknown key; {KNOWN}"
        ));
    }
    let named = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        && !name.contains("__");
    if named {
        Ok(())
    } else {
        Err(format!(
            "`{written}` is no provider's name: write a letter, then letters, digits, dots, dashes and single underscores"
        ))
    }
}

/// Operations are written with capitals, services without: `ec2.RunInstances` against `storage.blob`.
pub(super) fn is_operation(key: &str) -> bool {
    key.rsplit_once('.').is_some_and(|(_, last)| last.contains(|c: char| c.is_ascii_uppercase()))
}
