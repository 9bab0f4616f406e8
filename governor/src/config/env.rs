//! Environment variables as layers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use super::error::ConfigProblem;
use super::layer::Layer;
use super::node::{Node, Value};
use super::read::Source;

/// What the names of the variables that set a key begin with, in either case.
const PREFIX: &str = "CLOUD_GOVERNOR__";

/// The variable that names a YAML file.
pub(super) const FILE: &str = "CLOUD_GOVERNOR_CONFIG";

/// Whether a variable of this name is the configuration's.
pub(super) fn is_ours(name: &OsStr) -> bool {
    let prefixed = name.as_encoded_bytes().get(..PREFIX.len());
    name == FILE || prefixed.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
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
        let mut found = BTreeMap::new();
        for (name, value) in variables {
            if name == FILE {
                file = Some(value).filter(|value| !value.is_empty());
            } else if is_ours(&name) {
                // What is not UTF-8 in a name is no known key, and refused as one.
                found.insert(name.to_string_lossy().into_owned(), value);
            }
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
    let mut path: Vec<String> = name.get(PREFIX.len()..).unwrap_or_default().split("__").map(str::to_owned).collect();
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
    let text = value.into_string().map_err(|_| "is not valid UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Err("is empty; unset it, or give it a value".to_owned());
    }
    let node = Node::parse(&text).map_err(|error| error.message)?;
    Ok(Variable { name: Arc::clone(name), path, node })
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
