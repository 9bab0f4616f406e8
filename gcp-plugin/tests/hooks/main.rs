//! Official clients against servers on this machine.

mod common;
mod operations;
mod plain;
mod recorder;
#[cfg(feature = "storage")]
mod uploads;
