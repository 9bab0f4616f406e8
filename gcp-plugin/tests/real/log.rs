//! What the governor logs, for tests that look for what should not be in it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// What is logged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// Logs everything that is ours on this thread.
pub(crate) fn logging() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let ours = ["cloud_governor", "cloud_governor_gcp", "cloud_governor_control"];
    let ours = Targets::new().with_targets(ours.map(|target| (target, tracing::Level::TRACE)));
    let layer = tracing_subscriber::fmt::layer().with_writer(log.clone()).with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(ours).with(layer);
    (log, tracing::subscriber::set_default(subscriber))
}
