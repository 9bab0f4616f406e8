//! What is published, and what is set over it; buckets in common.

use super::*;
use crate::config::{Counts, Limits, SharedLimit};
use crate::scope::{Scope, Verb};

fn config(text: &str) -> Config {
    Config::from_yaml(text, "test").unwrap()
}

fn ec2(operation: &str) -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation(operation)
}

fn figures(limits: Limits) -> (f64, f64, bool) {
    (limits.max_rps(), limits.burst(), limits.is_published())
}

fn names(shared: &[SharedLimit]) -> Vec<String> {
    shared.iter().map(|limit| limit.scope.to_string()).collect()
}

fn problem(text: &str) -> String {
    Config::from_yaml(text, "test").unwrap_err().to_string()
}

#[test]
fn the_most_exact_name_in_the_catalogue_holds_and_a_quarter_of_a_second_of_the_burst_is_left() {
    let aws = Config::default().provider("aws");
    assert_eq!(figures(aws.limits_for(&ec2("DescribeVpcs"))), (20.0, 95.0, true));
    assert_eq!(figures(aws.limits_for(&ec2("CreateVpcEndpoint"))), (0.3, 4.0 - 0.3 * 0.25, true));
    assert_eq!(figures(aws.limits_for(&ec2("DeleteVpc"))), (5.0, 48.75, true), "of no name of its own");
    assert!(aws.is_per_operation(&ec2("DeleteVpc")));
    let unknown = Scope::new("aws", "1", "eu-west-1", "brand-new").with_operation("Do");
    assert_eq!(figures(aws.limits_for(&unknown)), (20.0, 20.0, false));
    assert!(!aws.is_per_operation(&unknown));
    let all = Scope::new("aws", "1", "eu-west-1", "ec2");
    assert_eq!(figures(aws.limits_for(&all)), (20.0, 20.0, false), "an operation's limit is none of all together");
}

#[test]
fn a_quota_that_comes_in_steps_is_used_so_that_no_step_is_missed() {
    let azure = Config::default().provider("azure");
    let reads = Scope::new("azure", "s", "", "compute").with_verb(Verb::Read).with_operation("VirtualMachines.listAll");
    let shared = azure.shared_for(&reads);
    let lists = shared.iter().find(|limit| limit.scope.service() == "compute").unwrap();
    // 300 come each minute and 900 are kept: 600 at once and 5 a second are never more.
    assert_eq!(figures(lists.limits), (5.0, 600.0, true));
    assert_eq!(
        shared.last().unwrap().scope.to_string(),
        "azure/s/*/*:read/subscription-reads",
        "the widest comes last"
    );
}

#[test]
fn a_minutes_quota_is_a_window() {
    let gcp = Config::default().provider("gcp");
    let list = Scope::new("gcp", "projects/p", "", "cloudasset").with_operation("ListAssets");
    let limits = gcp.limits_for(&list);
    assert_eq!((limits.burst(), limits.window()), (100.0, Some(std::time::Duration::from_secs(60))));
    assert_eq!(names(&gcp.shared_for(&list)), ["gcp/*/*/cloudasset/organization-list-assets"]);
}

#[test]
fn what_is_set_for_a_service_or_an_operation_takes_the_place_of_what_is_published() {
    let aws = |text: &str| config(&format!("ratelimit: {{ aws: {text} }}")).provider("aws");
    let of = |text: &str, operation: &str| figures(aws(text).limits_for(&ec2(operation)));
    assert_eq!(
        of("{ max_rps: 3 }", "DescribeVpcs"),
        (20.0, 95.0, true),
        "a provider's holds where nothing is published"
    );
    assert_eq!(of("{ services: { ec2: { max_rps: 7 } } }", "CreateVpcEndpoint"), (7.0, 7.0, false));
    assert_eq!(of("{ services: { ec2: { max_rps: none } } }", "CreateVpcEndpoint"), (20.0, 20.0, false));
    assert_eq!(
        of("{ services: { ec2.Describe*: { max_rps: 40, burst: 200 } } }", "DescribeVpcs"),
        (40.0, 200.0, false)
    );
    assert_eq!(of("{ services: { ec2.Describe*: { max_rps: 40 } } }", "CreateVpcEndpoint").0, 0.3);
    let exact = "{ services: { ec2.DescribeVpcs: { max_rps: 1 }, ec2.Describe*: { max_rps: 2 }, ec2.DescribeV*: { max_rps: 3 } } }";
    assert_eq!(
        (of(exact, "DescribeVpcs").0, of(exact, "DescribeVolumes").0, of(exact, "DescribeTags").0),
        (1.0, 3.0, 2.0)
    );
    assert_eq!(of("{ services: { ec2.DescribeVpcs: { burst: 10 } } }", "DescribeVpcs"), (20.0, 10.0, true));
    assert_eq!(of("{ published: false }", "DescribeVpcs"), (20.0, 20.0, false));
    assert!(!aws("{ services: { ec2: { per_operation: false } } }").is_per_operation(&ec2("DescribeVpcs")));
}

