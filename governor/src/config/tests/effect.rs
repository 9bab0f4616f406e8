//! What would have no effect is refused, and what has one is not.

use super::*;
use crate::catalogue;

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

#[test]
fn a_shared_bucket_that_is_neither_published_nor_given_a_rate_is_refused_by_its_key() {
    for (text, path) in [
        (
            "aws: { services: { ec2: { shared: { run-instance: { enabled: false } } } } }",
            "aws.services.ec2.shared.run-instance",
        ),
        ("aws: { services: { ec2: { shared: { parameter-reads: {} } } } }", "aws.services.ec2.shared.parameter-reads"),
        ("aws: { shared: { run-instances: { enabled: false } } }", "aws.shared.run-instances"),
        (
            "azure: { services: { network: { shared: { subscription-reads: {} } } } }",
            "azure.services.network.shared.subscription-reads",
        ),
        ("aws: { shared: { subscription-reads: { enabled: false } } }", "aws.shared.subscription-reads"),
        ("x: { shared: { a: { burst: 5, per: account, operations: [List] } } }", "x.shared.a"),
        ("defaults: { shared: { a: {} } }, x: { max_rps: 3 }", "defaults.shared.a"),
        (
            "defaults: { shared: { a: {} } }, x: { services: { b: { shared: { a: { max_rps: 1 } } } } }",
            "defaults.shared.a",
        ),
        ("defaults: { shared: { a: { max_rps: 1 } } }, x: { shared: { b: {} } }", "x.shared.b"),
    ] {
        let error = yaml(&format!("ratelimit: {{ {text} }}")).unwrap_err();
        assert_eq!(places(&error), [(format!("ratelimit.{path}").as_str(), Some(1))], "{text}");
        assert!(error.to_string().contains("unknown shared bucket `"), "{error}");
    }
    let message = |text: &str| yaml(&format!("ratelimit: {{ {text} }}")).unwrap_err().to_string();
    let wrong = message("aws: { services: { ec2: { shared: { run-instance: {} } } } }");
    assert!(wrong.contains("published here: ") && wrong.contains("run-instances"), "{wrong}");
    let wrong = message("aws: { shared: { run-instances: {} } }");
    assert!(wrong.contains("it is published for ec2"), "{wrong}");
    let wrong = message("azure: { services: { network: { shared: { subscription-reads: {} } } } }");
    assert!(wrong.contains("published for all services"), "{wrong}");

    let error = Config::builder().provider("x", |x| x.shared("a", |a| a.enabled(false))).build().unwrap_err();
    assert_eq!(
        (error.problems()[0].path(), error.problems()[0].origin()),
        ("ratelimit.x.shared.a", &ConfigOrigin::Code)
    );
    let variable = "CLOUD_GOVERNOR__X__SHARED__A__ENABLED";
    let error = Config::builder()
        .yaml("ratelimit: { x: { shared: { b: { max_rps: 1 } } } }", "test.yaml")
        .variables([(variable, "false")])
        .build()
        .unwrap_err();
    assert!(error.to_string().contains(variable), "{error}");
}

#[test]
fn a_shared_bucket_whose_rate_another_layer_sets_or_that_is_published_is_not_refused() {
    for text in [
        "aws: { services: { EC2: { shared: { run-instances: {} } } } }",
        "aws: { published: false, services: { ec2: { shared: { run-instances: { enabled: false, burst: 3 } } } } }",
        "azure: { shared: { subscription-reads: { burst: 3 } } }",
        "x: { shared: { a: { max_rps: none } } }",
        "defaults: { shared: { subscription-reads: { enabled: false } } }",
        "defaults: { shared: { a: { per: account } } }, x: { shared: { a: { max_rps: 3 } } }",
        "defaults: { shared: { a: { max_rps: 3 } } }, x: { shared: { a: { per: account } } }",
    ] {
        assert!(yaml(&format!("ratelimit: {{ {text} }}")).is_ok(), "{text}");
    }
    let config = Config::builder()
        .variables([("CLOUD_GOVERNOR__X__SHARED__A__BURST", "7")])
        .yaml("ratelimit: { x: { shared: { a: { max_rps: 3 } } } }", "test.yaml")
        .build()
        .unwrap();
    assert_eq!(config.provider("x").shared_for(&of("s", None))[0].limits, Limits::new(3.0, 7.0, 0.05).unwrap());
}

