//! A real HTTP client of the SDK against a real server on the loopback interface.

#[path = "../hooks/s3/aws_chunked.rs"]
mod aws_chunked;
mod common;

mod calls;
mod default_client;
mod downloads;
mod uploads;
