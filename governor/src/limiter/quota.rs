//! What the server itself says is left, and how fast that lets a scope go.
//!
//! Some servers tell with each answer how many calls are left in the bucket that they count in. Its size and its refill
//! are not said. [`Quotas`] is a state machine apart from the laws: it takes the time, never waits, and only ever slows.
//! The chapter [`crate::control`] says what it does and why each figure is what it is.

use crate::clock::Timestamp;
use crate::config::MOST_RPS;

/// So many quotas are heeded at once; of more, the one that was told longest ago is forgotten.
const MOST_QUOTAS: usize = 4;

/// What is left beyond the reserve is to last for so many seconds.
const HORIZON_SECONDS: f64 = 3.0;

/// And what is left in all for so many, whatever the refill is taken to be: it may have come at once, and be all there is.
const AT_LEAST_SECONDS: f64 = 0.5;

/// The share of the measured refill that is relied on. The rest makes the level at which the rate settles, and makes
/// leaves that share a quota equal.
const RELIED_ON: f64 = 0.6;

/// What is not to be used, as a share of the most that was ever left,
const RESERVE_SHARE: f64 = 0.1;
/// and in calls, at least and at most: it covers answers that overtake each other, and what others have under way.
const LEAST_RESERVE: f64 = 1.0;
const MOST_RESERVE: f64 = 3.0;

/// Two answers measure the refill if they were asked for so many seconds apart.
const APART_SECONDS: f64 = 1.0;

/// A measurement that is lower counts at once, nearly,
const FALL_SECONDS: f64 = 3.0;
/// and one that is higher little by little: what comes once a minute is no rate.
const RISE_SECONDS: f64 = 15.0;

/// Within this share of the most that was ever left the server's bucket may have been full: it gains nothing then.
const FULL_SHARE: f64 = 0.05;

/// A quota that was not told for so many seconds says nothing any more.
const FORGOTTEN_SECONDS: f64 = 60.0;

/// More than could be used until then at the highest rate that may be set is no limit: some servers say so by the largest
/// number that they know.
const NO_LIMIT: f64 = MOST_RPS * FORGOTTEN_SECONDS;

/// A scope goes at this share of its law's rate, whatever is told, as that may be wrong:
const LEAST_SHARE: f64 = 0.05;
/// in calls per second not less than this, as who waits for long is refused,
const LEAST_RPS: f64 = 0.2;
/// and no more than this.
const MOST_LEAST_RPS: f64 = 1.0;

/// Waiters are told of a rate that has changed by this share.
const TOLD_SHARE: f64 = 0.1;

/// Which of a bucket's calls one was: the tokens that had been taken when it had taken its own. Nothing before the first
/// quota was told.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Ticket(f64);

impl Ticket {
    fn until(self, taken: f64) -> f64 {
        (taken - self.0).max(0.0)
    }
}

/// What the server said of one quota in its answer to one attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Report {
    pub(crate) left: u64,
    /// When the attempt was sent.
    pub(crate) sent_at: Timestamp,
    pub(crate) ticket: Ticket,
}

impl Report {
    fn is_unlimited(self) -> bool {
        self.left as f64 > NO_LIMIT
    }
}

/// What the server counts, as it was last told and as it was understood.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct QuotaView {
    /// The server's name for it.
    pub name: String,
    /// How many calls were left by its last word.
    pub left: u64,
    /// How many come back a second, less what others draw, where that was seen.
    pub refill_rps: Option<f64>,
    /// The rate that follows, in calls per second. It holds where it is the least.
    pub allows_rps: f64,
}

/// Every quota that a server told of.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    told: Vec<Quota>,
    /// Tokens taken since the first was told, but for those given back.
    taken: f64,
    /// The rates that those who wait were last told of: that of the moment, and the one that lasts.
    planned: [f64; 2],
}