#[test]
fn a_share_is_taken_of_all_that_is_known_and_of_nothing_else() {
    let aws = config("ratelimit: { aws: { share: 0.5, services: { ec2.DescribeTags: { max_rps: 8, share: 0.25 } } } }")
        .provider("aws");
    assert_eq!(figures(aws.limits_for(&ec2("DescribeVpcs"))), (10.0, 47.5, true));
    assert_eq!(figures(aws.limits_for(&ec2("DescribeTags"))), (2.0, 2.0, false));
    assert_eq!(aws.shared_for(&ec2("RunInstances"))[0].limits.max_rps(), 1.0);
    let unknown = Scope::new("aws", "1", "eu-west-1", "brand-new");
    assert_eq!(aws.limits_for(&unknown).ceiling(), None);
}

#[test]
fn buckets_in_common_are_set_over_those_that_are_published_and_beside_them() {
    let text = "
ratelimit:
  aws:
    shared: { all: { max_rps: 50, per: organization } }
    services:
      ec2:
        shared:
          run-instances: { max_rps: 9, burst: 90 }
          starts: { operations: [StartInstances, '*Instances'], max_rps: 4, counts: units }
          stop-instances: { enabled: false }
";
    let aws = config(text).provider("aws");
    let run = aws.shared_for(&ec2("RunInstances"));
    assert_eq!(
        names(&run),
        ["aws/123456789012/eu-west-1/ec2/run-instances", "aws/123456789012/eu-west-1/ec2/starts", "aws/*/*/*/all",]
    );
    assert_eq!(figures(run[0].limits), (9.0, 90.0, false));
    assert_eq!((run[0].limits.counts(), run[1].limits.counts()), (Counts::Units, Counts::Units));
    assert_eq!(names(&aws.shared_for(&ec2("StopInstances"))).len(), 2, "its own is switched off");
    assert_eq!(names(&aws.shared_for(&ec2("DescribeVpcs"))), ["aws/*/*/*/all"]);

    let more = "ratelimit: { aws: { services: { ssm: { shared: { parameter-reads: { operations: [GetParam*, PutParameter] } } } } } }";
    let ssm = |operation| Scope::new("aws", "1", "eu-west-1", "ssm").with_operation(operation);
    let reads = |operation| config(more).provider("aws").shared_for(&ssm(operation));
    assert_eq!(
        figures(reads("PutParameter")[0].limits),
        (40.0, 30.0, true),
        "other operations, and the figures that are published"
    );
    assert!(reads("DescribeParameters").is_empty());
}

#[test]
fn what_cannot_be_is_refused_by_its_place() {
    for (text, says) in [
        ("{ share: 0 }", "ratelimit.aws.share"),
        ("{ share: 1.5 }", "ratelimit.aws.share"),
        ("{ share: .nan }", "ratelimit.aws.share"),
        ("{ per_minute: 100, max_rps: 3 }", "takes the place of max_rps"),
        ("{ services: { ec2: { per_minute: 0 } } }", "ratelimit.aws.services.ec2.per_minute"),
        ("{ services: { ec2: { counts: instances } } }", "calls or units"),
        ("{ services: { ec2.RunInstances: { shared: { x: {} } } } }", "unknown key `shared`"),
        ("{ services: { 'network:write': { shared: { x: {} } } } }", "unknown key `shared`"),
        ("{ shared: { RunInstances: { max_rps: 1 } } }", "no name of a shared bucket"),
        ("{ shared: { x: { per: zone } } }", "region or account or organization"),
        ("{ shared: { x: { verbs: [read, list] } } }", "read or write or delete"),
        ("{ shared: { x: { operations: Get* } } }", "a list of operations"),
        ("{ shared: { x: { operations: ['a*b'] } } }", "has an entry that is no operation"),
        ("{ shared: { x: { max_rps: 1, operations: ['**'] } } }", "has an entry that is no operation"),
        ("{ shared: { x: { max_rps: 1, size: 3 } } }", "unknown key `size`"),
    ] {
        let problem = problem(&format!("ratelimit: {{ aws: {text} }}"));
        assert!(problem.contains(says) && problem.contains("(test, line 1)"), "{text}: {problem}");
    }
}

#[test]
fn a_share_of_an_operation_or_a_pattern_does_not_reach_what_operations_share() {
    let shared = |service: &str| {
        let aws =
            config(&format!("ratelimit: {{ aws: {{ services: {{ {service}: {{ share: 0.5 }} }} }} }}")).provider("aws");
        (aws.limits_for(&ec2("RunInstances")).max_rps(), aws.shared_for(&ec2("RunInstances"))[0].limits.max_rps())
    };
    let (own, common) = shared("s3");
    for pattern in ["ec2.Run*", "ec2.RunInstances", "ec2.*"] {
        assert_eq!(shared(pattern), (own / 2.0, common), "{pattern}");
    }
    assert_eq!(shared("ec2"), (own / 2.0, common / 2.0));
}

#[test]
fn a_pattern_of_all_operations_lies_over_the_service_and_gives_each_a_bucket() {
    let x = config("ratelimit: { x: { services: { a: { max_rps: 3 }, a.*: { max_rps: 2 } } } }").provider("x");
    let (all, one) = (of("a", None), of("a", Some("List")));
    assert_eq!((x.limits_for(&all).max_rps(), x.limits_for(&one).max_rps()), (3.0, 2.0));
    assert!(x.is_per_operation(&one) && !x.is_per_operation(&all));
}
