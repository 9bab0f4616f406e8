//! Governs the official Google Cloud clients for Rust.
