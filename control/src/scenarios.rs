//! The scenarios: one table.
//!
//! Sizes of buckets are Amazon EC2's ("Request throttling for the Amazon EC2 API": describing calls 100/20, unfiltered
//! ones 50/10, mutating ones 50/5, CreateVpcEndpoint 4/0.3), Azure Resource Manager's ("Understand how Azure Resource
//! Manager throttles requests": reads 250/25) and Google Compute Engine's ("API quotas": 1500 in an aligned minute,
//! refused with 403 `rateLimitExceeded`) and Google Cloud Asset's ("Quotas and limits": ListAssets 100 a minute). Nothing of them is known beforehand. Answers take 80 ms, more or less by a fifth;
//! 64 workers make one call after another unless it says otherwise.

use crate::load::{Load, Phase};
use crate::quota::Quota;
use crate::scenario::{Goals, Measures, Scenario};
use crate::server::{Latency, Penalty, ServerSpec, Shape, Tells};

const RUN: f64 = 600.0;
const HOUR: f64 = 3600.0;
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
    tells_left: false,
    names_limit: None,
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
    services: false,
    processes: 1,
    stagger: 0.0,
    seconds: RUN,
    governor: None,
    measures: Measures { convergence: false, recovery: false, goodput: true },
    goals: NO_GOALS,
};
const FIND: Measures = Measures { convergence: true, ..BASE.measures };
const RECOVER: Measures = Measures { recovery: true, ..BASE.measures };
const FIND_AND_RECOVER: Measures = Measures { convergence: true, recovery: true, goodput: true };

const OUTAGE: &[(f64, f64)] = &[(270.0, 330.0)];
const PENALTY: Option<Penalty> = Some(Penalty { refusals: 50, within: 10.0, block: 60.0 });
/// It recovers by itself, asks a closed server at most once a cooldown, and comes back no faster than it may.
const RECOVERING: Goals = Goals { probes: Some(1.0), after: Some(1.1), recover_s: Some(30.0), ..NO_GOALS };
const WINDOW: Quota = Quota::Window { limit: 1500.0, seconds: 60.0 };

/// Azure Resource Manager's reads, with the count in each answer.
const TELLING: ServerSpec = ServerSpec { shape: Shape::Azure429, tells_left: true, ..serving(bucket(250.0, 25.0)) };

/// Google Cloud Asset's ListAssets, with the limit in each refusal.
const NAMING: ServerSpec = ServerSpec {
    shape: Shape::Google429,
    names_limit: Some((100, 60)),
    ..serving(Quota::Window { limit: 100.0, seconds: 60.0 })
};

/// What a user configures who knows the server.
const KNOWN: Option<&str> = Some("ratelimit: { defaults: { max_rps: 20, burst: 100 } }");
const STRAYS: &[(f64, f64)] =
    &[(0.0, 0.0), (100.0, 200.0), (100.1, 0.0), (250.0, 200.0), (250.1, 0.0), (400.0, 200.0), (400.1, 0.0)];

const fn answering(seconds: f64, server: ServerSpec) -> ServerSpec {
    ServerSpec { latency: Latency { base: seconds, ..LATENCY }, ..server }
}

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

const fn failing(name: &'static str, about: &'static str, share: f64) -> Scenario {
    Scenario {
        name,
        about,
        server: ServerSpec { failure_share: share, ..serving(bucket(500.0, 200.0)) },
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Open { rps: 50.0 } }],
        ..BASE
    }
}

