//! What the programs share: events, complaints, Ctrl-C.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use cloud_governor::{Config, ConfigBuilder, ConfigError};
use tracing_subscriber::EnvFilter;

use crate::inventory::{Log, UNUSABLE};

/// What events are told unless `RUST_LOG` says otherwise. Google's clients warn of each failed call in two events, with all
/// that the service said; the programs tell what matters of it.
const EVENTS: &str = "warn,experimental=off,google_cloud_asset_v1=off,google_cloud_compute_v1=off,google_cloud_storage=off,\
                      cloud_governor=debug,inventory=info,compare=info,gcs_reader=info,pubsub=info";

/// One program: its name, and the form that whoever reads standard error expects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    name: &'static str,
    log: Log,
}

impl Program {
    /// Begins to write events to standard error, if they are wanted.
    pub(crate) fn start(name: &'static str, log: Log) -> Self {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(EVENTS));
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr);
        // An error means that a subscriber is set already, which then has the events.
        let _ = match log {
            Log::Off => Ok(()),
            Log::Text => subscriber.try_init(),
            Log::Json => subscriber.json().flatten_event(true).try_init(),
        };
        Program { name, log }
    }

    /// Ends over a command line or a configuration that is of no use.
    pub(crate) fn unusable(self, error: &dyn Error) -> ExitCode {
        self.complain(error);
        ExitCode::from(UNUSABLE)
    }

    /// Ends over whatever else went wrong.
    pub(crate) fn failed(self, error: &dyn Error) -> ExitCode {
        self.complain(error);
        ExitCode::FAILURE
    }

    /// Ends over something that has an exit code of its own.
    pub(crate) fn failed_by(self, error: &dyn Error, code: u8) -> ExitCode {
        self.complain(error);
        ExitCode::from(code)
    }

    /// Writes the result to standard output and ends with this code.
    pub(crate) fn finish(self, code: u8, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> ExitCode {
        let mut out = io::stdout().lock();
        match write(&mut out).and_then(|()| out.flush()) {
            Ok(()) => ExitCode::from(code),
            // Whoever reads the output went away: what they saw is what there is.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(code),
            Err(error) => self.failed(&error),
        }
    }

    fn complain(self, error: &dyn Error) {
        let Program { name, log } = self;
        if log == Log::Json {
            tracing::error!(target: "cloud_governor_examples", program = name, reason = %error, "failed");
        } else {
            // Where standard error is closed there is nobody to tell.
            let _ = writeln!(io::stderr(), "{name}: {error}");
        }
    }
}

/// The governor's settings: the built-in ones, this file over them, and the environment.
pub(crate) fn config(file: Option<&Path>) -> Result<Config, ConfigError> {
    file.into_iter().fold(Config::builder(), ConfigBuilder::file).env().build()
}

/// Whether a token may go to this URL: by TLS, or to this machine.
pub(crate) fn may_have_token(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let local = match url.host_str().map(|host| host.trim_matches(['[', ']'])) {
        Some("localhost") => true,
        Some(host) => host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && local)
}

/// Ready at Ctrl-C; never, where that cannot be listened for.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::may_have_token;

    #[test]
    fn a_token_goes_by_tls_or_stays_on_this_machine() {
        for url in ["https://storage.googleapis.com", "http://127.0.0.1:9000", "http://[::1]:9000", "http://localhost"]
        {
            assert!(may_have_token(url), "{url}");
        }
        for url in ["http://storage.googleapis.com", "http://127.0.0.1.example.com", "ftp://127.0.0.1", "localhost", ""]
        {
            assert!(!may_have_token(url), "{url}");
        }
    }
}
