//! What a run comes to.

use std::fmt;

use serde::{Serialize, Serializer};

use super::failure::Failure;
use super::job::{Failures, Streams};
use super::ledger::Count;
use super::options::Mode;
use crate::sim::Report;
use crate::sim::gcp::pubsub::Tally;

/// What the columns of the table are.
pub(super) const LEGEND: &str = "\
requests: all that came; throttled: over a quota; faulted: struck by a --fault
answered: with success; refused: with another error of the service's own
";

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
    /// The last of these failures, in words.
    #[serde(serialize_with = "in_words")]
    pub last_failure: Option<Failure>,
    /// Whether the run was given up, as nothing went on any more.
    pub gave_up: bool,
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

fn in_words<S: Serializer>(failure: &Option<Failure>, serializer: S) -> Result<S::Ok, S::Error> {
    failure.as_ref().map(Failure::to_string).serialize(serializer)
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
        if let Some(failure) = &self.last_failure {
            writeln!(f, "the last of these: {failure}")?;
        }
        if self.gave_up {
            writeln!(f, "given up, as nothing went on any more")?;
        }
        let Streams { opened, open } = self.streams;
        if opened > 0 {
            let slots = self.slots_in_use;
            writeln!(f, "{opened} streams opened, {open} of them open at the end, with {slots} slots in use")?;
        }
        write!(f, "\n{}\n{LEGEND}", self.seen)
    }
}
