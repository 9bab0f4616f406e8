//! The bodies of successes, which are the reader's.

use std::num::NonZeroUsize;

use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_success_that_is_read_at_leisure_holds_no_slot() {
    let server = Server::always(Reply::new(200, "half and half").stalled());
    let governor = governor(|api| api.account_concurrency(NonZeroUsize::MIN));
    let client = client(&server, &governor);
    let mut unread = Vec::new();
    for _ in 0..5 {
        unread.push(client.get(URL).send().await.unwrap());
        assert!(is_at_rest(&governor));
    }
    assert_eq!((server.count(), totals(&governor).calls), (5, 5));
    for mut response in unread {
        assert_eq!(response.chunk().await.unwrap().unwrap(), "half a");
    }
}

#[tokio::test]
async fn a_success_whose_body_breaks_is_the_readers_to_see() {
    let server = Server::always(Reply::new(200, "half and half").cut());
    let governor = governor(|api| api.max_retries(3));
    let response = client(&server, &governor).get(URL).send().await.unwrap();
    response.bytes().await.unwrap_err();
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.transient_errors), (1, 1, 0));
    assert!(is_at_rest(&governor));
}
