/// The service of tokens.
pub(crate) const IDENTITY: &str = "identity";
/// How its accounts begin.
pub(crate) const IDENTITY_ACCOUNT: &str = "identity:";

/// A host.
#[derive(Debug, Clone)]
pub struct HostRule;
