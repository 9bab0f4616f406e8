//! On an executor that is not Tokio's.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use cloud_governor::Outcome;
use common::*;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn calls_wait_for_their_turn_without_a_runtime() {
    let governor = governor("ratelimit: { github: { max_rps: 100, burst: 1 } }");
    for _ in 0..4 {
        let mut call = governor.call(&scope());
        block_on(call.admit()).unwrap().finish(Outcome::Success);
    }
    assert!(governor.summary().totals.wait_seconds > 0.025);
}

#[test]
fn a_wait_that_is_dropped_ends() {
    let governor = governor("ratelimit: { github: { max_rps: 0.001, burst: 1 } }");
    drop(block_on(governor.call(&scope()).policy(forever()).admit()).unwrap());
    let mut call = governor.call(&scope()).policy(forever());
    {
        let mut admit = pin!(call.admit());
        let polled = admit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        assert_eq!(governor.inspect(&scope()).unwrap().waiting_for_rate, 1);
    }
    assert_eq!(governor.inspect(&scope()).unwrap().waiting_for_rate, 0);
}

fn forever() -> cloud_governor::RetryPolicy {
    cloud_governor::RetryPolicy::builder().deadline(None).build().expect("valid")
}
