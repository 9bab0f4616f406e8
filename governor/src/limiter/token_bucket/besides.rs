//! What few buckets have: what the server tells of itself, and windows.

use std::time::Duration;

use super::TokenBucket;
use crate::clock::Timestamp;
use crate::config::Limits;
use crate::limiter::named::{NamedLimit, NamedLimits};
use crate::limiter::quota::{Quotas, Report};
use crate::limiter::window::Window;

/// Where the server says that more than this share of the published burst is left, another limit holds than is published.
const DISPROVED: f64 = 1.1;

/// Under this share of its rate the law is held by what the server says is left.
const HELD: f64 = 0.99;

/// What few buckets have.
#[derive(Debug, Default)]
pub(super) struct Besides {
    /// None until a server tells of one.
    pub(super) quotas: Option<Quotas>,
    /// None until a server names one, and once none is believed any more.
    pub(super) named: Option<NamedLimits>,
    /// None where tokens come all the time. Where there is one it stands in for the law, which says no more than how many at
    /// most.
    pub(super) window: Option<Window>,
}

// ===== what the server tells =====

impl TokenBucket {
    #[inline(never)]
    pub(super) fn capacity_left(&self, now: Timestamp, capacity: f64, quotas: &Quotas) -> f64 {
        // What comes all at once has no pace.
        let slowed = if self.window().is_some() { 1.0 } else { (self.rate(now) / self.law.rate()).min(1.0) };
        (capacity * slowed).min(quotas.left(now)).max(1.0)
    }

    #[inline(never)]
    pub(super) fn update_heeding_besides(&mut self, now: Timestamp, waiting: bool, late: Duration) {
        if self.heed_besides(now) {
            return;
        }
        let (rate, capacity) = (self.rate(now), self.capacity(now));
        let is_held = self.quotas().is_some() && self.is_held(now, rate);
        self.update_at(rate, capacity, now, waiting, late, is_held);
    }

    /// What was named long ago loosens, and windows turn over. True if that is all, as tokens come with windows.
    #[inline(never)]
    fn heed_besides(&mut self, now: Timestamp) -> bool {
        if self.named().is_some() {
            self.loosen_limits(now);
        }
        let has_windows = self.window().is_some();
        if has_windows {
            self.turn_over(now);
        }
        has_windows
    }

    /// Whether `rate` is what the server says is left of the law's. Then callers are not held by the law, so it learns nothing
    /// from their waiting; and the server is not asked for all that the law would, so what it delivers is less than it might.
    #[inline(never)]
    fn is_held(&mut self, now: Timestamp, rate: f64) -> bool {
        let of_law = rate / self.law.rate();
        let is_held = of_law < HELD;
        if is_held {
            let unused = now.seconds_since(self.refilled_at) * (1.0 - of_law);
            self.law.unused(now, unused);
        }
        is_held
    }

    /// The server said how many calls are left of one of its quotas; `whole` if that is what this bucket stands for. Says
    /// whether those who wait are to plan anew.
    pub(in crate::limiter) fn quota_left(
        &mut self,
        now: Timestamp,
        name: &str,
        report: Report,
        whole: bool,
        waiting: bool,
    ) -> bool {
        self.refill(now, waiting);
        let limits = self.law.get().limits();
        if whole && limits.is_published() && report.left as f64 > limits.burst() * DISPROVED {
            self.set_limits(now, limits.unpublished());
        }
        // Since it was asked for, tokens came and others were taken.
        let came = self.law.rate() * now.since(report.sent_at).as_secs_f64();
        let tokens = limits.is_published().then_some(self.tokens - came);
        let quotas = self.besides().quotas.get_or_insert_default();
        let counted = tokens.map(|tokens| tokens + quotas.taken_since(report.ticket));
        quotas.tell(now, name, report, counted);
        self.keep_to_capacity(now);
        let law = self.law.get();
        let (rate, floor) = (law.rate(), law.limits().floor_rps());
        self.quotas_mut().is_some_and(|quotas| quotas.is_news(now, rate, floor))
    }

    /// The server named its limit. Says the rate before and after, if that cut it.
    pub(in crate::limiter) fn limit_named(
        &mut self,
        now: Timestamp,
        limit: NamedLimit,
        waiting: bool,
    ) -> Option<(f64, f64)> {
        self.update(now, waiting, Duration::ZERO);
        let (before, limits) = (self.untold_rate(), self.law.get().limits());
        self.besides().named.get_or_insert_default().name(now, limit);
        if limits.is_published() && limit.rps() > limits.max_rps() {
            self.set_limits(now, limits.taught(limit.rps()));
        }
        self.keep_to_named(now);
        let after = self.untold_rate();
        if after < before {
            // What lies ready came at another rate, and the server's bucket is most likely empty.
            self.tokens = self.tokens.min(0.0);
            self.withhold(0.0);
        }
        (after < before).then_some((before, after))
    }

