//! The settings as the engine reads them: resolved, in range, and safe to calculate with.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use super::bounds;
use super::services::Services;
use crate::classify::Rule;

/// One provider's settings, resolved and valid.
///
/// A [`Config`](crate::Config) hands these out; it takes none, so a changed copy affects nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// Whether calls are governed; `false` also where the global switch is off.
    pub enabled: bool,
    /// How many attempts may be in flight at once, per account. Default 64.
    pub account_concurrency: NonZeroUsize,
    /// The retry budget, in tokens. Default 500.
    pub retry_budget: u32,
    /// The leaf bucket's figures where no service says otherwise. By default no ceiling is known.
    pub limits: Limits,
    /// The circuit breaker.
    pub breaker: BreakerSettings,
    /// Retries and backoff, where a call's policy says nothing.
    pub retry: RetrySettings,
    /// How a throttled leaf slows down and recovers.
    pub throttle: ThrottleSettings,
    /// The share of every known limit that is used; above 0, at most 1. Default 1.
    pub share: f64,
    /// Whether the limits that the provider [publishes](crate::catalogue) hold where nothing is configured. Default true.
    pub published: bool,
    /// The connect timeout for plugins whose SDK has none set. Default 3 s.
    pub connect_timeout: Duration,
    /// The read timeout for plugins whose SDK has none set. Default 60 s.
    pub read_timeout: Duration,
    /// The user's classification rules, the first to be looked at first: the provider's own, bound to it by
    /// [`Rule::for_provider`], then those of `defaults`.
    pub rules: Vec<Rule>,
    pub(super) services: Services,
}

/// When a circuit opens, and for how long.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BreakerSettings {
    /// How many give-ups in a row open the circuit. Default 5.
    pub failures: NonZeroU32,
    /// How long it stays open before a probe. Default 30 s.
    pub cooldown: Duration,
}

/// Retries and backoff.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RetrySettings {
    /// Retries after a call's first attempt. Default 8.
    pub max_retries: u32,
    /// The shortest backoff; at most `max_backoff`. Default 0.5 s.
    pub base_delay: Duration,
    /// The longest backoff, save for a longer Retry-After. Default 20 s.
    pub max_backoff: Duration,
    /// How a backoff is drawn. Default decorrelated.
    pub jitter: Jitter,
    /// How long a call may take in all, waiting included; `None` for ever. Default 900 s.
    pub deadline: Option<Duration>,
    /// How long one attempt may take; `None` for as long as the SDK lets it. Default none.
    pub attempt_timeout: Option<Duration>,
}

/// How a backoff is drawn between its base and its cap.
///
/// Both are described in [Exponential Backoff and Jitter][aws].
///
/// [aws]: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// `min(cap, uniform(base, 3 * previous))`; written `decorrelated`.
    #[default]
    Decorrelated,
    /// `uniform(0, min(cap, base * 2^n))`; written `full`.
    Full,
}

/// The control law of a leaf: what its rate follows from. [`crate::control`] explains both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LawName {
    /// Additive increase, multiplicative decrease: a throttle halves the rate, and it climbs back to the ceiling by equal
    /// steps; written `aimd`. Where no ceiling is known it is 20 calls per second.
    Aimd,
    /// The rate is what the server was seen to deliver between two throttles, and probes for more; written
    /// `delivery_rate`. Where no ceiling is known it starts at 20 calls per second and finds out.
    #[default]
    DeliveryRate,
}

/// How a throttled leaf slows down and recovers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ThrottleSettings {
    /// The control law, where no service says otherwise. `factor`, `cut_interval` and the two recovery figures are those
    /// of [`LawName::Aimd`]; `pause_cap` holds for each. Default `delivery_rate`.
    pub law: LawName,
    /// What a throttle multiplies the rate by; above 0 and below 1. Default 0.5.
    pub factor: f64,
    /// The longest pause a leaf takes from a Retry-After. Default 300 s.
    pub pause_cap: Duration,
    /// Throttles closer together than this are one congestion event. Default 1 s.
    pub cut_interval: Duration,
    /// How long after a throttle, or a raise, the rate may rise. Default 5 s.
    pub recovery_after: Duration,
    /// How far it rises at once, as a share of the ceiling; above 0, at most 1. Default 0.05.
    pub recovery_step: f64,
}

