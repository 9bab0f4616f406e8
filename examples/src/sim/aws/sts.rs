//! STS: the AWS query protocol.

use serde::Serialize;

use super::wire::Error;
use super::{Place, query};

/// The API's version, which every request names.
pub(super) const VERSION: &str = "2011-06-15";

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// The `Action` of a form of the right version.
pub(super) fn operation_name(body: &[u8]) -> Result<String, Error> {
    let (action, version) = query::action_and_version(body)?;
    if version != VERSION {
        let message = format!("Could not find operation {action} for version {version}");
        return Err(Error::bad_request("InvalidAction", message));
    }
    Ok(action)
}

#[derive(Serialize)]
#[serde(rename = "GetCallerIdentityResponse", rename_all = "PascalCase")]
pub(super) struct Identity {
    #[serde(rename = "@xmlns")]
    namespace: &'static str,
    get_caller_identity_result: Caller,
    response_metadata: Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Caller {
    arn: String,
    user_id: String,
    account: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata {
    request_id: String,
}

/// `GetCallerIdentity`: a user called `inventory` in every account.
pub(super) fn identity(place: &Place<'_>, request_id: String) -> Identity {
    let account = place.account.id();
    Identity {
        namespace: NAMESPACE,
        get_caller_identity_result: Caller {
            arn: format!("arn:aws:iam::{account}:user/inventory"),
            user_id: format!("AIDASIM00{account}"),
            account: account.to_owned(),
        },
        response_metadata: Metadata { request_id },
    }
}

#[derive(Serialize)]
#[serde(rename = "ErrorResponse", rename_all = "PascalCase")]
pub(super) struct ErrorDocument {
    #[serde(rename = "@xmlns")]
    namespace: &'static str,
    error: ErrorBody,
    request_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorBody {
    r#type: &'static str,
    code: &'static str,
    message: String,
}

/// Any error.
pub(super) fn error(error: &Error, request_id: String) -> ErrorDocument {
    let fault = if error.status.is_server_error() { "Receiver" } else { "Sender" };
    let message = error.message.clone().unwrap_or_default();
    ErrorDocument { namespace: NAMESPACE, error: ErrorBody { r#type: fault, code: error.code, message }, request_id }
}
