//! Which keys name a provider, a service, a verb of one, or an operation; and where every other key stands.

use super::known;
use super::node::Value;
use crate::scope::Verb;

const RATELIMIT: &str = "ratelimit";
const SWITCH: &str = "ratelimit, a provider, defaults or a bucket of shared";
const PROVIDER: &str = "a provider or defaults";
const BREAKER: &str = "breaker of a provider or of defaults";
const THROTTLE: &str = "throttle of a provider or of defaults";
const FIGURE: &str = "a provider, defaults, a service, a verb or an operation of one, or a bucket of shared";
const SHARE: &str = "a provider, defaults, a service, or a verb or an operation of one";
const SHARED: &str = "a provider, defaults or a service";
const MARK: &str = "a service or a verb of one";
const BUCKET: &str = "a bucket of shared";

/// Under what a key stands, wherever it was written.
pub(super) fn place_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "defaults" => RATELIMIT,
        "enabled" => SWITCH,
        "account_concurrency"
        | "attempt_timeout"
        | "base_delay"
        | "breaker"
        | "connect_timeout"
        | "deadline"
        | "jitter"
        | "max_backoff"
        | "max_retries"
        | "published"
        | "read_timeout"
        | "retry_budget"
        | "rules"
        | "services"
        | "throttle" => PROVIDER,
        "failures" | "cooldown" => BREAKER,
        "cut_interval" | "factor" | "pause_cap" | "recovery_after" | "recovery_step" => THROTTLE,
        "burst" | "counts" | "floor_rps" | "law" | "max_rps" | "per_minute" => FIGURE,
        "share" => SHARE,
        "shared" => SHARED,
        "per_operation" => MARK,
        "operations" | "per" | "verbs" => BUCKET,
        provider if known::is_provider(provider) => RATELIMIT,
        _ => return None,
    })
}

/// Whether a key in lower case is one of a provider, a section or not.
pub(super) fn is_of_provider(key: &str) -> bool {
    matches!(place_of(key), Some(SWITCH | PROVIDER | FIGURE | SHARE | SHARED))
}

/// Whether it is one of a section of a provider: of `breaker`, of `throttle`.
pub(super) fn is_of_section(section: &str, key: &str) -> bool {
    matches!((section, place_of(key)), ("breaker", Some(BREAKER)) | ("throttle", Some(THROTTLE)))
}

/// Whether it is one of a service or of a bucket of shared.
pub(super) fn is_of_bucket(key: &str) -> bool {
    matches!(place_of(key), Some(SWITCH | FIGURE | SHARE | MARK | BUCKET))
}

/// Whether a key under `ratelimit`, in lower case and as it was written, is a provider's name.
pub(super) fn check_provider(name: &str, written: &str, value: &Value) -> Result<(), String> {
    const KNOWN: &str = "known here: enabled, defaults and the names of providers (a setting of every provider stands \
                         under ratelimit.defaults)";
    // As a provider's name it is a key written one level too high, or one of this level in another case.
    let is_key = is_of_provider(name) || matches!(place_of(name), Some(BREAKER | THROTTLE | MARK));
    if is_key || name == "default" || name == "defaults" {
        return Err(format!("unknown key `{written}`; {KNOWN}"));
    }
    if !matches!(value, Value::Map(_) | Value::Null) {
        let is = value.describe();
        return Err(format!(
            "is {is}, but must be a mapping if `{written}` is a provider, else an unknown key; {KNOWN}"
        ));
    }
    // A host's name may begin with a digit.
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || (c.is_ascii_digit() && name.contains('.')));
    let named = begins_well
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        && !name.contains("__");
    if named {
        Ok(())
    } else {
        Err(format!(
            "`{written}` is no provider's name: write a letter, then letters, digits, dots, dashes and single underscores, or a host"
        ))
    }
}

/// Operations are written with capitals, services without: `ec2.RunInstances` against `storage.blob`.
pub(super) fn is_operation(key: &str) -> bool {
    operation(key).is_some()
}

/// Whether a key is the name of a shared bucket. In a scope it stands where operations do, which are written with capitals.
pub(super) fn check_shared(name: &str) -> Result<(), String> {
    let is_kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_kebab) {
        Ok(())
    } else {
        Err(format!("`{name}` is no name of a shared bucket: write lower-case letters, digits and dashes"))
    }
}

/// The service and the operation, or the pattern of such.
pub(super) fn operation(key: &str) -> Option<(&str, &str)> {
    let is_one = |last: &str| last.contains(|c: char| c.is_ascii_uppercase()) || last.ends_with('*');
    key.rsplit_once('.').filter(|(_, last)| is_one(last))
}

/// Whether a key names a service, a verb of one, or an operation.
pub(super) fn check_service(key: &str) -> Result<(), String> {
    let (name, verb) = match split_verb(key) {
        Some((name, verb)) => (name, Some(verb)),
        None => (key, None),
    };
    let is_trimmed = name.split(['.', ':']).all(|part| part.trim() == part);
    if !is_trimmed || name.ends_with(':') || name.split('.').any(str::is_empty) {
        return Err(format!("`{key}` is neither a service nor a `<service>:<verb>` nor a `<service>.<Operation>`"));
    }
    let beginning = if operation(key).is_some() { key.strip_suffix('*') } else { None };
    if beginning.unwrap_or(key).contains('*') {
        return Err(format!(
            "`{key}` has a star elsewhere than at the end of an operation: write `<service>.<Beginning>*`"
        ));
    }
    // It would be taken for a service of that name, and have no effect.
    if let Some((service, verb)) = key.strip_suffix(['s', 'S']).and_then(split_verb) {
        return Err(format!("`{key}` names a verb in the plural: write `{service}:{}`", verb.code()));
    }
    let Some((service, operation)) = operation(name) else { return Ok(()) };
    let unmarked = split_verb(service).map(|(service, _)| service);
    if verb.is_none() && unmarked.is_none() {
        return Ok(());
    }
    let service = unmarked.unwrap_or(service);
    Err(format!("`{key}` names an operation and a verb, but an operation goes without: write `{service}.{operation}`"))
}

/// The service that a key is about.
pub(super) fn service_of(key: &str) -> &str {
    let of_operation = operation(key).map(|(service, _)| service);
    of_operation.or(split_verb(key).map(|(service, _)| service)).unwrap_or(key)
}

/// The service and the verb, in any case as it may come from a variable's name.
pub(super) fn split_verb(key: &str) -> Option<(&str, Verb)> {
    let (name, code) = key.rsplit_once(':')?;
    code.to_ascii_lowercase().parse().ok().map(|verb| (name, verb))
}
