use std::collections::BTreeSet;

use super::super::{aws, aws_quotas};
use super::*;

fn limits() -> impl Iterator<Item = &'static PublishedLimit> {
    published().filter(|limit| limit.provider == "aws")
}

/// What each call of an operation takes from, by name: `(calls per second, burst)`.
fn each(service: &str, operation: &str) -> Option<(f64, f64)> {
    limits()
        .find(|limit| {
            limit.service == service && limit.counted == Counted::Each && limit.operations.contains(&operation)
        })
        .map(|limit| (limit.rps(), limit.grant.burst))
}

fn together(service: &str, bucket: &str) -> Option<&'static PublishedLimit> {
    limits().find(|limit| {
        limit.service == service && matches!(limit.counted, Counted::Together { name, .. } if name == bucket)
    })
}

#[test]
fn an_operation_is_a_name_of_the_model_or_a_pattern_with_one_star_at_an_end() {
    for limit in limits() {
        for operation in limit.operations {
            let name = operation.strip_prefix('*').or(operation.strip_suffix('*')).unwrap_or(operation);
            let plain = name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(plain, "{}: {operation}", limit.service);
        }
    }
}

#[test]
fn the_tables_are_sorted_by_service_and_what_holds_together_comes_first() {
    for table in [aws::LIMITS, aws_quotas::LIMITS] {
        assert!(table.is_sorted_by_key(|limit| match limit.counted {
            Counted::Together { name, .. } => (limit.service, 0, name),
            _ => (limit.service, 1, operations(limit)[0]),
        }));
    }
}

#[test]
fn what_service_quotas_lists_has_its_code_and_no_code_is_there_twice() {
    let mut seen = BTreeSet::new();
    for limit in aws_quotas::LIMITS {
        let code = limit.source.code.unwrap_or_default();
        let digits = code.strip_prefix("L-").unwrap_or_default();
        assert!(digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{limit:?}");
        assert!(seen.insert(code), "{code} is there twice");
    }
}

#[test]
fn a_rate_and_a_burst_that_are_two_quotas_make_one_limit() {
    assert_eq!(each("stepfunctions", "ListStateMachines"), Some((5.0, 100.0)));
    assert_eq!(each("stepfunctions", "DescribeStateMachine"), Some((20.0, 200.0)));
    assert_eq!(each("servicediscovery", "DiscoverInstances"), Some((1000.0, 2000.0)));
    assert_eq!(each("emr", "SetVisibleToAllUsers"), Some((0.2, 5.0)));
    assert_eq!(each("swf", "ListDomains"), Some((6.0, 100.0)));
}

#[test]
fn a_rate_without_a_burst_has_a_second_of_calls_for_one_and_at_least_a_call() {
    assert_eq!(each("cloudwatch", "ListMetrics"), Some((25.0, 25.0)));
    assert_eq!(each("logs", "DescribeLogGroups"), Some((5.0, 5.0)));
    assert_eq!(each("resource-explorer-2", "Search"), Some((5.0, 5.0)));
    assert_eq!(each("kms", "GetParametersForImport"), Some((0.25, 1.0)));
}

#[test]
fn starting_instances_takes_from_a_bucket_of_calls_and_from_one_of_instances() {
    assert_eq!(each("ec2", "RunInstances"), Some((2.0, 5.0)));
    let instances = together("ec2", "run-instances").expect("a bucket of instances");
    assert_eq!((instances.rps(), instances.grant.burst, instances.unit), (2.0, 1000.0, Some("instances")));
    assert_eq!(instances.operations, ["RunInstances"]);
}

#[test]
fn a_limit_of_some_calls_only_says_of_which() {
    let conditional: BTreeSet<_> =
        limits().filter(|limit| limit.condition.is_some()).map(|limit| limit.service).collect();
    let expected = ["cloudwatch", "ec2", "events", "kms", "rekognition", "sns", "ssm", "stepfunctions", "textract"];
    assert!(conditional.iter().eq(&expected), "{conditional:?}");
    let unfiltered = limits().find(|limit| limit.operations.contains(&"DescribeInstances"));
    assert_eq!(unfiltered.and_then(|limit| limit.condition), Some("unfiltered and unpaginated"));
}

#[test]
fn a_bucket_of_an_account_or_of_an_organization_is_not_of_a_region() {
    let whose = |service, bucket| together(service, bucket).map(|limit| limit.counted);
    let account = Counted::Together { name: "requests", per: Per::Account };
    assert_eq!(whose("route53", "requests"), Some(account));
    let organization = Counted::Together { name: "list-accounts", per: Per::Organization };
    assert_eq!(whose("organizations", "list-accounts"), Some(organization));
}
