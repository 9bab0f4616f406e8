use std::borrow::Cow;

use azure_core::http::Context;

pub(crate) fn operation(_: &Context<'_>) -> Option<Cow<'static, str>> {
    None
}
