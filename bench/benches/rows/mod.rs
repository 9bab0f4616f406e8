//! What is measured: calls of ours, and the best existing parts that a program would put together instead.

#![allow(dead_code, reason = "each bench uses a part")]

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cloud_governor::{Classification, Config, Governor, Outcome, RetryPolicy, Scope};
use tokio::runtime::Runtime;

type Error = Box<dyn std::error::Error>;

/// One thing to measure: `run(n)` does it `n` times.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnMut(u64)>,
}

impl Row {
    fn new(name: &'static str, run: impl FnMut(u64) + 'static) -> Self {
        Row { name, run: Box::new(run) }
    }
}

/// How many calls a full bucket of the governed rows lets through: more in one go would wait.
pub(crate) const BATCH: u64 = 500_000;

pub(crate) const RESOLVED: &str = "resolved handle: admit + success";
pub(crate) const SCOPED: &str = "from a scope: admit + success";
pub(crate) const NESTED: &str = "resolved handle, with a shared bucket besides";
pub(crate) const CONTENDED: &str = "resolved handle, 2 threads";
pub(crate) const REFUSED: &str = "refused by an open breaker";
pub(crate) const MANY: &str = "a million scopes in turn";

/// The parts that make up the sum.
pub(crate) const PARTS: [&str; 5] = [
    "governor: keyed limiter",
    "tokio: semaphore, owned permit",
    "recloser: closed",
    "tower: TpsBudget deposit",
    "papaya: look-up by scope",
];

pub(crate) const TOWER: &str = "tower: concurrency + rate limit + timeout";

fn scope() -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", "ssm").with_operation("GetParameter")
}

/// With limits that no call has to wait for: what AWS publishes for these would be met.
fn fast() -> Result<Governor, Error> {
    governed("ratelimit: { aws: { published: false, max_rps: 1000000, burst: 1000000 } }")
}

fn fast_and_nested() -> Result<Governor, Error> {
    governed(
        "ratelimit: { aws: { published: false, max_rps: 1000000, burst: 1000000, shared: { all: { max_rps: 1000000, burst: 1000000 } } } }",
    )
}

fn governed(yaml: &str) -> Result<Governor, Error> {
    Ok(Governor::builder().config(Config::from_yaml(yaml, "bench")?).build())
}

fn runtime() -> Result<Runtime, Error> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?)
}

/// Every row's name, in order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    [RESOLVED, SCOPED, NESTED, CONTENDED, REFUSED, MANY].into_iter().chain(PARTS).chain([TOWER])
}

/// Gets a row ready. One at a time, so that none runs among what another left.
pub(crate) fn row(name: &str) -> Result<Row, Error> {
    let [keyed_limiter, owned_permit, closed, deposit, look_up] = PARTS;
    match name {
        RESOLVED => resolved(RESOLVED, fast()?),
        NESTED => resolved(NESTED, fast_and_nested()?),
        SCOPED => scoped(),
        CONTENDED => contended(),
        REFUSED => refused(),
        MANY => many(),
        TOWER => tower_stack(),
        name if name == keyed_limiter => keyed(),
        name if name == owned_permit => Ok(semaphore()),
        name if name == closed => Ok(recloser()),
        name if name == deposit => Ok(budget()),
        name if name == look_up => Ok(lookup()),
        name => Err(format!("there is no row {name:?}").into()),
    }
}

// ===== ours =====

async fn send(mut call: cloud_governor::Call) {
    match call.admit().await {
        Ok(attempt) => drop(black_box(attempt.finish(black_box(Outcome::Success)))),
        Err(refusal) => panic!("{refusal}"),
    }
}

fn resolved(name: &'static str, governor: Governor) -> Result<Row, Error> {
    let runtime = runtime()?;
    let handle = governor.handle(&scope());
    Ok(Row::new(name, move |calls| {
        governor.reset();
        runtime.block_on(async {
            for _ in 0..calls {
                send(black_box(&handle).call()).await;
            }
        });
    }))
}

fn scoped() -> Result<Row, Error> {
    let (governor, scope, runtime) = (fast()?, scope(), runtime()?);
    Ok(Row::new(SCOPED, move |calls| {
        governor.reset();
        runtime.block_on(async {
            for _ in 0..calls {
                send(governor.call(black_box(&scope))).await;
            }
        });
    }))
}

/// Both threads' calls count, so this is the time that one of them takes for its share.
fn contended() -> Result<Row, Error> {
    let governor = fast()?;
    Ok(Row::new(CONTENDED, move |calls| {
        governor.reset();
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    let handle = governor.handle(&scope());
                    let runtime = runtime().expect("a runtime for the thread");
                    runtime.block_on(async {
                        for _ in 0..calls / 2 {
                            send(handle.call()).await;
                        }
                    });
                });
            }
        });
    }))
}

