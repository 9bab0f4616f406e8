//! What the frame asks of a simulated cloud.

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::Draw;

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

/// One request that the cloud recognised.
#[derive(Clone, Debug)]
pub struct Call {
    /// The request's number, counted from 1: what request ids are made of.
    pub number: u64,
    /// Where the call lands.
    pub leaf: Leaf,
    /// The request's body, unread as yet.
    pub body: Bytes,
}

/// A simulated cloud: the wire protocol and the resources, without time, throttling or failure.
pub trait Cloud: Send + Sync + 'static {
    /// Finds out whose call a request is. `Err` is the cloud's own answer to a request that is nobody's, such as one
    /// that is not signed or asks for an unknown operation.
    fn identify(&self, number: u64, head: &Parts, body: Bytes) -> Result<Call, Box<Answer>>;

    /// The buckets the call draws on. All of them must grant it.
    fn draws(&self, call: &Call) -> Vec<Draw>;

    /// The answer of a healthy, unhurried service.
    fn answer(&self, call: &Call) -> Answer;

    /// The answer to a call that a bucket refused.
    fn throttled(&self, call: &Call) -> Answer;

    /// The answer of a service that fails: `status` is 500 or 503.
    fn failed(&self, call: &Call, status: StatusCode) -> Answer;
}
