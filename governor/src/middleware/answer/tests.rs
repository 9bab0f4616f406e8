use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::FakeClock;

/// Frames as a server might send them; after each, whether the next is a while in coming.
fn frames() -> impl Strategy<Value = Vec<(Bytes, bool)>> {
    let sizes = prop_oneof![8 => 0..200_usize, 1 => 20_000..70_000_usize];
    let frame = (sizes, any::<u8>()).prop_map(|(size, byte)| Bytes::from(vec![byte; size]));
    proptest::collection::vec((frame, any::<bool>()), 0..8)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Whole,
    Trailers,
    Broken,
}

/// A body of these frames.
struct Scripted {
    frames: VecDeque<(Bytes, bool)>,
    is_pending: bool,
    ending: Ending,
}

impl http_body::Body for Scripted {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::take(&mut self.is_pending) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = match self.frames.pop_front() {
            Some((data, is_pending)) => {
                self.is_pending = is_pending;
                Ok(Frame::data(data))
            }
            None => match std::mem::replace(&mut self.ending, Ending::Whole) {
                Ending::Whole => return Poll::Ready(None),
                Ending::Trailers => {
                    Ok(Frame::trailers([("x-end".parse().unwrap(), "1".parse().unwrap())].into_iter().collect()))
                }
                Ending::Broken => Err(std::io::ErrorKind::BrokenPipe.into()),
            },
        };
        Poll::Ready(Some(frame))
    }
}

/// All that a body gives: its bytes, whether trailers came, whether it broke.
async fn all(response: Response) -> (Vec<u8>, bool, bool) {
    let mut body = http::Response::<Body>::from(response).into_body();
    let (mut bytes, mut trailers) = (Vec::new(), false);
    loop {
        match body.frame().await {
            None => return (bytes, trailers, false),
            Some(Err(_)) => return (bytes, trailers, true),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(_) => trailers = true,
            },
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_read_ahead_the_body_comes_as_it_was(
        frames in frames(),
        ending in prop_oneof![Just(Ending::Whole), Just(Ending::Trailers), Just(Ending::Broken)],
        times in 1..3_usize,
    ) {
        let expected: Vec<u8> = frames.iter().flat_map(|(data, _)| data.iter().copied()).collect();
        let is_short = expected.len() + frames.len() < READ_AHEAD;
        let body = Scripted { frames: frames.into(), is_pending: false, ending };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ((bytes, trailers, broke), seen) = runtime.block_on(async {
            let clock = FakeClock::new();
            let mut response = Response::from(http::Response::new(Body::wrap(body)));
            let mut last = Seen::Start;
            for _ in 0..times {
                (response, last) = look_into(response, &clock, None).await;
            }
            (all(response).await, last)
        });
        prop_assert_eq!(&bytes, &expected);
        prop_assert_eq!((trailers, broke), (ending == Ending::Trailers, ending == Ending::Broken));
        match seen {
            Seen::Whole(body) => prop_assert!(body == expected && ending != Ending::Broken),
            Seen::Broke => prop_assert!(ending == Ending::Broken),
            Seen::Start => prop_assert!(!is_short),
        }
    }
}

/// However small the pieces that it comes in.
#[test]
fn what_is_read_ahead_takes_no_more_memory_than_it_has_bytes() {
    let crumbs = std::iter::repeat_n((Bytes::from_static(b"x"), false), 2 * READ_AHEAD).collect();
    let body = Scripted { frames: crumbs, is_pending: false, ending: Ending::Whole };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = Body::wrap(body);
    let mut read = None;
    let allocated = allocation_counter::measure(|| {
        read = Some(runtime.block_on(Read::ahead(body, &FakeClock::new(), None)));
    });
    assert!(allocated.bytes_max < 4 * READ_AHEAD as u64, "{allocated:?}");
    assert_eq!(read.map(|read| read.start.data.len()), Some(READ_AHEAD));
}
