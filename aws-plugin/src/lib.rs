//! draft

mod names;
mod sniff;
mod identity;

pub use names::service_name;
