//! One governor for every cloud API call a program makes.

mod classify;
mod clock;
mod error;
mod scope;

pub use classify::{
    Class, Classification, Classify, Facts, GrpcCode, InvalidRule, Resend, RetryAfter, Rule, RuleBuilder, Rules,
    Transport, UnknownGrpcCode, classify_error,
};
pub use clock::{Clock, FakeClock, Sleep, SystemClock, Timestamp};
pub use error::{Error, Refusal, RefusalKind};
pub use scope::{ParseScopeError, Scope};
