//! How large the pages of the lists are.

/// The largest page of `DescribeLogGroups` and `DescribeLogStreams`, and the page when none is asked for.
pub const LOGS_PAGE: u32 = 50;
/// The largest page of `DescribeParameters`.
pub const PARAMETERS_PAGE: u32 = 50;
/// The largest page of `ListSecrets`, and the page when none is asked for.
pub const SECRETS_PAGE: u32 = 100;
