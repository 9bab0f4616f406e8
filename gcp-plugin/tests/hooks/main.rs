//! Official clients, governed, against a server on this machine.

mod common;
mod operations;
mod plain;
#[cfg(feature = "storage")]
mod uploads;
