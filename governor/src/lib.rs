//! One governor for every cloud API call a program makes.

mod classify;
mod clock;
pub mod config;
mod error;
mod policy;
mod scope;

pub use classify::{
    Class, Classification, Classify, Facts, GrpcCode, InvalidRule, Resend, RetryAfter, Rule, RuleBuilder, Rules,
    Transport, UnknownGrpcCode, classify_error,
};
pub use clock::{Clock, FakeClock, Sleep, SystemClock, Timestamp};
pub use config::{
    BreakerSettings, Config, ConfigBuilder, ConfigError, ConfigOrigin, ConfigProblem, InvalidLimits, Jitter, Limits,
    ProviderBuilder, ProviderSettings, RetrySettings, ServiceBuilder, ThrottleSettings,
};
pub use error::{Error, Refusal, RefusalKind};
pub use policy::{PolicyError, RetryPolicy, RetryPolicyBuilder};
pub use scope::{ParseScopeError, Scope};
