//! Virtual time and what lives in it: one server, the wires to it, and the tasks of the callers.
//!
//! One thread, one [`FakeClock`], and a pool that polls tasks in the order in which they are woken: a run depends on
//! its scenario, its law and its seed alone.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use cloud_governor::{Clock, FakeClock, Timestamp};
use futures_executor::{LocalPool, LocalSpawner};
use futures_util::task::LocalSpawnExt;

use crate::quota::Request;
use crate::server::{Answer, Server};
use crate::trace::{Arrival, Believed, Ended, Send, Trace};

/// What all tasks of a run share. Clones are the same world.
#[derive(Debug, Clone)]
pub struct World {
    clock: FakeClock,
    spawner: LocalSpawner,
    state: Rc<RefCell<State>>,
}

#[derive(Debug)]
struct State {
    server: Server,
    trace: Trace,
}

impl World {
    /// Lets `populate` put tasks into a new world, passes `seconds` of its time, and tells what happened.
    pub fn run(server: Server, seconds: f64, populate: impl FnOnce(&World)) -> Trace {
        let mut pool = LocalPool::new();
        let state = Rc::new(RefCell::new(State { server, trace: Trace::default() }));
        let world = World { clock: FakeClock::new(), spawner: pool.spawner(), state: Rc::clone(&state) };
        populate(&world);
        let end = at(seconds);
        loop {
            pool.run_until_stalled();
            if !world.clock.advance_to_next() || world.clock.now() >= end {
                break;
            }
        }
        // Whatever is still under way ends here, and is not told of.
        let mut trace = std::mem::take(&mut state.borrow_mut().trace);
        let server = &state.borrow().server;
        trace.penalties = server.penalties().to_vec();
        trace.background = server.background_granted();
        trace
    }

    /// Begins a task. It ends with the world at the latest.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        // Only a pool that is gone refuses, and the task with it.
        let _gone = self.spawner.spawn_local(task);
    }

    /// The clock of this world.
    pub fn clock(&self) -> &FakeClock {
        &self.clock
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        since_start(self.clock.now())
    }

    /// Waits so many seconds.
    pub async fn sleep(&self, seconds: f64) {
        self.clock.sleep_until(self.clock.now() + duration(seconds)).await;
    }

    /// Waits until so many seconds since the start.
    pub async fn sleep_until(&self, seconds: f64) {
        self.clock.sleep_until(at(seconds)).await;
    }

    /// Notes what a client takes for its rate.
    pub(crate) fn believed(&self, process: usize, rate: f64) {
        let at = self.now();
        self.state.borrow_mut().trace.rates.push(Believed { at, process, rate });
    }

    /// The wire for one logical call.
    pub fn wire(&self, process: usize, request: Request) -> Wire {
        self.state.borrow_mut().trace.begun += 1;
        Wire { world: self.clone(), process, request, began: self.now(), sends: 0, in_flight: 0.0, left: None }
    }
}

/// What one logical call sends its requests through.
#[derive(Debug)]
pub struct Wire {
    world: World,
    process: usize,
    request: Request,
    began: f64,
    sends: u32,
    in_flight: f64,
    left: Option<u64>,
}

impl Wire {
    /// Sends the request once.
    pub async fn send(&mut self) -> Answer {
        let sent = self.world.now();
        let (index, latency) = {
            let mut state = self.world.state.borrow_mut();
            let latency = state.server.begin();
            let (process, first) = (self.process, self.sends == 0);
            state.trace.sends.push(Send { process, first, sent, arrival: None, answered: sent + latency });
            (state.trace.sends.len() - 1, latency)
        };
        self.sends += 1;
        self.world.sleep(latency / 2.0).await;
        let answer = {
            let now = self.world.now();
            let mut state = self.world.state.borrow_mut();
            let closed = state.server.is_closed(now);
            let answer = state.server.ask(now, self.request);
            self.left = state.server.left();
            if let Some(send) = state.trace.sends.get_mut(index) {
                send.arrival = Some(Arrival { at: now, answer, closed });
            }
            answer
        };
        self.world.sleep(latency / 2.0).await;
        self.world.state.borrow_mut().server.end();
        self.in_flight += latency;
        answer
    }

    /// How many calls are left by the last answer, if the server tells.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// The limit that the server's refusals name: calls, and in how many seconds.
    pub fn limit(&self) -> Option<(u64, u64)> {
        self.world.state.borrow().server.limit()
    }

    /// How many requests were sent.
    pub fn sends(&self) -> u32 {
        self.sends
    }

    /// The world that it is in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The request.
    pub fn request(&self) -> Request {
        self.request
    }

    /// The call has ended.
    pub(crate) fn ended(self, lost: bool) {
        let (began, ended) = (self.began, self.world.now());
        let ended = Ended { began, ended, in_flight: self.in_flight, sends: self.sends, lost };
        self.world.state.borrow_mut().trace.calls.push(ended);
    }
}

/// The moment so many seconds after the start.
fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + duration(seconds)
}

pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// Seconds since the start.
pub(crate) fn since_start(now: Timestamp) -> f64 {
    now.since(Timestamp::ZERO).as_secs_f64()
}
