use super::*;

fn limits(max_rps: f64, burst: f64, floor_rps: f64) -> Limits {
    Limits::new(max_rps, burst, floor_rps).unwrap()
}

#[test]
fn each_figure_comes_from_the_nearest_level_that_sets_it() {
    let config = yaml(
        "ratelimit:
  x:
    max_rps: 10
    floor_rps: 0.5
    services:
      a: { burst: 3 }
      a.Op: { floor_rps: 0.25 }
      b.Op: { max_rps: 4 }
",
    )
    .unwrap();
    let x = config.provider("x");
    assert_eq!(x.limits, limits(10.0, 10.0, 0.5));
    assert_eq!(x.limits_for(&of("a", None)), limits(10.0, 3.0, 0.5));
    assert_eq!(x.limits_for(&of("a", Some("Op"))), limits(10.0, 3.0, 0.25));
    assert_eq!(x.limits_for(&of("b", Some("Op"))), limits(4.0, 4.0, 0.5));
    assert_eq!(x.limits_for(&of("b", Some("Other"))), x.limits);
}

#[test]
fn a_rate_without_a_burst_brings_one_seconds_worth() {
    let config = yaml("ratelimit: {x: {burst: 100, services: {a: {max_rps: 2}, b: {max_rps: 0.1}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!(
        (x.limits.burst(), x.limits_for(&of("a", None)).burst(), x.limits_for(&of("b", None)).burst()),
        (100.0, 2.0, 1.0)
    );
}

#[test]
fn a_rate_below_the_floor_lowers_the_floor_and_only_there() {
    let config = yaml("ratelimit: {x: {max_rps: 0.01, services: {a: {max_rps: 5}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!(x.limits.floor_rps(), 0.01);
    assert_eq!(x.limits_for(&of("a", None)).floor_rps(), 0.05);
    assert_eq!(limits(1.0, 1.0, 3.0).floor_rps(), 1.0);
}

#[test]
fn an_override_of_an_operation_gives_it_a_leaf_of_its_own() {
    let config = yaml("ratelimit: {x: {services: {a.Op: {max_rps: 2}, b: {per_operation: true}}}}").unwrap();
    let x = config.provider("x");
    assert!(x.is_per_operation(&of("a", Some("Op"))) && !x.is_per_operation(&of("a", Some("Other"))));
    assert!(x.is_per_operation(&of("b", Some("Any"))) && !x.is_per_operation(&of("b", None)));
}

#[test]
fn services_are_compared_without_case_and_operations_with() {
    let config = yaml("ratelimit: {x: {services: {EC2: {max_rps: 3}, Ec2.RunInstances: {max_rps: 2}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!(x.limits_for(&of("ec2", None)).max_rps(), 3.0);
    assert_eq!(x.limits_for(&of("ec2", Some("RunInstances"))).max_rps(), 2.0);
    assert_eq!(x.limits_for(&of("ec2", Some("runinstances"))).max_rps(), 3.0);
}

#[test]
fn a_service_may_hold_a_dot() {
    let config =
        yaml("ratelimit: {azure: {services: {storage.blob: {max_rps: 3, per_operation: true}, storage.blob.Get: {max_rps: 2}}}}")
            .unwrap();
    let azure = config.provider("azure");
    assert_eq!(azure.limits_for(&of("storage.blob", Some("Put"))).max_rps(), 3.0);
    assert_eq!(azure.limits_for(&of("storage.blob", Some("Get"))).max_rps(), 2.0);
    assert!(azure.is_per_operation(&of("storage.blob", Some("Put"))));
}

#[test]
fn naming_a_built_in_service_keeps_what_is_built_in() {
    let aws = yaml("ratelimit: {aws: {services: {ec2: {max_rps: 50}}}}").unwrap().provider("aws");
    assert!(aws.is_per_operation(&of("ec2", Some("DescribeVpcs"))));
    let aws = yaml("ratelimit: {aws: {services: {EC2: {per_operation: false}}}}").unwrap().provider("aws");
    assert!(!aws.is_per_operation(&of("ec2", Some("DescribeVpcs"))));
    let gcp = yaml("ratelimit: {gcp: {services: {cloudasset: {max_rps: 1}}}}").unwrap().provider("gcp");
    assert!(gcp.is_per_operation(&of("cloudasset", Some("ListAssets"))));
    let gcp = yaml("ratelimit: {gcp: {services: {cloudasset: {per_operation: false}}}}").unwrap().provider("gcp");
    assert!(!gcp.is_per_operation(&of("cloudasset", Some("ListAssets"))));
}

#[test]
fn figures_that_no_bucket_can_have_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
        assert_eq!(Limits::new(bad, 1.0, 0.05).unwrap_err().figure(), "max_rps");
        assert_eq!(Limits::new(1.0, bad, 0.05).unwrap_err().figure(), "burst");
        assert_eq!(Limits::new(1.0, 1.0, bad).unwrap_err().figure(), "floor_rps");
    }
}

