//! The laws that can be put on trial, by name.

use std::rc::Rc;

use cloud_governor::{Config, ConfigError};

use crate::client::{Client, Cubic, Governed, Oracle, Reserving, Standard};
use crate::scenario::Scenario;
use crate::world::World;

/// A way to control calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// In one line, what it is.
    pub about: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The governor, with this setting for every provider.
    Governor(&'static str),
    /// The same, but it hears neither what the server says is left nor the limit that it names.
    Deaf(&'static str),
    Standard,
    Cubic,
    Reserving,
    Oracle,
}

/// Every law, the governor's first.
pub const LAWS: &[Law] = &[
    Law { name: "aimd", about: "the governor, halving and climbing by a twentieth", kind: Kind::Governor("law: aimd") },
    Law {
        name: "delivery_rate",
        about: "the governor, at the rate that is delivered",
        kind: Kind::Governor("law: delivery_rate"),
    },
    Law {
        name: "deaf",
        about: "the same, deaf to what the server says is left and to the limit that it names",
        kind: Kind::Deaf("law: delivery_rate"),
    },
    Law { name: "standard", about: "no limiter: the SDKs' standard retry", kind: Kind::Standard },
    Law { name: "cubic", about: "the SDKs' adaptive mode", kind: Kind::Cubic },
    Law { name: "reserving", about: "halve and +5 % a success, reserve and sleep, ceiling 100", kind: Kind::Reserving },
    Law { name: "oracle", about: "a static bucket with the server's own figures", kind: Kind::Oracle },
];

/// The ceiling of `aimd` where nobody knows the limit: a guess, far above what it will find. `delivery_rate` needs none.
const UNKNOWN_CEILING: f64 = 1000.0;

impl Law {
    /// The law of this name.
    pub fn named(name: &str) -> Option<&'static Law> {
        LAWS.iter().find(|law| law.name == name)
    }

    /// Whether it is the governor's own.
    pub fn is_governor(&self) -> bool {
        matches!(self.kind, Kind::Governor(_) | Kind::Deaf(_))
    }

    /// Whether it can be told from the others in this scenario.
    pub fn differs_in(&self, scenario: &Scenario) -> bool {
        let tells = scenario.server.tells_left || scenario.server.names_limit.is_some();
        tells || !matches!(self.kind, Kind::Deaf(_))
    }

    /// The configuration of a governor under this law; none for a peer.
    ///
    /// # Errors
    ///
    /// The law's setting, or the scenario's, is not one that the governor knows.
    pub fn config(&self, scenario: &Scenario) -> Result<Option<Config>, ConfigError> {
        let (Kind::Governor(setting) | Kind::Deaf(setting)) = self.kind else { return Ok(None) };
        let mut builder = Config::builder().yaml(format!("ratelimit: {{ defaults: {{ {setting} }} }}"), self.name);
        if self.name == "aimd" {
            builder = builder.defaults(|all| all.max_rps(UNKNOWN_CEILING));
        }
        if let Some(yaml) = scenario.governor {
            builder = builder.yaml(yaml, scenario.name);
        }
        builder.build().map(Some)
    }

    /// One process that follows it.
    ///
    /// # Errors
    ///
    /// As of [`config`](Law::config).
    pub fn client(&self, world: &World, scenario: &Scenario, seed: u64) -> Result<Rc<dyn Client>, ConfigError> {
        Ok(match self.kind {
            Kind::Governor(_) | Kind::Deaf(_) => {
                let config = self.config(scenario)?.unwrap_or_default();
                let services = if scenario.services { scenario.kinds } else { 1 };
                let hears = !matches!(self.kind, Kind::Deaf(_));
                Rc::new(Governed::new(world, scenario.server.shape.provider(), config, seed, services, hears))
            }
            Kind::Standard => Rc::new(Standard::new(seed)),
            Kind::Cubic => Rc::new(Cubic::new(seed)),
            Kind::Reserving => Rc::new(Reserving::new(seed)),
            Kind::Oracle => Rc::new(Oracle::new(scenario.server, scenario.cost, scenario.processes, seed)),
        })
    }
}
