//! Systems Manager: Parameter Store.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Place;
use super::page::PARAMETERS_PAGE;
use super::wire::{self, Error};
use crate::sim::page::List;

/// The page when no size is asked for.
const USUAL_PAGE: u32 = 10;

/// When every parameter was last changed, in seconds since 1970.
const CHANGED_S: u64 = 1_767_225_600;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Describe {
    max_results: Option<i64>,
    next_token: Option<String>,
}

/// Pages through the parameters' metadata, by name.
pub(super) fn describe_parameters(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: Describe = wire::read(body)?;
    let size = wire::page_size("ValidationException", "maxResults", request.max_results, USUAL_PAGE, PARAMETERS_PAGE)?;
    let names = &place.estate.parameters;
    let list = List { leaf: place.leaf, filter: &[] };
    let (rows, next) = list
        .page(names.len(), size, request.next_token.as_deref())
        .map_err(|_| Error::bad_request("InvalidNextToken", "The specified token is not valid."))?;
    let row = |name: &String| {
        json!({
            "Name": name,
            "ARN": arn(place, name),
            "Type": "String",
            "LastModifiedDate": CHANGED_S,
            "LastModifiedUser": format!("arn:aws:iam::{}:user/inventory", place.account.id()),
            "Version": 1,
            "Tier": "Standard",
            "Policies": [],
            "DataType": "text",
        })
    };
    let rows: Vec<_> = names.get(rows).unwrap_or_default().iter().map(row).collect();
    Ok(match next {
        Some(token) => json!({ "Parameters": rows, "NextToken": token }),
        None => json!({ "Parameters": rows }),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Get {
    name: String,
    // Every parameter is a plain string, which decryption leaves as it is.
    #[serde(rename = "WithDecryption")]
    _with_decryption: Option<bool>,
}

/// One parameter, by name or ARN.
pub(super) fn get_parameter(place: &Place<'_>, body: &[u8]) -> Result<Value, Error> {
    let request: Get = wire::read(body)?;
    let prefix = place.arn("ssm", "parameter");
    let asked = request.name.strip_prefix(&prefix).unwrap_or(&request.name);
    let names = &place.estate.parameters;
    let found = names.binary_search_by(|name| name.as_str().cmp(asked)).ok().and_then(|index| names.get(index));
    // The service gives this error no message.
    let not_found = Error { message: None, ..Error::bad_request("ParameterNotFound", "") };
    let name = found.ok_or(not_found)?;
    Ok(json!({
        "Parameter": {
            "Name": name,
            "ARN": arn(place, name),
            "Type": "String",
            "Value": format!("value of {name}"),
            "Version": 1,
            "LastModifiedDate": CHANGED_S,
            "DataType": "text",
        }
    }))
}

/// A parameter's name begins with the slash that follows `parameter`.
fn arn(place: &Place<'_>, name: &str) -> String {
    place.arn("ssm", &format!("parameter{name}"))
}
