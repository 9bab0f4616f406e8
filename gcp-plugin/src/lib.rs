//! Governs the official Google Cloud clients for Rust.

#[cfg_attr(not(test), expect(dead_code, reason = "the hooks are what uses it"))]
mod facts;
#[cfg_attr(not(test), expect(dead_code, reason = "the hooks are what uses it"))]
mod recorder;
mod services;
#[cfg_attr(not(test), expect(dead_code, reason = "the hooks are what uses it"))]
mod target;
