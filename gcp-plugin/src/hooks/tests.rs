//! The hooks under the SDK's own loop.

mod apart;
mod cancel;
mod hostile;
mod idempotence;
mod others;
mod polls;
mod refusals;
mod retries;
mod tokens;
mod uploads;
