//! The simulated Pub/Sub, seen by generated clients, and the program that runs against it.

mod program;
mod service;
