//! The SDK's own clients over real connections, against servers on the loopback interface.
//!
//! Where a client insists on https, its transport brings the request to the server over http with the host it was meant for:
//! the pipeline above is the client's own, and sees the URL that it would see. Where the environment names a proxy, `NO_PROXY`
//! has to name 127.0.0.1.

mod common;
mod server;

mod always;
mod azurite;
mod bodies;
mod cancel;
mod hostile;
mod options;
mod outages;
mod queues;
mod secrets;
mod tokens;
mod transfers;
