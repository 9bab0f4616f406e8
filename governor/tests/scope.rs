//! The text form of a scope.

use cloud_governor::{Scope, UnknownVerb, Verb};
use proptest::prelude::*;
use std::collections::HashSet;

#[test]
fn accounts_of_google_keep_their_slash_and_other_slashes_are_encoded() {
    for (account, text) in [
        ("projects/my-project", "gcp/projects/my-project/*/cloudasset/ListAssets"),
        ("organizations/123", "gcp/organizations/123/*/cloudasset/ListAssets"),
        ("folders/9", "gcp/folders/9/*/cloudasset/ListAssets"),
        ("a/b", "gcp/a%2Fb/*/cloudasset/ListAssets"),
        ("projects", "gcp/%70rojects/*/cloudasset/ListAssets"),
        ("projects/a/b", "gcp/projects/a%2Fb/*/cloudasset/ListAssets"),
        ("", "gcp/*/*/cloudasset/ListAssets"),
    ] {
        let scope = Scope::new("gcp", account, "", "cloudasset").with_operation("ListAssets");
        assert_eq!(scope.to_string(), text);
        assert_eq!(text.parse::<Scope>().unwrap(), scope);
    }
}

#[test]
fn a_missing_part_is_a_star_and_a_missing_operation_is_left_off() {
    let scope = Scope::new("AWS", "", "*", "ec2").with_operation("*");
    assert_eq!(scope.to_string(), "aws/*/*/ec2");
    assert_eq!((scope.account(), scope.region(), scope.operation()), ("*", "*", None));
    assert_eq!(scope.with_operation("DescribeVpcs").service_scope(), scope);
    assert_eq!(scope.account_scope().to_string(), "aws/*/*/*");
}

#[test]
fn a_text_that_is_no_scope_is_refused_with_the_reason() {
    for (text, why) in [
        ("", "fewer than four"),
        ("aws", "fewer than four"),
        ("aws/1/2", "fewer than four"),
        ("gcp/projects/x/r", "fewer than four"),
        ("aws/1/2/3/4/5", "more than five"),
        ("aws//eu/ec2", "empty"),
        ("aws/1/eu/ec2/", "empty"),
        ("aws/%FF/eu/ec2", "UTF-8"),
    ] {
        let error = text.parse::<Scope>().unwrap_err().to_string();
        assert!(error.contains(why), "{text:?}: {error}");
    }
}

#[test]
fn a_verb_stands_behind_the_service_and_belongs_to_the_leaf() {
    let service = Scope::new("azure", "sub", "", "network");
    let reads = service.with_verb(Verb::Read);
    assert_eq!(reads.to_string(), "azure/sub/*/network:read");
    let list = reads.with_operation("VirtualNetworks.listAll");
    assert_eq!(list.to_string(), "azure/sub/*/network:read/VirtualNetworks.listAll");
    assert_eq!(list.to_string().parse::<Scope>().unwrap(), list);
    assert_eq!(
        (list.service(), list.verb(), list.operation()),
        ("network", Some(Verb::Read), Some("VirtualNetworks.listAll"))
    );
    assert_eq!((list.service_scope(), list.account_scope().verb()), (reads.clone(), None));
    assert_eq!(list.with_verb(None), service.with_operation("VirtualNetworks.listAll"));
    assert_eq!(serde_json::to_string(&reads).unwrap(), "\"azure/sub/*/network:read\"");
    assert_eq!(Scope::new("azure", "sub", "", "").with_verb(Verb::Delete).to_string(), "azure/sub/*/*:delete");
}

#[test]
fn scopes_that_differ_in_the_verb_are_different_and_ordered() {
    let service = Scope::new("azure", "sub", "", "network");
    let by_verb = [None, Some(Verb::Read), Some(Verb::Write), Some(Verb::Delete)].map(|verb| service.with_verb(verb));
    assert!(by_verb.is_sorted() && by_verb.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(HashSet::from(by_verb.clone()).len(), 4);
    assert!(by_verb[3].with_operation("A") < Scope::new("azure", "sub", "", "storage"));
}

#[test]
fn a_services_own_colon_is_encoded_only_where_it_would_read_as_a_verbs() {
    for (service, verb, text) in [
        ("localhost:8080", None, "x/a/*/localhost:8080"),
        ("a:reads", None, "x/a/*/a:reads"),
        ("a:Read", None, "x/a/*/a:Read"),
        ("a:read:b", None, "x/a/*/a:read:b"),
        (":read", None, "x/a/*/:read"),
        ("a:read", None, "x/a/*/a%3Aread"),
        ("a:read", Some(Verb::Write), "x/a/*/a%3Aread:write"),
        ("*:delete", None, "x/a/*/%2A%3Adelete"),
        ("a%3Aread", None, "x/a/*/a%253Aread"),
    ] {
        let scope = Scope::new("x", "a", "", service).with_verb(verb);
        assert_eq!(scope.to_string(), text);
        assert_eq!(text.parse::<Scope>().unwrap(), scope, "{text}");
    }
    assert_eq!("read/write:delete/*/a".parse::<Scope>().unwrap().verb(), None, "other parts have no verb");
}

#[test]
fn a_verb_is_its_code() {
    for verb in [Verb::Read, Verb::Write, Verb::Delete] {
        assert_eq!((verb.code().parse(), verb.to_string()), (Ok(verb), verb.code().to_owned()));
        assert_eq!(serde_json::to_value(verb).unwrap(), verb.code());
    }
    for text in ["", "Read", "list", " read"] {
        assert_eq!(text.parse::<Verb>(), Err(UnknownVerb), "{text:?}");
    }
}

fn verb() -> impl Strategy<Value = Option<Verb>> {
    prop::sample::select(vec![None, Some(Verb::Read), Some(Verb::Write), Some(Verb::Delete)])
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9._-]{0,12}",
        any::<String>(),
        Just("*".to_owned()),
        Just("projects".to_owned()),
        "(projects|organizations|folders|other)/[a-z/%* ]{0,8}",
        "[a-z%*]{0,3}(:(read|write|delete|Read|8080)){1,3}",
    ]
}

proptest! {
    #[test]
    fn every_scope_survives_its_text(
        provider in part(), account in part(), region in part(), service in part(), operation in part(),
        verb in verb(),
    ) {
        let scope = Scope::new(&provider, &account, &region, &service).with_verb(verb).with_operation(&operation);
        let text = scope.to_string();
        let parsed = text.parse::<Scope>().unwrap();
        prop_assert_eq!((parsed.service(), parsed.verb()), (scope.service(), verb), "{}", text);
        prop_assert_eq!(parsed, scope, "{}", text);
    }

    #[test]
    fn a_service_without_a_verbs_name_at_its_end_is_written_as_it_was_before_there_were_verbs(
        service in "[a-zA-Z0-9:._-]{1,20}(:(reads|list|Write|80))?",
    ) {
        let plain = ![":read", ":write", ":delete"].iter().any(|end| service.ends_with(end));
        prop_assume!(plain);
        let text = format!("x/a/r/{service}/Op");
        let scope = text.parse::<Scope>().unwrap();
        prop_assert_eq!((scope.service(), scope.verb(), scope.to_string()), (&*service, None, text));
    }

    #[test]
    fn no_text_makes_parsing_panic_and_what_parses_survives(text in any::<String>(), parts in "([a-z/%*0-9A-F]|:read|:write){0,30}") {
        for text in [text, parts] {
            if let Ok(scope) = text.parse::<Scope>() {
                prop_assert_eq!(scope.to_string().parse::<Scope>().unwrap(), scope);
            }
        }
    }
}
