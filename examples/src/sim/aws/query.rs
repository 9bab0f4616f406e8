//! What the two query protocols share: a form that names an action and a version.

use super::wire::Error;

/// The form's `Action` and `Version`.
pub(super) fn action_and_version(body: &[u8]) -> Result<(String, String), Error> {
    let (mut action, mut version) = (None, None);
    for (name, value) in form_urlencoded::parse(body) {
        match name.as_ref() {
            "Action" => action = Some(value.into_owned()),
            "Version" => version = Some(value.into_owned()),
            _ => {}
        }
    }
    let action = action.ok_or_else(|| {
        Error::bad_request("MissingAction", "The request is missing an action or a required parameter.")
    })?;
    Ok((action, version.unwrap_or_default()))
}
