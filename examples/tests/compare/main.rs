//! The comparison: every run of it is judged by the server's counts.

mod common;
mod isolation;
mod program;
mod rows;
