//! How a call stands and what it goes by.
//!
//! Most calls say nothing of their own, are admitted at once and served: what is to be known of them is in `core::plain`, and
//! [`State`] takes it over when more is asked for. What only those need that have terms, wait or fail
//! is in [`More`], which comes with the first need of it.

use std::num::NonZeroU32;

use crate::backoff::Backoff;
use crate::breaker::Pass;
use crate::budget::Charge;
use crate::bulkhead::Slot;
use crate::clock::Timestamp;
use crate::config::RetrySettings;
use crate::policy::RetryPolicy;
use crate::waiters::{Place, Priority};

use super::Verdict;

/// How a call stands.
#[derive(Debug, Default)]
pub(super) struct State {
    /// When it first asked to be admitted.
    pub(super) begun: Option<Timestamp>,
    /// How many attempts were admitted: the number of the last.
    pub(super) attempts: u32,
    /// The last attempt, while it has not reported.
    pub(super) current: Option<Current>,
    /// On the last attempt that was judged.
    pub(super) verdict: Option<Verdict>,
    more: Option<More>,
}

/// What an attempt holds, and what is known of it.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) sent_at: Timestamp,
    pub(super) slot: Option<Slot>,
    pub(super) pass: Option<Pass>,
    /// The units that it took from its buckets; zero if it took nothing.
    pub(super) took: f64,
}

/// How a call stands that has terms of its own, has waited or has failed.
#[derive(Debug, Default)]
pub(super) struct More {
    pub(super) terms: Terms,
    /// In every line, from the first time that it is not admitted at once.
    pub(super) place: Option<Place>,
    pub(super) backoff: Option<Backoff>,
    pub(super) not_before: Timestamp,
    /// Taken from the budget for the retry that was decided last, and spent once that is known to have been sent.
    pub(super) charge: Option<Charge>,
    pub(super) last_pass: Option<Pass>,
}

/// What a call goes by.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Terms {
    pub(super) policy: RetryPolicy,
    pub(super) priority: Priority,
    pub(super) idempotent: Option<bool>,
    /// What it costs where units are counted; one if it does not say.
    pub(super) cost: Option<NonZeroU32>,
    pub(super) without_slot: bool,
    /// Besides the provider's, which counts from when the call began.
    pub(super) deadline: Option<Timestamp>,
    /// The provider's deadline does not hold: a policy has one in its stead, or has none.
    pub(super) own_deadline: bool,
    /// No attempt is followed by another.
    pub(super) stopped: bool,
}

impl Terms {
    pub(super) fn limit_deadline(&mut self, until: Timestamp) {
        self.deadline = Some(self.deadline.map_or(until, |deadline| deadline.min(until)));
    }
}

impl State {
    /// What each of its attempts costs where units are counted.
    pub(super) fn units(&self) -> f64 {
        self.more.as_ref().and_then(|more| more.terms.cost).map_or(1.0, |cost| f64::from(cost.get()))
    }

    pub(super) fn terms(&self) -> Terms {
        self.more.as_ref().map(|more| more.terms).unwrap_or_default()
    }

    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    pub(super) fn takes_slot(&self) -> bool {
        self.more.as_ref().is_none_or(|more| !more.terms.without_slot)
    }

    pub(super) fn last_pass(&self) -> Option<Pass> {
        self.more.as_ref().and_then(|more| more.last_pass)
    }

    /// When it ends at the latest.
    pub(super) fn deadline(&self, provider: &RetrySettings) -> Option<Timestamp> {
        let (own, alone) =
            self.more.as_ref().map_or((None, false), |More { terms, .. }| (terms.deadline, terms.own_deadline));
        let provider = self.begun.zip(provider.deadline).filter(|_| !alone).map(|(begun, within)| begun + within);
        [own, provider].into_iter().flatten().min()
    }

    /// Whether another attempt may be admitted at this time, as far as that is for the call to say.
    pub(super) fn may_go(&self, now: Timestamp, provider: &RetrySettings) -> bool {
        self.current.is_none()
            && matches!(self.verdict, None | Some(Verdict::Retry { .. }))
            && self.more.as_ref().is_none_or(|more| more.not_before <= now)
            && self.deadline(provider).is_none_or(|deadline| now < deadline)
    }

    /// Notes what the next attempt holds, and gives it its number.
    pub(super) fn sent(&mut self, current: Current) -> u32 {
        if let Some(more) = &mut self.more {
            more.last_pass = current.pass;
        }
        self.attempts = self.attempts.saturating_add(1);
        self.current = Some(current);
        self.attempts
    }

    /// The attempt of this number, if it has not reported.
    pub(super) fn current(&mut self, number: u32) -> Option<&mut Current> {
        if number == self.attempts { self.current.as_mut() } else { None }
    }

    pub(super) fn take_current(&mut self, number: u32) -> Option<Current> {
        if number == self.attempts { self.current.take() } else { None }
    }

    pub(super) fn take_charge(&mut self) -> Option<Charge> {
        self.more.as_mut().and_then(|more| more.charge.take())
    }

    /// The attempt of this number is served: says what it held, if it had not reported.
    pub(super) fn serve(&mut self, number: u32) -> Option<Current> {
        let current = self.take_current(number)?;
        self.verdict = Some(Verdict::Done);
        if let Some(charge) = self.take_charge() {
            charge.spend();
        }
        Some(current)
    }

    /// The terms for another call that is to end when this does.
    pub(super) fn terms_to_share(&self, provider: &RetrySettings) -> Terms {
        let terms = self.terms();
        match self.begun {
            Some(_) => Terms { deadline: self.deadline(provider), own_deadline: true, ..terms },
            None => terms,
        }
    }

    /// As new. Not by putting a new one in its place, which would write every word of it.
    pub(super) fn blank(&mut self) {
        let State { begun, attempts, current, verdict, more } = self;
        (*begun, *attempts, *verdict) = (None, 0, None);
        (*current, *more) = (None, None);
    }
}
