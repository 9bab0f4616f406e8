//! The calls that the listings are made of: pages, and what each row of a page needs.

use std::sync::Arc;

use super::aws;
use super::azure;
use super::failure::Failure;
use super::found::Found;
use super::gcp;
use super::kind::Kind;

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page<R, N> {
    /// What needs something more.
    pub(super) rows: Vec<R>,
    /// Where the list goes on, if it does.
    pub(super) next: Option<N>,
    /// What the page itself counts for.
    pub(super) found: Found,
    /// The account, where the service said so.
    pub(super) account: Option<String>,
}

/// An empty page, the last of its list.
impl<R, N> Default for Page<R, N> {
    fn default() -> Self {
        Page { rows: Vec::new(), next: None, found: Found::default(), account: None }
    }
}

impl<R, N> Page<R, N> {
    fn map<S, M>(self, row: impl Fn(R) -> S, next: impl FnOnce(N) -> M) -> Page<S, M> {
        let rows = self.rows.into_iter().map(row).collect();
        Page { rows, next: self.next.map(next), found: self.found, account: self.account }
    }
}

/// A page to ask for: through which clients, of what, and from where on.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Aws(Arc<aws::Clients>, aws::Kind, Option<String>),
    Azure(Arc<azure::Clients>, azure::Pages),
    Gcp(Arc<gcp::Clients>, gcp::Pages),
}

impl Source {
    /// What is listed.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Source::Aws(_, kind, _) => Kind::Aws(*kind),
            Source::Azure(_, pages) => Kind::Azure(pages.kind()),
            Source::Gcp(_, pages) => Kind::Gcp(pages.kind()),
        }
    }

    /// The page.
    pub(super) async fn page(&self) -> Result<Page<Row, Source>, Failure> {
        match self {
            Source::Aws(clients, kind, token) => {
                let page = clients.page(*kind, token.clone()).await?;
                Ok(page.map(
                    |row| Row::Aws(clients.clone(), row),
                    |token| Source::Aws(clients.clone(), *kind, Some(token)),
                ))
            }
            Source::Azure(clients, pages) => {
                let page = clients.page(pages).await?;
                Ok(page.map(|row| Row::Azure(clients.clone(), row), |pages| Source::Azure(clients.clone(), pages)))
            }
            Source::Gcp(clients, pages) => {
                let page = clients.page(pages).await?;
                Ok(page.map(|zone| Row::Gcp(clients.clone(), zone), |pages| Source::Gcp(clients.clone(), pages)))
            }
        }
    }
}

/// One row that needs something more, and how far that has come.
#[derive(Debug)]
pub(super) enum Row {
    Aws(Arc<aws::Clients>, aws::Row),
    Azure(Arc<azure::Clients>, azure::Row),
    Gcp(Arc<gcp::Clients>, gcp::Zone),
}

impl Row {
    /// Everything that the row needs. What is found is handed to `count` as it comes, and the row remembers how far it
    /// came, so that a failure costs nothing twice.
    pub(super) async fn complete(&mut self, count: impl Fn(Found) + Send + Sync) -> Result<(), Failure> {
        match self {
            Row::Aws(clients, row) => clients.complete(row, count).await,
            Row::Azure(clients, row) => clients.complete(row, count).await,
            Row::Gcp(clients, zone) => clients.complete(zone, count).await,
        }
    }
}
