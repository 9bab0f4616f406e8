//! What is wrong with a command line that the parser lets pass.

use super::service::Service;
use super::text::BucketSize;

/// Options that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A service of a cloud that is not listed.
    #[error(
        "--services: {name} is a service of {cloud}, which is not listed: add --cloud {provider} or --cloud all",
        name = .0.name(), cloud = .0.cloud(), provider = .0.cloud().provider()
    )]
    Service(Service),
    /// Services, and none of them Azure's.
    #[error("--services names none of Azure: there are resources, network, compute")]
    NothingOfAzure,
    /// The Azure SDK has no such mode.
    #[error("--ungoverned adaptive: the Azure SDK has no adaptive mode, only --ungoverned standard")]
    Adaptive,
    /// A bucket of a cloud that is not listed.
    #[error("--limit: {name} is a bucket of {cloud}, which is not listed", name = .0.bucket(), cloud = .0.cloud())]
    Limit(BucketSize),
    /// Several clouds at once, and not simulated.
    #[error("--cloud all is for the simulation: list real clouds one by one")]
    OneRealCloud,
    /// Accounts of AWS, where Azure is listed.
    #[error("--profile and --region are about AWS: Azure's subscriptions are named by --subscription")]
    NotOfAzure,
    /// Subscriptions, where AWS is listed.
    #[error("--subscription is about Azure: add --cloud azure")]
    NotOfAws,
    /// A server, and nothing to ask it for.
    #[error("--endpoint-url: with --cloud azure, --subscription has to say what is listed there")]
    NoSubscription,
    /// A server that the Azure SDK does not trust with a token.
    #[error("--endpoint-url: with --cloud azure it has to begin with https://, as no token is sent without TLS")]
    NoTls,
}
