//! The server: a quota, and what else decides whether a request is served. A state machine that takes the time.

use cloud_governor::Facts;

use crate::quota::{Meter, Quota, Request};

/// Everything about a server, as data. Times are seconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerSpec {
    /// What it grants.
    pub quota: Quota,
    /// What a refusal looks like.
    pub shape: Shape,
    /// What a refusal says about when to come back.
    pub tells: Tells,
    /// Whether each answer says how many calls are left, as Azure Resource Manager's do
    /// (`x-ms-ratelimit-remaining-subscription-reads`).
    pub tells_left: bool,
    /// The limit that each refusal names, as Google's do (`quota_limit_value` in the metadata of an ErrorInfo): calls, and in
    /// how many seconds.
    pub names_limit: Option<(u64, u64)>,
    /// When it serves nothing at all: from, to.
    pub outages: &'static [(f64, f64)],
    /// The status of a plain failure: during an outage, and of the share below.
    pub failure_status: u16,
    /// The share of requests that fail although the quota would allow them, from 0 to 1. They take no token.
    pub failure_share: f64,
    /// What it does to a client that goes on when refused.
    pub penalty: Option<Penalty>,
    /// What others draw from the same quota: from when on how many tokens a second, in order.
    pub background: &'static [(f64, f64)],
    /// How long an answer takes.
    pub latency: Latency,
}

/// Blocks everything for a while once too many requests were refused. Azure Compute does so to clients that exceed a
/// limit severely ("Troubleshooting API throttling errors": all calls of the group are refused until the penalty ends);
/// Microsoft publishes no figures, so those here are assumptions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// How many refusals it takes.
    pub refusals: usize,
    /// Within how many seconds.
    pub within: f64,
    /// For how many seconds everything is then refused.
    pub block: f64,
}

/// How long an answer takes: half of it on the way there, half on the way back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Seconds, for a server that is not busy.
    pub base: f64,
    /// The share of it by which it varies either way, evenly.
    pub jitter: f64,
    /// How many requests it works on at once; with more in flight, each takes longer in proportion (Little's law: the
    /// throughput stays at `knee / base`).
    pub knee: Option<f64>,
}

/// What a throttle looks like. Each is the published form of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Route 53, STS, IAM: status 400, code `Throttling`, "Rate exceeded".
    Aws400,
    /// Amazon EC2: status 503, code `RequestLimitExceeded`.
    Aws503,
    /// Azure Resource Manager: status 429.
    Azure429,
    /// Google Compute Engine: status 403, reason `rateLimitExceeded`.
    Google403,
    /// Google's other APIs: status 429, `RESOURCE_EXHAUSTED`, reason `RATE_LIMIT_EXCEEDED`.
    Google429,
    /// A service that says nothing but 503.
    Bare503,
}

impl Shape {
    /// The provider whose rules know it.
    pub fn provider(self) -> &'static str {
        match self {
            Shape::Aws400 | Shape::Aws503 | Shape::Bare503 => "aws",
            Shape::Azure429 => "azure",
            Shape::Google403 | Shape::Google429 => "gcp",
        }
    }
}

/// What a refusal says about when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tells {
    /// Nothing.
    Nothing,
    /// `Retry-After`, in whole seconds: when it would grant, rounded up.
    RetryAfter,
    /// `google.rpc.RetryInfo`: when it would grant, to the millisecond.
    RetryInfo,
}

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Served.
    Granted,
    /// Refused for going too fast.
    Throttled {
        /// In this form.
        shape: Shape,
        /// The wait that the server asked for, in seconds, and how it said so.
        told: Option<(Tells, f64)>,
    },
    /// Failed for another reason.
    Failed {
        /// The HTTP status.
        status: u16,
    },
}

impl Answer {
    /// Whether the request was served.
    pub fn is_granted(self) -> bool {
        self == Answer::Granted
    }

    /// Whether the request was throttled.
    pub fn is_throttled(self) -> bool {
        matches!(self, Answer::Throttled { .. })
    }

    /// The wait that the server asked for, in seconds.
    pub fn retry_after(self) -> Option<f64> {
        if let Answer::Throttled { told, .. } = self { told.map(|(_, wait)| wait) } else { None }
    }

    /// What a plugin would know of it.
    pub fn facts(self) -> Facts<'static> {
        let (shape, told) = match self {
            Answer::Granted => return Facts::new().status(200),
            Answer::Failed { status } => return Facts::new().status(status),
            Answer::Throttled { shape, told } => (shape, told),
        };
        let facts = match shape {
            Shape::Aws400 => Facts::new().status(400).code("Throttling").message("Rate exceeded"),
            Shape::Aws503 => Facts::new().status(503).code("RequestLimitExceeded").message("Request limit exceeded."),
            Shape::Azure429 => Facts::new().status(429).code("SubscriptionRequestsThrottled"),
            Shape::Google403 => Facts::new().status(403).reason("rateLimitExceeded"),
            Shape::Google429 => {
                Facts::new().status(429).grpc_status("RESOURCE_EXHAUSTED").reason("RATE_LIMIT_EXCEEDED")
            }
            Shape::Bare503 => Facts::new().status(503),
        };
        match told {
            Some((Tells::RetryInfo, wait)) => facts.retry_info_text(&format!("{wait}s")),
            Some((_, wait)) => facts.header("retry-after", wait.to_string()),
            None => facts,
        }
    }
}

