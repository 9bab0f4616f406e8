//! Environment variables as layers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use super::error::ConfigProblem;
use super::known;
use super::layer::Layer;
use super::names::{is_of_bucket, is_of_provider, is_of_section};
use super::node::{Node, Value};
use super::read::Source;

/// What the names of the variables that set a key begin with, in either case.
const PREFIX: &str = "CLOUD_GOVERNOR__";

/// The variable that names a YAML file.
pub(super) const FILE: &str = "CLOUD_GOVERNOR_CONFIG";

/// What the names begin with of variables that miss an underscore, and of those of others.
const STEM: &str = "CLOUD_GOVERNOR_";

/// Whether a variable of this name is the configuration's, or was meant to be.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name == FILE || sets_a_key(name) || meant(name).is_some()
}

fn sets_a_key(name: &OsStr) -> bool {
    let prefixed = name.as_encoded_bytes().get(..PREFIX.len());
    prefixed.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
}

/// What a variable that neither sets a key nor names the file was meant to be called, if it reads so with the underscores that it
/// misses.
fn meant(name: &OsStr) -> Option<String> {
    let name = name.to_str()?;
    let (start, rest) = name.split_at_checked(STEM.len())?;
    if name.eq_ignore_ascii_case(FILE) {
        return Some(FILE.to_owned());
    }
    let path = known_path(rest).filter(|_| start.eq_ignore_ascii_case(STEM))?;
    Some(format!("{PREFIX}{}", path.join("__")))
}

/// One variable, read: the path under `ratelimit` and the value.
struct Variable {
    name: Arc<str>,
    path: Vec<String>,
    node: Node,
}

/// What the variables say.
#[derive(Default)]
pub(super) struct Variables {
    /// The YAML file to read; none where the variable is empty.
    pub(super) file: Option<OsString>,
    /// One layer a variable. A variable with a longer path lies over one with a shorter.
    pub(super) layers: Vec<Layer>,
}

impl Variables {
    pub(super) fn read(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Variables {
        let mut file = None;
        let (mut found, mut misnamed) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in variables {
            if name == FILE {
                file = Some(value).filter(|value| !value.is_empty());
            } else if sets_a_key(&name) {
                // What is not UTF-8 in a name is no known key, and refused as one.
                found.insert(name.to_string_lossy().into_owned(), value);
            } else if let Some(meant) = meant(&name) {
                misnamed.insert(name.to_string_lossy().into_owned(), meant);
            }
        }
        for (name, meant) in misnamed {
            let (origin, message) = (Source::Variable(name.into()).at(None), format!("has no effect: write {meant}"));
            problems.push(ConfigProblem::new("", origin, message));
        }
        // In the order of their names, so that the same environment always gives the same result.
        let mut accepted: Vec<Variable> = Vec::new();
        for (name, value) in found {
            let name: Arc<str> = name.into();
            let refuse =
                |message: String| ConfigProblem::new("", Source::Variable(Arc::clone(&name)).at(None), message);
            let variable = match variable(&name, value) {
                Ok(variable) => variable,
                Err(message) => {
                    problems.push(refuse(message));
                    continue;
                }
            };
            match accepted.iter().find_map(|other| variable.conflict(other)) {
                Some(conflict) => problems.push(refuse(conflict)),
                None => accepted.push(variable),
            }
        }
        accepted.sort_by_key(|variable| variable.path.len());
        let layers = accepted.into_iter().map(|variable| variable.layer(problems)).collect();
        Variables { file, layers }
    }
}

fn variable(name: &Arc<str>, value: OsString) -> Result<Variable, String> {
    let written = name.get(PREFIX.len()..).unwrap_or_default();
    let mut path: Vec<String> = written.split("__").map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(format!("names no key; write {PREFIX}<PROVIDER>__<KEY>"));
    }
    // The name of an operation, which stands under the provider's services, has a case; every other key is in lower case.
    let named = path.get(1).filter(|key| key.eq_ignore_ascii_case("services")).map(|_| 2);
    for (index, key) in path.iter_mut().enumerate() {
        if Some(index) != named {
            key.make_ascii_lowercase();
        }
    }
    write_dashes(&mut path);
    let text = value.into_string().map_err(|_| "is not valid UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Err("is empty; unset it, or give it a value".to_owned());
    }
    let node = Node::parse(&text).map_err(|error| error.message)?;
    // A mapping may be of a provider of any name.
    if !matches!(node.value, Value::Map(_))
        && let Some(meant) = meant_path(written)
    {
        return Err(format!("names no key; write {meant}"));
    }
    Ok(Variable { name: Arc::clone(name), path, node })
}

/// Shells allow no dash in a variable's name.
fn write_dashes(path: &mut [String]) {
    match path {
        [_, section, bucket, ..] if section == "shared" => *bucket = bucket.replace('_', "-"),
        [provider, section, service, rest @ ..] if section == "services" => {
            if let Some(dashed) = known::with_dashes(provider, service) {
                *service = dashed;
            }
            if let [section, bucket, ..] = rest
                && section == "shared"
            {
                *bucket = bucket.replace('_', "-");
            }
        }
        _ => {}
    }
}

