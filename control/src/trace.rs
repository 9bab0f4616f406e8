//! What happened in one run: every send, every call, and the rates that the clients believed in.

use crate::server::Answer;

/// One run. Times are seconds since its start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Every request, in the order of sending.
    pub sends: Vec<Send>,
    /// Every logical call that ended, in the order of ending.
    pub calls: Vec<Ended>,
    /// How many logical calls were begun.
    pub begun: u64,
    /// What each client took for its rate, now and then.
    pub rates: Vec<Believed>,
    /// When the server was closed by penalties.
    pub penalties: Vec<(f64, f64)>,
    /// Tokens that other tenants were granted.
    pub background: f64,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Send {
    /// Which process sent it.
    pub process: usize,
    /// Whether it is its call's first.
    pub first: bool,
    /// When it was sent.
    pub sent: f64,
    /// What became of it; none if it was still on its way when the run ended.
    pub arrival: Option<Arrival>,
    /// When its answer came or would have come.
    pub answered: f64,
}

/// A request that reached the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// When.
    pub at: f64,
    /// What it was answered.
    pub answer: Answer,
    /// Whether the server was closed.
    pub closed: bool,
}

/// One logical call that ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// When it was begun.
    pub began: f64,
    /// When it ended.
    pub ended: f64,
    /// For how much of that a request of it was under way.
    pub in_flight: f64,
    /// How many requests it sent.
    pub sends: u32,
    /// Whether it was given up or refused.
    pub lost: bool,
}

/// A rate that a client believed in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Believed {
    /// When.
    pub at: f64,
    /// Which process.
    pub process: usize,
    /// Calls a second.
    pub rate: f64,
}
