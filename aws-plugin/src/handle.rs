//! What an operation's config bag holds: the operation itself, which ends when the bag goes.
//!
//! The bag goes when the SDK returns, and also when the caller drops the future: no other hook tells of that.

use std::sync::Arc;

use aws_smithy_types::config_bag::{Storable, StoreReplace};

use crate::operation::Operation;

/// Ends an operation when it goes.
#[derive(Debug)]
struct Guard(Arc<Operation>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What the config bag holds: the operation lives as long as the bag does.
#[derive(Debug, Clone)]
pub(crate) struct Handle(Arc<Guard>);

impl Handle {
    pub(crate) fn new(operation: Arc<Operation>) -> Self {
        Handle(Arc::new(Guard(operation)))
    }

    pub(crate) fn operation(&self) -> &Arc<Operation> {
        &self.0.0
    }
}

impl Storable for Handle {
    type Storer = StoreReplace<Self>;
}
