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
    assert_eq!(x.limits_for("a", None), limits(10.0, 3.0, 0.5));
    assert_eq!(x.limits_for("a", Some("Op")), limits(10.0, 3.0, 0.25));
    assert_eq!(x.limits_for("b", Some("Op")), limits(4.0, 4.0, 0.5));
    assert_eq!(x.limits_for("b", Some("Other")), x.limits);
}

#[test]
fn a_rate_without_a_burst_brings_one_seconds_worth() {
    let config = yaml("ratelimit: {x: {burst: 100, services: {a: {max_rps: 2}, b: {max_rps: 0.1}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!((x.limits.burst(), x.limits_for("a", None).burst(), x.limits_for("b", None).burst()), (100.0, 2.0, 1.0));
}

#[test]
fn a_rate_below_the_floor_lowers_the_floor_and_only_there() {
    let config = yaml("ratelimit: {x: {max_rps: 0.01, services: {a: {max_rps: 5}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!(x.limits.floor_rps(), 0.01);
    assert_eq!(x.limits_for("a", None).floor_rps(), 0.05);
    assert_eq!(limits(1.0, 1.0, 3.0).floor_rps(), 1.0);
}

#[test]
fn an_override_of_an_operation_gives_it_a_leaf_of_its_own() {
    let config = yaml("ratelimit: {x: {services: {a.Op: {max_rps: 2}, b: {per_operation: true}}}}").unwrap();
    let x = config.provider("x");
    assert!(x.is_per_operation("a", Some("Op")) && !x.is_per_operation("a", Some("Other")));
    assert!(x.is_per_operation("b", Some("Any")) && !x.is_per_operation("b", None));
}

#[test]
fn services_are_compared_without_case_and_operations_with() {
    let config = yaml("ratelimit: {x: {services: {EC2: {max_rps: 3}, Ec2.RunInstances: {max_rps: 2}}}}").unwrap();
    let x = config.provider("x");
    assert_eq!(x.limits_for("ec2", None).max_rps(), 3.0);
    assert_eq!(x.limits_for("ec2", Some("RunInstances")).max_rps(), 2.0);
    assert_eq!(x.limits_for("ec2", Some("runinstances")).max_rps(), 3.0);
}

#[test]
fn a_service_may_hold_a_dot() {
    let config =
        yaml("ratelimit: {azure: {services: {storage.blob: {max_rps: 3, per_operation: true}, storage.blob.Get: {max_rps: 2}}}}")
            .unwrap();
    let azure = config.provider("azure");
    assert_eq!(azure.limits_for("storage.blob", Some("Put")).max_rps(), 3.0);
    assert_eq!(azure.limits_for("storage.blob", Some("Get")).max_rps(), 2.0);
    assert!(azure.is_per_operation("storage.blob", Some("Put")));
}

#[test]
fn naming_a_built_in_service_keeps_what_is_built_in() {
    let aws = yaml("ratelimit: {aws: {services: {ec2: {max_rps: 50}}}}").unwrap().provider("aws");
    assert!(aws.is_per_operation("ec2", Some("DescribeVpcs")));
    let aws = yaml("ratelimit: {aws: {services: {EC2: {per_operation: false}}}}").unwrap().provider("aws");
    assert!(!aws.is_per_operation("ec2", Some("DescribeVpcs")));
}

#[test]
fn figures_that_no_bucket_can_have_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
        assert_eq!(Limits::new(bad, 1.0, 0.05).unwrap_err().figure(), "max_rps");
        assert_eq!(Limits::new(1.0, bad, 0.05).unwrap_err().figure(), "burst");
        assert_eq!(Limits::new(1.0, 1.0, bad).unwrap_err().figure(), "floor_rps");
    }
}
