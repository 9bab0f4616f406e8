//! The scenarios: one table.
//!
//! Sizes of buckets are Amazon EC2's ("Request throttling for the Amazon EC2 API": describing calls 100/20, unfiltered
//! ones 50/10, mutating ones 50/5, CreateVpcEndpoint 4/0.3), Azure Resource Manager's ("Understand how Azure Resource
//! Manager throttles requests": reads 250/25) and Google Compute Engine's ("API quotas": 1500 in an aligned minute,
//! refused with 403 `rateLimitExceeded`). Nothing of them is known beforehand. Answers take 80 ms, more or less by a fifth;
//! 64 workers make one call after another unless it says otherwise.

use crate::load::{Load, Phase};
use crate::quota::Quota;
use crate::scenario::{Goals, Measures, Scenario};
use crate::server::{Latency, ServerSpec, Shape, Tells};

const RUN: f64 = 600.0;
const NO_GOALS: Goals = Goals {
    goodput: None,
    waste: None,
    lost: None,
    converge_s: None,
    recover_s: None,
    jain: None,
    probes: None,
    after: None,
    load: None,
    kept: None,
    pause_sends: None,
};
const LATENCY: Latency = Latency { base: 0.08, jitter: 0.2, knee: None };
const SERVER: ServerSpec = ServerSpec {
    quota: bucket(100.0, 20.0),
    shape: Shape::Aws503,
    tells: Tells::Nothing,
    outages: &[],
    failure_status: 500,
    failure_share: 0.0,
    penalty: None,
    background: &[],
    latency: LATENCY,
};
const BASE: Scenario = Scenario {
    name: "",
    about: "",
    server: SERVER,
    phases: &[Phase { from: 0.0, to: RUN, load: Load::Closed { workers: 64 } }],
    cost: 1.0,
    kinds: 1,
    processes: 1,
    stagger: 0.0,
    seconds: RUN,
    governor: None,
    measures: Measures { convergence: false, recovery: false, goodput: true },
    goals: NO_GOALS,
};
const FIND: Measures = Measures { convergence: true, ..BASE.measures };
const FIND_AND_RECOVER: Measures = Measures { convergence: true, recovery: true, goodput: true };

const WINDOW: Quota = Quota::Window { limit: 1500.0, seconds: 60.0 };

const fn bucket(capacity: f64, refill: f64) -> Quota {
    Quota::Bucket { capacity, refill }
}

const fn serving(quota: Quota) -> ServerSpec {
    ServerSpec { quota, ..SERVER }
}

/// At least this goodput and at most this waste, in per cent, and nothing lost.
const fn goals(goodput: f64, waste: f64) -> Goals {
    Goals { goodput: Some(goodput / 100.0), waste: Some(waste / 100.0), lost: Some(0.0), ..NO_GOALS }
}

const fn soon(goals: Goals) -> Goals {
    Goals { converge_s: Some(30.0), ..goals }
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    // ----- one bucket -----
    Scenario { name: "100/20", about: "EC2's describing calls", measures: FIND, goals: soon(goals(99.0, 1.0)), ..BASE },
    Scenario {
        name: "50/10",
        about: "EC2's unfiltered describing calls",
        server: serving(bucket(50.0, 10.0)),
        measures: FIND,
        goals: soon(goals(99.0, 1.0)),
        ..BASE
    },
    Scenario {
        name: "250/25",
        about: "Azure Resource Manager's reads, without Retry-After",
        server: ServerSpec { shape: Shape::Azure429, ..serving(bucket(250.0, 25.0)) },
        measures: FIND,
        goals: soon(goals(99.0, 1.0)),
        ..BASE
    },
    Scenario {
        name: "500/200",
        about: "a large bucket",
        server: serving(bucket(500.0, 200.0)),
        measures: FIND,
        goals: soon(goals(97.0, 1.0)),
        ..BASE
    },
    Scenario {
        name: "50/5",
        about: "EC2's mutating calls",
        server: serving(bucket(50.0, 5.0)),
        measures: FIND,
        goals: goals(99.0, 1.5),
        ..BASE
    },
    Scenario {
        name: "4/0.3",
        about: "EC2's CreateVpcEndpoint",
        server: serving(bucket(4.0, 0.3)),
        measures: FIND,
        goals: goals(95.0, 15.0),
        ..BASE
    },
    // ----- what changes -----
    Scenario {
        name: "step",
        about: "20 calls a second, then 5, then 20 again",
        server: serving(Quota::Steps { capacity: 100.0, refills: &[(0.0, 20.0), (200.0, 5.0), (400.0, 20.0)] }),
        measures: FIND_AND_RECOVER,
        goals: Goals { recover_s: Some(10.0), ..goals(99.0, 1.5) },
        ..BASE
    },
    Scenario {
        name: "four",
        about: "four processes that know nothing of each other, each begun 60 s after the one before",
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Closed { workers: 16 } }],
        processes: 4,
        stagger: 60.0,
        goals: Goals { jain: Some(0.97), ..goals(99.0, 2.5) },
        ..BASE
    },
    // ----- aligned windows -----
    Scenario {
        name: "window",
        about: "1500 calls in each minute of the clock",
        server: ServerSpec { shape: Shape::Google403, ..serving(WINDOW) },
        goals: goals(99.0, 3.0),
        ..BASE
    },
    Scenario {
        name: "window-told",
        about: "the same, and RetryInfo says when the next minute begins",
        server: ServerSpec { shape: Shape::Google403, tells: Tells::RetryInfo, ..serving(WINDOW) },
        goals: Goals { pause_sends: Some(0.0), ..goals(99.0, 1.5) },
        ..BASE
    },
];
