//! What a decision costs and what a waiting call weighs. Figures are for comparison within one run.
//!
//! `cargo bench -p cloud-governor`

use std::hint::black_box;
use std::time::Instant;

use cloud_governor::{Config, Governor, Outcome, Scope};

const CALLS: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    decision().await?;
    weight().await?;
    Ok(())
}

/// One call that never waits, against a semaphore of Tokio's, which does a part of the same.
async fn decision() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_yaml("ratelimit: { aws: { max_rps: 1000000, burst: 1000000 } }", "bench")?;
    let governor = Governor::builder().config(config).build();
    let scope = Scope::new("aws", "123456789012", "eu-west-1", "ssm").with_operation("GetParameter");
    let semaphore = tokio::sync::Semaphore::new(64);
    let (mut governed, mut plain) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..20 {
        let started = Instant::now();
        for _ in 0..CALLS {
            let mut call = governor.call(&scope);
            call.admit().await?.finish(black_box(Outcome::Success));
        }
        governed = governed.min(started.elapsed().as_secs_f64());
        let started = Instant::now();
        for _ in 0..CALLS {
            drop(black_box(semaphore.acquire().await?));
        }
        plain = plain.min(started.elapsed().as_secs_f64());
    }
    let nanos = |seconds: f64| seconds * 1e9 / CALLS as f64;
    println!(
        "one governed call: {:.0} ns, {:.1} times a semaphore's {:.0} ns",
        nanos(governed),
        governed / plain,
        nanos(plain)
    );
    Ok(())
}

/// Resident memory of calls that stand in line, each in a task of its own.
async fn weight() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_yaml("ratelimit: { aws: { max_rps: 50, burst: 1, deadline: none } }", "bench")?;
    let governor = Governor::builder().config(config).build();
    let scope = Scope::new("aws", "123456789012", "eu-west-1", "ec2");
    let before = resident_bytes();
    let waiting: Vec<_> = (0..CALLS)
        .map(|_| {
            let (governor, scope) = (governor.clone(), scope.clone());
            tokio::spawn(async move { governor.call(&scope).admit().await.map(drop) })
        })
        .collect();
    let in_line = || governor.inspect(&scope).map_or(0, |seen| seen.waiting_for_rate);
    // One goes at once, another every 20 ms.
    while in_line() < CALLS * 9 / 10 {
        tokio::task::yield_now().await;
    }
    let in_line = in_line();
    match (before, resident_bytes()) {
        (Some(before), Some(after)) => {
            println!(
                "{in_line} calls in line: {} bytes each, task and timer included",
                (after - before) / in_line as u64
            );
        }
        _ => println!("{in_line} calls in line; this system does not tell the resident memory"),
    }
    waiting.iter().for_each(|task| task.abort());
    Ok(())
}

/// From `/proc`, where there is one.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}
