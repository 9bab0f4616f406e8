//! What stands around and under a governed channel: interceptors, other layers, the channel's own timeouts, long messages.

use cloud_governor_gcp::grpc_layer;
use tonic::Code;
use tower::Layer;

use crate::clients::{Ask, On, Rpc, by, client, plain, tonic_0_12, tonic_0_14};
use crate::governors::{TOKEN, governor, is_at_rest, seconds, totals};
use crate::reply::Reply;
use crate::server::Server;

fn down() -> Server {
    Server::always(Reply::trailers_only(Code::Unavailable, None))
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_wrapped_twice_is_governed_once() {
    let server = down();
    let (inner, outer) = (governor(|gcp| gcp.max_retries(3)), governor(|gcp| gcp.max_retries(1)));
    let wrapped = grpc_layer(by(&outer)).layer(grpc_layer(by(&inner)).layer(tonic_0_14::channel(&server.url())));
    let old = grpc_layer(by(&outer)).layer(grpc_layer(by(&inner)).layer(tonic_0_12::channel(&server.url())));
    tonic_0_14::over(wrapped).call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
    assert_eq!((server.count(), totals(&outer).calls, totals(&inner).operations), (2, 2, 0));
    tonic_0_12::over(old).call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
    assert_eq!((server.count(), totals(&outer).calls, totals(&inner).operations), (4, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_governor_that_is_switched_off_sends_once_and_counts() {
    for on in On::ALL {
        let server = down();
        let governor = governor(|gcp| gcp.enabled(false));
        let said = client(on, &server, by(&governor)).await.call(Rpc::GetTopic, Ask::default()).await;
        assert_eq!(said.expect_err("always").code, Code::Unavailable, "{on:?}");
        assert_eq!((server.count(), totals(&governor).calls), (1, 1), "{on:?}");
        assert!(is_at_rest(&governor));
    }
}

/// As generated clients take them: around the channel, and so once for each call.
#[tokio::test(start_paused = true)]
async fn what_an_interceptor_adds_goes_with_every_attempt() {
    let server = down();
    let governor = governor(|gcp| gcp.max_retries(2));
    let bearer = || format!("Bearer {TOKEN}").parse().expect("a header");
    let channel = grpc_layer(by(&governor)).layer(tonic_0_14::channel(&server.url()));
    let new = tonic::service::interceptor::InterceptedService::new(channel, move |mut request: tonic::Request<()>| {
        request.metadata_mut().insert("authorization", bearer());
        Ok(request)
    });
    tonic_0_14::over(new).call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
    let bearer = || format!("Bearer {TOKEN}").parse().expect("a header");
    let channel = grpc_layer(by(&governor)).layer(tonic_0_12::channel(&server.url()));
    #[expect(clippy::result_large_err, reason = "it is what tonic asks for")]
    let intercept = move |mut request: ::tonic_0_12::Request<()>| {
        request.metadata_mut().insert("authorization", bearer());
        Ok(request)
    };
    let old = ::tonic_0_12::service::interceptor::InterceptedService::new(channel, intercept);
    tonic_0_12::over(old).call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
    assert_eq!(server.count(), 6);
    assert_eq!(server.count_of(|asked| asked.header("authorization").is_some_and(|text| text.contains(TOKEN))), 6);
}

/// The channel's own, by which each request is bounded: tonic says so in an error of its own, in each version another.
#[tokio::test(start_paused = true)]
async fn requests_that_the_channel_lets_time_out_are_as_many_as_there_may_be() {
    let server = Server::always(Reply::Silence);
    let governor = governor(|gcp| gcp.max_retries(3));
    let layer = grpc_layer(by(&governor));
    let new = || tonic_0_14::within(&server.url(), seconds(5));
    let old = || tonic_0_12::within(&server.url(), seconds(5));
    for (plain, governed) in [
        (tonic_0_14::over(new()), tonic_0_14::over(layer.layer(new()))),
        (tonic_0_12::over(old()), tonic_0_12::over(layer.layer(old()))),
    ] {
        let plain = plain.call(Rpc::GetTopic, Ask::default()).await.expect_err("silence");
        let before = totals(&governor);
        let said = governed.call(Rpc::GetTopic, Ask::default()).await.expect_err("silence");
        let after = totals(&governor);
        assert_eq!((said.code, &said.message, said.refusal), (plain.code, &plain.message, None), "{said:?}");
        assert_eq!((after.calls - before.calls, after.gave_up - before.gave_up), (4, 1), "{said:?}");
        assert!(is_at_rest(&governor));
    }
}

/// More than is kept of a request, for all that may be sent again.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_longer_than_what_is_kept_is_sent_once_and_as_it_is() {
    const LONG: usize = 5 << 20;
    for on in On::ALL {
        let server = down();
        let governor = governor(|gcp| gcp.max_retries(3));
        let plain = plain(on, &server).await.call(Rpc::Publish, Ask::long(LONG)).await.expect_err("always");
        let said = client(on, &server, by(&governor)).await.call(Rpc::Publish, Ask::long(LONG)).await;
        assert_eq!(said.expect_err("always").code, plain.code, "{on:?}");
        let [first, second] = server.asked().try_into().expect("two requests");
        assert!(first.body.len() > LONG && first.body == second.body, "{on:?}: {}", second.body.len());
        assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (1, 1), "{on:?}");
        assert!(is_at_rest(&governor));
    }
}

/// A little less than it: the whole of it is sent again.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_as_long_as_what_is_kept_is_sent_again_as_it_is() {
    const SHORT: usize = (4 << 20) - 1_000;
    for on in On::ALL {
        let server = down();
        let governor = governor(|gcp| gcp.max_retries(1));
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::Publish, Ask::long(SHORT)).await.expect_err("always");
        let [first, second] = server.asked().try_into().expect("two requests");
        assert!(first.body.len() > SHORT && first.body == second.body, "{on:?}: {}", second.body.len());
    }
}