// ===== the state =====

/// A server at work.
#[derive(Debug)]
pub struct Server {
    spec: ServerSpec,
    meter: Meter,
    rng: fastrand::Rng,
    in_flight: usize,
    refusals: Vec<f64>,
    blocked_until: f64,
    /// When it was closed by a penalty: from, to.
    penalties: Vec<(f64, f64)>,
    background_at: f64,
    background_granted: f64,
}

impl Server {
    /// A rested server; everything random about it comes from the seed.
    pub fn new(spec: ServerSpec, seed: u64) -> Self {
        Server {
            spec,
            meter: Meter::new(spec.quota),
            rng: fastrand::Rng::with_seed(seed),
            in_flight: 0,
            refusals: Vec::new(),
            blocked_until: 0.0,
            penalties: Vec::new(),
            background_at: 0.0,
            background_granted: 0.0,
        }
    }

    /// A request sets out. Says how long its answer will take, in seconds.
    pub fn begin(&mut self) -> f64 {
        self.in_flight += 1;
        let Latency { base, jitter, knee } = self.spec.latency;
        let load = knee.map_or(1.0, |knee| (self.in_flight as f64 / knee).max(1.0));
        base * load * (1.0 + jitter * (2.0 * self.rng.f64() - 1.0))
    }

    /// An answer has come back, or nobody waits for it any more.
    pub fn end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A request arrives.
    pub fn ask(&mut self, now: f64, request: Request) -> Answer {
        self.serve_others(now);
        if within(self.spec.outages, now) {
            return Answer::Failed { status: self.spec.failure_status };
        }
        if now < self.blocked_until {
            return self.refusal(self.blocked_until - now);
        }
        if self.spec.failure_share > 0.0 && self.rng.f64() < self.spec.failure_share {
            return Answer::Failed { status: self.spec.failure_status };
        }
        match self.meter.ask(now, request) {
            Ok(()) => Answer::Granted,
            Err(wait) => {
                self.punish(now);
                self.refusal(wait.max(self.blocked_until - now))
            }
        }
    }

    /// How many calls are left, if it tells.
    pub fn left(&self) -> Option<u64> {
        self.meter.left().filter(|_| self.spec.tells_left)
    }

    /// The limit that a refusal names: calls, and in how many seconds.
    pub fn limit(&self) -> Option<(u64, u64)> {
        self.spec.names_limit
    }

    fn refusal(&self, wait: f64) -> Answer {
        let told = match self.spec.tells {
            _ if !wait.is_finite() => None,
            Tells::Nothing => None,
            Tells::RetryAfter => Some((Tells::RetryAfter, wait.ceil().max(1.0))),
            Tells::RetryInfo => Some((Tells::RetryInfo, (wait * 1000.0).ceil() / 1000.0)),
        };
        Answer::Throttled { shape: self.spec.shape, told }
    }

    fn punish(&mut self, now: f64) {
        let Some(penalty) = self.spec.penalty else { return };
        self.refusals.retain(|at| *at > now - penalty.within);
        self.refusals.push(now);
        if self.refusals.len() >= penalty.refusals {
            self.refusals.clear();
            self.blocked_until = now + penalty.block;
            self.penalties.push((now, self.blocked_until));
        }
    }

    /// The others' requests come one token at a time, evenly spread, and are not repeated when refused.
    fn serve_others(&mut self, now: f64) {
        while self.background_at <= now && !self.spec.background.is_empty() {
            let rate = crate::quota::rate_of(self.spec.background, self.background_at);
            if rate <= 0.0 {
                // Looks again whether they have begun.
                self.background_at += 1.0;
                continue;
            }
            if self.meter.ask(self.background_at, Request { cost: 1.0, kind: 0 }).is_ok() {
                self.background_granted += 1.0;
            }
            self.background_at += 1.0 / rate;
        }
    }

    /// Whether it serves nothing now.
    pub fn is_closed(&self, now: f64) -> bool {
        within(self.spec.outages, now) || now < self.blocked_until
    }

    /// When penalties closed it: from, to.
    pub fn penalties(&self) -> &[(f64, f64)] {
        &self.penalties
    }

    /// What others were granted.
    pub fn background_granted(&self) -> f64 {
        self.background_granted
    }
}

fn within(intervals: &[(f64, f64)], now: f64) -> bool {
    intervals.iter().any(|&(from, to)| from <= now && now < to)
}

impl ServerSpec {
    /// When it is open in a run of this length, penalties left aside: from, to.
    pub fn open(&self, seconds: f64) -> Vec<(f64, f64)> {
        let starts = std::iter::once(0.0).chain(self.outages.iter().map(|(_, to)| *to));
        let ends = self.outages.iter().map(|(from, _)| *from).chain([seconds]);
        starts.zip(ends).map(|(from, to)| (from.min(seconds), to.min(seconds))).filter(|(from, to)| to > from).collect()
    }

    /// Calls of this cost that it can serve a second in the long run, to those who are simulated.
    pub fn true_rate(&self, now: f64, cost: f64) -> f64 {
        let others = crate::quota::rate_of(self.background, now);
        (self.quota.rate(now, cost) - others).max(0.0) / cost
    }
}

#[cfg(test)]
mod tests;
