//! What a server grants: the published throttle models, as data ([`Quota`]) and as state machines ([`Meter`]).
//!
//! | model | rule | published by |
//! |---|---|---|
//! | [`Quota::Bucket`] | `capacity` at first, `refill` a second, never above the capacity | Amazon EC2, "Request throttling for the Amazon EC2 API" |
//! | [`Quota::Steps`] | a bucket whose refill changes | an operator raises or lowers a limit |
//! | [`Quota::Minute`] | `refill` at every full minute, never above the capacity | Azure Compute, "Troubleshooting API throttling errors" |
//! | [`Quota::Window`] | `limit` in each aligned window | Google Compute Engine, "API quotas": refill at the next minute |
//! | [`Quota::Debt`] | a bucket that refused calls drain too, down to an empty bucket's worth of debt | the older Azure Resource Manager, where a 429 counts against the limit |
//! | [`Quota::All`] | every member has to grant, or none is charged | Route 53, "Limits": account and action; EC2 RunInstances: request and resource bucket |
//! | [`Quota::ByKind`] | each kind of call has its own | the same: one bucket per action |
//! | [`Quota::PerCall`] | charges one, whatever the call costs | RunInstances' request bucket beside its resource bucket |
//!
//! Times are seconds since the start of the run.

/// A shortfall too small to refuse for: what rounding leaves of a token.
const NEGLIGIBLE: f64 = 1e-9;

/// One request, as a quota sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Tokens it takes.
    pub cost: f64,
    /// Which action it is, from 0.
    pub kind: usize,
}

