//! What ended calls leave for the next ones, blank: a call that does not wait then allocates nothing.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::Shared;

/// How many a thread keeps besides the one: enough for the calls that one thread ends and begins by turns.
const MOST: usize = 31;

thread_local! {
    static SPARES: Spares = const { Spares { one: Cell::new(None), more: RefCell::new(Vec::new()) } };
}

struct Spares {
    /// All that calls need which come one after another.
    one: Cell<Option<Arc<Shared>>>,
    more: RefCell<Vec<Arc<Shared>>>,
}

/// A blank one, if this thread has any. At a thread's end there is none.
#[inline]
pub(super) fn take() -> Option<Arc<Shared>> {
    SPARES.try_with(|spares| spares.one.take().or_else(|| spares.take_more())).ok().flatten()
}

/// Keeps one that is blank, unless there are enough. At a thread's end it is not kept.
#[inline]
pub(super) fn keep(shared: &Arc<Shared>) {
    let _ = SPARES.try_with(|spares| {
        if let Some(before) = spares.one.replace(Some(Arc::clone(shared))) {
            spares.keep_more(before);
        }
    });
}

impl Spares {
    #[inline(never)]
    fn take_more(&self) -> Option<Arc<Shared>> {
        self.more.borrow_mut().pop()
    }

    #[inline(never)]
    fn keep_more(&self, shared: Arc<Shared>) {
        let mut more = self.more.borrow_mut();
        if more.len() < MOST {
            more.push(shared);
        }
    }
}