/// A token bucket's figures: always finite, in range, and with the floor at or under the rate.
///
/// The ceiling may be unknown, which is the default: then [`max_rps`](Limits::max_rps) is where a leaf starts, and
/// [its law](LawName) says whether it stays there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Infinite where none is known: there are limits for each of very many scopes, and an option takes twice as much.
    ceiling: f64,
    /// Zero where none is known.
    burst: f64,
    floor_rps: f64,
    /// In seconds.
    window: Option<NonZeroU32>,
    counts: Counts,
    published: bool,
}

/// What takes tokens from a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counts {
    /// Each call takes one; written `calls`.
    #[default]
    Calls,
    /// A call takes as many as it costs ([`Call::cost`](crate::Call::cost)), one if it does not say; written `units`.
    Units,
}

/// Figures that no token bucket can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLimits {
    what: &'static str,
    message: String,
}

impl InvalidLimits {
    /// Which figure: `max_rps`, `burst` or `floor_rps`.
    pub fn figure(&self) -> &'static str {
        self.what
    }
}

impl fmt::Display for InvalidLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

impl std::error::Error for InvalidLimits {}

impl LawName {
    /// Every law.
    pub(super) const ALL: [LawName; 2] = [LawName::Aimd, LawName::DeliveryRate];

    /// As it is written in a document: `aimd`, `delivery_rate`.
    pub const fn name(self) -> &'static str {
        match self {
            LawName::Aimd => "aimd",
            LawName::DeliveryRate => "delivery_rate",
        }
    }
}

impl fmt::Display for LawName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Counts {
    /// Each of them.
    pub(super) const ALL: [Counts; 2] = [Counts::Calls, Counts::Units];

    /// As it is written in a document.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Counts::Calls => "calls",
            Counts::Units => "units",
        }
    }
}

impl Jitter {
    /// As it is written in a document.
    pub(super) fn name(self) -> &'static str {
        match self {
            Jitter::Decorrelated => "decorrelated",
            Jitter::Full => "full",
        }
    }
}

// ===== impl Limits =====

impl Limits {
    /// The slowest rate that throttles can bring a leaf to by default, in calls per second.
    pub const DEFAULT_FLOOR_RPS: f64 = 0.05;

    /// Where a leaf starts whose ceiling nobody knows, in calls per second.
    pub const START_RPS: f64 = 20.0;

    /// Figures of a bucket: `max_rps` and `floor_rps` in calls per second, `burst` in calls.
    ///
    /// A rate below the floor lowers the floor to it.
    ///
    /// # Errors
    ///
    /// Rates lie from 0.000001 to 1000000, the burst from 1 to 1000000.
    pub fn new(max_rps: f64, burst: f64, floor_rps: f64) -> Result<Limits, InvalidLimits> {
        let checks = [
            ("max_rps", max_rps, bounds::RATE),
            ("burst", burst, bounds::BURST),
            ("floor_rps", floor_rps, bounds::RATE),
        ];
        for (what, value, range) in checks {
            range.check(value).map_err(|message| InvalidLimits { what, message })?;
        }
        Ok(Limits::of(Some(max_rps), Some(burst), floor_rps))
    }

    /// The same, of figures that have been checked. The burst goes with a ceiling where none is set: one second's worth.
    pub(super) fn of(ceiling: Option<f64>, burst: Option<f64>, floor_rps: f64) -> Limits {
        let floor_rps = floor_rps.min(ceiling.unwrap_or(Limits::START_RPS));
        Limits {
            ceiling: ceiling.unwrap_or(f64::INFINITY),
            burst: burst.or(ceiling.map(burst_of)).unwrap_or_default(),
            floor_rps,
            window: None,
            counts: Counts::Calls,
            published: false,
        }
    }

    /// So many in each window, all of which may be used at once.
    pub(crate) fn in_windows(calls: f64, window: NonZeroU32, floor_rps: f64) -> Limits {
        let rps = calls / f64::from(window.get());
        Limits { window: Some(window), ..Limits::of(Some(rps), Some(calls), floor_rps) }
    }

    pub(crate) fn counting(self, counts: Counts) -> Limits {
        Limits { counts, ..self }
    }

    pub(crate) fn as_published(self) -> Limits {
        Limits { published: true, ..self }
    }

