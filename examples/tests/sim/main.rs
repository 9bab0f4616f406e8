//! The simulated clouds, seen from outside by a client of plain HTTP; and the simulated Azure by the SDK's clients.

mod aws;
mod azure;
mod common;
mod ec2;
mod server;
