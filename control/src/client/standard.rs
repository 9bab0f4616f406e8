//! No limiter: the SDKs' standard retry alone.

use futures_util::future::LocalBoxFuture;

use super::retry::StandardRetry;
use super::{Client, End};
use crate::world::Wire;

/// An SDK's client in its default mode.
#[derive(Debug)]
pub struct Standard {
    retry: StandardRetry,
}

impl Standard {
    /// One whose jitter comes from this seed.
    pub fn new(seed: u64) -> Self {
        Standard { retry: StandardRetry::new(seed) }
    }
}

impl Client for Standard {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let mut taken = None;
            loop {
                let answer = wire.send().await;
                if answer.is_granted() {
                    self.retry.succeeded(taken);
                    return End::Served;
                }
                let Some((wait, cost)) = self.retry.after(wire.sends(), answer) else { return End::Lost };
                taken = Some(cost);
                wire.world().sleep(wait).await;
            }
        })
    }

    fn rate(&self) -> Option<f64> {
        None
    }
}
