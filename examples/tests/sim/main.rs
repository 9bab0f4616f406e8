//! The simulated clouds, seen from outside by a client of plain HTTP; and the simulated Azure and Google Cloud by
//! the SDKs' clients.

mod aws;
mod azure;
mod common;
mod ec2;
mod gcp;
mod server;
