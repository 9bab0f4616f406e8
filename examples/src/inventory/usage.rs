//! What is wrong with a command line that the parser lets pass.

use std::time::Duration;

use humantime::format_duration;

use super::cloud::Cloud;
use super::service::Service;
use super::text::BucketSize;

/// Options that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A service of a cloud that is not listed.
    #[error(
        "--services: {id} is a service of {cloud}, which is not listed: add --cloud {provider} or --cloud all",
        id = .0.id(), cloud = .0.cloud(), provider = .0.cloud().provider()
    )]
    Service(Service),
    /// Services, and none of them this cloud's, which is listed.
    #[error("--services names none of {0}: there are {all}", all = services(*.0))]
    NothingOf(Cloud),
    /// The cloud's SDK has no such mode.
    #[error("--ungoverned adaptive: {0} has no SDK with an adaptive mode, only --ungoverned standard")]
    Adaptive(Cloud),
    /// A bucket of a cloud that is not listed.
    #[error("--limit: {name} is a bucket of {cloud}, which is not listed", name = .0.bucket(), cloud = .0.cloud())]
    Limit(BucketSize),
    /// Several clouds at once, and not simulated.
    #[error("--cloud all is for the simulation: list real clouds one by one")]
    OneRealCloud,
    /// Real places of a cloud that is not listed: the options with their verb, and the cloud.
    #[error("{0} about {1}, which is not listed: it is with --cloud {provider}", provider = .1.provider())]
    Foreign(&'static str, Cloud),
    /// A server, and nothing to ask it for.
    #[error(
        "--endpoint-url: with --cloud {provider}, {option} has to say what is listed there",
        provider = .0.provider(), option = if *.0 == Cloud::Azure { "--subscription" } else { "--project" }
    )]
    NothingNamed(Cloud),
    /// A server that must not be trusted with a token.
    #[error(
        "--endpoint-url: with --cloud {provider} it has to begin with https://, as no token is sent without TLS{except}",
        provider = .0.provider(), except = if *.0 == Cloud::Gcp { ", unless to this machine" } else { "" }
    )]
    NoTls(Cloud),
    /// Instances are listed by zone, and none is named.
    #[error(
        "--project: name the zones whose instances are listed by --zone, or leave them out by --services cloudasset"
    )]
    NoZone,
    /// A minute of no length or of more than an hour, or more left of it than there is.
    #[error(
        "--minute {}, --minute-left {}: the one is above 0 and up to an hour, the other above 0 and up to the one",
        format_duration(*minute), format_duration(*left)
    )]
    Minute {
        /// Of this length.
        minute: Duration,
        /// So much is left of it.
        left: Duration,
    },
}

fn services(cloud: Cloud) -> String {
    Service::of(cloud).map(Service::id).collect::<Vec<_>>().join(", ")
}
