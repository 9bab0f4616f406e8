//! Which messages were published, and which came.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

/// The messages of a job, by number.
#[derive(Debug)]
pub struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    published: Vec<bool>,
    /// How often each came.
    received: Vec<u32>,
    /// When something last went on.
    moved: Instant,
}

/// The client's count of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// Those there are.
    pub messages: u64,
    /// Those whose `Publish` succeeded.
    pub published: u64,
    /// Those that came.
    pub received: u64,
    /// Those that never came.
    pub lost: u64,
    /// Deliveries beyond each message's first.
    pub duplicated: u64,
}

impl Ledger {
    /// So many messages, of which nothing is known.
    pub fn new(messages: usize) -> Self {
        let (published, received) = (vec![false; messages], vec![0; messages]);
        Ledger { state: Mutex::new(State { published, received, moved: Instant::now() }) }
    }

    /// What the message of a number says.
    pub fn data(number: usize) -> Vec<u8> {
        number.to_string().into_bytes()
    }

    /// These were published.
    pub fn published(&self, numbers: std::ops::Range<usize>) {
        let mut state = self.moved();
        if let Some(published) = state.published.get_mut(numbers) {
            published.fill(true);
        }
    }

    /// The message that says this came. One that is none of the job's counts for nothing.
    pub fn received(&self, data: &[u8]) {
        let number = std::str::from_utf8(data).ok().and_then(|text| text.trim_end().parse::<usize>().ok());
        let mut state = self.moved();
        if let Some(received) = number.and_then(|number| state.received.get_mut(number)) {
            *received = received.saturating_add(1);
        }
    }

    /// Something went on that is no message.
    pub fn moved_on(&self) {
        drop(self.moved());
    }

    /// Ready once nothing has gone on for so long.
    pub async fn stalled(&self, patience: Duration) {
        loop {
            let left = patience.saturating_sub(self.lock().moved.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// All of it.
    pub fn count(&self) -> Count {
        let state = self.lock();
        let messages = state.received.len() as u64;
        let received = state.received.iter().filter(|times| **times > 0).count() as u64;
        let deliveries: u64 = state.received.iter().map(|times| u64::from(*times)).sum();
        let published = state.published.iter().filter(|published| **published).count() as u64;
        Count { messages, published, received, lost: messages - received, duplicated: deliveries - received }
    }

    fn moved(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.moved = Instant::now();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_is_lost_and_what_came_again_is_duplicated() {
        let ledger = Ledger::new(4);
        ledger.published(0..3);
        for number in [0, 0, 0, 1, 3] {
            ledger.received(&Ledger::data(number));
        }
        ledger.received(b"2  ");
        ledger.received(b"4");
        ledger.received(b"two");
        ledger.received(&[0xff]);
        let count = Count { messages: 4, published: 3, received: 4, lost: 0, duplicated: 2 };
        assert_eq!(ledger.count(), count);
        assert_eq!(Ledger::new(2).count().lost, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn it_stalls_when_nothing_has_gone_on_for_as_long_as_the_patience_lasts() {
        let patience = Duration::from_secs(5);
        let ledger = Ledger::new(1);
        let began = Instant::now();
        let moves = async {
            for step in 0..3_u8 {
                tokio::time::sleep(Duration::from_secs(4)).await;
                match step {
                    0 => ledger.moved_on(),
                    1 => ledger.published(0..1),
                    _ => ledger.received(b"0"),
                }
            }
        };
        tokio::join!(moves, ledger.stalled(patience));
        assert_eq!(began.elapsed(), Duration::from_secs(12) + patience);
    }
}
