//! Governs every client of the Azure SDK for Rust.

mod arm;
mod operation;
mod quotas;
