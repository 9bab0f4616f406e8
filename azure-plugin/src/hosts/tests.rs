use proptest::prelude::*;

use super::table::{EMULATOR_PORTS, HOSTS, LABEL_TAILS, REGIONS};
use super::{AccountAt, At, HostRule, HostRuleError, Serves, is_reserved, rule_for};

fn serves<'a>(rules: &'a [HostRule], host: &str) -> Option<&'a Serves> {
    rule_for(rules, host, Some(443))
}

#[test]
fn the_table_is_in_lower_case_and_names_every_host_once() {
    let mut names: Vec<_> = HOSTS.iter().map(|rule| rule.at.name.as_ref()).collect();
    assert!(names.iter().all(|name| !name.bytes().any(|byte| byte.is_ascii_uppercase()) && name.contains('.')));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(REGIONS.iter().all(|region| region.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    assert!(LABEL_TAILS.iter().all(|tail| tail.starts_with('-')));
    assert_eq!(EMULATOR_PORTS.len(), 3);
}

#[test]
fn no_domain_of_the_table_hides_another() {
    for (at, rule) in HOSTS.iter().enumerate() {
        let host = if rule.at.is_domain() { format!("a{}", rule.at.name) } else { rule.at.name.to_string() };
        let first = HOSTS.iter().position(|rule| rule.at.matches(&host, None));
        assert_eq!(first, Some(at), "{host}");
    }
}

#[test]
fn a_domain_is_for_the_hosts_under_it_alone() {
    assert!(serves(&[], "acct.blob.core.windows.net").is_some());
    assert_eq!(serves(&[], "blob.core.windows.net"), None);
    assert_eq!(serves(&[], ".blob.core.windows.net"), None);
    assert_eq!(serves(&[], "evil-blob.core.windows.net"), None);
    assert_eq!(serves(&[], "acct.blob.core.windows.net.evil.example"), None);
    assert_eq!(serves(&[], "notgraph.microsoft.com"), None);
}

#[test]
fn the_users_rules_go_first_and_the_first_of_them_holds() {
    let rules = [
        HostRule::fixed_account("acct.blob.core.windows.net", "mine", "one").unwrap(),
        HostRule::account_in_label("*.blob.core.windows.net", "theirs").unwrap(),
    ];
    let service = |host| match serves(&rules, host) {
        Some(Serves::Service(service, _)) => service.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(service("acct.blob.core.windows.net"), "mine");
    assert_eq!(service("other.blob.core.windows.net"), "theirs");
    assert_eq!(service("other.queue.core.windows.net"), "storage.queue");
}

#[test]
fn a_rule_with_a_port_is_for_that_port_alone() {
    let rule = HostRule::account_in_path("127.0.0.1:10100", "storage.blob").unwrap();
    let rules = [rule];
    assert!(rule_for(&rules, "127.0.0.1", Some(10100)).is_some());
    assert_eq!(rule_for(&rules, "127.0.0.1", Some(10101)), None);
    assert_eq!(rule_for(&rules, "127.0.0.1", None), None);
    // A port that a URL leaves out is still that port.
    let rules = [HostRule::arm("arm.example.com:443").unwrap()];
    assert_eq!(rule_for(&rules, "arm.example.com", Some(443)), Some(&Serves::Arm));
    let rules = [HostRule::arm("arm.example.com").unwrap()];
    assert_eq!(rule_for(&rules, "arm.example.com", Some(8443)), Some(&Serves::Arm));
}

#[test]
fn a_host_is_kept_as_a_url_would_have_it() {
    let table = [
        ("Files.Example.COM", "files.example.com", None),
        ("files.example.com.", "files.example.com", None),
        ("*.Blob.example.com", ".blob.example.com", None),
        ("*.blob.example.com:8443", ".blob.example.com", Some(8443)),
        ("localhost:1", "localhost", Some(1)),
        ("[::1]:10000", "[::1]", Some(10000)),
        ("[0:0::1]", "[::1]", None),
        ("127.1", "127.0.0.1", None),
        ("bücher.example", "xn--bcher-kva.example", None),
        ("bücher.example:443", "xn--bcher-kva.example", Some(443)),
    ];
    for (text, name, port) in table {
        let at = At::parse(text).unwrap();
        assert_eq!((at.name.as_ref(), at.port), (name, port), "{text}");
    }
}

#[test]
fn what_is_no_host_is_refused() {
    use HostRuleError::{Host, Port};
    let table = [
        ("", Host),
        ("*.", Host),
        ("*", Host),
        (".example.com", Host),
        ("*.*.example.com", Host),
        ("a.*.example.com", Host),
        ("https://files.example.com", Host),
        ("files.example.com/", Host),
        ("files.example.com/a?sig=x", Host),
        ("user@files.example.com", Host),
        ("user:key@files.example.com", Host),
        ("files.example.com?x", Host),
        ("files.example.com#x", Host),
        ("files\\example.com", Host),
        ("files example.com", Host),
        ("files\texample.com", Host),
        ("files.exa%6Dple.com", Host),
        ("*.127.0.0.1", Host),
        ("*.[::1]", Host),
        ("::1", Host),
        ("[::1", Host),
        ("example.com:", Port),
        ("example.com:0", Port),
        ("example.com:65536", Port),
        ("example.com:http", Port),
        ("example.com:80:80", Host),
        ("example.com:443:80", Host),
        ("[::1]:443:80", Host),
    ];
    for (text, error) in table {
        assert_eq!(At::parse(text), Err(error), "{text:?}");
        assert_eq!(HostRule::arm(text), Err(error), "{text:?}");
        assert_eq!(HostRule::identity(text), Err(error), "{text:?}");
        assert_eq!(HostRule::account_in_path(text, "storage.blob"), Err(error), "{text:?}");
    }
}

#[test]
fn an_account_in_the_label_needs_a_domain() {
    assert_eq!(HostRule::account_in_label("blob.example.com", "storage.blob"), Err(HostRuleError::NotADomain));
}

#[test]
fn a_service_is_named_as_scopes_name_it() {
    for service in ["storage.blob", "keyvault", "my-api_2"] {
        assert!(HostRule::account_in_path("a.example", service).is_ok(), "{service}");
    }
    for service in ["", "*", "Storage.Blob", "a b", "a/b", "network:read", "é"] {
        assert_eq!(HostRule::account_in_path("a.example", service), Err(HostRuleError::Service), "{service}");
    }
    for service in ["identity", "imds"] {
        assert_eq!(HostRule::account_in_path("a.example", service), Err(HostRuleError::ReservedService), "{service}");
    }
}

#[test]
fn a_fixed_account_is_kept_as_given_unless_it_could_be_a_tenants() {
    let rule = HostRule::fixed_account("a.example", "storage.blob", "Contoso").unwrap();
    assert_eq!(rule.serves, Serves::Service("storage.blob".into(), AccountAt::Fixed("Contoso".into())));
    for account in ["", "*", "a\nb", "identity:contoso", "Identity:x"] {
        assert_eq!(
            HostRule::fixed_account("a.example", "storage.blob", account),
            Err(HostRuleError::Account),
            "{account}"
        );
    }
    assert!(!is_reserved("identity") && !is_reserved("é") && !is_reserved("identité:x"));
}

#[test]
fn an_error_tells_which_text_and_not_what_it_was() {
    let error = HostRule::arm("https://a.blob.core.windows.net/c?sig=s3cr3t").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cr3t"));
    let texts: std::collections::BTreeSet<String> = [
        HostRuleError::Host,
        HostRuleError::Port,
        HostRuleError::NotADomain,
        HostRuleError::Service,
        HostRuleError::ReservedService,
        HostRuleError::Account,
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(texts.len(), 6);
}

proptest! {
    #[test]
    fn any_text_is_a_host_or_an_error(text in any::<String>(), part in "[a-z.*:\\[\\]0-9%/@-]{0,20}") {
        for text in [text, part] {
            if let Ok(at) = At::parse(&text) {
                let host = if at.is_domain() { format!("a{}", at.name) } else { at.name.to_string() };
                prop_assert!(at.matches(&host, at.port));
                // What a rule holds is what a URL has.
                let url = azure_core::http::Url::parse(&format!("https://{host}/")).unwrap();
                prop_assert_eq!(url.host_str(), Some(host.as_str()));
            }
        }
    }
}