    /// A share of what is known.
    pub(super) fn shared_out(self, share: f64) -> Limits {
        let burst = self.known_burst().map_or(0.0, |burst| (burst * share).max(1.0));
        // An infinite one stays so, and nothing is known of it.
        let ceiling = self.ceiling * share;
        Limits { ceiling, burst: if ceiling.is_finite() { burst } else { self.burst }, ..self }.with_low_floor()
    }

    fn with_low_floor(self) -> Limits {
        Limits { floor_rps: self.floor_rps.min(self.max_rps()), ..self }
    }

    /// The server itself says that it grants so many a second, in place of what is published.
    pub(crate) fn taught(self, rps: f64) -> Limits {
        let burst = self.burst * (rps / self.ceiling);
        Limits { ceiling: rps, burst: burst.max(1.0), ..self }.with_low_floor()
    }

    /// Of a bucket that is to hold nobody any more.
    pub(crate) fn boundless() -> Limits {
        Limits::of(Some(bounds::MOST_RPS), None, Limits::DEFAULT_FLOOR_RPS)
    }

    /// What is published does not hold here.
    pub(crate) fn unpublished(self) -> Limits {
        Limits { ceiling: f64::INFINITY, burst: 0.0, window: None, published: false, ..self }.with_low_floor()
    }

    /// The span at whose full multiples on the clock on the wall so many calls are granted at once, and none in between;
    /// none where they come all the time.
    pub fn window(&self) -> Option<Duration> {
        self.window.map(|seconds| Duration::from_secs(seconds.get().into()))
    }

    /// What takes tokens.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the figures are the provider's own, as [published](crate::catalogue), and not configured.
    pub fn is_published(&self) -> bool {
        self.published
    }

    /// The ceiling of the rate, in calls per second, if one is configured.
    pub fn ceiling(&self) -> Option<f64> {
        self.ceiling.is_finite().then_some(self.ceiling)
    }

    /// The rate that a leaf starts at, in calls per second: the ceiling, or 20 where none is known.
    pub fn max_rps(&self) -> f64 {
        self.ceiling().unwrap_or(Limits::START_RPS)
    }

    /// How many calls a rested bucket lets through at once; at least one. One second's worth where it is not set.
    pub fn burst(&self) -> f64 {
        self.known_burst().unwrap_or_else(|| burst_of(self.max_rps()))
    }

    /// The burst, if it or a ceiling is configured.
    pub(crate) fn known_burst(&self) -> Option<f64> {
        (self.burst > 0.0).then_some(self.burst)
    }

    /// The rate that throttles never go under, in calls per second; at most [`max_rps`](Limits::max_rps).
    pub fn floor_rps(&self) -> f64 {
        self.floor_rps
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::of(None, None, Limits::DEFAULT_FLOOR_RPS)
    }
}

/// The burst that goes with a rate where none is set: one second's worth, and never less than a call.
fn burst_of(max_rps: f64) -> f64 {
    max_rps.max(1.0)
}

// ===== defaults =====

impl Default for ProviderSettings {
    /// The settings of a provider that nothing is configured for.
    fn default() -> Self {
        ProviderSettings {
            enabled: true,
            account_concurrency: const { NonZeroUsize::new(64).unwrap() },
            retry_budget: 500,
            limits: Limits::default(),
            breaker: BreakerSettings::default(),
            retry: RetrySettings::default(),
            throttle: ThrottleSettings::default(),
            share: 1.0,
            published: true,
            connect_timeout: Duration::from_secs(3),
            read_timeout: Duration::from_secs(60),
            rules: Vec::new(),
            services: Services::default(),
        }
    }
}

impl Default for BreakerSettings {
    fn default() -> Self {
        BreakerSettings { failures: const { NonZeroU32::new(5).unwrap() }, cooldown: Duration::from_secs(30) }
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetrySettings {
            max_retries: 8,
            base_delay: Duration::from_millis(500),
            max_backoff: Duration::from_secs(20),
            jitter: Jitter::default(),
            deadline: Some(Duration::from_secs(900)),
            attempt_timeout: None,
        }
    }
}

impl Default for ThrottleSettings {
    fn default() -> Self {
        ThrottleSettings {
            law: LawName::default(),
            factor: 0.5,
            pause_cap: Duration::from_secs(300),
            cut_interval: Duration::from_secs(1),
            recovery_after: Duration::from_secs(5),
            recovery_step: 0.05,
        }
    }
}
