//! What a run comes to.

use std::fmt;

use serde::Serialize;

use super::job::{Failures, Streams};
use super::ledger::Count;
use super::options::Mode;
use crate::sim::Report;
use crate::sim::gcp::pubsub::Tally;

/// What a run comes to. `Display` is for people; it serialises to JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PubsubReport {
    /// Who saw to it that calls succeed.
    pub mode: Mode,
    /// Messages, by the client's count.
    #[serde(flatten)]
    pub count: Count,
    /// Calls that failed in the end.
    pub failed: Failures,
    /// Streams, and the slots in use while those were open that were open at the end.
    pub streams: Streams,
    /// Slots in use when the job was done.
    pub slots_in_use: usize,
    /// Messages, by the service's count.
    pub service: Tally,
    /// Requests, by the service's count, and the time.
    #[serde(flatten)]
    pub seen: Report,
}

impl fmt::Display for PubsubReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count { messages, published, received, lost, duplicated } = self.count;
        writeln!(
            f,
            "{messages} messages: {published} published, {received} received, {lost} lost, {duplicated} duplicated"
        )?;
        let Failures { publish, pull, acknowledge } = self.failed;
        if publish + pull + acknowledge > 0 {
            writeln!(
                f,
                "calls that failed in the end: {publish} to publish, {pull} to pull, {acknowledge} to acknowledge"
            )?;
        }
        let Streams { opened, open } = self.streams;
        if opened > 0 {
            let slots = self.slots_in_use;
            writeln!(f, "{opened} streams opened, {open} of them open at the end, with {slots} slots in use")?;
        }
        write!(f, "\n{}", self.seen)
    }
}
