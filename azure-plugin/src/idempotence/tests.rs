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
fn messages_are_read_again_and_put_once() {
    let queue = |method, rest| check("storage.queue", method, rest, &[]);
    // Those that an answer lost come back after their visibility timeout.
    assert!(queue(Method::Get, "jobs/messages?numofmessages=32&visibilitytimeout=30"));
    assert!(queue(Method::Get, "jobs/messages?peekonly=true"));
    assert!(queue(Method::Get, "jobs?comp=metadata"));
    assert!(queue(Method::Delete, "jobs/messages/id?popreceipt=x"));
    assert!(queue(Method::Put, "jobs/messages/id?popreceipt=x&visibilitytimeout=30"));
    assert!(!queue(Method::Post, "jobs/messages?visibilitytimeout=30"));
}

#[test]
fn some_of_storages_posts_store_nothing() {
    assert!(check("storage.blob", Method::Post, "?restype=service&comp=userdelegationkey", &[]));
    assert!(check("storage.blob", Method::Post, "c/b?comp=query", &[]));
    assert!(!check("storage.blob", Method::Post, "?comp=batch", &[]));
}
