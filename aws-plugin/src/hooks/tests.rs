use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime_api::client::identity::{
    IdentityFuture, ResolveCachedIdentity, SharedIdentityCache, SharedIdentityResolver,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

use super::{Given, Hooks, Wrapped};
use crate::gate::Gate;

fn hooks() -> Arc<Hooks> {
    Hooks::install(Given {
        cache: IdentityCache::no_cache(),
        client: None,
        retry: None,
        timeouts: None,
        account: None,
        provider: None,
        region: None,
        governor: None,
        attempt_timeout: None,
        observe_only: false,
        label: None,
    })
}

/// The SDK's shared types print what they hold. A second install depends on it.
#[test]
fn a_hook_is_recognised_behind_the_sdks_shared_type() {
    let hooks = hooks();
    let cache = SharedIdentityCache::new(Gate::new(Arc::clone(&hooks)));
    let (found, wrapped) = Hooks::behind(&cache).expect("the hook shows");
    assert!(Arc::ptr_eq(&found, &hooks));
    assert_eq!(wrapped, Wrapped::No);
    assert!(Hooks::behind(&IdentityCache::lazy().build()).is_none());
}

#[derive(Debug)]
struct Theirs {
    inner: SharedIdentityCache,
}

impl ResolveCachedIdentity for Theirs {
    fn resolve_cached_identity<'a>(
        &'a self,
        resolver: SharedIdentityResolver,
        components: &'a RuntimeComponents,
        bag: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        self.inner.resolve_cached_identity(resolver, components, bag)
    }
}

#[test]
fn a_hook_that_somebody_else_wraps_is_recognised_as_such() {
    let hooks = hooks();
    let inner = SharedIdentityCache::new(Gate::new(Arc::clone(&hooks)));
    let cache = SharedIdentityCache::new(Theirs { inner });
    let (_, wrapped) = Hooks::behind(&cache).expect("the hook shows");
    assert_eq!(wrapped, Wrapped::ByOthers);
}

struct Odd(&'static str);

impl fmt::Debug for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[test]
fn text_that_only_looks_like_a_hook_is_none() {
    for text in ["", "CloudGovernorHook(", "CloudGovernorHook(x)", "CloudGovernorHook(18446744073709551615)"] {
        assert!(Hooks::behind(&Odd(text)).is_none());
    }
}
