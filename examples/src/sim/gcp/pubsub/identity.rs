//! Who calls, and which project a call is charged to.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use tonic::Status;

use super::Pubsub;
use super::refusal::denied;

/// One project, and a caller of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its number, by which Google calls it in errors.
    pub number: u64,
}

impl Project {
    pub(super) fn numbered(number: u32) -> Self {
        Project { id: format!("orders-{number}"), number: 100_000_000_000 + u64::from(number) }
    }

    /// As a scope and a leaf call it.
    pub fn account(&self) -> String {
        format!("projects/{}", self.id)
    }

    /// The value of the `authorization` header of a caller of this project. It never ends.
    pub fn bearer(&self) -> String {
        format!("Bearer ya29.simulated-{}", self.id)
    }
}

impl Pubsub {
    /// The project that a request is charged to.
    pub(super) fn charged(&self, headers: &HeaderMap) -> Result<&Project, Status> {
        let Some(token) = headers.get(AUTHORIZATION) else {
            let message = "Request is missing required authentication credential. Expected OAuth 2 access token, login \
                           cookie or other valid authentication credential.";
            return Err(Status::unauthenticated(message));
        };
        let caller = self.projects.iter().find(|project| project.bearer().as_bytes() == token.as_bytes());
        let caller = caller.ok_or_else(|| {
            Status::unauthenticated("Request had invalid authentication credentials. Expected OAuth 2 access token.")
        })?;
        let Some(named) = headers.get("x-goog-user-project") else { return Ok(caller) };
        let named = named.to_str().unwrap_or_default();
        self.projects.iter().find(|project| project.id == named).ok_or_else(|| denied(named))
    }
}
