//! The simulated clouds, seen from outside by a client of plain HTTP.

mod aws;
mod common;
mod ec2;
mod server;