    /// Goes no faster than the server named.
    pub(super) fn keep_to_named(&mut self, now: Timestamp) {
        let most = self.most_of_window(now);
        if let Some(window) = self.window_mut() {
            window.resize(window.size().min(most));
        } else if let Some(lowest) = self.named().and_then(|named| named.lowest(now)) {
            self.law.get_mut().name_limit(now, lowest);
        }
    }

    /// The server knows better than what is published.
    fn set_limits(&mut self, now: Timestamp, limits: Limits) {
        let rate = self.law.rate();
        self.law.get_mut().reconfigure(limits, &self.settings);
        if self.law.rate() < rate {
            self.law.get_mut().adopt(rate, now);
        }
        if limits.window().is_none() {
            self.set_window(None);
        }
        let size = self.most_of_window(now);
        self.tokens += self.window_mut().map_or(0.0, |window| window.resize(size));
        self.keep_to_named(now);
        self.keep_to_capacity(now);
    }

    /// What was named long ago holds less and less, and at last no more.
    #[inline(never)]
    fn loosen_limits(&mut self, now: Timestamp) {
        let lowest = self.named().and_then(|named| named.lowest(now));
        self.law.get_mut().loosen_limit(lowest);
        if lowest.is_none() {
            self.forget(|besides| besides.named = None);
        }
    }
}

// ===== windows =====

impl TokenBucket {
    /// All that comes in a window comes at its beginning.
    pub(super) fn turn_over(&mut self, now: Timestamp) {
        let (most, tokens) = (self.most_of_window(now), self.tokens);
        let begun = self.window_mut().and_then(|window| {
            let begun = window.turn_over(now, most);
            (begun > 0).then(|| window.tokens_after(begun, tokens))
        });
        if let Some(tokens) = begun {
            self.tokens = tokens;
            self.keep_to_capacity(now);
        }
        self.refilled_at = self.refilled_at.max(now);
    }

    /// How many tokens a window has at most: those that are set, or what the server named if that is less. The law, which holds where
    /// there are none, has no say.
    pub(super) fn most_of_window(&self, now: Timestamp) -> f64 {
        let limits = self.law.get().limits();
        let named = self.named().and_then(|named| named.lowest(now)).zip(limits.window());
        let named = named.map(|(rps, period)| (rps.max(limits.floor_rps()) * period.as_secs_f64()).max(1.0));
        named.map_or(limits.burst(), |named| named.min(limits.burst()))
    }

    /// No more lies ready than can. Of a window's tokens the rest comes back when the server says that more is left: nothing else
    /// would bring any before the next.
    pub(super) fn keep_to_capacity(&mut self, now: Timestamp) {
        let size = self.window().map_or(f64::INFINITY, Window::size);
        let tokens = (self.tokens + self.withhold(0.0)).min(size);
        self.tokens = tokens.min(self.capacity(now));
        self.withhold(tokens - self.tokens);
    }

    /// Withholds so many of a window's tokens; says how many were.
    pub(super) fn withhold(&mut self, tokens: f64) -> f64 {
        self.window_mut().map_or(0.0, |window| window.withhold(tokens))
    }

    /// The window under way is of the new size at once, unless less than the `most` that there was is known to be served.
    pub(super) fn resize_window(&mut self, most: f64, now: Timestamp) {
        let size = self.most_of_window(now);
        let more = self.window_mut().map_or(0.0, |window| {
            let learned = if window.size() < most { window.size() } else { size };
            window.resize(size.min(learned))
        });
        // What was taken of it counts, but is not paid off by the next.
        self.tokens = (self.tokens + more).max(self.tokens.min(0.0));
    }
}

// ===== what there is =====

impl TokenBucket {
    #[inline]
    pub(super) fn quotas(&self) -> Option<&Quotas> {
        self.besides.as_ref()?.quotas.as_ref()
    }

    #[inline]
    pub(super) fn quotas_mut(&mut self) -> Option<&mut Quotas> {
        self.besides.as_mut()?.quotas.as_mut()
    }

    pub(super) fn named(&self) -> Option<&NamedLimits> {
        self.besides.as_ref()?.named.as_ref()
    }

    #[inline]
    pub(super) fn window(&self) -> Option<&Window> {
        self.besides.as_ref()?.window.as_ref()
    }

    pub(super) fn window_mut(&mut self) -> Option<&mut Window> {
        self.besides.as_mut()?.window.as_mut()
    }

    pub(super) fn set_window(&mut self, window: Option<Window>) {
        match window {
            Some(window) => self.besides().window = Some(window),
            None => self.forget(|besides| besides.window = None),
        }
    }

    pub(super) fn besides(&mut self) -> &mut Besides {
        self.besides.get_or_insert_default()
    }

    /// Forgets some of it, and takes no more memory for it than the rest needs.
    fn forget(&mut self, forget: impl FnOnce(&mut Besides)) {
        if let Some(besides) = &mut self.besides {
            forget(besides);
            if besides.quotas.is_none() && besides.named.is_none() && besides.window.is_none() {
                self.besides = None;
            }
        }
    }
}
