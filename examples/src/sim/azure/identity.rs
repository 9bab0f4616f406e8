//! Entra ID's token endpoint, and the tokens.

use std::hash::{DefaultHasher, Hash, Hasher};

use hyper::StatusCode;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Fleet;
use super::fleet::Principal;
use super::wire::{self, Error};
use crate::sim::Answer;

/// How long a token lasts, in seconds. Nothing runs so long here, and age is not checked.
const LIFETIME_S: u32 = 3_599;

/// What Resource Manager's tokens are asked for with, in its two spellings.
const SCOPES: [&str; 2] = ["https://management.azure.com/.default", "https://management.core.windows.net/.default"];

/// A form that asks for a token, as far as it is read.
#[derive(Default)]
struct Form {
    client: String,
    secret: String,
    grant: String,
    scope: String,
}

impl Form {
    fn of(body: &[u8]) -> Self {
        let mut form = Form::default();
        for (name, value) in form_urlencoded::parse(body) {
            match name.as_ref() {
                "client_id" => form.client = value.into_owned(),
                "client_secret" => form.secret = value.into_owned(),
                "grant_type" => form.grant = value.into_owned(),
                "scope" => form.scope = value.into_owned(),
                _ => {}
            }
        }
        form
    }
}

/// The client id that a form names; empty if it names none.
pub(super) fn client(body: &[u8]) -> String {
    Form::of(body).client
}

/// An error of Entra ID: OAuth's word for it, Entra's number and what it says.
struct Denied {
    status: StatusCode,
    error: &'static str,
    code: u32,
    message: String,
}

impl Denied {
    fn new(status: StatusCode, error: &'static str, code: u32, message: impl Into<String>) -> Self {
        Denied { status, error, code, message: message.into() }
    }

    fn bad_request(error: &'static str, code: u32, message: impl Into<String>) -> Self {
        Denied::new(StatusCode::BAD_REQUEST, error, code, message)
    }

    fn answer(&self, number: u64) -> Answer {
        let Denied { status, error, code, message } = self;
        let id = wire::request_id(number);
        let time = Timestamp::now().strftime("%Y-%m-%d %H:%M:%SZ").to_string();
        let body = json!({
            "error": error,
            // In one line, as it is today: azure_identity 1.0 cannot read a description that has to be escaped.
            "error_description": format!("AADSTS{code}: {message} Trace ID: {id} Correlation ID: {id} Timestamp: {time}"),
            "error_codes": [code],
            "timestamp": time,
            "trace_id": id,
            "correlation_id": id,
        });
        wire::plain(number, *status, &body)
    }
}

/// Gives a token to a principal of this tenant that shows its secret.
pub(super) fn answer(number: u64, fleet: &Fleet, tenant: &str, body: &[u8]) -> Answer {
    match grant(fleet, tenant, &Form::of(body)) {
        Ok(token) => wire::plain(number, StatusCode::OK, &token),
        Err(denied) => denied.answer(number),
    }
}

fn grant(fleet: &Fleet, tenant: &str, form: &Form) -> Result<Value, Denied> {
    if tenant != fleet.tenant() {
        return Err(Denied::bad_request("invalid_request", 90_002, "The tenant was not found."));
    }
    if form.grant != "client_credentials" {
        return Err(Denied::bad_request("unsupported_grant_type", 70_003, "The grant type is not supported."));
    }
    let principal = fleet.principal(&form.client).ok_or_else(|| {
        Denied::bad_request("unauthorized_client", 700_016, "The application was not found in the directory.")
    })?;
    if form.secret != principal.secret() {
        let message = "Invalid client secret provided.";
        return Err(Denied::new(StatusCode::UNAUTHORIZED, "invalid_client", 7_000_215, message));
    }
    if !SCOPES.contains(&form.scope.as_str()) {
        let message = "The resource principal was not found in the tenant.";
        return Err(Denied::bad_request("invalid_resource", 500_011, message));
    }
    let token = token(principal);
    Ok(json!({
        "token_type": "Bearer",
        "expires_in": LIFETIME_S,
        "ext_expires_in": LIFETIME_S,
        "access_token": token,
    }))
}

/// The answer to a client that asks too often.
pub(super) fn throttled(number: u64) -> Answer {
    let message = "The server terminated an operation because it encountered a client request loop.";
    Denied::new(StatusCode::TOO_MANY_REQUESTS, "invalid_request", 50_196, message).answer(number)
}

/// The answer of an Entra ID that fails.
pub(super) fn failed(number: u64, status: StatusCode) -> Answer {
    let message = "A transient error has occurred. Please try again.";
    Denied::new(status, "temporarily_unavailable", 90_033, message).answer(number)
}

// ===== tokens =====

/// The principal's token: its client id, and a check that nobody makes who does not have the secret.
fn token(principal: &Principal) -> String {
    let mut hasher = DefaultHasher::new();
    (principal.client_id(), principal.secret()).hash(&mut hasher);
    format!("simulated.{}.{:016x}", principal.client_id(), hasher.finish())
}

/// Whose token a request carries, or the answer to one that carries none that is known.
pub(super) fn caller<'a>(number: u64, fleet: &'a Fleet, head: &Parts) -> Result<&'a Principal, Box<Answer>> {
    let refuse = |code, message: &str, description| {
        let mut answer = wire::arm_error(number, &Error::new(StatusCode::UNAUTHORIZED, code, message));
        wire::challenge(&mut answer, fleet.tenant(), description);
        Box::new(answer)
    };
    let Some(header) = head.headers.get(AUTHORIZATION) else {
        let message = "Authentication failed. The 'Authorization' header is missing.";
        let description = "The authentication failed because of missing 'Authorization' header.";
        return Err(refuse("AuthenticationFailed", message, description));
    };
    let shown = header.to_str().ok().and_then(|header| header.strip_prefix("Bearer "));
    let known = shown.and_then(|shown| {
        let principal = fleet.principal(shown.split('.').nth(1)?)?;
        (token(principal) == shown).then_some(principal)
    });
    let message = "The access token is invalid.";
    known.ok_or_else(|| refuse("InvalidAuthenticationToken", message, message))
}
