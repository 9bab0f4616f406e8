use std::time::Duration;

use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::{Clock, FakeClock, Governor, within};

use super::moved;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn connect_and_read_timeouts_are_set_only_where_there_are_none() {
    let settings = Governor::builder().build().settings("aws");
    let (config, attempt) = moved(None, &settings);
    assert_eq!(config.connect_timeout(), Some(seconds(3)));
    assert_eq!(config.read_timeout(), Some(seconds(60)));
    assert_eq!(attempt, None);

    let own = TimeoutConfig::builder().connect_timeout(seconds(1)).operation_timeout(seconds(9)).build();
    let (config, _) = moved(Some(&own), &settings);
    assert_eq!(config.connect_timeout(), Some(seconds(1)));
    assert_eq!(config.read_timeout(), Some(seconds(60)));
    assert_eq!(config.operation_timeout(), Some(seconds(9)));
}

#[test]
fn a_timeout_that_was_switched_off_stays_off() {
    let settings = Governor::builder().build().settings("aws");
    let own = TimeoutConfig::builder().disable_connect_timeout().build();
    assert_eq!(moved(Some(&own), &settings).0.connect_timeout(), None);
}

#[test]
fn the_attempt_timeout_is_moved() {
    let settings = Governor::builder().build().settings("aws");
    let own = TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build();
    let (config, attempt) = moved(Some(&own), &settings);
    assert_eq!(attempt, Some(seconds(5)));
    assert_eq!(config.operation_attempt_timeout(), None);
}

#[tokio::test]
async fn a_future_is_waited_for_no_longer_than_its_limit() {
    let clock = FakeClock::new();
    assert_eq!(within(&clock, None, async { 7 }).await, Some(7));
    let limited = tokio::spawn({
        let clock = clock.clone();
        async move { within(&clock, Some(seconds(2)), std::future::pending::<()>()).await }
    });
    while clock.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(seconds(2));
    assert_eq!(limited.await.expect("no panic"), None);
    assert!(clock.now().as_nanos() > 0);
}
