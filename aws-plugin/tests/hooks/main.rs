//! Real clients of the SDK against a server in memory, on Tokio's paused clock.

mod common;

mod bodies;
mod cancel;
mod cbor;
mod costs;
mod dynamodb;
mod giving_up;
mod hostile;
mod install;
mod interceptor;
mod multiplying;
mod nested;
mod retries;
mod roles;
mod s3;
mod scopes;
mod secrets;
mod signing;
mod storm;
mod task_scope;
mod timeouts;
mod unsigned;
mod warnings;
