//! What callers who stand in another line want here when their turn comes.
//!
//! A caller that takes from several buckets stands in one line at a time and holds nobody up at the others. Without more, one
//! that waits for two busy buckets might never find both ready at once. So it claims its cost in the others for the time when
//! its turn is to come, and whoever came later may still go first there if that leaves enough by then: EASY backfilling, as
//! schedulers of parallel jobs call it (Lifka 1995). With nobody else waiting, it costs no throughput.

use super::{GRACE, Place};
use crate::clock::Timestamp;

/// So many claims are kept at once, those of who comes first. Any one at all is enough that everyone gets its turn; more let
/// the next few keep their places without moving from line to line.
const MOST: usize = 16;

/// What one caller wants, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    place: Place,
    cost: f64,
    due: Timestamp,
}

impl Claim {
    pub(crate) fn due(&self) -> Timestamp {
        self.due
    }

    /// When it holds nobody up any more. It is not renewed: one whose turn is put off again and again, because others always
    /// come before it there, does not keep everyone waiting here.
    pub(crate) fn lapses_at(&self) -> Timestamp {
        self.due + GRACE
    }
}

#[derive(Debug, Default)]
pub(super) struct Claims(Vec<Claim>);

impl Claims {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Claims `cost` for when it is due, or brings an earlier claim forward to then.
    pub(super) fn make(&mut self, place: Place, cost: f64, due: Timestamp, now: Timestamp) {
        let claims = &mut self.0;
        if let Some(known) = claims.iter_mut().find(|claim| claim.place == place) {
            *known = Claim { place, cost, due: due.min(known.due) };
            return;
        }
        if claims.len() >= MOST {
            claims.retain(|claim| now < claim.lapses_at());
        }
        if claims.len() < MOST {
            claims.push(Claim { place, cost, due });
        } else if let Some(last) = claims.iter_mut().max_by_key(|claim| claim.place).filter(|last| place < last.place) {
            *last = Claim { place, cost, due };
        }
    }

    pub(super) fn withdraw(&mut self, place: Place) {
        self.0.retain(|claim| claim.place != place);
    }

    /// Each that comes before `place`, with what is claimed until it is due, itself included.
    pub(super) fn before(&self, place: Place, now: Timestamp) -> impl Iterator<Item = (Claim, f64)> + '_ {
        let before = self.0.iter().filter(move |claim| claim.place < place && now < claim.lapses_at());
        before.clone().map(move |claim| {
            let by_then = before.clone().filter(|other| other.due <= claim.due).map(|other| other.cost).sum();
            (*claim, by_then)
        })
    }
}
