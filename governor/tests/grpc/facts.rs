//! A target that knows more of a service's statuses than what every status tells.

use cloud_governor::grpc::{GrpcLayer, GrpcTarget};
use cloud_governor::{Facts, Resilience, Scope, ToldLimit};
use http::request::Parts;
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

use crate::common::governor;
use crate::fake::*;

const RESOURCE_EXHAUSTED: u8 = 8;

/// Every exhausted resource is a quota of a day.
struct Daily;

impl GrpcTarget for Daily {
    fn scope(&self, _: &Parts) -> Scope {
        scope()
    }

    fn is_unary(&self, _: &Parts) -> bool {
        true
    }

    fn told<'a>(&self, _: &Scope, facts: Facts<'a>, status: &'a Status) -> (Facts<'a>, Option<ToldLimit>) {
        let is_quota = status.code() == Code::ResourceExhausted;
        (if is_quota { facts.quota("1/d/{project}") } else { facts }, None)
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_target_knows_of_a_status_decides_wherever_the_status_stands() {
    for plan in [in_headers, in_trailers] {
        for (code, sent) in [(RESOURCE_EXHAUSTED, 1), (14, 4)] {
            let (governor, channel) = (governor(""), Channel::new([plan(code)]));
            let resilience = Resilience::new().governor(&governor).policy(retries(3));
            let mut governed = GrpcLayer::new(Daily, resilience).layer(channel.clone());
            let (_, status) = read(governed.call(request()).await).await;
            assert_eq!(status.code() as u8, code);
            assert_eq!((channel.times(), governor.summary().totals.throttled), (sent, 0), "{code}");
        }
    }
}
