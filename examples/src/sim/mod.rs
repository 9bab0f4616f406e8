//! The frame that every simulated cloud shares, and the clouds on it.
//!
//! A [`Server`] listens on loopback and asks a [`Cloud`] three things: whose call a request is, which buckets the
//! call draws on, and what the answer is; and it tells the cloud what the buckets said. Throttling ([`Throttle`]), planned failure ([`Faults`]) and counting
//! ([`Truth`]) are the frame's. Time is passed in as the time since the server started.
//!
//! A request meets the parts in the order it would in a data centre, and the first that stops it names its outcome:
//! a service that is down, the signature, the throttle, the brownout, the service's own rules, the cut. So a
//! brownout costs tokens, and a service that is down costs none.

pub mod aws;
pub mod azure;
pub mod gcp;

mod bucket;
mod cloud;
mod faults;
mod page;
mod quota;
mod reply;
mod report;
mod server;
mod truth;

pub use bucket::{BucketKey, Draw, InvalidLimit, Limit, Throttle, Verdict};
pub use cloud::{Answer, Call, Cloud, Leaf};
pub use faults::{Fate, Fault, FaultError, FaultKind, Faults, Filter, Share, Window};
pub use quota::{Quota, Source, UnknownBucket};
pub use report::{Report, RunTime};
pub use server::Server;
pub use truth::{Counts, Ideal, LeafCounts, Outcome, Seat, Truth, TruthSnapshot};
