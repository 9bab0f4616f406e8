//! Secrets Manager.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Place;
use super::page::SECRETS_PAGE;
use super::wire::{self, Error};
use crate::sim::page::List;

/// When every secret was created and last changed, in seconds since 1970.
const CREATED_S: u64 = 1_767_225_600;

/// The id of the one version every secret has.
const VERSION_ID: &str = "00000000-0000-4000-8000-000000000001";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ListRequest {
    max_results: Option<i64>,
    next_token: Option<String>,
}

/// Pages through the secrets' metadata, by name.
pub(super) fn list_secrets(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: ListRequest = wire::read(body)?;
    let size = wire::page_size("ValidationException", "maxResults", request.max_results, SECRETS_PAGE, SECRETS_PAGE)?;
    let names = &place.estate.secrets;
    let list = List { leaf: place.leaf, filter: &[] };
    let (rows, next) = list
        .page(names.len(), size, request.next_token.as_deref())
        .map_err(|_| Error::bad_request("InvalidNextTokenException", "The NextToken value is invalid."))?;
    let row = |name: &String| described(place, name, "SecretVersionsToStages");
    let rows: Vec<_> = names.get(rows).unwrap_or_default().iter().map(row).collect();
    Ok(match next {
        Some(token) => json!({ "SecretList": rows, "NextToken": token }),
        None => json!({ "SecretList": rows }),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Describe {
    secret_id: String,
}

/// One secret's metadata, by name or ARN.
pub(super) fn describe_secret(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: Describe = wire::read(body)?;
    let names = &place.estate.secrets;
    let asked = request.secret_id.as_str();
    let by_name = names.binary_search_by(|name| name.as_str().cmp(asked)).ok().and_then(|index| names.get(index));
    let name = by_name.or_else(|| names.iter().find(|name| arn(place, name) == asked));
    let name = name.ok_or_else(|| {
        Error::bad_request("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
    })?;
    Ok(described(place, name, "VersionIdsToStages"))
}

fn described(place: &Place<'_>, name: &str, versions: &str) -> Value {
    json!({
        "ARN": arn(place, name),
        "Name": name,
        "CreatedDate": CREATED_S,
        "LastChangedDate": CREATED_S,
        versions: { VERSION_ID: ["AWSCURRENT"] },
    })
}

/// Six characters end every secret's ARN, so that one made anew under an old name has another.
fn arn(place: &Place<'_>, name: &str) -> String {
    place.arn("secretsmanager", &format!("secret:{name}-sim000"))
}
