use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use cloud_governor::{Governor, Scope};
use http_body::{Body, Frame};

use super::{BoxError, Deadline, Watch, watched};
use crate::operation::Operation;
use crate::report::Report;

/// A body that never comes.
struct Never;

impl Body for Never {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Pending
    }
}

/// A clock's sleep may be any future, also one that panics when it is asked again.
#[tokio::test]
async fn a_body_that_is_late_has_ended_for_whoever_asks_once_more() {
    let scope = Scope::new("aws", "1", "eu-west-1", "ssm");
    let operation = Operation::new(None, scope, Governor::default(), false);
    let deadline = Deadline::new(Duration::from_secs(1), Box::pin(async {}), Arc::clone(&operation));
    let response = HttpResponse::new(200.try_into().expect("a status"), SdkBody::from_body_1_x(Never));
    let report =
        Report { operation, gated: true, steered: false, comes_again: true, observe_only: false, has_id: false };
    let watch = Watch::new(report, &response, false);
    let mut body = watched(response, watch, Some(deadline)).into_body();
    let mut next = || Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(next(), Poll::Ready(Some(Err(_)))));
    for _ in 0..2 {
        assert!(matches!(next(), Poll::Ready(None)));
    }
}
