//! S3: bodies of any length in both directions, errors in answers of success, sessions.

mod aws_chunked;
mod downloads;
mod errors;
mod event_streams;
mod express;
mod failures_with_200;
mod many;
mod uploads;
