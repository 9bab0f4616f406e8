//! What would have no effect is refused, and what has one is not.

use super::*;

#[test]
fn a_burst_where_a_count_per_minute_holds_is_refused_where_it_was_set() {
    for (text, path) in [
        ("x: { per_minute: 60, services: { a: { burst: 5 } } }", "x.services.a"),
        ("x: { per_minute: 60, services: { a.b.List: { burst: 5 } } }", "x.services.a.b.List"),
        ("x: { per_minute: 60, services: { 'a:write': { burst: 5 } } }", "x.services.a:write"),
        ("x: { services: { a: { per_minute: 60 }, a.List: { burst: 5 } } }", "x.services.a.List"),
        ("x: { services: { a.List*: { per_minute: 60 }, a.ListAll: { burst: 5 } } }", "x.services.a.ListAll"),
        ("x: { services: { A: { per_minute: 60 }, a.*: { burst: 5 } } }", "x.services.a.*"),
        ("defaults: { per_minute: 60 }, x: { services: { a: { burst: 5 } } }", "x.services.a"),
        ("defaults: { per_minute: 60, services: { a: { burst: 5 } } }, x: {}", "defaults.services.a"),
        ("gcp: { services: { cloudasset.ListAssets: { burst: 5 } } }", "gcp.services.cloudasset.ListAssets"),
        ("gcp: { services: { CloudAsset.ListAssets: { burst: 5 } } }", "gcp.services.CloudAsset.ListAssets"),
    ] {
        let error = yaml(&format!("ratelimit: {{ {text} }}")).unwrap_err();
        assert_eq!(places(&error), [(format!("ratelimit.{path}.burst").as_str(), Some(1))], "{text}");
        assert!(error.to_string().contains("per_minute"), "{error}");
    }
    let error = Config::builder()
        .yaml("ratelimit: { x: { per_minute: 60 } }", "test.yaml")
        .variables([("CLOUD_GOVERNOR__X__SERVICES__A__BURST", "5")])
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("CLOUD_GOVERNOR__X__SERVICES__A__BURST"), "{error}");
    let error = Config::builder()
        .yaml("ratelimit: { x: { per_minute: 60 } }", "test.yaml")
        .variables([("CLOUD_GOVERNOR__X__BURST", "5")])
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("CLOUD_GOVERNOR__X__BURST"), "{error}");
}

#[test]
fn a_burst_that_some_call_has_is_not_refused() {
    for text in [
        "x: { services: { a: { burst: 5 } } }",
        "x: { per_minute: 60, services: { a: { max_rps: 1, burst: 5 } } }",
        "x: { per_minute: 60, services: { a: { max_rps: 1 }, a.List: { burst: 5 } } }",
        "x: { per_minute: 60, services: { a: { max_rps: none }, 'a:write': { burst: 5 } } }",
        "x: { per_minute: 60, services: { 'a:write': { max_rps: 1 }, a.Put: { burst: 5 } } }",
        "x: { per_minute: 60, services: { a: { burst: none } } }",
        "x: { services: { a.List: { per_minute: 60 }, a: { burst: 5 } } }",
        "defaults: { per_minute: 60 }, x: { max_rps: 1, services: { a: { burst: 5 } } }",
        "defaults: { services: { cloudasset.ListAssets: { burst: 5 } } }",
        "aws: { services: { ec2: { burst: 5 }, ec2.DescribeVpcs: { burst: 5 } } }",
        "gcp: { published: false, services: { cloudasset.ListAssets: { burst: 5 } } }",
        "gcp: { services: { cloudasset: { burst: 5 } } }",
        "x: { services: { a.L*: { burst: 5 }, a.LA*: { per_minute: 60 } } }",
    ] {
        assert!(yaml(&format!("ratelimit: {{ {text} }}")).is_ok(), "{text}");
    }
}
