//! Real clients of the SDK against a server in memory, on Tokio's paused clock.

mod common;

mod bodies;
mod cancel;
mod express;
mod install;
mod interceptor;
mod retries;
mod roles;
mod scopes;
mod signing;
mod task_scope;
mod timeouts;
mod unsigned;
mod warnings;
