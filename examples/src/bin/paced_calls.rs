//! The shortest tour of the governor, without any SDK: a call that is throttled twice, beside six lookups of a service
//! with a small limit.
//!
//! `cargo run -p cloud-governor-examples --bin paced_calls`

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use cloud_governor::{Classify, Config, Facts, Resilience, Scope, configure};

const CONFIG: &str = "
ratelimit:
  aws:
    base_delay: 1
    max_backoff: 2
    services:
      ec2: { per_operation: true, max_rps: 20 }
      secretsmanager: { max_rps: 2, burst: 2 }
";

/// What a service answered instead of what was asked for.
#[derive(Debug)]
struct ServiceError {
    status: u16,
    code: &'static str,
}

impl Classify for ServiceError {
    fn facts(&self) -> Facts<'_> {
        Facts::new().status(self.status).code(self.code)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.code)
    }
}

impl Error for ServiceError {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let governor = configure(Config::builder().yaml(CONFIG, "paced_calls").env().build()?);
    let resilience = Resilience::new().classify_by_facts();
    let started = Instant::now();

    let account = |service| Scope::new("aws", "123456789012", "eu-west-1", service);
    let vpcs = account("ec2").with_operation("DescribeVpcs");
    let secret = account("secretsmanager").with_operation("GetSecretValue");

    let attempts = AtomicU32::new(0);
    let describe = resilience.call(&vpcs, || async {
        match attempts.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(ServiceError { status: 503, code: "RequestLimitExceeded" }),
            _ => Ok(["vpc-0a1b2c3d"]),
        }
    });
    let look_up = || resilience.call(&secret, || async { Ok::<_, ServiceError>(started.elapsed()) });
    let look_ups = async { tokio::try_join!(look_up(), look_up(), look_up(), look_up(), look_up(), look_up()) };
    let (vpcs_found, sent_at) = tokio::try_join!(describe, look_ups)?;

    println!("DescribeVpcs: {vpcs_found:?} after {} attempts", attempts.into_inner());
    let (a, b, c, d, e, f) = sent_at;
    let seconds: Vec<String> = [a, b, c, d, e, f].iter().map(|at| format!("{:.1}", at.as_secs_f64())).collect();
    println!("six lookups sent at {} s", seconds.join(", "));
    if let Some(leaf) = governor.inspect(&vpcs) {
        println!("the DescribeVpcs leaf goes at {} of {} rps", leaf.rate_rps, leaf.ceiling_rps);
    }
    let totals = governor.summary().totals;
    println!(
        "calls {}, throttled {}, retries {}, waited {:.1} s in all",
        totals.calls, totals.throttled, totals.retries, totals.wait_seconds
    );
    governor.messages().iter().for_each(|line| println!("{line}"));
    Ok(())
}
