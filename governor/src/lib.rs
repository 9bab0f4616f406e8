//! One governor for every cloud API call a program makes.

mod backoff;
mod breaker;
mod budget;
mod bulkhead;
mod by_hand;
mod call;
pub mod classify;
mod clock;
pub mod config;
mod drive;
mod error;
mod events;
mod governor;
mod limiter;
#[cfg(all(test, cloud_governor_loom))]
mod models;
mod policy;
mod scope;
mod stats;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
mod waiters;

pub use breaker::BreakerState;
pub use by_hand::{
    ByClosure, ByFacts, BySource, ClassifyError, Resilience, Resilient, ScopeOf, call_with_resilience,
    call_with_resilience_blocking, call_with_resilience_sync, resilient,
};
pub use call::{Attempt, Call, GiveUp, Outcome, Verdict};
pub use classify::{
    Class, Classification, Classify, Facts, GrpcCode, InvalidRule, Resend, RetryAfter, Rule, RuleBuilder, Rules,
    Transport, UnknownGrpcCode, classify_error,
};
pub use clock::{Clock, FakeClock, Sleep, SystemClock, Timestamp};
pub use config::{
    BreakerSettings, Config, ConfigBuilder, ConfigError, ConfigOrigin, ConfigProblem, InvalidLimits, Jitter, Limits,
    ProviderBuilder, ProviderSettings, RetrySettings, ServiceBuilder, ThrottleSettings,
};
pub use drive::Admit;
pub use error::{Error, Refusal, RefusalKind};
pub use governor::{Governor, GovernorBuilder, Inspection, MAX_LEAVES, configure, get_governor, reset_governor};
pub use policy::{PolicyError, RetryPolicy, RetryPolicyBuilder};
pub use scope::{ParseScopeError, Scope};
pub use stats::{Bound, SlowedBucket, Stats, Summary, Totals, stats_scope};
pub use waiters::Priority;
