use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::*;
use crate::scope::{Scope, Verb};

mod effect;
mod env;
mod layers;
mod properties;
mod published;
mod refused;
mod rules;
mod services;

const SECOND: Duration = Duration::from_secs(1);

/// A scope of a service, with or without an operation.
fn of(service: &str, operation: Option<&str>) -> Scope {
    Scope::new("any", "", "", service).with_operation(operation.unwrap_or_default())
}

fn yaml(text: &str) -> Result<Config, ConfigError> {
    Config::from_yaml(text, "test.yaml")
}

/// Each problem as (path, line).
fn places(error: &ConfigError) -> Vec<(&str, Option<u64>)> {
    error.problems().iter().map(|problem| (problem.path(), problem.origin().line())).collect()
}
