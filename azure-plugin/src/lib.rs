//! Governs every client of the Azure SDK for Rust.
