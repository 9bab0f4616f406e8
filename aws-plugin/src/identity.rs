//! Identities, rebuilt with something to carry.
//!
//! The orchestrator pushes a [`FrozenLayer`] that an identity has as a property onto the operation's config bag. That
//! is how the gate gets its own things there. An [`Identity`] cannot be changed, so it is built anew, by the concrete
//! type of its data: only those whose type is known can carry anything.

use aws_credential_types::Credentials;
use aws_credential_types::attributes::AccountId;
use aws_credential_types::credential_feature::AwsCredentialFeature;
use aws_smithy_runtime::client::identity::no_auth::NoAuthIdentity;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::identity::http::Token;
use aws_smithy_types::config_bag::{FrozenLayer, Layer};

/// Whether an identity's type is known, so that it can be rebuilt.
pub(crate) fn can_carry(identity: &Identity) -> bool {
    identity.data::<Credentials>().is_some() || identity.data::<Token>().is_some() || is_anonymous(identity)
}

/// Whether an identity is the one of operations that need no signature.
pub(crate) fn is_anonymous(identity: &Identity) -> bool {
    identity.data::<NoAuthIdentity>().is_some()
}

/// The identity with a layer that holds what `fill` puts there, besides the features that its own layer held; or the
/// identity as it was, if its type is not known.
pub(crate) fn carrying(identity: Identity, fill: impl FnOnce(&mut Layer)) -> Identity {
    let mut builder = Identity::builder();
    if let Some(credentials) = identity.data::<Credentials>() {
        builder.set_data(credentials.clone());
    } else if let Some(token) = identity.data::<Token>() {
        builder.set_data(token.clone());
    } else if is_anonymous(&identity) {
        builder.set_data(NoAuthIdentity::new());
    } else {
        return identity;
    }
    builder.set_expiration(identity.expiration());
    if let Some(account) = identity.property::<AccountId>() {
        builder.set_property(account.clone());
    }
    let mut layer = Layer::new("cloud-governor");
    if let Some(own) = identity.property::<FrozenLayer>() {
        // A bag lists what was appended last first.
        let features: Vec<&AwsCredentialFeature> = own.load::<AwsCredentialFeature>().collect();
        for feature in features.into_iter().rev() {
            layer.store_append(feature.clone());
        }
    }
    fill(&mut layer);
    builder.set_property(layer.freeze());
    builder.build().unwrap_or(identity)
}

/// The account that an identity belongs to, where its provider knows.
pub(crate) fn account(identity: &Identity) -> Option<&str> {
    let credentials = identity.data::<Credentials>().and_then(Credentials::account_id);
    credentials.or_else(|| identity.property::<AccountId>()).map(AccountId::as_str)
}

#[cfg(test)]
mod tests;
