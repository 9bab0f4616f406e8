//! What a waiting call weighs. What a decision costs is measured in the workspace's `bench`.
//!
//! `cargo bench -p cloud-governor`

use cloud_governor::{Config, Governor, Scope};

const CALLS: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    weight().await
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
