//! Drives the governor in virtual time against models of the clouds' throttles, and measures how well it controls.
//!
//! The governor that is driven is the real one: its limiter, call machine, breaker, budget and classification, behind a
//! clock that this crate moves. The servers are models of what the clouds publish about their throttles ([`Quota`]); the
//! peers that it is compared with are written from their published algorithms ([`client`]). A run depends on its
//! scenario, its law and its seed alone.

pub mod client;
pub mod draw;
mod law;
mod load;
pub mod measure;
pub mod quota;
mod report;
mod scenario;
pub mod scenarios;
pub mod server;
mod trace;
mod trials;
mod world;

pub use law::{LAWS, Law};
pub use load::{Load, Phase};
pub use measure::{Measured, Merge};
pub use quota::{Meter, Quota, Request};
pub use report::{Row, table};
pub use scenario::{Goals, Measures, Scenario};
pub use scenarios::SCENARIOS;
pub use server::{Answer, Latency, Penalty, Server, ServerSpec, Shape, Tells};
pub use trace::{Arrival, Believed, Ended, Send, Trace};
pub use trials::trials;
pub use world::{Wire, World};
