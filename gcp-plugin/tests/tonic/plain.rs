//! Without a governor: what the servers do on the wire, and what the clients make of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full};
use tonic::client::GrpcService;
use tonic::{Code, Status};
use tonic_types::ErrorDetails;

use crate::clients::{Ask, On, Rpc, Said, held, plain, received};
use crate::governors::{seconds, until};
use crate::reply::Reply;
use crate::server::Server;

#[tokio::test]
async fn a_status_comes_in_the_headers_or_in_trailers_behind_them() {
    for (reply, is_in_headers) in
        [(Reply::trailers_only(Code::Unavailable, None), true), (Reply::trailers(Code::Unavailable, None), false)]
    {
        let server = Server::always(reply);
        let mut channel = tonic::transport::Endpoint::from_shared(server.url()).expect("an address").connect_lazy();
        std::future::poll_fn(|cx| GrpcService::poll_ready(&mut channel, cx)).await.expect("a connection");
        let body = tonic::body::Body::new(Full::from(&[0_u8, 0, 0, 0, 0][..]));
        let request = http::Request::post(format!("{}/google.pubsub.v1.Publisher/GetTopic", server.url()));
        let request = request.header("content-type", "application/grpc").body(body).expect("a request");
        let answer = channel.call(request).await.expect("an answer");
        assert_eq!(Status::from_header_map(answer.headers()).is_some(), is_in_headers);
        let body = answer.into_body().collect().await.expect("a body");
        let trailers = body.trailers().cloned();
        assert_eq!(trailers.is_some_and(|trailers| trailers.contains_key("grpc-status")), !is_in_headers);
    }
}

#[tokio::test]
async fn clients_get_the_whole_of_a_status_wherever_it_comes() {
    let details = ErrorDetails::with_retry_info(Some(seconds(7)));
    let in_headers = Reply::trailers_only(Code::ResourceExhausted, Some(details.clone())).header("x-own", "mine");
    let in_trailers = Reply::trailers(Code::ResourceExhausted, Some(details)).trailer("x-own", "mine");
    for reply in [in_headers, in_trailers] {
        for on in On::ALL {
            let server = Server::always(reply.clone());
            for rpc in Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE) {
                let said = plain(on, &server).await.call(rpc, Ask::default()).await.expect_err("always");
                let Said { code, message, details, own, refusal, .. } = said;
                assert_eq!((code, message.as_str()), (Code::ResourceExhausted, "ResourceExhausted it is"), "{on:?}");
                assert_eq!((own.as_deref(), refusal), (Some("mine"), None));
                assert!(!details.is_empty());
            }
            assert_eq!(server.count(), Rpc::REPEATABLE.len() + Rpc::ONCE.len());
        }
    }
}

#[tokio::test]
async fn a_call_says_its_rpc_by_its_path_and_its_resource_in_a_header() {
    for on in On::ALL {
        let server = Server::always(Reply::grpc(b""));
        plain(on, &server).await.call(Rpc::Publish, Ask::of("p7")).await.expect("an answer");
        let asked = &server.asked()[0];
        assert_eq!(asked.path, "/google.pubsub.v1.Publisher/Publish");
        assert_eq!(asked.header("x-goog-request-params"), Some("topic=projects/p7/topics/t"));
    }
}

#[tokio::test]
async fn a_live_server_answers_each_message_when_it_comes() {
    for on in On::ALL {
        let server = Server::live(|_, _| Reply::grpc(b"").for_each(3));
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sent);
        // One message goes for each that came.
        let (more, mut wanted) = tokio::sync::mpsc::unbounded_channel();
        more.send(()).expect("a stream");
        let going = stream::poll_fn(move |cx| wanted.poll_recv(cx)).inspect(move |()| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let mut coming = plain(on, &server).await.pull(Ask::default(), going.boxed()).await.expect("a stream");
        let mut came = 0;
        while let Some(part) = coming.next().await {
            part.expect("a message");
            came += 1;
            assert_eq!((server.messages(), sent.load(Ordering::SeqCst)), (came, came), "{on:?}");
            let _over = more.send(());
        }
        assert_eq!((came, server.count()), (3, 1), "{on:?}");
    }
}

#[tokio::test]
async fn streams_of_either_side_are_counted_by_a_live_server() {
    for on in On::ALL {
        let server =
            Server::live(
                |asked, _| {
                    if asked.path.ends_with("/WriteObject") { Reply::grpc(b"") } else { Reply::messages(b"", 5) }
                },
            );
        let client = plain(on, &server).await;
        client.write(Ask::default(), stream::iter([(); 4]).boxed()).await.expect("an answer");
        assert_eq!(server.messages(), 4, "{on:?}");
        let came = received(client.read(Ask::default()).await.expect("a stream")).await;
        assert_eq!((came, server.messages()), ((5, None), 5), "{on:?}");
    }
}

#[tokio::test]
async fn what_breaks_or_ends_in_an_error_midway_gives_its_messages_first() {
    for on in On::ALL {
        for (reply, code) in [
            (Reply::messages(b"", 4).ending(Code::Aborted, None), Some(Code::Aborted)),
            (Reply::messages(b"", 8).cut(), None),
        ] {
            let server = Server::always(reply);
            let coming = plain(on, &server).await.read(Ask::default()).await.expect("a stream");
            let (came, said) = received(coming).await;
            let said = said.expect("a broken stream");
            assert_eq!(came, 4, "{on:?}: {said:?}");
            assert!(code.is_none_or(|code| said.code == code), "{on:?}: {said:?}");
        }
    }
}

#[tokio::test]
async fn a_dropped_stream_of_any_kind_is_known_to_the_server() {
    for on in On::ALL {
        let server = Server::live(|asked, _| match asked.path.rsplit('/').next() {
            Some("ReadObject") => Reply::messages(b"", 8).stalled().at_once(),
            Some("StreamingPull") => Reply::grpc(b"").for_each(1_000),
            _ => Reply::grpc(b""),
        });
        let client = plain(on, &server).await;
        let mut coming = client.read(Ask::default()).await.expect("a stream");
        coming.next().await.expect("a message").expect("a message");
        assert_eq!(server.in_flight(), 1);
        drop(coming);
        until("the end of what is read", || server.in_flight() == 0).await;
        // What the client still sends keeps its stream open, whoever has let go of the answer.
        let (held, going) = held();
        let mut coming = client.pull(Ask::default(), going).await.expect("a stream");
        coming.next().await.expect("a message").expect("a message");
        assert_eq!(server.in_flight(), 1);
        drop((coming, held));
        until("the end of what goes both ways", || server.in_flight() == 0).await;
        let (held, going) = self::held();
        let writing = tokio::spawn(client.write(Ask::default(), going));
        until("the messages", || server.messages() == 1 + 3 + 3).await;
        writing.abort();
        drop(held);
        until("the end of what is written", || server.in_flight() == 0).await;
    }
}
