use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_credential_types::attributes::AccountId;
use aws_credential_types::credential_feature::AwsCredentialFeature as Feature;
use aws_smithy_runtime::client::identity::no_auth::NoAuthIdentity;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::identity::http::Token;
use aws_smithy_types::config_bag::{FrozenLayer, Storable, StoreReplace};

use super::{account, can_carry, carrying, is_anonymous};

#[derive(Debug, PartialEq)]
struct Luggage(u8);

impl Storable for Luggage {
    type Storer = StoreReplace<Self>;
}

fn role_credentials() -> Credentials {
    let mut credentials = Credentials::builder()
        .access_key_id("AKIDEXAMPLE")
        .secret_access_key("secret")
        .account_id("123456789012")
        .expiry(UNIX_EPOCH + Duration::from_secs(1_900_000_000))
        .provider_name("test")
        .build();
    credentials.set_property(vec![Feature::CredentialsProfile, Feature::CredentialsStsAssumeRole]);
    credentials
}

#[test]
fn credentials_keep_account_expiry_and_features_beside_the_luggage() {
    let original = Identity::from(role_credentials());
    let before: Vec<Feature> =
        original.property::<FrozenLayer>().expect("a layer").load::<Feature>().cloned().collect();
    let rebuilt = carrying(original.clone(), |layer| {
        layer.store_put(Luggage(7));
    });
    let layer = rebuilt.property::<FrozenLayer>().expect("a layer");
    assert_eq!(layer.load::<Luggage>(), Some(&Luggage(7)));
    assert_eq!(layer.load::<Feature>().cloned().collect::<Vec<_>>(), before);
    assert_eq!(before.len(), 3);
    assert_eq!(rebuilt.expiration(), original.expiration());
    assert_eq!(rebuilt.property::<AccountId>().map(AccountId::as_str), Some("123456789012"));
    assert_eq!(rebuilt.data::<Credentials>(), original.data::<Credentials>());
    assert_eq!(account(&rebuilt), Some("123456789012"));
}

#[test]
fn tokens_and_no_auth_are_rebuilt_and_an_unknown_type_is_handed_back() {
    let token = Identity::new(Token::new("t", None), None);
    let rebuilt = carrying(token, |_| ());
    assert_eq!(rebuilt.data::<Token>().map(Token::token), Some("t"));
    let nobody = carrying(Identity::new(NoAuthIdentity::new(), None), |layer| {
        layer.store_put(Luggage(2));
    });
    assert!(is_anonymous(&nobody));
    assert_eq!(nobody.property::<FrozenLayer>().and_then(|layer| layer.load::<Luggage>()), Some(&Luggage(2)));
    let odd = Identity::new(Luggage(1), None);
    assert!(!can_carry(&odd));
    let back = carrying(odd, |_| ());
    assert_eq!(back.data::<Luggage>(), Some(&Luggage(1)));
    assert_eq!(account(&back), None);
}
