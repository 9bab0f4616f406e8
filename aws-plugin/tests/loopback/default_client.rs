//! The HTTP client that the SDK would use by itself, where this build has one: its crates' feature
//! `default-https-client` says so, and any crate in a program may set it.

use aws_sdk_ssm::error::DisplayErrorContext;
use cloud_governor_aws::AwsHooks;

use crate::common::{governor, plain, serve};

#[tokio::test]
async fn a_configuration_without_an_http_client_gets_what_the_sdk_would_use() {
    let (address, _) = serve(|number| match number {
        2 => (503, String::new()),
        _ => (200, r#"{"Parameter":{"Value":"v"}}"#.into()),
    })
    .await;
    let config = plain(&address).build();
    let governor = governor(2);
    let hooked = AwsHooks::builder().account("1").governor(governor.clone()).install(&config);
    let [without, with] = [&config, &hooked].map(|config| aws_sdk_ssm::Client::new(config).get_parameter().name("a"));
    let totals = || governor.summary().totals;
    match (without.send().await, with.send().await) {
        (Ok(_), with) => {
            let answer = with.expect("the third answer");
            assert_eq!(answer.parameter().and_then(|parameter| parameter.value()), Some("v"));
            assert_eq!((totals().calls, totals().throttled), (2, 1));
        }
        (Err(without), with) => {
            let with = with.expect_err("no client either");
            let text = |error: &dyn std::error::Error| DisplayErrorContext(error).to_string();
            assert!(hooked.http_client().is_none());
            assert!(text(&without).contains("HTTP client"), "{}", text(&without));
            assert_eq!(text(&without), text(&with));
        }
    }
}
