//! The way for real clients to the simulated Azure.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind, ResultExt};
use azure_core::http::{AsyncRawResponse, HttpClient, Request, Transport};
use reqwest::redirect::Policy;

use crate::sim::Server;

/// The hosts that the simulation stands in for.
const HOSTS: [&str; 2] = ["management.azure.com", "login.microsoftonline.com"];

/// Takes the requests of Resource Manager's and Entra ID's clients to a simulated Azure, for
/// [`ClientOptions::transport`](azure_core::http::ClientOptions).
///
/// The SDK sends no token to a server that does not speak TLS, and takes no such server for an authority. So the
/// clients keep to `https://management.azure.com` and `https://login.microsoftonline.com`, and their requests turn to
/// loopback on the last step, with the host they were meant for in the `Host` header. A request to any other host is
/// an error: nothing leaves the machine, and no proxy is asked.
///
/// # Errors
/// The HTTP client's, if it cannot be built.
pub fn transport(server: &Server) -> azure_core::Result<Transport> {
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build();
    let client = client.with_context(ErrorKind::Other, "the HTTP client cannot be built")?;
    Ok(transport_over(server, Arc::new(client)))
}

/// As [`transport`], over this HTTP client.
pub fn transport_over(server: &Server, client: Arc<dyn HttpClient>) -> Transport {
    Transport::new(Arc::new(Loopback { address: server.address(), client }))
}

#[derive(Debug)]
struct Loopback {
    address: SocketAddr,
    client: Arc<dyn HttpClient>,
}

impl Loopback {
    /// The request as it is sent.
    fn turned(&self, request: &Request) -> Option<Request> {
        let mut turned = request.clone();
        let host = request.url().host_str().filter(|host| HOSTS.contains(host))?.to_owned();
        let url = turned.url_mut();
        url.set_scheme("http").ok()?;
        match self.address.ip() {
            IpAddr::V4(ip) => url.set_ip_host(ip.into()).ok()?,
            IpAddr::V6(ip) => url.set_ip_host(ip.into()).ok()?,
        }
        url.set_port(Some(self.address.port())).ok()?;
        turned.insert_header("host", host);
        Some(turned)
    }
}

#[async_trait]
impl HttpClient for Loopback {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        match self.turned(request) {
            Some(request) => self.client.execute_request(&request).await,
            None => {
                let host = request.url().host_str().unwrap_or_default();
                let message = format!("{host} is not part of the simulation, which sends nothing to the network");
                Err(Error::with_message(ErrorKind::Other, message))
            }
        }
    }
}