fn refused() -> Result<Row, Error> {
    let governor = governed("ratelimit: { aws: { breaker: { failures: 1, cooldown: 86400 } } }")?;
    let (scope, runtime) = (scope(), runtime()?);
    runtime.block_on(async {
        let mut call = governor.call(&scope).policy(RetryPolicy::none());
        if let Ok(attempt) = call.admit().await {
            attempt.finish(Outcome::Failure(Classification::transient()));
        }
    });
    Ok(Row::new(REFUSED, move |calls| {
        runtime.block_on(async {
            for _ in 0..calls {
                let refusal = governor.call(black_box(&scope)).admit().await.expect_err("the circuit is open");
                black_box(refusal);
            }
        });
    }))
}

/// Twenty times as many scopes as are remembered, so that nearly every call makes a leaf and drives another out. The
/// time includes that of building the scope.
fn many() -> Result<Row, Error> {
    let (governor, runtime) = (fast()?, runtime()?);
    let mut next = 0_u64;
    Ok(Row::new(MANY, move |calls| {
        runtime.block_on(async {
            for _ in 0..calls {
                next = (next + 1) % 1_000_000;
                let scope = Scope::new("aws", next.to_string(), "eu-west-1", "ssm");
                send(governor.call(&scope)).await;
            }
        });
    }))
}

// ===== theirs =====

fn keyed() -> Result<Row, Error> {
    let most = std::num::NonZeroU32::new(1_000_000).ok_or("not zero")?;
    // A thousand million a second: never the one that waits.
    let quota = governor::Quota::with_period(Duration::from_nanos(1)).ok_or("not zero")?.allow_burst(most);
    let limiter = governor::RateLimiter::keyed(quota);
    Ok(Row::new(PARTS[0], move |calls| {
        for _ in 0..calls {
            assert!(limiter.check_key(black_box(&7_u32)).is_ok());
        }
    }))
}

fn semaphore() -> Row {
    let semaphore = Arc::new(tokio::sync::Semaphore::new(64));
    Row::new(PARTS[1], move |calls| {
        for _ in 0..calls {
            assert!(black_box(Arc::clone(&semaphore).try_acquire_owned()).is_ok());
        }
    })
}

fn recloser() -> Row {
    let recloser = recloser::Recloser::default();
    Row::new(PARTS[2], move |calls| {
        for _ in 0..calls {
            assert!(black_box(recloser.call(|| Ok::<u32, u32>(black_box(7)))).is_ok());
        }
    })
}

fn budget() -> Row {
    use tower::retry::budget::{Budget, TpsBudget};
    let budget = TpsBudget::new(Duration::from_secs(10), 10, 0.1);
    Row::new(PARTS[3], move |calls| {
        for _ in 0..calls {
            black_box(&budget).deposit();
        }
    })
}

fn lookup() -> Row {
    type Key = [String; 5];
    let key = |account: u32| -> Key {
        ["aws".to_owned(), account.to_string(), "eu-west-1".to_owned(), "ssm".to_owned(), "GetParameter".to_owned()]
    };
    // The hasher that it has by default, with the same keys in every run: how many keys collide depends on them.
    let map = papaya::HashMap::with_hasher(BuildHasherDefault::<DefaultHasher>::default());
    for account in 0..1_000 {
        map.pin().insert(key(account), Arc::new(account));
    }
    let key = key(500);
    Row::new(PARTS[4], move |calls| {
        for _ in 0..calls {
            assert!(map.pin().get(black_box(&key)).is_some());
        }
    })
}

fn tower_stack() -> Result<Row, Error> {
    use tower::{Service, ServiceBuilder, ServiceExt};
    let runtime = runtime()?;
    let _entered = runtime.enter();
    let mut stack = ServiceBuilder::new()
        .concurrency_limit(64)
        .rate_limit(1_000_000_000, Duration::from_millis(1))
        .timeout(Duration::from_secs(60))
        .service(tower::service_fn(|()| async { Ok::<(), std::io::Error>(()) }));
    drop(_entered);
    Ok(Row::new(TOWER, move |calls| {
        runtime.block_on(async {
            for _ in 0..calls {
                let answer = match stack.ready().await {
                    Ok(ready) => ready.call(()).await,
                    Err(error) => Err(error),
                };
                assert!(black_box(answer).is_ok());
            }
        });
    }))
}
