//! Whoever ends an attempt, its slot goes back once.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::Plain;
use crate::breaker::Breaker;
use crate::bulkhead::Bulkhead;
use crate::call::state::State;
use crate::clock::Timestamp;
use crate::models::model;

#[test]
fn an_attempt_that_is_served_while_its_call_looks_at_it_gives_its_slot_back_once() {
    model(|| {
        let bulkhead = Arc::new(Bulkhead::new(NonZeroUsize::MIN));
        let plain = Arc::new(Plain::default());
        let pass = Breaker::new(NonZeroU32::MIN, Duration::from_secs(1)).pass_if_closed().unwrap();
        assert!(bulkhead.take());
        plain.send(Timestamp::ZERO, pass);
        let server = {
            let (bulkhead, plain) = (Arc::clone(&bulkhead), Arc::clone(&plain));
            thread::spawn(move || {
                let served = plain.serve();
                if served.is_some() {
                    bulkhead.give_back();
                }
                served.is_some()
            })
        };
        let mut state = State::default();
        plain.take_over(&mut state, &bulkhead);
        let is_held = state.current.take().is_some_and(|current| current.slot.is_some());
        let served = server.join().unwrap();
        assert_eq!((served, state.verdict.is_some()), (!is_held, !is_held), "one of the two has it");
        assert_eq!((state.attempts, bulkhead.in_use()), (1, 0));
    });
}
