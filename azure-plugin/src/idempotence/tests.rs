use azure_core::http::headers::Headers;
use azure_core::http::{Method, Url};

use super::is_idempotent;

fn check(service: &str, method: Method, rest: &str, headers: &[(&'static str, &'static str)]) -> bool {
    let url = Url::parse(&format!("https://acct.example.net/{rest}")).unwrap();
    let mut all = Headers::new();
    for (name, value) in headers {
        all.insert(*name, *value);
    }
    is_idempotent(service, &url, method, &all)
}

#[test]
fn the_method_tells_where_nothing_else_does() {
    for service in ["storage.blob", "storage.queue", "keyvault", "unknown"] {
        for method in [Method::Get, Method::Head, Method::Put, Method::Delete] {
            assert!(check(service, method, "things/one", &[]), "{service} {method}");
        }
        for method in [Method::Post, Method::Patch] {
            assert!(!check(service, method, "things/one", &[]), "{service} {method}");
        }
    }
}

#[test]
fn an_append_is_safe_only_at_a_given_place() {
    let append = |headers: &[_]| check("storage.blob", Method::Put, "c/b?comp=appendblock", headers);
    assert!(!append(&[]));
    assert!(append(&[("x-ms-blob-condition-appendpos", "512")]));
    assert!(append(&[("if-match", "\"0x8D\"")]));
    assert!(!append(&[("if-match", "*")]));
    assert!(!append(&[("x-ms-blob-condition-maxsize", "4096")]));
    assert!(!check("storage.blob", Method::Put, "c/b?Timeout=3&COMP=AppendBlock", &[]));
    // Only storage knows the word.
    assert!(check("keyvault", Method::Put, "c/b?comp=appendblock", &[]));
}

#[test]
fn what_makes_another_one_each_time_is_not_sent_twice() {
    assert!(!check("storage.blob", Method::Put, "c/b?comp=snapshot", &[]));
    assert!(!check("storage.file", Method::Put, "share?restype=share&comp=snapshot", &[]));
    let properties =
        |value| check("storage.blob", Method::Put, "c/b?comp=properties", &[("x-ms-sequence-number-action", value)]);
    assert!(!properties("increment"));
    assert!(!properties("Increment"));
    assert!(properties("max"));
    assert!(check("storage.blob", Method::Put, "c/b?comp=properties", &[]));
    assert!(check("storage.blob", Method::Put, "c/b?comp=block&blockid=AA", &[]));
}

#[test]
fn receiving_messages_changes_the_queue_and_peeking_does_not() {
    let get = |rest| check("storage.queue", Method::Get, rest, &[]);
    assert!(!get("jobs/messages?numofmessages=32&visibilitytimeout=30"));
    assert!(!get("devstoreaccount1/jobs/Messages/"));
    assert!(!get("jobs/messages?peekonly=false"));
    assert!(get("jobs/messages?peekonly=true"));
    assert!(get("jobs?comp=metadata"));
    assert!(check("storage.blob", Method::Get, "container/messages", &[]));
    assert!(check("storage.queue", Method::Delete, "jobs/messages/id?popreceipt=x", &[]));
}

#[test]
fn some_of_storages_posts_store_nothing() {
    assert!(check("storage.blob", Method::Post, "?restype=service&comp=userdelegationkey", &[]));
    assert!(check("storage.blob", Method::Post, "c/b?comp=query", &[]));
    assert!(!check("storage.blob", Method::Post, "?comp=batch", &[]));
}
