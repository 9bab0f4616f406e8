//! Pipelines of the SDK against a server in memory, on Tokio's paused clock.

mod common;

mod answers;
mod bodies;
mod cancel;
mod challenges;
mod hostile;
mod looped;
mod nested;
mod options;
mod passes;
mod quotas;
mod retries;
mod secrets;
mod storms;
mod timeouts;
mod tokens;
