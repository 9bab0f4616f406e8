//! What the name of an RPC gives away: whether it may be executed twice, and whether it answers with one message.
//!
//! Standard methods are told by how their names begin (AIP-131 to 135, AIP-231), in Google's own packages alone. What they
//! are is defined there: `Get` and `List` have no side effects, and each answers with one message. The official clients
//! send deletions again too, and neither creations nor updates.
//!
//! The others are those that Google's own clients send again when it is unknown what became of them (`UNAVAILABLE`, a
//! broken connection): the `retryPolicy` of each `*_grpc_service_config.json` in github.com/googleapis/googleapis. Not
//! taken over are
//!
//! * Spanner's `Commit`: one in a temporary transaction may be executed twice (`CommitRequest.single_use_transaction`);
//! * Storage's, which has one policy for all: whether a mutation may be executed twice depends on its preconditions
//!   (docs.cloud.google.com/storage/docs/retry-strategy), which are in the message.

/// How the names begin of methods that may be executed twice.
const REPEATABLE: [&str; 5] = ["BatchGet", "Delete", "Get", "List", "Search"];

/// How the names begin of methods that answer with one message. `BatchGetDocuments` of Firestore streams.
const UNARY: [&str; 5] = ["Create", "Delete", "Get", "List", "Update"];

/// Every service serves it for its own; it changes nothing.
const TEST_PERMISSIONS: &str = "TestIamPermissions";

/// A service, and methods of it that may be executed twice.
type Row = (&'static str, &'static [&'static str]);

/// Those that answer with one message.
#[rustfmt::skip]
const SERVICES: &[Row] = &[
    ("google.cloud.bigquery.storage.v1.BigQueryRead", &["CreateReadSession", "SplitReadStream"]),
    ("google.cloud.bigquery.storage.v1.BigQueryWrite", &[
        "BatchCommitWriteStreams", "CreateWriteStream", "FinalizeWriteStream", "FlushRows",
    ]),
    // `CreateCryptoKeyVersion` and `ImportCryptoKeyVersion`, whose keys are numbered, have no retry there.
    ("google.cloud.kms.v1.KeyManagementService", &[
        "AsymmetricDecrypt", "AsymmetricSign", "CreateCryptoKey", "CreateImportJob", "CreateKeyRing", "Decrypt",
        "DestroyCryptoKeyVersion", "Encrypt", "RestoreCryptoKeyVersion", "UpdateCryptoKey", "UpdateCryptoKeyPrimaryVersion",
        "UpdateCryptoKeyVersion",
    ]),
    ("google.pubsub.v1.Publisher", &["CreateTopic", "Publish", "UpdateTopic"]),
    ("google.pubsub.v1.Subscriber", &[
        "Acknowledge", "CreateSnapshot", "CreateSubscription", "ModifyAckDeadline", "ModifyPushConfig", "Pull", "Seek",
        "UpdateSnapshot", "UpdateSubscription",
    ]),
    ("google.spanner.v1.Spanner", &[
        "BatchCreateSessions", "BeginTransaction", "CreateSession", "ExecuteBatchDml", "ExecuteSql", "PartitionQuery",
        "PartitionRead", "Read", "Rollback",
    ]),
];

/// Those that answer with a stream. Spanner's are what `ExecuteSql` and `Read` are; its clients resume them by themselves.
const STREAMS: &[Row] = &[
    ("google.cloud.bigquery.storage.v1.BigQueryRead", &["ReadRows"]),
    ("google.pubsub.v1.Subscriber", &["StreamingPull"]),
    ("google.spanner.v1.Spanner", &["ExecuteStreamingSql", "StreamingRead"]),
    ("google.storage.v2.Storage", &["ReadObject"]),
];

/// Standard by name, and yet not to be executed twice: without a precondition it may delete a newer object.
const EXCEPTIONS: &[Row] = &[("google.storage.v2.Storage", &["DeleteObject"])];

/// Whether the RPC may be executed twice.
pub(super) fn is_repeatable(service: &str, method: &str) -> bool {
    let listed = |rows| has(rows, service, method);
    let is_standard = is_googles(service) && (begins(method, &REPEATABLE) || method == TEST_PERMISSIONS);
    listed(SERVICES) || listed(STREAMS) || (is_standard && !listed(EXCEPTIONS))
}

/// Whether the RPC is certain to answer with one message.
pub(super) fn is_unary(service: &str, method: &str) -> bool {
    is_googles(service) && (begins(method, &UNARY) || method == TEST_PERMISSIONS) || has(SERVICES, service, method)
}

fn has(rows: &[Row], service: &str, method: &str) -> bool {
    rows.iter().any(|(of, methods)| *of == service && methods.contains(&method))
}

fn is_googles(service: &str) -> bool {
    service.starts_with("google.")
}

/// Whether a name begins with one of these words: `ListTopics` with `List`, but not Firestore's `Listen`.
fn begins(method: &str, words: &[&str]) -> bool {
    let after = |word: &&str| method.strip_prefix(*word).and_then(|rest| rest.chars().next());
    words.iter().filter_map(after).any(|next| next.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