/// A throttle model.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Quota {
    /// A continuous token bucket.
    Bucket {
        /// Tokens when full, which it is at first.
        capacity: f64,
        /// Tokens a second.
        refill: f64,
    },
    /// A continuous token bucket whose refill changes.
    Steps {
        /// Tokens when full, which it is at first.
        capacity: f64,
        /// From when on how many tokens come in a second, in order, the first from 0.
        refills: &'static [(f64, f64)],
    },
    /// A bucket that is refilled at each full minute.
    Minute {
        /// Tokens when full, which it is at first.
        capacity: f64,
        /// Tokens a minute.
        refill: f64,
    },
    /// A count that starts anew in each window; windows are aligned to the start of the run.
    Window {
        /// Tokens a window.
        limit: f64,
        /// Length of a window, in seconds.
        seconds: f64,
    },
    /// A bucket from which refused calls take as well.
    Debt {
        /// Tokens when full, which it is at first, and the greatest debt.
        capacity: f64,
        /// Tokens a second.
        refill: f64,
    },
    /// Granted where all grant, and then charged to all.
    All(&'static [Quota]),
    /// One for each kind of call; a kind beyond the last is not limited.
    ByKind(&'static [Quota]),
    /// Charged one token a call, whatever the call costs.
    PerCall(&'static Quota),
}

impl Quota {
    /// Tokens a second in the long run, at this time, for calls that cost so many.
    pub fn rate(&self, now: f64, cost: f64) -> f64 {
        match *self {
            Quota::Bucket { refill, .. } | Quota::Debt { refill, .. } => refill,
            Quota::Steps { refills, .. } => rate_of(refills, now),
            Quota::Minute { refill, .. } => refill / 60.0,
            Quota::Window { limit, seconds } => limit / seconds,
            Quota::All(members) => lowest(members.iter().map(|member| member.rate(now, cost))),
            Quota::ByKind(members) => members.iter().map(|member| member.rate(now, cost)).sum(),
            Quota::PerCall(inner) => inner.rate(now, 1.0) * cost,
        }
    }

    /// Tokens that a rested client can have at once, for calls that cost so many.
    pub fn burst(&self, cost: f64) -> f64 {
        match *self {
            Quota::All(members) => lowest(members.iter().map(|member| member.burst(cost))),
            Quota::ByKind(members) => members.iter().map(|member| member.burst(cost)).sum(),
            Quota::PerCall(inner) => inner.burst(1.0) * cost,
            _ => self.capacity(),
        }
    }

    /// What one of the simple models holds at most; nothing, of one that is made of others.
    fn capacity(&self) -> f64 {
        match *self {
            Quota::Bucket { capacity, .. }
            | Quota::Steps { capacity, .. }
            | Quota::Minute { capacity, .. }
            | Quota::Debt { capacity, .. } => capacity,
            Quota::Window { limit, .. } => limit,
            Quota::All(_) | Quota::ByKind(_) | Quota::PerCall(_) => 0.0,
        }
    }

    /// The burst of a continuous bucket of the same rate that is never refused.
    pub fn safe_burst(&self, cost: f64) -> f64 {
        match *self {
            Quota::Minute { capacity, refill } => (capacity - refill).max(1.0),
            Quota::Window { .. } => 1.0,
            _ => self.burst(cost),
        }
    }

    /// When its rate changes, after the start.
    pub fn changes(&self) -> impl Iterator<Item = f64> {
        let steps = if let Quota::Steps { refills, .. } = *self { refills } else { &[] };
        steps.iter().skip(1).map(|(at, _)| *at)
    }

    /// The most tokens that it could grant to calls of this cost within these intervals, which are in order and apart:
    /// what a client gets that never leaves a token lying while the server is open.
    pub fn most(&self, open: &[(f64, f64)], cost: f64) -> f64 {
        match *self {
            Quota::Bucket { capacity, refill } | Quota::Debt { capacity, refill } => {
                most_of_bucket(capacity, open, |from, to| refill * (to - from))
            }
            Quota::Steps { capacity, refills } => {
                most_of_bucket(capacity, open, |from, to| integral(refills, from, to))
            }
            Quota::Minute { capacity, refill } => {
                most_of_bucket(capacity, open, |from, to| minutes_between(from, to) * refill.min(capacity))
            }
            Quota::Window { limit, seconds } => {
                let mut last = -1.0;
                let mut windows = 0.0;
                for &(from, to) in open.iter().filter(|(from, to)| to > from) {
                    let first = (from / seconds).floor().max(last + 1.0);
                    let end = (to / seconds).ceil() - 1.0;
                    windows += (end - first + 1.0).max(0.0);
                    last = end.max(last);
                }
                limit * windows
            }
            Quota::All(members) => lowest(members.iter().map(|member| member.most(open, cost))),
            Quota::ByKind(members) => members.iter().map(|member| member.most(open, cost)).sum(),
            Quota::PerCall(inner) => inner.most(open, 1.0) * cost,
        }
    }
}

fn lowest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// The rate of a list of steps at this time; the first one's before it begins.
pub(crate) fn rate_of(steps: &[(f64, f64)], now: f64) -> f64 {
    let current = steps.iter().rev().find(|(from, _)| *from <= now).or_else(|| steps.first());
    current.map_or(0.0, |(_, rate)| *rate)
}

/// What comes in between two times at the rates of a list of steps.
fn integral(steps: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([f64::INFINITY]);
    steps.iter().zip(ends).map(|(&(start, rate), end)| rate * (to.min(end) - from.max(start)).max(0.0)).sum()
}

/// How many minutes begin from `from` on and before `to`, other than the first of the run.
fn minutes_between(from: f64, to: f64) -> f64 {
    ((to / 60.0).ceil() - (from / 60.0).ceil().max(1.0)).max(0.0)
}

fn most_of_bucket(capacity: f64, open: &[(f64, f64)], comes_in: impl Fn(f64, f64) -> f64) -> f64 {
    let mut level = capacity;
    let mut total = 0.0;
    let mut at = 0.0;
    for &(from, to) in open {
        level = (level + comes_in(at, from)).min(capacity);
        total += level + comes_in(from, to);
        level = 0.0;
        at = to;
    }
    total
}

// ===== the state =====

/// A quota at work. It takes the time and never reads a clock; one that goes back mints nothing.
#[derive(Debug, Clone)]
pub struct Meter {
    quota: Quota,
    level: f64,
    at: f64,
    members: Vec<Meter>,
}

impl Meter {
    /// A fresh one: full.
    pub fn new(quota: Quota) -> Self {
        let members = match quota {
            Quota::All(members) | Quota::ByKind(members) => members.iter().copied().map(Meter::new).collect(),
            Quota::PerCall(inner) => vec![Meter::new(*inner)],
            _ => Vec::new(),
        };
        Meter { quota, level: quota.capacity(), at: 0.0, members }
    }

    /// Takes what the request costs, all of it or nothing.
    ///
    /// # Errors
    ///
    /// Refused: in how many seconds it would be granted if nobody else asked; infinite if never.
    pub fn ask(&mut self, now: f64, request: Request) -> Result<(), f64> {
        let wait = self.wait(now, request);
        if wait > 0.0 {
            self.refuse(request);
            return Err(wait);
        }
        self.take(request);
        Ok(())
    }

    fn wait(&mut self, now: f64, request: Request) -> f64 {
        self.refill(now);
        let cost = request.cost;
        let missing = cost - self.level;
        match self.quota {
            Quota::All(_) => self.members.iter_mut().map(|member| member.wait(now, request)).fold(0.0, f64::max),
            Quota::ByKind(_) => self.members.get_mut(request.kind).map_or(0.0, |member| member.wait(now, request)),
            Quota::PerCall(_) => {
                let one = Request { cost: 1.0, ..request };
                self.members.first_mut().map_or(0.0, |member| member.wait(now, one))
            }
            _ if missing <= NEGLIGIBLE => 0.0,
            _ if cost > self.quota.capacity() => f64::INFINITY,
            Quota::Bucket { .. } | Quota::Steps { .. } | Quota::Debt { .. } => missing / self.quota.rate(now, cost),
            Quota::Minute { refill, .. } => {
                let minutes = (missing / refill).ceil();
                ((now / 60.0).floor() + minutes) * 60.0 - now
            }
            Quota::Window { seconds, .. } => ((now / seconds).floor() + 1.0) * seconds - now,
        }
    }

    fn refill(&mut self, now: f64) {
        if now <= self.at {
            return;
        }
        let since = self.at;
        self.at = now;
        let capacity = self.quota.capacity();
        let comes_in = match self.quota {
            Quota::Bucket { refill, .. } | Quota::Debt { refill, .. } => refill * (now - since),
            Quota::Steps { refills, .. } => integral(refills, since, now),
            Quota::Minute { refill, .. } => refill * ((now / 60.0).floor() - (since / 60.0).floor()),
            Quota::Window { seconds, .. } if (now / seconds).floor() > (since / seconds).floor() => capacity,
            _ => 0.0,
        };
        self.level = (self.level + comes_in).min(capacity);
    }

    /// Whole tokens that are left; none of a quota that is made of others.
    pub fn left(&self) -> Option<u64> {
        self.members.is_empty().then_some(self.level.max(0.0) as u64)
    }

    fn take(&mut self, request: Request) {
        match self.quota {
            Quota::All(_) => self.members.iter_mut().for_each(|member| member.take(request)),
            Quota::ByKind(_) => {
                if let Some(member) = self.members.get_mut(request.kind) {
                    member.take(request);
                }
            }
            Quota::PerCall(_) => {
                self.members.iter_mut().for_each(|member| member.take(Request { cost: 1.0, ..request }))
            }
            _ => self.level -= request.cost,
        }
    }

    fn refuse(&mut self, request: Request) {
        if let Quota::Debt { capacity, .. } = self.quota {
            self.level = (self.level - request.cost).max(-capacity);
        }
        self.members.iter_mut().for_each(|member| member.refuse(request));
    }
}

#[cfg(test)]
mod tests;
