use cloud_governor::{Class, Governor, Scope};
use std::time::Duration;

use super::*;

const ONE: Request = Request { cost: 1.0, kind: 0 };
const SPEC: ServerSpec = ServerSpec {
    quota: Quota::Bucket { capacity: 10.0, refill: 2.0 },
    shape: Shape::Aws503,
    tells: Tells::Nothing,
    tells_left: false,
    names_limit: None,
    outages: &[],
    failure_status: 500,
    failure_share: 0.0,
    penalty: None,
    background: &[],
    latency: Latency { base: 0.08, jitter: 0.2, knee: None },
};

fn granted(server: &mut Server, now: f64, asks: usize) -> usize {
    (0..asks).filter(|_| server.ask(now, ONE).is_granted()).count()
}

#[test]
fn the_governor_takes_every_shape_of_refusal_for_a_throttle() {
    let governor = Governor::builder().build();
    let shapes = [Shape::Aws400, Shape::Aws503, Shape::Azure429, Shape::Google403, Shape::Google429, Shape::Bare503];
    for shape in shapes {
        let told = [
            (Tells::Nothing, None),
            (Tells::RetryAfter, Some(Duration::from_secs(1))),
            (Tells::RetryInfo, Some(Duration::from_millis(500))),
        ];
        for (tells, wanted) in told {
            let mut server = Server::new(ServerSpec { shape, tells, ..SPEC }, 1);
            assert_eq!(granted(&mut server, 0.0, 20), 10);
            let scope = Scope::new(shape.provider(), "account", "here", "simulated");
            let meant = governor.classify(&scope, server.ask(0.0, ONE).facts());
            assert_eq!(meant.class, Class::Throttled, "{shape:?}");
            assert_eq!(meant.retry_after, wanted, "{shape:?} {tells:?}");
        }
    }
}

#[test]
fn nothing_is_served_during_an_outage() {
    let mut server = Server::new(ServerSpec { outages: &[(10.0, 20.0)], failure_status: 503, ..SPEC }, 1);
    assert!(server.ask(9.9, ONE).is_granted());
    assert_eq!(server.ask(10.0, ONE), Answer::Failed { status: 503 });
    assert!(server.is_closed(19.9));
    assert!(!server.is_closed(20.0));
    assert!(server.ask(20.0, ONE).is_granted());
}

#[test]
fn too_many_refusals_shut_everything_out_for_a_while() {
    let penalty = Some(Penalty { refusals: 3, within: 10.0, block: 60.0 });
    let mut server = Server::new(ServerSpec { penalty, tells: Tells::RetryAfter, ..SPEC }, 1);
    assert_eq!(granted(&mut server, 0.0, 12), 10, "two refusals are borne");
    assert_eq!(granted(&mut server, 11.0, 12), 10, "and forgotten after a while");
    assert_eq!(server.ask(11.0, ONE).retry_after(), Some(60.0));
    assert_eq!(server.ask(41.0, ONE).retry_after(), Some(30.0), "a full bucket does not help");
    assert!(server.ask(71.0, ONE).is_granted());
    assert_eq!(server.penalties(), [(11.0, 71.0)]);
}

#[test]
fn others_take_from_the_same_bucket() {
    let mut server = Server::new(ServerSpec { background: &[(0.0, 0.0), (10.0, 1.0)], ..SPEC }, 1);
    assert_eq!(granted(&mut server, 10.0 - 1e-9, 20), 10);
    assert_eq!(
        granted(&mut server, 19.5, 30),
        10,
        "nineteen came in, nine were drawn: the first of the others came to an empty bucket"
    );
    assert_eq!(server.background_granted(), 9.0);
    assert_eq!(ServerSpec { background: &[(0.0, 0.5)], ..SPEC }.true_rate(5.0, 3.0), 0.5);
}

#[test]
fn a_share_of_requests_fails_and_takes_no_token() {
    let mut server = Server::new(ServerSpec { failure_share: 0.5, ..SPEC }, 1);
    let answers: Vec<Answer> = (0..1000).map(|_| server.ask(0.0, ONE)).collect();
    let failed = answers.iter().filter(|answer| matches!(answer, Answer::Failed { status: 500 })).count();
    assert!((450..550).contains(&failed), "{failed}");
    assert_eq!(answers.iter().filter(|answer| answer.is_granted()).count(), 10);
}

#[test]
fn answers_take_longer_the_more_are_under_way() {
    let mut server =
        Server::new(ServerSpec { latency: Latency { base: 0.1, jitter: 0.0, knee: Some(2.0) }, ..SPEC }, 1);
    let taken: Vec<f64> = (0..4).map(|_| server.begin()).collect();
    assert_eq!(taken, [0.1, 0.1, 0.1 * 1.5, 0.2]);
    (0..4).for_each(|_| server.end());
    assert_eq!(server.begin(), 0.1);
}

#[test]
fn latency_varies_by_no_more_than_the_jitter() {
    let mut server = Server::new(SPEC, 1);
    let taken: Vec<f64> = (0..1000).map(|_| server.begin()).collect();
    assert!(taken.iter().all(|taken| (0.064..=0.096).contains(taken)));
    assert!(taken.iter().any(|taken| *taken < 0.066) && taken.iter().any(|taken| *taken > 0.094));
}

#[test]
fn it_is_open_between_its_outages() {
    let spec = ServerSpec { outages: &[(10.0, 20.0), (90.0, 200.0)], ..SPEC };
    assert_eq!(spec.open(100.0), [(0.0, 10.0), (20.0, 90.0)]);
    assert_eq!(SPEC.open(100.0), [(0.0, 100.0)]);
}

#[test]
fn what_is_left_is_told_where_the_server_tells_and_counts_whole_calls() {
    let mut telling = Server::new(ServerSpec { tells_left: true, ..SPEC }, 1);
    let full = telling.left().unwrap();
    assert!(telling.ask(0.0, Request { cost: 1.0, kind: 0 }).is_granted());
    assert_eq!(telling.left(), Some(full - 1));
    assert_eq!(Server::new(SPEC, 1).left(), None);
    let both = Quota::All(&[Quota::Bucket { capacity: 1.0, refill: 1.0 }]);
    assert_eq!(Server::new(ServerSpec { tells_left: true, quota: both, ..SPEC }, 1).left(), None);
}