#[test]
fn a_burst_of_a_published_bucket_that_counts_by_the_minute_is_refused() {
    let of = |text| {
        format!("ratelimit: {{ gcp: {{ services: {{ cloudasset: {{ shared: {{ feeds: {{ {text} }} }} }} }} }} }}")
    };
    let error = yaml(&of("burst: 5")).unwrap_err();
    assert_eq!(places(&error), [("ratelimit.gcp.services.cloudasset.shared.feeds.burst", Some(1))]);
    assert!(yaml(&of("burst: 5, max_rps: 3")).is_ok() && yaml(&of("enabled: false")).is_ok());
}

#[test]
fn an_empty_list_of_operations_or_verbs_is_refused_and_a_star_names_all() {
    for key in ["operations", "verbs"] {
        let text =
            format!("ratelimit: {{ x: {{ services: {{ s: {{ shared: {{ a: {{ max_rps: 1, {key}: [] }} }} }} }} }} }}");
        let error = yaml(&text).unwrap_err();
        assert_eq!(places(&error), [(format!("ratelimit.x.services.s.shared.a.{key}").as_str(), Some(1))]);
        assert!(error.to_string().contains("leave it out for all"), "{error}");
    }
    let none: [&str; 0] = [];
    let set = Config::builder().provider("x", |x| x.shared("a", |a| a.max_rps(1.0).operations(none).verbs([])));
    let error = set.build().unwrap_err();
    assert_eq!(places(&error), [("ratelimit.x.shared.a.operations", None), ("ratelimit.x.shared.a.verbs", None)]);

    let list = Scope::new("aws", "1", "eu-west-1", "ec2").with_operation("DescribeTags");
    let shared = |operations: &str| {
        let text = format!("{{ run-instances: {{ operations: {operations}, burst: 3 }} }}");
        let aws = yaml(&format!("ratelimit: {{ aws: {{ services: {{ ec2: {{ shared: {text} }} }} }} }}")).unwrap();
        aws.provider("aws").shared_for(&list).len()
    };
    assert_eq!((shared("['*']"), shared("[RunInstances]")), (1, 0));
}

/// What is said of this list of operations, in a bucket of the service or of the provider.
fn operations(provider: &str, service: Option<&str>, operations: &str) -> Option<String> {
    let shared = format!("shared: {{ x: {{ max_rps: 1, operations: {operations} }} }}");
    let set = match service {
        Some(service) => format!("services: {{ {service}: {{ {shared} }} }}"),
        None => format!("services: {{ rest: {{}}, rest.v3: {{}}, graph:read: {{}}, wiki.Read: {{}} }}, {shared}"),
    };
    let error = yaml(&format!("ratelimit: {{ {provider}: {{ {set} }} }}")).err()?;
    let of = service.map(|service| format!("services.{service}.")).unwrap_or_default();
    let place = format!("ratelimit.{provider}.{of}shared.x.operations");
    assert_eq!(places(&error), [(place.as_str(), Some(1))], "{error}");
    Some(error.to_string())
}

