use proptest::prelude::*;

use super::*;

fn call<'a>(method: &str, path: &'a str) -> Option<StorageCall<'a>> {
    StorageCall::of(&Method::from_bytes(method.as_bytes()).unwrap(), path)
}

fn named(method: &str, path: &str) -> Option<&'static str> {
    call(method, path).and_then(|call| call.operation())
}

fn repeatable(method: &str, path: &str, query: &str) -> Option<bool> {
    call(method, path)?.is_repeatable(Some(query))
}

#[test]
fn operations_are_called_as_the_discovery_document_calls_them() {
    for (method, path, operation) in [
        ("GET", "/storage/v1/b", "buckets/list"),
        ("GET", "/storage/v1/b/my-bucket", "buckets/get"),
        ("GET", "/storage/v1/b/b1/o", "objects/list"),
        ("GET", "/storage/v1/b/b1/o/a%2Fb%20c", "objects/get"),
        ("GET", "/download/storage/v1/b/b1/o/x", "objects/get"),
        ("POST", "/upload/storage/v1/b/b1/o", "objects/insert"),
        ("PUT", "/upload/storage/v1/b/b1/o", "objects/insert"),
        ("DELETE", "/storage/v1/b/b1/o/x", "objects/delete"),
        ("POST", "/storage/v1/b/b1/o/x/rewriteTo/b/b2/o/y", "objects/rewrite"),
        ("POST", "/storage/v1/b/b1/o/x/copyTo/b/b2/o/y", "objects/copy"),
        ("PATCH", "/storage/v1/b/b1/o/x/acl/allUsers", "objectAccessControls/patch"),
        ("GET", "/storage/v1/b/b1/iam/testPermissions", "buckets/testIamPermissions"),
        ("POST", "/storage/v1/projects/p1/hmacKeys", "hmacKeys/create"),
        // Names that look like something else.
        ("GET", "/storage/v1/b/o/o/o", "objects/get"),
        ("GET", "/storage/v1/b/iam/iam", "buckets/getIamPolicy"),
        ("POST", "/storage/v1/b/b1/o/watch", "objects/watchAll"),
    ] {
        assert_eq!(named(method, path), Some(operation), "{method} {path}");
    }
}

#[test]
fn what_is_no_operation_has_no_name() {
    for (method, path) in [
        ("GET", "/storage/v1/b//o/x"),
        ("GET", "/storage/v1/b/b1/o/"),
        ("GET", "/storage/v1/b/b1/o/x/y/z/w/v/u/t"),
        ("TRACE", "/storage/v1/b"),
        ("GET", "/storage/v1/"),
    ] {
        assert!(call(method, path).is_some(), "{path}");
        assert_eq!(named(method, path), None, "{method} {path}");
    }
    for path in ["/storage/v2/b", "/b/b1", "/my-bucket/my-object", "/", "", "/compute/v1/projects/p"] {
        assert!(call("GET", path).is_none(), "{path}");
    }
}

#[test]
fn what_may_be_executed_twice_depends_on_preconditions() {
    let object = "/storage/v1/b/b1/o/x";
    for (method, path, query, expected) in [
        ("GET", object, "", true),
        ("DELETE", object, "", false),
        ("DELETE", object, "generation=7", true),
        ("DELETE", object, "x=1&ifGenerationMatch=7", true),
        ("DELETE", object, "ifGenerationMatch=", false),
        ("DELETE", object, "ifGenerationMatch", false),
        ("DELETE", object, "ifMetagenerationMatch=7", false),
        ("PATCH", object, "", false),
        ("PATCH", object, "ifMetagenerationMatch=7", true),
        ("POST", "/upload/storage/v1/b/b1/o", "uploadType=media&name=x", false),
        ("POST", "/upload/storage/v1/b/b1/o", "uploadType=media&name=x&ifGenerationMatch=0", true),
        ("PUT", "/upload/storage/v1/b/b1/o", "uploadType=resumable&upload_id=abc", true),
        ("DELETE", "/storage/v1/b/b1", "", true),
        ("POST", "/storage/v1/b", "project=p", true),
        ("POST", "/storage/v1/b/b1/notificationConfigs", "", false),
        ("DELETE", "/storage/v1/b/b1/acl/allUsers", "", false),
        ("PUT", "/storage/v1/b/b1/iam", "", false),
    ] {
        assert_eq!(repeatable(method, path, query), Some(expected), "{method} {path}?{query}");
    }
    assert_eq!(repeatable("GET", "/storage/v1/b//o", ""), None);
}

#[test]
fn no_operation_is_listed_twice_and_each_is_found_by_its_own_path() {
    for (method, pattern, operation, _) in OPERATIONS {
        let path = format!("/storage/v1/{}", pattern.replace('*', "name"));
        assert_eq!(named(method, &path), Some(*operation), "{method} {path}");
    }
}

proptest! {
    #[test]
    fn any_path_is_read_without_a_panic(path in "(/upload)?/storage/v1/(b/)?[ -~é]{0,40}", query in "[ -~é]{0,30}") {
        for method in ["GET", "PUT", "POST", "DELETE"] {
            repeatable(method, &path, &query);
        }
    }
}
