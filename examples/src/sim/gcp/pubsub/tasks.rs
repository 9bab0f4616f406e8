//! The tasks of one connection.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::rt::Executor;
use tokio::task::JoinSet;

/// Runs what a connection spawns, and ends it with the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
