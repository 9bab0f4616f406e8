use proptest::prelude::*;

use super::*;

/// RPCs of Google's with what a generated client does with each, and whether one may be executed twice.
#[rustfmt::skip]
const KNOWN: &[(&str, &str, bool, bool)] = &[
    // service, method, answers with one message and is known to, may be executed twice
    ("google.pubsub.v1.Publisher", "Publish", true, true),
    ("google.pubsub.v1.Publisher", "GetTopic", true, true),
    ("google.pubsub.v1.Publisher", "ListTopicSubscriptions", true, true),
    ("google.pubsub.v1.Publisher", "DetachSubscription", false, false),
    ("google.pubsub.v1.Subscriber", "Pull", true, true),
    ("google.pubsub.v1.Subscriber", "Acknowledge", true, true),
    ("google.pubsub.v1.Subscriber", "StreamingPull", false, true),
    ("google.pubsub.v1.SchemaService", "CreateSchema", true, false),
    ("google.pubsub.v1.SchemaService", "CommitSchema", false, false),
    ("google.spanner.v1.Spanner", "Commit", false, false),
    ("google.spanner.v1.Spanner", "ExecuteSql", true, true),
    ("google.spanner.v1.Spanner", "ExecuteStreamingSql", false, true),
    ("google.spanner.v1.Spanner", "BatchWrite", false, false),
    ("google.spanner.admin.database.v1.DatabaseAdmin", "UpdateDatabaseDdl", true, false),
    ("google.storage.v2.Storage", "ReadObject", false, true),
    ("google.storage.v2.Storage", "WriteObject", false, false),
    ("google.storage.v2.Storage", "GetObject", true, true),
    ("google.storage.v2.Storage", "DeleteObject", true, false),
    ("google.storage.v2.Storage", "DeleteBucket", true, true),
    ("google.cloud.kms.v1.KeyManagementService", "Encrypt", true, true),
    ("google.cloud.kms.v1.KeyManagementService", "CreateCryptoKeyVersion", true, false),
    ("google.cloud.bigquery.storage.v1.BigQueryRead", "ReadRows", false, true),
    ("google.firestore.v1.Firestore", "BatchGetDocuments", false, true),
    ("google.firestore.v1.Firestore", "Listen", false, false),
    ("google.cloud.asset.v1.AssetService", "SearchAllResources", false, true),
    ("google.longrunning.Operations", "GetOperation", true, true),
    ("google.iam.v1.IAMPolicy", "SetIamPolicy", false, false),
    ("google.iam.v1.IAMPolicy", "TestIamPermissions", true, true),
    ("example.v1.Files", "GetFile", false, false),
    ("googler.v1.Files", "ListFiles", false, false),
    ("build.bazel.remote.execution.v2.ContentAddressableStorage", "GetTree", false, false),
];

#[test]
fn rpcs_are_known_by_their_names() {
    for (service, method, unary, repeatable) in KNOWN {
        assert_eq!(is_unary(service, method), *unary, "{service}/{method} unary");
        assert_eq!(is_repeatable(service, method), *repeatable, "{service}/{method} repeatable");
    }
}

#[test]
fn no_stream_is_taken_for_one_message() {
    for (service, methods) in STREAMS {
        for method in *methods {
            assert!(!is_unary(service, method), "{service}/{method}");
        }
    }
}

#[test]
fn a_name_that_only_begins_like_a_word_is_another() {
    for method in ["Getaway", "List", "Get", "Deleted", "get", "Listen", "Update_x", ""] {
        assert!(!is_unary("google.x.v1.X", method) && !is_repeatable("google.x.v1.X", method), "{method}");
    }
}

proptest! {
    #[test]
    fn what_is_not_googles_is_never_known(service in "[a-fh-z][a-z.]{0,20}|", method in "(Get|List|Delete)?[A-Z]?.{0,20}") {
        prop_assert!(!is_unary(&service, &method) && !is_repeatable(&service, &method));
    }
}