/// A scope of a service's reads, writes or deletes.
fn of_verb(service: &str, verb: Verb, operation: Option<&str>) -> Scope {
    of(service, operation).with_verb(verb)
}

#[test]
fn a_verb_lies_over_its_service_and_under_an_operation() {
    let azure = yaml(
        "ratelimit:
  azure:
    floor_rps: 0.5
    services:
      network: { max_rps: 25, law: aimd }
      network:write: { max_rps: 10, burst: 200 }
      network:delete: { law: delivery_rate }
      network.PutGateway: { max_rps: 2 }
",
    )
    .unwrap()
    .provider("azure");
    let write = |operation| azure.limits_for(&of_verb("network", Verb::Write, operation));
    assert_eq!(write(None), limits(10.0, 200.0, 0.5));
    assert_eq!(write(Some("PutSubnet")), limits(10.0, 200.0, 0.5));
    assert_eq!(write(Some("PutGateway")), limits(2.0, 2.0, 0.5));
    assert_eq!(azure.limits_for(&of_verb("network", Verb::Read, None)), limits(25.0, 25.0, 0.5));
    assert_eq!(azure.limits_for(&of("network", None)), limits(25.0, 25.0, 0.5));
    assert_eq!(azure.limits_for(&of("network", Some("PutGateway"))), limits(2.0, 2.0, 0.5));
    assert_eq!(azure.limits_for(&of_verb("compute", Verb::Write, None)), azure.limits);
    let law = |verb| azure.throttle_for(&of_verb("network", verb, None)).law;
    assert_eq!((law(Verb::Write), law(Verb::Delete)), (LawName::Aimd, LawName::DeliveryRate));
}

#[test]
fn a_verb_may_give_its_operations_buckets_or_take_them_away() {
    let azure = yaml(
        "ratelimit:
  azure:
    services:
      compute:read: { per_operation: true }
      network: { per_operation: true }
      network:delete: { per_operation: false }
      network.Purge: { max_rps: 1 }
",
    )
    .unwrap()
    .provider("azure");
    let own = |service, verb, operation| azure.is_per_operation(&of_verb(service, verb, operation));
    assert!(own("compute", Verb::Read, Some("List")) && !own("compute", Verb::Read, None));
    assert!(!own("compute", Verb::Write, Some("Put")) && !azure.is_per_operation(&of("compute", Some("List"))));
    assert!(own("network", Verb::Read, Some("List")) && azure.is_per_operation(&of("network", Some("List"))));
    assert!(!own("network", Verb::Delete, Some("Remove")));
    assert!(own("network", Verb::Delete, Some("Purge")), "it has figures of its own");
}

#[test]
fn a_verb_is_set_alike_in_yaml_in_the_environment_and_in_code() {
    let in_yaml = yaml("ratelimit: {azure: {services: {'storage.blob:write': {max_rps: 10}}}}").unwrap();
    let in_code = Config::builder()
        .provider("azure", |azure| azure.service("storage.blob:write", |writes| writes.max_rps(10.0)))
        .build();
    assert_eq!(in_code.as_ref(), Ok(&in_yaml));
    let limits = |name, value| {
        let azure = Config::builder().variables([(name, value)]).build().unwrap().provider("azure");
        azure.limits_for(&of_verb("storage.blob", Verb::Write, None))
    };
    let expected = in_yaml.provider("azure").limits_for(&of_verb("storage.blob", Verb::Write, None));
    for (name, value) in [
        ("CLOUD_GOVERNOR__AZURE__SERVICES__storage.blob:write__MAX_RPS", "10"),
        ("CLOUD_GOVERNOR__AZURE__SERVICES__storage.blob:WRITE__MAX_RPS", "10"),
        ("CLOUD_GOVERNOR__AZURE__SERVICES", "{storage.blob:write: {max_rps: 10}}"),
    ] {
        assert_eq!(limits(name, value), expected, "{name}");
    }
}

#[test]
fn a_colon_that_no_verb_follows_is_part_of_the_services_name() {
    let x = yaml("ratelimit: {x: {services: {'localhost:8080': {max_rps: 3}, 'a:list': {max_rps: 4}, '[::1]': {}}}}")
        .unwrap();
    let rate = |service| x.provider("x").limits_for(&of(service, None)).max_rps();
    assert_eq!((rate("localhost:8080"), rate("a:list"), rate("a")), (3.0, 4.0, 20.0));
}
