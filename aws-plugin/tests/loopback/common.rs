//! Servers, and clients for them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_ssm::config::{BehaviorVersion, Region};
use aws_types::SdkConfig;
use aws_types::sdk_config::Builder;
use bytes::Bytes;
use cloud_governor::{Config, Governor};
use cloud_governor_aws::AwsHooks;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming, http::request::Parts};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers every request by its number, from 1, and counts them.
pub(crate) async fn serve(
    answer: impl Fn(usize) -> (u16, String) + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let address = serve_requests(move |_, _| answer(counted.fetch_add(1, Ordering::SeqCst) + 1)).await;
    (address, count)
}

/// Answers every request by its head and its body.
pub(crate) async fn serve_requests(answer: impl Fn(&Parts, &[u8]) -> (u16, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = Arc::clone(&answer);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                    let (status, body) = answer(&head, &body);
                    let response = Response::builder()
                        .status(status)
                        .header("content-type", "application/x-amz-json-1.1")
                        .body(Full::new(Bytes::from(body)));
                    Ok::<_, Infallible>(response.expect("a response"))
                }
            });
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move {
                let _ended = connection.await;
            });
        }
    });
    address
}

/// A configuration without hooks and without an HTTP client.
pub(crate) fn plain(address: &str) -> Builder {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .endpoint_url(address)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
}

pub(crate) fn governed(address: &str, governor: &Governor) -> SdkConfig {
    let config = plain(address).http_client(aws_smithy_http_client::Builder::new().build_http()).build();
    AwsHooks::builder().account("1").governor(governor.clone()).install(&config)
}

pub(crate) fn client(address: &str, governor: &Governor) -> aws_sdk_ssm::Client {
    aws_sdk_ssm::Client::new(&governed(address, governor))
}

/// An S3 client that names its bucket in the path: the server has one name.
pub(crate) fn s3(address: &str, governor: &Governor) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::config::Builder::from(&governed(address, governor)).force_path_style(true);
    aws_sdk_s3::Client::from_conf(config.build())
}

pub(crate) fn governor(retries: u32) -> Governor {
    let config = Config::builder().provider("aws", |aws| {
        aws.max_retries(retries).base_delay(Duration::from_millis(1)).max_backoff(Duration::from_millis(2))
    });
    Governor::builder().config(config.build().expect("sound")).build()
}

/// Answers every request with these bytes, whole or not, and closes the connection; counts the requests.
pub(crate) async fn serve_bytes(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 16 * 1024];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                counted.fetch_add(1, Ordering::SeqCst);
                let _sent = stream.write_all(answer.as_bytes()).await;
            }
        }
    });
    (address, count)
}
