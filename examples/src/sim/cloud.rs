//! What the frame asks of a simulated cloud.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::{Draw, Verdict};

/// A whole answer. The frame sends it, delays it or cuts it.
pub type Answer = Response<Bytes>;

/// Where a call lands: one operation of one service, in one region of one account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Leaf {
    /// Account, subscription or project.
    pub account: String,
    /// Region; empty where the cloud has none.
    pub region: String,
    /// Service, in the vendor's signing or namespace form.
    pub service: String,
    /// Operation, in the vendor's own spelling.
    pub operation: String,
}

/// One request that the cloud recognised. `D` is what the cloud read of it besides.
#[derive(Clone, Debug)]
pub struct Call<D = ()> {
    /// The request's number, counted from 1: what request ids are made of.
    pub number: u64,
    /// Where the call lands.
    pub leaf: Leaf,
    /// The request's body, unread as yet.
    pub body: Bytes,
    /// What the cloud read of it besides.
    pub detail: D,
}

/// A simulated cloud: the wire protocol and the resources, without time, throttling or failure.
pub trait Cloud: Send + Sync + 'static {
    /// What it reads of a request besides where it lands.
    type Detail: Send + Sync;

    /// Finds out whose call a request is. `Err` is the cloud's own answer to a request that is nobody's, such as one
    /// that is not signed or asks for an unknown operation.
    fn identify(&self, number: u64, head: &Parts, body: Bytes) -> Result<Call<Self::Detail>, Box<Answer>>;

    /// The buckets the call draws on, gate by gate: it comes to a gate once the one before has let it through, and
    /// all buckets of a gate must grant it.
    fn draws(&self, call: &Call<Self::Detail>) -> Vec<Vec<Draw>>;

    /// The answer of a healthy, unhurried service.
    fn answer(&self, call: &Call<Self::Detail>) -> Answer;

    /// The answer to a call that a bucket refused, and what the buckets said.
    fn throttled(&self, call: &Call<Self::Detail>, verdict: &Verdict) -> Answer;

    /// The answer of a service that fails: `status` is 500, 503 or the one that a fault names.
    fn failed(&self, call: &Call<Self::Detail>, status: StatusCode) -> Answer;

    /// Writes into an answer, whichever of the three it is, what the cloud tells its callers of their buckets. A cloud
    /// that tells them nothing leaves it as it is.
    fn note(&self, _call: &Call<Self::Detail>, _verdict: &Verdict, _answer: &mut Answer) {}

    /// What the cloud's clock shows so long after the server's start, for the `Date` of its answers. `None` if its
    /// clock is the machine's.
    fn clock(&self, _now: Duration) -> Option<SystemTime> {
        None
    }
}
