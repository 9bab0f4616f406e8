//! What a person reads after a run: the server's counts beside the ideal.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{Counts, Ideal, TruthSnapshot};

/// How long a run took, beside the least the buckets allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunTime {
    /// Wall time, in seconds, as the client measured it.
    pub wall_s: f64,
    /// The least the buckets allow.
    pub ideal: Ideal,
    /// `wall_s / ideal.seconds`; `None` where the bursts alone cover the job.
    pub ratio: Option<f64>,
}

/// The judge's view of one run. `Display` is a table; it serialises to JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The counts.
    pub truth: TruthSnapshot,
    /// The time.
    pub time: RunTime,
}

impl Report {
    /// Sets what the server saw beside the ideal.
    pub fn new(truth: TruthSnapshot, wall: Duration, ideal: Ideal) -> Self {
        let wall_s = wall.as_secs_f64();
        let ratio = (ideal.seconds > 0.0).then(|| wall_s / ideal.seconds);
        Report { truth, time: RunTime { wall_s, ideal, ratio } }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, counts: &Counts| {
            let Counts { requests, answered, throttled, faulted, refused, .. } = counts;
            writeln!(f, "{name:<36} {requests:>8} {answered:>8} {throttled:>9} {faulted:>8} {refused:>8}")
        };
        writeln!(
            f,
            "{:<36} {:>8} {:>8} {:>9} {:>8} {:>8}",
            "seen by the server", "requests", "answered", "throttled", "faulted", "refused"
        )?;
        for (action, counts) in &self.truth.actions {
            row(f, action, counts)?;
        }
        if self.truth.unrecognised.requests > 0 {
            row(f, "(nobody's)", &self.truth.unrecognised)?;
        }
        row(f, "total", &self.truth.totals)?;
        writeln!(f, "at most {} at one time", self.truth.peak_concurrent)?;

        let RunTime { wall_s, ideal, ratio } = &self.time;
        match (ratio, &ideal.bucket) {
            (Some(ratio), Some(bucket)) => writeln!(
                f,
                "{wall_s:.1} s; the buckets allow {:.1} s at best ({} in {}): {ratio:.2} times the ideal",
                ideal.seconds,
                bucket.name,
                format!("{} {}", bucket.account, bucket.region).trim_end()
            ),
            _ => writeln!(f, "{wall_s:.1} s; the buckets' bursts cover the whole job"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{BucketKey, Draw, Leaf, Limit, Outcome, Truth};
    use std::sync::Arc;

    #[test]
    fn the_report_names_the_counts_and_the_bucket_that_sets_the_pace() {
        let truth = Arc::new(Truth::default());
        let leaf = Leaf { account: "1".into(), region: "r".into(), service: "ssm".into(), operation: "Get".into() };
        truth.arrive(Duration::ZERO).record(Some(&leaf), Outcome::Throttled);
        let key = BucketKey { account: "1".into(), region: "r".into(), name: "ssm.Get".into() };
        let limit = Limit::new(10.0, 5.0).expect("a possible limit");
        let ideal = Ideal::of([(60, vec![Draw { key, limit, cost: 1 }])]);

        let text = Report::new(truth.snapshot(), Duration::from_secs(11), ideal).to_string();
        assert!(text.contains("ssm.Get                                     1        0         1"), "{text}");
        assert!(text.contains("11.0 s; the buckets allow 10.0 s at best (ssm.Get in 1 r): 1.10 times"), "{text}");
    }
}
