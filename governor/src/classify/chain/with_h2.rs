//! HTTP/2's errors, as gRPC understands them (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md, "Errors").

use std::error::Error;

use h2::Reason;

use super::{Found, io_transport};
use crate::classify::{GrpcCode, Transport};

impl Found<'_> {
    pub(super) fn look_at_h2(&mut self, error: &(dyn Error + 'static)) {
        let Some(error) = error.downcast_ref::<h2::Error>() else { return };
        if error.reason() == Some(Reason::ENHANCE_YOUR_CALM) {
            // A limit of the server's, on requests or on pings.
            self.any = true;
            self.facts.grpc.get_or_insert(GrpcCode::ResourceExhausted);
        } else if is_unprocessed(error) {
            self.transport(Some(Transport::Connect));
        } else {
            self.transport(Some(error.get_io().and_then(io_transport).unwrap_or(Transport::Io)));
        }
    }
}

/// Whether the server says that it has not looked at the request (RFC 9113, section 8.7). h2 gives a received GOAWAY to the
/// streams beyond the last one that it names, and to requests that were not sent; the others get what ends the connection.
fn is_unprocessed(error: &h2::Error) -> bool {
    error.reason() == Some(Reason::REFUSED_STREAM) || (error.is_go_away() && error.is_remote())
}
