//! Storage's JSON API: what the operation of a request is called, and whether it may be executed twice.
//!
//! Names and paths are those of its discovery document (storage.googleapis.com/discovery/v1/apis/storage/v1/rest), without
//! the `projects` that some collections are in; newer and rarer ones are left to what HTTP says of their methods. What may be
//! executed twice is from docs.cloud.google.com/storage/docs/retry-strategy ("Idempotency of operations"): where that
//! takes an etag, which is in the body, a request is taken for one without it.

use http::Method;

use super::parameters;

/// Whether an operation may be executed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Twice {
    Always,
    /// If the query has one of these, so that the second time nothing happens.
    With(&'static [&'static str]),
    Never,
}

use Twice::{Always, Never, With};

/// What a path begins with; uploads and downloads may have one of their own.
const BASES: [&str; 4] =
    ["/storage/v1/", "/upload/storage/v1/", "/resumable/upload/storage/v1/", "/download/storage/v1/"];

const GENERATION: Twice = With(&["ifGenerationMatch"]);
const THIS_GENERATION: Twice = With(&["ifGenerationMatch", "generation"]);
const METAGENERATION: Twice = With(&["ifMetagenerationMatch"]);

/// Method, path (`*` is any name), operation as `collection/method`.
type Row = (&'static str, &'static str, &'static str, Twice);

#[rustfmt::skip]
const OPERATIONS: &[Row] = &[
    ("GET", "b", "buckets/list", Always),
    ("POST", "b", "buckets/insert", Always),
    ("GET", "b/*", "buckets/get", Always),
    ("PATCH", "b/*", "buckets/patch", METAGENERATION),
    ("PUT", "b/*", "buckets/update", METAGENERATION),
    ("DELETE", "b/*", "buckets/delete", Always),
    ("GET", "b/*/iam", "buckets/getIamPolicy", Always),
    ("PUT", "b/*/iam", "buckets/setIamPolicy", Never),
    ("GET", "b/*/iam/testPermissions", "buckets/testIamPermissions", Always),
    ("POST", "b/*/lockRetentionPolicy", "buckets/lockRetentionPolicy", Always),

    ("GET", "b/*/o", "objects/list", Always),
    ("POST", "b/*/o", "objects/insert", GENERATION),
    // The parts of a resumable upload, each of which says where it belongs.
    ("PUT", "b/*/o", "objects/insert", With(&["upload_id"])),
    ("GET", "b/*/o/*", "objects/get", Always),
    ("PATCH", "b/*/o/*", "objects/patch", METAGENERATION),
    ("PUT", "b/*/o/*", "objects/update", METAGENERATION),
    ("DELETE", "b/*/o/*", "objects/delete", THIS_GENERATION),
    ("POST", "b/*/o/*/compose", "objects/compose", GENERATION),
    ("POST", "b/*/o/*/copyTo/b/*/o/*", "objects/copy", GENERATION),
    ("POST", "b/*/o/*/rewriteTo/b/*/o/*", "objects/rewrite", GENERATION),
    ("POST", "b/*/o/*/moveTo/o/*", "objects/move", Never),
    ("POST", "b/*/o/*/restore", "objects/restore", Never),
    ("POST", "b/*/o/watch", "objects/watchAll", Never),

    ("GET", "b/*/acl", "bucketAccessControls/list", Always),
    ("POST", "b/*/acl", "bucketAccessControls/insert", Never),
    ("GET", "b/*/acl/*", "bucketAccessControls/get", Always),
    ("PATCH", "b/*/acl/*", "bucketAccessControls/patch", Never),
    ("PUT", "b/*/acl/*", "bucketAccessControls/update", Never),
    ("DELETE", "b/*/acl/*", "bucketAccessControls/delete", Never),
    ("GET", "b/*/defaultObjectAcl", "defaultObjectAccessControls/list", Always),
    ("POST", "b/*/defaultObjectAcl", "defaultObjectAccessControls/insert", Never),
    ("GET", "b/*/defaultObjectAcl/*", "defaultObjectAccessControls/get", Always),
    ("PATCH", "b/*/defaultObjectAcl/*", "defaultObjectAccessControls/patch", Never),
    ("PUT", "b/*/defaultObjectAcl/*", "defaultObjectAccessControls/update", Never),
    ("DELETE", "b/*/defaultObjectAcl/*", "defaultObjectAccessControls/delete", Never),
    ("GET", "b/*/o/*/acl", "objectAccessControls/list", Always),
    ("POST", "b/*/o/*/acl", "objectAccessControls/insert", Never),
    ("GET", "b/*/o/*/acl/*", "objectAccessControls/get", Always),
    ("PATCH", "b/*/o/*/acl/*", "objectAccessControls/patch", Never),
    ("PUT", "b/*/o/*/acl/*", "objectAccessControls/update", Never),
    ("DELETE", "b/*/o/*/acl/*", "objectAccessControls/delete", Never),

    ("GET", "b/*/notificationConfigs", "notifications/list", Always),
    ("POST", "b/*/notificationConfigs", "notifications/insert", Never),
    ("GET", "b/*/notificationConfigs/*", "notifications/get", Always),
    ("DELETE", "b/*/notificationConfigs/*", "notifications/delete", Always),

    ("GET", "projects/*/serviceAccount", "serviceAccount/get", Always),
    ("GET", "projects/*/hmacKeys", "hmacKeys/list", Always),
    ("POST", "projects/*/hmacKeys", "hmacKeys/create", Never),
    ("GET", "projects/*/hmacKeys/*", "hmacKeys/get", Always),
    ("PUT", "projects/*/hmacKeys/*", "hmacKeys/update", Never),
    ("DELETE", "projects/*/hmacKeys/*", "hmacKeys/delete", Always),
    ("POST", "channels/stop", "channels/stop", Never),
];

/// A request to Storage's JSON API.
#[derive(Debug)]
pub(super) struct StorageCall<'a> {
    /// Without its base.
    path: &'a str,
    row: Option<&'static Row>,
}

impl<'a> StorageCall<'a> {
    /// The call with this method and path, if it is one of this API's.
    pub(super) fn of(method: &Method, path: &'a str) -> Option<Self> {
        let path = BASES.iter().find_map(|base| path.strip_prefix(base))?;
        let row = OPERATIONS.iter().find(|(with, pattern, ..)| *with == method.as_str() && fits(pattern, path));
        Some(StorageCall { path, row })
    }

    /// Whether it is about buckets or what is in them, as almost all are.
    pub(super) fn is_about_buckets(&self) -> bool {
        self.path.split('/').next() == Some("b")
    }

    /// `objects/get`, if it is a known operation.
    pub(super) fn operation(&self) -> Option<&'static str> {
        self.row.map(|(_, _, operation, _)| *operation)
    }

    /// Whether the operation, if it is a known one, may be executed twice with this query.
    pub(super) fn is_repeatable(&self, query: Option<&str>) -> Option<bool> {
        self.row.map(|(_, _, _, twice)| match twice {
            Always => true,
            With(any) => parameters(query).any(|(name, value)| any.contains(&name) && !value.is_empty()),
            Never => false,
        })
    }
}

/// Whether a path has this form. Names in it are percent-encoded, slashes too.
fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let all = pattern.split('/').all(|wanted| match parts.next() {
        Some(part) if wanted == "*" => !part.is_empty(),
        part => part == Some(wanted),
    });
    all && parts.next().is_none()
}

#[cfg(test)]
mod tests;
