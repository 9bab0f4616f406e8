//! Those who make calls: the governor and its peers, behind one trait.

mod cubic;
mod governed;
mod oracle;
mod reserving;
mod retry;
mod standard;

pub use cubic::Cubic;
use futures_util::future::LocalBoxFuture;
pub use governed::Governed;
pub use oracle::Oracle;
pub use reserving::Reserving;
pub use standard::Standard;

use crate::world::Wire;

/// How a logical call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// It was served.
    Served,
    /// It was given up, or refused before anything was sent.
    Lost,
}

/// One process's way to make calls: when to send, whether to send again.
pub trait Client {
    /// Makes one logical call.
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End>;

    /// What it takes for its rate now, in calls a second; none if it has no notion of one.
    fn rate(&self) -> Option<f64>;
}
