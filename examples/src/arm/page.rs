//! Pages of a list, and the links between them.

use std::fmt;
use std::marker::PhantomData;

use azure_core::error::{Error, ErrorKind};
use azure_core::http::Url;
use serde::Deserialize;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// Its rows.
    pub rows: Vec<T>,
    /// Where the list goes on, if it does.
    pub next: Option<NextLink<T>>,
}

/// The address of the next page of a list of `T`. It is on the server that gave it.
pub struct NextLink<T> {
    url: Url,
    rows: PhantomData<fn() -> T>,
}

impl<T> NextLink<T> {
    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

// Derived ones would ask the same of `T`.
impl<T> Clone for NextLink<T> {
    fn clone(&self) -> Self {
        NextLink { url: self.url.clone(), rows: PhantomData }
    }
}

impl<T> fmt::Debug for NextLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the query, whose token is nobody's business.
        f.debug_tuple("NextLink").field(&self.url.path()).finish()
    }
}

/// A page as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPage<T> {
    value: Vec<T>,
    next_link: Option<String>,
}

impl<T> RawPage<T> {
    /// With its link checked: a token goes with every request, so a link that leads to another server is not followed.
    pub(super) fn checked(self, endpoint: &Url) -> azure_core::Result<Page<T>> {
        // Some services write an empty link on the last page.
        let next = self.next_link.filter(|link| !link.is_empty()).map(|link| next_link(&link, endpoint)).transpose()?;
        Ok(Page { rows: self.value, next })
    }
}

fn next_link<T>(link: &str, endpoint: &Url) -> azure_core::Result<NextLink<T>> {
    let url = Url::parse(link)?;
    let place = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    if place(&url) == place(endpoint) {
        return Ok(NextLink { url, rows: PhantomData });
    }
    let host = url.host_str().unwrap_or_default();
    let message = format!("the next page would be at {host}, not at {endpoint}");
    Err(Error::with_message(ErrorKind::DataConversion, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(json: &str) -> azure_core::Result<Page<u32>> {
        let endpoint = Url::parse("https://management.azure.com").expect("a URL");
        serde_json::from_str::<RawPage<u32>>(json).expect("a page").checked(&endpoint)
    }

    #[test]
    fn a_link_to_the_same_server_is_followed_and_none_is_the_end() {
        let going_on = page(r#"{"value":[1],"nextLink":"https://management.azure.com:443/a?%24skiptoken=b"}"#);
        let going_on = going_on.expect("a good link");
        assert_eq!(going_on.rows, [1]);
        assert_eq!(going_on.next.expect("a link").url().as_str(), "https://management.azure.com/a?%24skiptoken=b");
        for last in [r#"{"value":[]}"#, r#"{"value":[],"nextLink":null}"#, r#"{"value":[],"nextLink":""}"#] {
            assert!(page(last).expect("a page").next.is_none(), "{last}");
        }
    }

    #[test]
    fn a_link_to_another_server_is_an_error() {
        for link in [
            "http://management.azure.com/a",
            "https://management.azure.com.example.org/a",
            "https://management.azure.com:444/a",
            "https://example.org/management.azure.com",
            "/a",
        ] {
            assert!(page(&format!(r#"{{"value":[],"nextLink":"{link}"}}"#)).is_err(), "{link}");
        }
    }

    #[test]
    fn debug_shows_no_token() {
        let page = page(r#"{"value":[],"nextLink":"https://management.azure.com/a?%24skiptoken=hidden"}"#);
        assert!(!format!("{page:?}").contains("hidden"));
    }
}