// ===== names that miss an underscore =====

/// The name of a variable whose path is not that of a key as it is written, if it is meant to be. A service and a bucket may be called
/// anything: under `services` and `shared` nothing is a mistake.
fn meant_path(written: &str) -> Option<String> {
    if written.eq_ignore_ascii_case("config") {
        return Some(format!("{FILE} for the YAML file"));
    }
    let is_short = written.split("__").count() <= 2;
    let known = known_path(written).filter(|_| is_short)?.join("__");
    (known != written).then(|| format!("{PREFIX}{known}"))
}

/// The path of a key, or a section, that is known: as it is written, else with the underscores that are missing.
fn known_path(written: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = written.split("__").collect();
    match parts.as_slice() {
        [one] if is_top(one) => return Some(parts),
        [one] if is_key(&[one]) => return Some(vec!["DEFAULTS", one]),
        [_, key @ ..] if is_key(key) => return Some(parts),
        _ => {}
    }
    // Of providers that are known only, as a name may hold underscores.
    let (provider, key) = splits(written).find(|(provider, _)| is_top(provider))?;
    let path = known_key(key).filter(|_| !provider.eq_ignore_ascii_case("enabled"))?;
    Some(std::iter::once(provider).chain(path).collect())
}

/// Whether a name is one that is known to stand under `ratelimit`.
fn is_top(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "enabled" || name == "defaults" || known::is_provider(&name)
}

/// Whether this is the path of a key, or a section, of a provider.
fn is_key(path: &[&str]) -> bool {
    let path: Vec<String> = path.iter().map(|key| key.to_ascii_lowercase()).collect();
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [key] => is_of_provider(key),
        [section, key] if is_of_section(section, key) => true,
        ["shared" | "services", name] | ["services", name, "shared"] => !name.is_empty(),
        ["services", service, "shared", name] => !service.is_empty() && !name.is_empty(),
        ["shared" | "services", name, key] => !name.is_empty() && is_of_bucket(key),
        ["services", service, "shared", name, key] => !service.is_empty() && !name.is_empty() && is_of_bucket(key),
        _ => false,
    }
}

/// The path of a key of a provider where an underscore may stand for two. Under `services` and `shared` it ends in the key of a bucket.
fn known_key(written: &str) -> Option<Vec<&str>> {
    if is_key(&[written]) {
        return Some(vec![written]);
    }
    splits(written).find_map(|(section, rest)| match section.to_ascii_lowercase().as_str() {
        "services" | "shared" => {
            let (name, key) = splits(rest).find(|(_, key)| is_of_bucket(&key.to_ascii_lowercase()))?;
            let of_service = splits(name).find_map(|(service, rest)| {
                let (shared, bucket) = splits(rest).next()?;
                shared.eq_ignore_ascii_case("shared").then(|| vec![section, service, shared, bucket, key])
            });
            Some(of_service.unwrap_or_else(|| vec![section, name, key]))
        }
        section_name => is_of_section(section_name, &rest.to_ascii_lowercase()).then(|| vec![section, rest]),
    })
}

/// In two at each underscore, or two of them.
fn splits(written: &str) -> impl Iterator<Item = (&str, &str)> {
    written.match_indices('_').filter_map(|(at, _)| {
        let (before, after) = (written.get(..at)?, written.get(at + 1..)?);
        let after = after.strip_prefix('_').unwrap_or(after);
        (!before.is_empty() && !before.ends_with('_') && !after.is_empty()).then_some((before, after))
    })
}

impl Variable {
    /// Why the two cannot both be set: neither lies over the other, so one of them would have no effect.
    fn conflict(&self, other: &Variable) -> Option<String> {
        let same = |one: &[String], two: &[String]| {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.eq_ignore_ascii_case(two))
        };
        if same(&self.path, &other.path) {
            return Some(format!("sets the same key as {}", other.name));
        }
        let ((key, place), (other_key, other_place)) = (self.path.split_last()?, other.path.split_last()?);
        let replaces = |one: &str, two: &str| one == "per_minute" && (two == "max_rps" || two == "burst");
        let is_one = same(place, other_place) && (replaces(key, other_key) || replaces(other_key, key));
        is_one.then(|| {
            format!("and {} are both set, and per_minute takes the place of max_rps and burst: unset one", other.name)
        })
    }

    fn layer(self, problems: &mut Vec<ConfigProblem>) -> Layer {
        let mut root = Node::new(Value::Null);
        let path: Vec<&str> = std::iter::once("ratelimit").chain(self.path.iter().map(String::as_str)).collect();
        root.put(&path, self.node);
        Layer::read(root, &Source::Variable(self.name), problems)
    }
}
