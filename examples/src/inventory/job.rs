//! All listings at once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cloud_governor::Stats;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::failure::Worth;
use super::kind::{Kind, Place};
use super::listing::{Listing, Progress, Watch};

/// How often whoever watches is told.
const TICK: Duration = Duration::from_millis(100);

/// When a listing that gave up is queued again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How often, at most.
    pub max_requeues: u32,
    /// After how long, where the failure does not say.
    pub pause: Duration,
    /// No listing is, once the job has gone on for so long without any answer to any of them.
    pub patience: Duration,
}

/// One listing after the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Where it looked.
    pub place: Place,
    /// What it listed.
    pub kind: Kind,
    /// How far it came.
    pub progress: Progress,
}

/// What the job brought.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Every listing, in the order they were given.
    pub listings: Vec<Ended>,
    /// The listings that lost something, by their place in `listings`, in the order in which they ended.
    pub losers: Vec<usize>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// How long it took.
    pub wall: Duration,
    /// The governor's counts of its calls.
    pub stats: Stats,
}

/// The listings to run.
#[derive(Debug)]
pub struct Job {
    listings: Vec<Listing>,
    pace: Pace,
}

impl Job {
    /// A job of these listings.
    pub fn new(listings: Vec<Listing>, pace: Pace) -> Self {
        Job { listings, pace }
    }

    /// Runs all listings until each has ended, or until `stop` is ready. `watch` is told now and then how far all have
    /// come.
    pub async fn run(self, stop: impl Future<Output = ()>, mut watch: impl FnMut(&[Progress])) -> Outcome {
        let began = Instant::now();
        let stats = Stats::new();
        let seen: Vec<_> = self
            .listings
            .iter()
            .map(|listing| (Place::clone(listing.place()), listing.kind(), listing.watch()))
            .collect();
        let all: Arc<[Watch]> = seen.iter().map(|(.., watch)| watch.clone()).collect();
        let mut running = JoinSet::new();
        for (index, listing) in self.listings.into_iter().enumerate() {
            let all = all.clone();
            let hopeless = move || began.elapsed() >= self.pace.patience && !all.iter().any(|any| any.get().answered());
            running.spawn(stats.bind(async move {
                see_through(listing, self.pace, hopeless).await;
                index
            }));
        }
        let look = |seen: &[(Place, Kind, Watch)]| seen.iter().map(|(.., watch)| watch.get()).collect::<Vec<_>>();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(stop);
        let (mut losers, mut interrupted) = (Vec::new(), false);
        loop {
            tokio::select! {
                ended = running.join_next() => match ended {
                    Some(Ok(index)) => {
                        if seen.get(index).is_some_and(|(.., watch)| !watch.get().complete()) {
                            losers.push(index);
                        }
                    }
                    // A listing that panicked has not ended, and so counts as incomplete.
                    Some(Err(_)) => {}
                    None => break,
                },
                _ = ticks.tick() => watch(&look(&seen)),
                () = &mut stop => {
                    interrupted = true;
                    break;
                }
            }
        }
        let wall = began.elapsed();
        // The listings end here, and with them whatever they hold.
        running.shutdown().await;
        watch(&look(&seen));
        let ended = |(place, kind, watch): (Place, Kind, Watch)| Ended { place, kind, progress: watch.get() };
        Outcome { listings: seen.into_iter().map(ended).collect(), losers, interrupted, wall, stats }
    }
}

async fn see_through(mut listing: Listing, pace: Pace, hopeless: impl Fn() -> bool) {
    while let Err(failure) = listing.advance().await {
        listing.watch().update(|progress| progress.refused |= failure.answered());
        if listing.progress().requeues >= pace.max_requeues || hopeless() {
            return listing.end(failure);
        }
        let after = match failure.worth() {
            Worth::Later(Some(after)) => after,
            _ => pace.pause,
        };
        let place = listing.place();
        tracing::info!(
            target: "inventory",
            account = place.account, region = place.region, kind = %listing.kind(),
            after_seconds = after.as_secs_f64(), reason = %failure,
            "queued_again"
        );
        listing.watch().update(|progress| progress.requeues += 1);
        tokio::time::sleep(after).await;
    }
}
