//! The text form of a scope.

use cloud_governor::Scope;
use proptest::prelude::*;

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

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9._-]{0,12}",
        any::<String>(),
        Just("*".to_owned()),
        Just("projects".to_owned()),
        "(projects|organizations|folders|other)/[a-z/%* ]{0,8}",
    ]
}

proptest! {
    #[test]
    fn every_scope_survives_its_text(
        provider in part(), account in part(), region in part(), service in part(), operation in part(),
    ) {
        let scope = Scope::new(&provider, &account, &region, &service).with_operation(&operation);
        let text = scope.to_string();
        prop_assert_eq!(text.parse::<Scope>().unwrap(), scope, "{}", text);
    }

    #[test]
    fn no_text_makes_parsing_panic_and_what_parses_survives(text in any::<String>(), parts in "[a-z/%*0-9A-F]{0,30}") {
        for text in [text, parts] {
            if let Ok(scope) = text.parse::<Scope>() {
                prop_assert_eq!(scope.to_string().parse::<Scope>().unwrap(), scope);
            }
        }
    }
}