#[derive(Debug)]
struct Quota {
    name: Box<str>,
    last: Report,
    told_at: Timestamp,
    /// The most that was ever left.
    most: f64,
    /// With which the next measurement of the refill begins,
    since: Report,
    /// and what was sent from then on and throttled, so that it drew nothing.
    undrawn: f64,
    /// Calls per second, less what others draw: it may be negative.
    refill: Option<f64>,
    /// At least as much is left as the bucket here counts, and more than the reserve: nobody else is seen to draw on it, and the
    /// limit that is known does not have to be held back from.
    is_as_counted: bool,
}

impl Quotas {
    /// What an answer told. One that was overtaken by a later one's is passed over. `counted` is what should be left by the
    /// tokens here, where the limit is known.
    pub(super) fn tell(&mut self, now: Timestamp, name: &str, report: Report, counted: Option<f64>) {
        let known = self.told.iter().position(|known| *known.name == *name);
        match known.and_then(|index| Some((index, self.told.get_mut(index)?))) {
            Some((_, known)) if report.sent_at < known.last.sent_at => return,
            Some((_, known)) if !report.is_unlimited() => return known.tell(now, report, counted),
            Some((index, _)) => drop(self.told.swap_remove(index)),
            None => {}
        }
        if report.is_unlimited() {
            return;
        }
        if self.told.len() >= MOST_QUOTAS
            && let Some((oldest, _)) = self.told.iter().enumerate().min_by_key(|(_, quota)| quota.told_at)
        {
            self.told.swap_remove(oldest);
        }
        self.told.push(Quota::new(now, name, report, counted));
    }

    /// What was taken since the call of this ticket.
    pub(super) fn taken_since(&self, ticket: Ticket) -> f64 {
        ticket.until(self.taken)
    }

    /// An attempt that was sent at `sent_at` was throttled: it drew nothing.
    pub(super) fn throttled(&mut self, sent_at: Timestamp) {
        for quota in self.told.iter_mut().filter(|quota| sent_at >= quota.since.sent_at) {
            quota.undrawn += 1.0;
        }
    }

    /// A call was let through.
    pub(super) fn take(&mut self, cost: f64) -> Ticket {
        self.taken += cost;
        Ticket(self.taken)
    }

    /// A call that was let through was not sent.
    pub(super) fn give_back(&mut self, cost: f64) {
        self.taken = (self.taken - cost).max(0.0);
    }

    /// The rate that is left of the law's `rate`.
    #[inline(never)]
    pub(super) fn rate(&self, now: Timestamp, rate: f64, floor: f64) -> f64 {
        self.heeded(now).map(|quota| quota.rate(self.taken, rate, floor)).fold(rate, f64::min)
    }

    /// How many tokens may lie ready.
    #[inline(never)]
    pub(super) fn left(&self, now: Timestamp) -> f64 {
        self.heeded(now).map(|quota| quota.left(self.taken)).fold(f64::INFINITY, f64::min).max(1.0)
    }

    /// The rate that is to be expected over a while: by the refill where it was measured, else the law's. That nothing is left
    /// says what to do now, not for how long.
    pub(super) fn lasting_rate(&self, now: Timestamp, rate: f64, floor: f64) -> f64 {
        let lasting = |quota: &Quota| match quota.refill {
            None => rate,
            Some(refill) => quota.rate(self.taken, rate, floor).max(refill * RELIED_ON),
        };
        self.heeded(now).map(lasting).fold(rate, f64::min)
    }

    /// Whether waiters are to be told of the rates, by which they have not planned.
    pub(super) fn is_news(&mut self, now: Timestamp, rate: f64, floor: f64) -> bool {
        let rates = [self.rate(now, rate, floor), self.lasting_rate(now, rate, floor)];
        let news = rates.iter().zip(self.planned).any(|(rate, planned)| (rate - planned).abs() > TOLD_SHARE * planned);
        if news {
            self.planned = rates;
        }
        news
    }

    /// Nothing told. The count of what was taken goes on, by which the answers to calls under way are placed.
    pub(super) fn forgotten(self) -> Self {
        Quotas { taken: self.taken, ..Quotas::default() }
    }

    /// Whether nothing that was told counts any more.
    pub(super) fn is_forgotten(&self, now: Timestamp) -> bool {
        self.heeded(now).next().is_none()
    }