#[test]
fn an_operation_of_a_bucket_in_common_that_is_named_with_its_service_is_refused() {
    for (provider, service, list, says) in [
        ("github", Some("rest"), "[SearchCode, rest.SearchCode]", "write `SearchCode`"),
        ("github", Some("rest"), "[REST.Search*]", "write `Search*`"),
        ("github", Some("rest"), "[rest.*]", "write `*`"),
        ("github", Some("rest"), "['rest:SearchCode']", "write `SearchCode`"),
        ("github", Some("rest"), "[rest/SearchCode]", "write `SearchCode`"),
        ("github", Some("rest"), "['rest:write']", "write `verbs: [write]`"),
        ("github", Some("rest.v3"), "[rest.v3.SearchCode]", "write `SearchCode`"),
        ("defaults", Some("rest"), "[rest.SearchCode]", "write `SearchCode`"),
        ("azure", Some("compute"), "[Compute.VirtualMachines.list]", "write `VirtualMachines.list`"),
        ("github", None, "[rest.SearchCode]", "write `SearchCode`"),
        ("github", None, "[graph.Query]", "write `Query`"),
        ("github", None, "[rest.v3.Search]", "write `Search`"),
        ("github", None, "[wiki.List*]", "write `List*`"),
        ("github", None, "['graph:write']", "write `verbs: [write]`"),
        ("aws", None, "[ec2.RunInstances]", "write `RunInstances`"),
        ("aws", None, "['ec2:Describe*']", "write `Describe*`"),
        ("aws", None, "[ec2]", "`ec2` is a service"),
    ] {
        let error = operations(provider, service, list).unwrap_or_else(|| panic!("accepted: {list}"));
        assert!(error.contains(says), "{list}: {error}");
    }
    let error = operations("github", None, "[rest.SearchCode]").unwrap();
    assert!(error.contains("or set the bucket under `services.rest.shared`"), "{error}");
    let error = operations("x", Some("a"), "[a.One, a.Two]").unwrap();
    assert!(error.contains("`a.One`") && error.contains("`a.Two`"), "{error}");
}

#[test]
fn an_operation_of_a_bucket_in_common_that_may_count_a_call_is_not_refused() {
    for (provider, service, list) in [
        ("github", Some("rest"), "[SearchCode, Rest*, restore.Do, '*.rest', other.SearchCode, rest]"),
        ("github", None, "[SearchCode, other.SearchCode, rest]"),
        ("gcp", Some("compute"), "[instances.list, '*.get', globalOperations.get]"),
        ("gcp", None, "[buckets.insert, instances.list, '*.list']"),
        ("azure", Some("network"), "['GET dnszones*', RecordSets.*]"),
        ("azure", None, "[VirtualMachines.list, GET, setSecret]"),
        ("aws", Some("ec2"), "[BrandNew, RunInstances, '*Instances', Describe*, D*]"),
        ("aws", Some("brand-new"), "[runInstances]"),
    ] {
        assert_eq!(operations(provider, service, list), None, "{provider}: {list}");
    }
    for limit in catalogue::published() {
        let list: Vec<String> = limit.operations.iter().map(|operation| format!("'{operation}'")).collect();
        if !list.is_empty() {
            let list = format!("[{}]", list.join(", "));
            assert_eq!(operations(limit.provider, Some(limit.service), &list), None);
            assert_eq!(operations(limit.provider, None, &list), None);
        }
    }
}

#[test]
fn an_operation_of_a_bucket_in_common_that_differs_from_a_published_one_in_case_alone_is_refused() {
    for (provider, service, list, meant) in [
        ("aws", Some("ec2"), "[runInstances]", "RunInstances"),
        ("aws", Some("EC2"), "[describe*]", "Describe*"),
        ("aws", None, "[runInstances]", "RunInstances"),
        ("azure", Some("keyvault"), "[SetSecret]", "setSecret"),
    ] {
        let error = operations(provider, service, list).unwrap_or_else(|| panic!("accepted: {list}"));
        assert!(error.contains(&format!("did you mean `{meant}`?")), "{error}");
    }
}

