//! hyper's errors.

use std::error::Error;

use super::Found;
use crate::classify::Transport;

impl Found<'_> {
    pub(super) fn look_at_hyper(&mut self, error: &(dyn Error + 'static)) {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            self.transport(error.is_connect().then_some(Transport::Connect));
        }
        let Some(error) = error.downcast_ref::<hyper::Error>() else { return };
        let transport = match error {
            // The request itself was wrong.
            error if error.is_user() => None,
            error if error.is_timeout() => Some(Transport::Timeout),
            // The connection closed before it took the request out of its queue.
            error if error.is_canceled() || error.is_closed() => Some(Transport::Connect),
            _ => Some(Transport::Io),
        };
        self.transport(transport);
    }
}
