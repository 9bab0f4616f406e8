use std::pin::Pin;
use std::task::{Context, Poll};

use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use http_body::{Body, Frame};
use proptest::prelude::*;

use super::{BoxError, ReadEnd, read_ahead};

/// Gives its chunks one by one, and an error after them if it is to break.
struct Chunks {
    chunks: std::vec::IntoIter<Vec<u8>>,
    breaks: bool,
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(chunk) = self.chunks.next() {
            return Poll::Ready(Some(Ok(Frame::data(chunk.into()))));
        }
        Poll::Ready(std::mem::take(&mut self.breaks).then(|| Err("broken".into())))
    }
}

fn body(chunks: Vec<Vec<u8>>, breaks: bool) -> SdkBody {
    SdkBody::from_body_1_x(Chunks { chunks: chunks.into_iter(), breaks })
}

proptest! {
    #[test]
    fn a_body_read_ahead_is_handed_on_unchanged(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..20), 0..8),
        limit in 0..100_usize,
        breaks: bool,
    ) {
        let whole: Vec<u8> = chunks.concat();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (read, collected) = runtime.block_on(async {
            let read = read_ahead(body(chunks, breaks), limit, Box::pin(std::future::pending())).await;
            let start = read.start.clone();
            (start, ByteStream::new(read.into_body(None)).collect().await)
        });
        prop_assert!(whole.starts_with(&read));
        match collected {
            Ok(bytes) => prop_assert!(!breaks && bytes.into_bytes() == whole),
            Err(_) => prop_assert!(breaks),
        }
    }
}

#[tokio::test]
async fn reading_stops_at_the_limit() {
    let read =
        read_ahead(body(vec![vec![1; 10], vec![2; 10], vec![3; 10]], false), 15, Box::pin(std::future::pending()))
            .await;
    assert_eq!(read.start.len(), 20);
    assert!(matches!(read.end, ReadEnd::More(_)));
}
