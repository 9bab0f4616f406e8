//! A server that does as a script says, and governors for its clients.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cloud_governor::{Config, Governor, ProviderBuilder, Totals};
use google_cloud_auth::credentials::{Credentials, anonymous};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub(crate) const ACCOUNT: &str = "projects/home";

/// One request as the server saw it.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "storage"), expect(dead_code, reason = "uploads look into it"))]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) range: Option<String>,
}

/// What it answers.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Reply { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn error(status: u16, name: &str) -> Self {
        let body = serde_json::json!({ "error": { "code": status, "message": "scripted", "status": name } });
        Reply { status, headers: Vec::new(), body: body.to_string() }
    }

    #[cfg(feature = "storage")]
    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[cfg(feature = "storage")]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Where it listens, and what it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers each request by its number, from 1.
    pub(crate) async fn start(answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server { url, asked: Arc::default() };
        let (asked, answer) = (Arc::clone(&server.asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                    async move { Ok::<_, Infallible>(serve(request, &asked, &*answer).await) }
                });
                let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move {
                    let _ended = connection.await;
                });
            }
        });
        server
    }

    /// Nobody listens there.
    pub(crate) fn nowhere() -> Self {
        Server { url: "http://127.0.0.1:1".to_owned(), asked: Arc::default() }
    }

    /// These answers in turn, the last one for ever.
    pub(crate) async fn script(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Server::start(move |_, number| replies[(number - 1).min(replies.len() - 1)].clone()).await
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked().len()
    }
}

async fn serve(
    request: Request<Incoming>,
    asked: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked, usize) -> Reply + Send + Sync),
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let _read = body.collect().await;
    let range = head.headers.get("content-range").and_then(|range| range.to_str().ok()).map(str::to_owned);
    let seen = Asked { method: head.method.to_string(), range };
    let number = {
        let mut asked = asked.lock().unwrap();
        asked.push(seen.clone());
        asked.len()
    };
    let Reply { status, headers, body } = answer(&seen, number);
    let response = Response::builder().status(status).header("content-type", "application/json");
    let response = headers.into_iter().fold(response, |response, (name, value)| response.header(name, value));
    response.body(Full::new(Bytes::from(body))).unwrap()
}

/// A governor with fast retries, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    let config = Config::builder().provider("gcp", |gcp| {
        set(gcp
            .base_delay(Duration::from_millis(1))
            .max_backoff(Duration::from_millis(2))
            .max_rps(1e6)
            .burst(1e6)
            .published(false))
    });
    Governor::builder().config(config.build().unwrap()).build()
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

pub(crate) fn anonymous() -> Credentials {
    anonymous::Builder::new().build()
}
