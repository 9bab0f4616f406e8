//! What is wrong with a configuration, and where it was written.

use std::fmt;
use std::sync::Arc;

/// Where a setting was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigOrigin {
    /// A YAML document.
    Yaml {
        /// The file's path, or the name the text was given.
        name: Arc<str>,
        /// The line, counted from one, where it is known.
        line: Option<u64>,
    },
    /// An environment variable of this name.
    Variable(Arc<str>),
    /// A call of [`ConfigBuilder`](crate::ConfigBuilder).
    Code,
}

impl ConfigOrigin {
    /// The line in a YAML document, counted from one, where it is known.
    pub fn line(&self) -> Option<u64> {
        match self {
            ConfigOrigin::Yaml { line, .. } => *line,
            ConfigOrigin::Variable(_) | ConfigOrigin::Code => None,
        }
    }
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigOrigin::Yaml { name, line: Some(line) } => write!(f, "{name}, line {line}"),
            ConfigOrigin::Yaml { name, line: None } => f.write_str(name),
            ConfigOrigin::Variable(name) => write!(f, "environment variable {name}"),
            ConfigOrigin::Code => f.write_str("set in code"),
        }
    }
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    path: String,
    origin: ConfigOrigin,
    message: String,
}

impl ConfigProblem {
    pub(super) fn new(path: impl Into<String>, origin: ConfigOrigin, message: impl Into<String>) -> Self {
        ConfigProblem { path: path.into(), origin, message: message.into() }
    }

    /// The full path of the key, for instance `ratelimit.aws.services.ec2.max_rps`; empty where the document as a
    /// whole is at fault.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where it was written.
    pub fn origin(&self) -> &ConfigOrigin {
        &self.origin
    }

    /// What is wrong, and what would be valid.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}: {}", self.origin, self.message),
            path => write!(f, "{path} ({}): {}", self.origin, self.message),
        }
    }
}

/// A configuration that cannot be used: all of its problems, in the order in which they were met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// `Ok` if there is nothing wrong.
    pub(super) fn check(problems: Vec<ConfigProblem>) -> Result<(), ConfigError> {
        if problems.is_empty() { Ok(()) } else { Err(ConfigError { problems }) }
    }

    /// Every problem found; there is at least one.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid configuration: ")?;
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
