use std::sync::atomic::Ordering;

use aws_sdk_ssm::config::Builder;

use super::*;
use crate::common;

/// The attempt leaves no state behind, which is no sign that the SDK loses what identities carry.
#[tokio::test(start_paused = true)]
async fn a_first_wait_that_the_clients_own_attempt_timeout_cuts_off_is_not_taken_for_a_lost_layer() {
    let server = common::Server::always(common::Reply::parameter());
    let governor = common::governor(|aws| aws.max_rps(0.05).burst(1.0).floor_rps(0.01));
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(common::seconds(5)).build();
    let config = Builder::from(&common::governed(&server, &governor)).timeout_config(timeouts);
    let client = aws_sdk_ssm::Client::from_conf(config.build());
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    assert!(server.requests()[1].at >= common::seconds(19));
    assert!(!LAYERS_ARE_LOST.load(Ordering::Relaxed));
}