/// With no retries that are free of the budget.
const fn charged(name: &'static str, about: &'static str, share: f64) -> Scenario {
    Scenario {
        governor: Some("ratelimit: { defaults: { rules: [{ status: 500, class: transient, pays_budget: true }] } }"),
        goals: Goals { load: Some(1.10), ..NO_GOALS },
        ..failing(name, about, share)
    }
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
    Scenario {
        name: "minute",
        about: "12 calls at once and 4 more at each full minute, as an Azure virtual machine takes updates",
        server: ServerSpec {
            shape: Shape::Azure429,
            tells: Tells::RetryAfter,
            ..serving(Quota::Minute { capacity: 12.0, refill: 4.0 })
        },
        goals: Goals { pause_sends: Some(0.0), ..goals(95.0, 15.0) },
        ..BASE
    },
    // ----- several limits at once -----
    Scenario {
        name: "nested",
        about: "two actions of Route 53: 50/10 for each, and 50/10 for the account",
        server: ServerSpec {
            shape: Shape::Aws400,
            ..serving(Quota::All(&[bucket(50.0, 10.0), Quota::ByKind(&[bucket(50.0, 10.0), bucket(50.0, 10.0)])]))
        },
        kinds: 2,
        measures: FIND,
        goals: soon(goals(99.0, 1.0)),
        ..BASE
    },
    Scenario {
        name: "cost",
        about: "RunInstances for 4 at a time: 5/2 for requests, and 1000/2 for instances, of which each costs one",
        server: serving(Quota::All(&[Quota::PerCall(&bucket(5.0, 2.0)), bucket(1000.0, 2.0)])),
        cost: 4.0,
        goals: goals(95.0, 15.0),
        ..BASE
    },
    // ----- those who go on when refused -----
    Scenario {
        name: "penalty",
        about: "250/25; who is refused 50 times in 10 s is shut out for 60 s, and told nothing",
        server: ServerSpec { penalty: PENALTY, shape: Shape::Azure429, ..serving(bucket(250.0, 25.0)) },
        measures: RECOVER,
        goals: RECOVERING,
        ..BASE
    },
    Scenario {
        name: "penalty-told",
        about: "the same, and Retry-After says for how long",
        server: ServerSpec {
            penalty: PENALTY,
            shape: Shape::Azure429,
            tells: Tells::RetryAfter,
            ..serving(bucket(250.0, 25.0))
        },
        measures: RECOVER,
        goals: Goals { pause_sends: Some(0.0), ..RECOVERING },
        ..BASE
    },
    Scenario {
        name: "debt",
        about: "12000 calls an hour, of which 200 at once, where refused calls count too",
        server: ServerSpec {
            shape: Shape::Azure429,
            ..serving(Quota::Debt { capacity: 200.0, refill: 12_000.0 / 3600.0 })
        },
        goals: goals(95.0, 5.0),
        ..BASE
    },
    // ----- a server that is down -----
    Scenario {
        name: "outage",
        about: "100/20; from 270 s to 330 s every request fails with 500",
        server: ServerSpec { outages: OUTAGE, ..SERVER },
        measures: FIND_AND_RECOVER,
        goals: RECOVERING,
        ..BASE
    },
    Scenario {
        name: "outage-503",
        about: "the same, with a bare 503",
        server: ServerSpec { outages: OUTAGE, failure_status: 503, ..SERVER },
        measures: FIND_AND_RECOVER,
        goals: RECOVERING,
        ..BASE
    },
    // ----- other callers -----
    Scenario {
        name: "burst",
        about: "100/20; 64 workers for 200 s, then 2 calls a second for 200 s, then 64 workers again",
        phases: &[
            Phase { from: 0.0, to: 200.0, load: Load::Closed { workers: 64 } },
            Phase { from: 200.0, to: 400.0, load: Load::Open { rps: 2.0 } },
            Phase { from: 400.0, to: RUN, load: Load::Closed { workers: 64 } },
        ],
        measures: Measures { goodput: false, ..BASE.measures },
        goals: Goals { waste: Some(0.02), lost: Some(0.0), kept: Some(0.9), ..NO_GOALS },
        ..BASE
    },
    Scenario {
        name: "open-under",
        about: "100/20; 15 calls a second that come by themselves",
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Open { rps: 15.0 } }],
        goals: goals(99.0, 1.0),
        ..BASE
    },
    Scenario {
        name: "open-over",
        about: "100/20; 30 calls a second that come by themselves",
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Open { rps: 30.0 } }],
        measures: FIND,
        goals: Goals { lost: None, ..goals(99.0, 1.0) },
        ..BASE
    },
    Scenario {
        name: "others",
        about: "100/20, of which other tenants draw 10 a second from 200 s to 400 s",
        server: ServerSpec { background: &[(0.0, 0.0), (200.0, 10.0), (400.0, 0.0)], ..SERVER },
        measures: FIND_AND_RECOVER,
        goals: Goals { recover_s: Some(10.0), ..goals(95.0, 2.5) },
        ..BASE
    },
    Scenario {
        name: "known",
        about: "100/20, which is configured; three times another tenant takes 20 calls at once",
        server: ServerSpec { background: STRAYS, ..SERVER },
        governor: KNOWN,
        goals: goals(99.0, 0.5),
        ..BASE
    },
    Scenario {
        name: "known-others",
        about: "100/20, which is configured, and of which other tenants draw 10 a second from 200 s to 400 s",
        server: ServerSpec { background: &[(0.0, 0.0), (200.0, 10.0), (400.0, 0.0)], ..SERVER },
        governor: KNOWN,
        measures: RECOVER,
        goals: Goals { recover_s: Some(10.0), ..goals(95.0, 2.5) },
        ..BASE
    },
    Scenario {
        name: "slow",
        about: "100/20, from a server that works on 4 requests at once and keeps the others waiting",
        server: ServerSpec { latency: Latency { knee: Some(4.0), ..LATENCY }, ..SERVER },
        measures: FIND,
        goals: soon(goals(99.0, 1.0)),
        ..BASE
    },
    Scenario {
        name: "four-at-once",
        about: "four processes that know nothing of each other, begun at once",
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Closed { workers: 16 } }],
        processes: 4,
        measures: FIND,
        goals: Goals { jain: Some(0.97), ..goals(99.0, 2.5) },
        ..BASE
    },
    // ----- servers that say how many calls are left -----
    Scenario {
        name: "left-250/25",
        about: "Azure Resource Manager's reads, and each answer, after 50 ms, says how many are left",
        server: answering(0.05, TELLING),
        measures: FIND,
        goals: soon(goals(99.0, 0.1)),
        ..BASE
    },
    Scenario {
        name: "left-250/25-late",
        about: "the same, after 300 ms",
        server: answering(0.3, TELLING),
        measures: FIND,
        goals: soon(goals(99.0, 0.1)),
        ..BASE
    },
    Scenario {
        name: "left-minute",
        about: "900 calls at once and 300 more at each full minute, and each answer says how many are left",
        server: ServerSpec { quota: Quota::Minute { capacity: 900.0, refill: 300.0 }, ..TELLING },
        goals: goals(99.0, 1.0),
        ..BASE
    },
    Scenario {
        name: "left-others",
        about: "the reads, of which another tenant draws half from 200 s to 400 s",
        server: ServerSpec { background: &[(0.0, 0.0), (200.0, 12.5), (400.0, 0.0)], ..TELLING },
        measures: FIND_AND_RECOVER,
        goals: Goals { recover_s: Some(10.0), ..goals(99.0, 0.5) },
        ..BASE
    },
    Scenario {
        name: "left-services",
        about: "the reads, drawn on by four services of one process, each a leaf of its own",
        server: TELLING,
        kinds: 4,
        services: true,
        measures: FIND,
        goals: soon(goals(99.0, 0.5)),
        ..BASE
    },
    Scenario {
        name: "left-four",
        about: "the reads, drawn on by four processes, each begun 60 s after the one before",
        server: TELLING,
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Closed { workers: 16 } }],
        processes: 4,
        stagger: 60.0,
        goals: Goals { jain: Some(0.97), ..goals(99.0, 0.5) },
        ..BASE
    },
    // ----- servers that name their limit when they refuse -----
    Scenario {
        name: "limit-100",
        about: "100 calls in each minute of the clock, as Google Cloud Asset lists, and each refusal names that limit",
        server: NAMING,
        goals: goals(98.0, 1.5),
        ..BASE
    },
    Scenario {
        name: "limit-100-told",
        about: "the same, and RetryInfo says when the next minute begins",
        server: ServerSpec { tells: Tells::RetryInfo, ..NAMING },
        goals: Goals { pause_sends: Some(0.0), ..goals(99.0, 1.0) },
        ..BASE
    },
    Scenario {
        name: "limit-100-hour",
        about: "100 calls in each minute of the clock for an hour, in which the limit is doubted and named again",
        server: NAMING,
        phases: &[Phase { from: 0.0, to: HOUR, load: Load::Closed { workers: 64 } }],
        seconds: HOUR,
        goals: goals(99.0, 1.0),
        ..BASE
    },
    Scenario {
        name: "limit-bucket",
        about: "a bucket of 100 with 100 more a minute, evenly spread, and each refusal names that limit",
        server: ServerSpec { quota: bucket(100.0, 100.0 / 60.0), ..NAMING },
        goals: goals(99.0, 1.0),
        ..BASE
    },
    Scenario {
        name: "limit-four",
        about: "the minute of 100 with RetryInfo, drawn on by four processes, each begun 60 s after the one before",
        server: ServerSpec { tells: Tells::RetryInfo, ..NAMING },
        phases: &[Phase { from: 0.0, to: RUN, load: Load::Closed { workers: 16 } }],
        processes: 4,
        stagger: 60.0,
        goals: Goals { jain: Some(0.97), ..goals(99.0, 5.0) },
        ..BASE
    },
    // ----- plain failures: 50 calls a second that come by themselves, far below the limit -----
    failing("fail-10", "one request in ten fails with 500", 0.1),
    failing("fail-20", "one request in five fails with 500", 0.2),
    failing("fail-50", "every other request fails with 500", 0.5),
    failing("fail-100", "every request fails with 500", 1.0),
    charged("fail-10-charged", "the same, and every retry is charged to the budget", 0.1),
    charged("fail-20-charged", "the same, and every retry is charged to the budget", 0.2),
    charged("fail-50-charged", "the same, and every retry is charged to the budget", 0.5),
    charged("fail-100-charged", "the same, and every retry is charged to the budget", 1.0),
];
