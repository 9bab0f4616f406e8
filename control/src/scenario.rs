//! What a scenario is, and how it is run.

use std::rc::Rc;

use cloud_governor::ConfigError;

use crate::law::Law;
use crate::load::{Callers, Load, Phase};
use crate::server::{Server, ServerSpec};
use crate::trace::Trace;
use crate::world::World;

/// One trial, as data. Times are seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// In one line, what happens.
    pub about: &'static str,
    /// The server.
    pub server: ServerSpec,
    /// When calls come about, in each process.
    pub phases: &'static [Phase],
    /// Tokens that each call costs.
    pub cost: f64,
    /// How many kinds of calls there are.
    pub kinds: usize,
    /// Whether each kind is a service of its own to the governor, though the server counts them together.
    pub services: bool,
    /// How many processes share the server, each with a client of its own.
    pub processes: usize,
    /// How long after one process the next begins.
    pub stagger: f64,
    /// How long it takes.
    pub seconds: f64,
    /// YAML that its governors are configured with, beyond an unknown ceiling.
    pub governor: Option<&'static str>,
    /// What is measured beyond goodput, waste and lost calls.
    pub measures: Measures,
    /// What good control would reach.
    pub goals: Goals,
}

/// Which measures have a meaning in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measures {
    /// Whether a client is to find a rate and keep to it.
    pub convergence: bool,
    /// Whether there is a step up or a closure to recover from.
    pub recovery: bool,
    /// Whether goodput has a meaning: not where calls come too seldom to use the server.
    pub goodput: bool,
}

/// What good control would reach. What is not set is not judged. Shares are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Goals {
    /// At least this goodput.
    pub goodput: Option<f64>,
    /// At most this waste.
    pub waste: Option<f64>,
    /// At most so many lost calls.
    pub lost: Option<f64>,
    /// At most so many seconds to converge.
    pub converge_s: Option<f64>,
    /// At most so many seconds to recover.
    pub recover_s: Option<f64>,
    /// At least this Jain index.
    pub jain: Option<f64>,
    /// At most so many probes of a closed server per cooldown.
    pub probes: Option<f64>,
    /// At most this multiple of the rate in the first second after a closure.
    pub after: Option<f64>,
    /// At most this load multiplier.
    pub load: Option<f64>,
    /// At least this share of the learned rate kept while it is not used.
    pub kept: Option<f64>,
    /// At most so many sends while the server has asked for silence.
    pub pause_sends: Option<f64>,
}

impl Scenario {
    /// Runs it once.
    ///
    /// # Errors
    ///
    /// The configuration of a governor is not valid.
    pub fn run(&self, law: &Law, seed: u64) -> Result<Trace, ConfigError> {
        law.config(self)?;
        let mut failed = None;
        let mut seeds = fastrand::Rng::with_seed(seed);
        let server = Server::new(self.server, seeds.u64(..));
        let trace = World::run(server, self.seconds, |world| {
            failed = self.populate(world, law, &mut seeds).err();
        });
        failed.map_or(Ok(trace), Err)
    }

    /// Whether all its calls come by themselves, so that no more can be served than come.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.phases.iter().all(|phase| matches!(phase.load, Load::Open { .. }))
    }

    fn populate(&self, world: &World, law: &Law, seeds: &mut fastrand::Rng) -> Result<(), ConfigError> {
        for process in 0..self.processes {
            let client = law.client(world, self, seeds.u64(..))?;
            let late = process as f64 * self.stagger;
            let callers = Callers {
                world: world.clone(),
                client: Rc::clone(&client),
                process,
                cost: self.cost,
                kinds: self.kinds,
            };
            for phase in self.phases {
                let phase = Phase { from: phase.from + late, ..*phase };
                callers.start(phase, seeds.u64(..));
            }
            let watched = world.clone();
            world.spawn(async move {
                watched.sleep_until(late).await;
                loop {
                    if let Some(rate) = client.rate() {
                        watched.believed(process, rate);
                    }
                    watched.sleep(1.0).await;
                }
            });
        }
        Ok(())
    }
}