    /// The one that allows the least.
    pub(super) fn view(&self, now: Timestamp) -> Option<QuotaView> {
        let taken = self.taken;
        let least = self.heeded(now).min_by(|one, other| one.allows(taken).total_cmp(&other.allows(taken)))?;
        Some(QuotaView {
            name: least.name.to_string(),
            left: least.last.left,
            refill_rps: least.refill,
            allows_rps: least.allows(taken),
        })
    }

    fn heeded(&self, now: Timestamp) -> impl Iterator<Item = &Quota> {
        self.told.iter().filter(move |quota| now.since(quota.told_at).as_secs_f64() < FORGOTTEN_SECONDS)
    }
}

impl Quota {
    fn new(now: Timestamp, name: &str, report: Report, counted: Option<f64>) -> Self {
        Quota {
            name: name.into(),
            last: report,
            told_at: now,
            most: report.left as f64,
            since: report,
            undrawn: 0.0,
            refill: None,
            is_as_counted: is_as_counted(report, counted),
        }
    }

    fn tell(&mut self, now: Timestamp, report: Report, counted: Option<f64>) {
        self.is_as_counted = is_as_counted(report, counted);
        self.last = report;
        self.told_at = now;
        self.most = self.most.max(report.left as f64);
        if self.since.ticket == Ticket::default() {
            // What was sent from then on was not counted.
            self.since = report;
            self.undrawn = 0.0;
        }
        let apart = report.sent_at.since(self.since.sent_at).as_secs_f64();
        if apart >= APART_SECONDS {
            self.measure(report, apart);
        }
    }

    /// What came in between two answers is what is left more, and what was drawn.
    fn measure(&mut self, report: Report, apart: f64) {
        let drawn = (self.since.ticket.until(report.ticket.0) - self.undrawn).max(0.0);
        let measured = (report.left as f64 - self.since.left as f64 + drawn) / apart;
        // What was lost at once, as where another of the server's instances answers with a count of its own, does not go on
        // being lost. At this the scope goes as slowly as can be, and more would only be remembered for longer.
        let measured = measured.max(-(report.left as f64) / APART_SECONDS);
        let full = [self.since, report].map(|report| report.left as f64 >= self.most * (1.0 - FULL_SHARE) - 1.0);
        let smoothed = |known: f64| {
            let memory = if measured < known { FALL_SECONDS } else { RISE_SECONDS };
            known + (measured - known) * apart / (memory + apart)
        };
        // What a full bucket gains is lost, so the refill is more than this.
        self.refill = Some(match (self.refill, full) {
            (None, _) => measured,
            (Some(known), [true, true]) => known.max(measured / RELIED_ON),
            (Some(known), [true, false] | [false, true]) => known.max(measured),
            (Some(known), [false, false]) => smoothed(known),
        });
        self.since = report;
        self.undrawn = 0.0;
    }

    /// What is left of what was told: everything that was sent later is taken to have drawn on it, and nothing to have
    /// come in.
    fn left(&self, taken: f64) -> f64 {
        self.last.left as f64 - self.last.ticket.until(taken)
    }

    /// The rate at which what is left lasts, and turns into the refill.
    fn allows(&self, taken: f64) -> f64 {
        let left = self.left(taken).max(0.0);
        let reserve = (self.most * RESERVE_SHARE).clamp(LEAST_RESERVE, MOST_RESERVE);
        let surplus = (left - reserve).max(0.0) / HORIZON_SECONDS;
        let refill = self.refill.unwrap_or_default() * RELIED_ON;
        (refill + surplus).clamp(0.0, left / AT_LEAST_SECONDS)
    }

    fn rate(&self, taken: f64, rate: f64, floor: f64) -> f64 {
        if self.is_as_counted {
            return rate;
        }
        self.allows(taken).max((rate * LEAST_SHARE).clamp(LEAST_RPS, MOST_LEAST_RPS)).max(floor)
    }
}

fn is_as_counted(report: Report, counted: Option<f64>) -> bool {
    let left = report.left as f64;
    counted.is_some_and(|counted| left >= counted && left >= MOST_RESERVE)
}

#[cfg(test)]
mod tests;
