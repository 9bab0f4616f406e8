//! The calls that the listings are made of: pages, and what each row of a page needs.

use std::sync::Arc;

use super::aws;
use super::failure::Failure;
use super::found::Found;
use super::kind::Kind;

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page<R> {
    /// What needs something more.
    pub(super) rows: Vec<R>,
    /// The token of the next page, if there is one.
    pub(super) next: Option<String>,
    /// What the page itself counts for.
    pub(super) found: Found,
    /// The account, where the service said so.
    pub(super) account: Option<String>,
}

/// An empty page, the last of its list.
impl<R> Default for Page<R> {
    fn default() -> Self {
        Page { rows: Vec::new(), next: None, found: Found::default(), account: None }
    }
}

impl<R> Page<R> {
    fn map<S>(self, wrap: impl Fn(R) -> S) -> Page<S> {
        let Page { rows, next, found, account } = self;
        Page { rows: rows.into_iter().map(wrap).collect(), next, found, account }
    }
}

/// What a listing asks, and through which clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// AWS.
    Aws(Arc<aws::Clients>, aws::Kind),
}

impl Source {
    /// What it lists.
    pub fn kind(&self) -> Kind {
        match self {
            Source::Aws(_, kind) => Kind::Aws(*kind),
        }
    }

    /// The page that `token` stands for; the first one without.
    pub(super) async fn page(&self, token: Option<String>) -> Result<Page<Row>, Failure> {
        match self {
            Source::Aws(clients, kind) => {
                let page = clients.page(*kind, token).await?;
                Ok(page.map(|row| Row::Aws(clients.clone(), row)))
            }
        }
    }
}

/// One row that needs something more, and how far that has come.
#[derive(Debug)]
pub(super) enum Row {
    Aws(Arc<aws::Clients>, aws::Row),
}

impl Row {
    /// Everything that the row needs. What is found is handed to `count` as it comes, and the row remembers how far it
    /// came, so that a failure costs nothing twice.
    pub(super) async fn complete(&mut self, count: impl Fn(Found) + Send + Sync) -> Result<(), Failure> {
        match self {
            Row::Aws(clients, row) => clients.complete(row, count).await,
        }
    }
}
