//! Who calls, and when: the callers of one process.

use std::rc::Rc;

use crate::client::{Client, End};
use crate::quota::Request;
use crate::world::World;

/// How calls come about.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Load {
    /// So many workers, each of which makes one call after another.
    Closed {
        /// How many.
        workers: usize,
    },
    /// Calls that come by themselves, at random times (a Poisson process), whether or not those before have ended.
    Open {
        /// Calls a second on average.
        rps: f64,
    },
}

/// A time during which calls come about in one way. Times are seconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// When it begins.
    pub from: f64,
    /// When it ends. Calls under way end in their own time.
    pub to: f64,
    /// What it brings.
    pub load: Load,
}

/// What a worker does after a call that was refused before anything was sent: without a pause of its own it would ask
/// again without end in no time.
const AFTER_REFUSAL: f64 = 1.0;

/// One process's callers.
#[derive(Clone)]
pub(crate) struct Callers {
    pub(crate) world: World,
    pub(crate) client: Rc<dyn Client>,
    pub(crate) process: usize,
    /// Tokens that each call costs.
    pub(crate) cost: f64,
    /// How many kinds of calls there are; callers take turns.
    pub(crate) kinds: usize,
}

impl Callers {
    /// Puts a phase's callers into the world.
    pub(crate) fn start(&self, phase: Phase, seed: u64) {
        match phase.load {
            Load::Closed { workers } => {
                for worker in 0..workers {
                    self.world.spawn(self.clone().work(phase, worker));
                }
            }
            Load::Open { rps } => {
                self.world.spawn(self.clone().arrive(phase, rps, fastrand::Rng::with_seed(seed)));
            }
        }
    }

    async fn work(self, phase: Phase, worker: usize) {
        self.world.sleep_until(phase.from).await;
        while self.world.now() < phase.to {
            let sent = self.call(worker).await;
            if !sent {
                self.world.sleep(AFTER_REFUSAL).await;
            }
        }
    }

    async fn arrive(self, phase: Phase, rps: f64, mut rng: fastrand::Rng) {
        self.world.sleep_until(phase.from).await;
        for arrival in 0.. {
            // Whole microseconds, so that the last bit of a logarithm does not matter.
            let gap = -libm::log(1.0 - rng.f64()) / rps;
            self.world.sleep((gap * 1e6).round() / 1e6).await;
            if self.world.now() >= phase.to {
                return;
            }
            let one = self.clone();
            self.world.spawn(async move {
                one.call(arrival).await;
            });
        }
    }

    /// Makes one call. Says whether anything was sent.
    async fn call(&self, caller: usize) -> bool {
        let request = Request { cost: self.cost, kind: caller % self.kinds.max(1) };
        let mut wire = self.world.wire(self.process, request);
        let end = self.client.call(&mut wire).await;
        let sent = wire.sends() > 0;
        wire.ended(end == End::Lost);
        sent
    }
}
