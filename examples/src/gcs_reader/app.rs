//! The program: from the command line to the exit code.

use std::process::ExitCode;
use std::sync::Arc;

use cloud_governor::configure;
use cloud_governor_gcp::{CallOptions, CallReport, GcpOptions, attach_storage};
use google_cloud_auth::credentials::{Builder, Credentials, anonymous};
use google_cloud_storage::client::Storage;

use super::ending::Ending;
use super::options::Args;
use super::read::{Object, read};
use crate::inventory::INTERRUPTED;
use crate::program::{Program, interrupted};
use crate::sim::Server;
use crate::sim::gcp::{self, Fleet, Gcp, Limits};

/// Where to read, and as whom.
struct Place {
    url: String,
    credentials: Credentials,
    account: Option<String>,
    object: Object,
    /// Ends with the program.
    simulation: Option<Server>,
}

/// Runs the program. Everything that can be wrong with the configuration is found before anything is sent.
pub async fn main(args: Args) -> ExitCode {
    let program = Program::start("gcs_reader", args.log);
    let checked = args.check().and_then(|()| Ok((args.policy()?, args.settings()?)));
    let (policy, config) = match checked {
        Ok(checked) => checked,
        Err(error) => return program.unusable(&error),
    };
    configure(config);
    let place = match Place::of(&args).await {
        Ok(place) => place,
        Err(error) => return program.failed(error.as_ref()),
    };
    let client = match place.client().await {
        Ok(client) => client,
        Err(error) => return program.failed(&error),
    };
    let reads = async {
        let mut endings = Vec::new();
        for _ in 0..args.reads {
            let (ending, report) = read(&client, &place.object, CallOptions::from(policy), args.deadline).await;
            tell(&place.object, &ending, &report);
            endings.push((ending, report.attempts()));
        }
        endings
    };
    let endings = tokio::select! {
        endings = reads => endings,
        () = interrupted() => return ExitCode::from(INTERRUPTED),
    };
    if let Some(simulation) = place.simulation {
        simulation.stop().await;
    }
    let code = endings.last().map_or(0, |(ending, _)| ending.exit_code());
    program.finish(code, |out| {
        let object = &place.object;
        endings.iter().try_for_each(|(ending, attempts)| writeln!(out, "{object}: {ending} (attempts: {attempts})"))
    })
}

impl Place {
    async fn of(args: &Args) -> anyhow::Result<Self> {
        let Some(url) = &args.endpoint else { return Place::simulate(args).await };
        let credentials =
            if args.anonymous { anonymous::Builder::new().build() } else { Builder::default().build()? };
        let (url, account, object) = (url.clone(), args.account.clone(), args.wanted(""));
        Ok(Place { url, credentials, account, object, simulation: None })
    }

    async fn simulate(args: &Args) -> anyhow::Result<Self> {
        let fleet = Fleet::seeded(args.seed, &Args::fleet())?;
        let home = fleet.home();
        let bucket = home.and_then(|home| home.buckets.first()).map(|bucket| bucket.name.as_str());
        let object = args.wanted(bucket.unwrap_or_default());
        let (account, credentials) = (home.map(gcp::Project::account), gcp::credentials(fleet.caller(), None)?);
        let server = Server::start(Arc::new(Gcp::new(fleet, Limits::default())), args.seed).await?;
        for fault in &args.faults {
            server.faults().add(fault.clone());
        }
        Ok(Place { url: server.url(), credentials, account, object, simulation: Some(server) })
    }

    async fn client(&self) -> Result<Storage, google_cloud_gax::client_builder::Error> {
        let options = match &self.account {
            Some(account) => GcpOptions::new().account(account),
            None => GcpOptions::new(),
        };
        let builder = Storage::builder().with_endpoint(&self.url);
        attach_storage(builder, self.credentials.clone(), options).build().await
    }
}

/// The program's own event for the ending, beside those of the governor.
fn tell(object: &Object, ending: &Ending, report: &CallReport) {
    let scope = report.scope().map(|scope| scope.to_string());
    let (attempts, exit_code) = (report.attempts(), ending.exit_code());
    macro_rules! event {
        ($level:ident, $name:literal) => {
            tracing::$level!(name: $name, target: "gcs_reader", %object, scope, attempts, exit_code, %ending, $name)
        };
    }
    match ending {
        Ending::Read(_) => event!(info, "read"),
        Ending::Answered(_) => event!(warn, "answered"),
        Ending::GaveUp(..) => event!(warn, "gave_up"),
        Ending::Refused(_) => event!(warn, "refused"),
        Ending::Late => event!(warn, "late"),
        Ending::BrokenOff(_) => event!(warn, "broken_off"),
        Ending::Failed(_) => event!(error, "failed"),
    }
}
