use std::future::pending;

use cloud_governor::Config;
use cloud_governor_examples::compare;

use crate::common::args;

const ACTION: &str = "logs.DescribeLogStreams";

/// Fifty calls at once, all but one of them throttled: two retries each cost 490 of the 500 tokens that the SDK has for
/// a service in a region, so that a run that inherited the rest could not retry.
#[tokio::test]
async fn a_plain_run_begins_with_full_retry_quotas_whatever_the_one_before_has_used_up() {
    let line = "--job base --accounts 1 --regions 1 --size log_groups=50,log_streams=1,parameters=1,secrets=1 --fan-out 50 \
                --limit logs.DescribeLogStreams=1/0.01 --mode standard-alone,standard-alone";
    let comparison = compare::run(&args(line), &Config::default(), pending(), |_, _, _, _| {}).await.expect("two runs");
    let throttled: Vec<_> = comparison.rows.iter().map(|row| row.actions[ACTION].throttled).collect();
    assert_eq!(throttled.len(), 2);
    for throttled in throttled {
        assert!(throttled >= 140, "a call and both its retries for each but the one granted: {comparison}");
    }
}