#[test]
fn an_operation_that_differs_from_a_published_one_in_case_alone_is_refused() {
    for (provider, key, meant) in [
        ("aws", "ec2.runInstances", "ec2.RunInstances"),
        ("aws", "ec2.runinstances", "ec2.RunInstances"),
        ("aws", "EC2.RUNINSTANCES", "EC2.RunInstances"),
        ("AWS", "ec2.runInstances", "ec2.RunInstances"),
        ("aws", "ec2.describeSomethingNew", "ec2.DescribeSomethingNew"),
        ("aws", "ec2.describe*", "ec2.Describe*"),
        ("aws", "ec2.runInstances*", "ec2.RunInstances*"),
        ("azure", "keyvault.SetSecret", "keyvault.setSecret"),
        ("azure", "compute.virtualMachines.listAll", "compute.VirtualMachines.listAll"),
        ("azure", "compute.VirtualMachines.ListAll", "compute.VirtualMachines.listAll"),
        ("gcp", "compute.GlobalOperations.get", "compute.globalOperations.get"),
        ("gcp", "cloudasset.listassets", "cloudasset.ListAssets"),
    ] {
        let error = yaml(&format!("ratelimit: {{ {provider}: {{ services: {{ {key}: {{ max_rps: 1 }} }} }} }}"));
        let error = error.unwrap_err();
        assert_eq!(places(&error), [(format!("ratelimit.{provider}.services.{key}").as_str(), Some(1))]);
        assert!(error.to_string().contains(&format!("did you mean `{meant}`?")), "{error}");
    }
    let error =
        Config::builder().provider("aws", |aws| aws.service("ec2.runInstances", |run| run.max_rps(1.0))).build();
    assert!(error.unwrap_err().to_string().contains("did you mean `ec2.RunInstances`?"));
}

#[test]
fn an_operation_that_no_published_one_is_like_is_not_refused() {
    for (provider, key) in [
        ("aws", "EC2"),
        ("aws", "EC2.RunInstances"),
        ("aws", "ec2.BrandNew"),
        ("aws", "ec2.brandNew"),
        ("aws", "ec2.D*"),
        ("aws", "brand-new.runInstances"),
        ("github", "ec2.runInstances"),
        ("defaults", "ec2.runInstances"),
        ("azure", "storage.blob"),
        ("azure", "keyvault.GET*"),
        ("gcp", "storage.c*"),
        ("gcp", "compute.instances.LIST"),
        ("gcp", "compute.globalOperations.get"),
    ] {
        let read = yaml(&format!("ratelimit: {{ {provider}: {{ services: {{ {key}: {{ max_rps: 1 }} }} }} }}"));
        assert!(read.is_ok(), "{key}: {read:?}");
    }
    for limit in catalogue::published() {
        for operation in limit.operations.iter().filter(|operation| !operation.starts_with('*')) {
            let (provider, service) = (limit.provider, limit.service);
            let text =
                format!("ratelimit: {{ {provider}: {{ services: {{ '{service}.{operation}': {{ max_rps: 1 }} }} }} }}");
            assert!(service == "*" || yaml(&text).is_ok(), "{text}");
        }
    }
}

#[test]
fn a_published_operation_without_capitals_takes_what_operations_do() {
    for key in ["per_operation: true", "shared: { x: { max_rps: 1 } }"] {
        let text = format!("ratelimit: {{ gcp: {{ services: {{ compute.globalOperations.get: {{ {key} }} }} }} }}");
        let error = yaml(&text).unwrap_err().to_string();
        assert!(error.contains("write `ratelimit.gcp.services.compute."), "{error}");
    }
}

#[test]
fn operations_of_two_layers_that_differ_in_case_alone_are_refused_as_one_would_hide_the_other() {
    let file = Config::builder().yaml("ratelimit: { x: { services: { a.List: { max_rps: 1 } } } }", "test.yaml");
    let variable = "CLOUD_GOVERNOR__X__SERVICES__A.LIST__MAX_RPS";
    let error = file.clone().variables([(variable, "2")]).build().unwrap_err();
    assert_eq!(error.problems().len(), 1, "{error}");
    let text = error.to_string();
    assert!(text.contains(variable) && text.contains("hides `a.List` (test.yaml, line 1)"), "{text}");
    let third =
        file.clone().variables([(variable, "2")]).provider("x", |x| x.service("a.List", |list| list.burst(7.0)));
    let error = third.build().unwrap_err();
    assert!(error.problems().len() == 1 && error.to_string().contains("hides `A.LIST`"), "{error}");
    let one = file.provider("x", |x| x.service("A.List", |list| list.burst(7.0))).build().unwrap().provider("x");
    assert_eq!(one.limits_for(&of("a", Some("List"))), Limits::new(1.0, 7.0, 0.05).unwrap());
}
