use super::PublishedLimit;

pub(super) const LIMITS: &[PublishedLimit] = &[];
