//! Configuration: typed, layered, and validated whole.
//!
//! The layers are built-in defaults < YAML < environment < code. A mistake in any of them is a [`ConfigError`] that
//! names every key at fault with its path, its file and line (or its variable), and what would be valid.
//!
//! # Every key and its default
//!
//! ```
//! # let text = r#"
//! ratelimit:
//!   enabled: true                 # false: every call is made once, directly
//!   defaults:                     # what holds for every provider; each key may stand under a provider, too
//!     enabled: true
//!     account_concurrency: 64     # attempts in flight at once, per account
//!     law: delivery_rate          # what a leaf's rate follows from; or aimd
//!     published: true             # the limits that providers publish hold where no service says otherwise
//!     share: 1                    # of every known limit, so much is used: 0.7 leaves the rest to others
//!     max_rps: none               # calls per second of a leaf (account, region, service, operation) at most; none: unknown
//!     burst: none                 # calls that a rested leaf lets through at once; none: one second's worth of max_rps
//!     counts: calls               # what takes tokens; or units, as many as a call says that it costs
//!     floor_rps: 0.05             # throttles never bring a leaf under this rate, or under max_rps if that is less
//!     max_retries: 8              # after the first attempt
//!     base_delay: 0.5             # the shortest backoff; a number of seconds, or a text such as 500ms or 2m
//!     max_backoff: 20             # the longest
//!     jitter: decorrelated        # or full
//!     deadline: 900               # of a call in all, waiting included; none: for ever
//!     attempt_timeout: none       # of one attempt
//!     retry_budget: 500           # tokens; retries beyond a call's first two take one each
//!     breaker:
//!       failures: 5               # give-ups in a row that open the circuit
//!       cooldown: 30              # until one probe is let through
//!     throttle:                   # pause_cap holds for each law, the others for aimd
//!       factor: 0.5               # what a throttle multiplies the rate by
//!       pause_cap: 300            # the longest pause of a leaf for a Retry-After
//!       cut_interval: 1           # throttles closer together than this are one
//!       recovery_after: 5         # without a throttle, until the rate rises
//!       recovery_step: 0.05       # how far it rises at once, as a share of max_rps
//!     connect_timeout: 3          # where the SDK's own configuration has none
//!     read_timeout: 60
//!     rules: []                   # classification rules; a provider's own are looked at before these
//!     services: {}
//!     shared: {}                  # buckets that services share
//!   aws:                          # any provider's name; its keys override the defaults one by one
//!     services:
//!       ec2:                      # a service: per_operation, law, share, max_rps or per_minute, burst, floor_rps, counts, shared
//!         per_operation: true     # each operation has a bucket and a breaker of its own
//!   gcp:
//!     services:
//!       cloudasset: { per_operation: true }
//!       pubsub: { per_operation: true }
//! # "#;
//! # assert_eq!(cloud_governor::Config::from_yaml(text, "docs")?, cloud_governor::Config::default());
//! # Ok::<(), cloud_governor::ConfigError>(())
//! ```
//!
//! What stands where; a key in any other place is refused, and told its own:
//!
//! | under | keys |
//! |---|---|
//! | `ratelimit` | `enabled`, `defaults`, and providers by their names |
//! | a provider, and `defaults` | `enabled`, `account_concurrency`, `retry_budget`, `max_retries`, `base_delay`, `max_backoff`, `jitter`, `deadline`, `attempt_timeout`, `connect_timeout`, `read_timeout`, `published`, `breaker`, `throttle`, `rules`, `services`, `shared`, `share`, `law`, figures |
//! | `breaker` | `failures`, `cooldown` |
//! | `throttle` | `factor`, `pause_cap`, `cut_interval`, `recovery_after`, `recovery_step` |
//! | `services`, a service: `ec2` | `per_operation`, `shared`, `share`, `law`, figures |
//! | `services`, a verb of one: `network:write` | `per_operation`, `share`, `law`, figures |
//! | `services`, an operation or a pattern: `ec2.RunInstances`, `ec2.Describe*` | `share`, `law`, figures |
//! | `shared`, of a provider or a service: a bucket in common | `enabled`, `operations`, `verbs`, `per`, `law`, figures |
//!
//! The figures of a bucket are `max_rps` or `per_minute`, `burst`, `floor_rps` and `counts`.
//!
//! Names of providers and services are compared without regard to case, operations exactly: one that differs in case alone from one
//! that its provider [publishes](crate::catalogue) limits of is refused, and so is one that hides that of another layer so.
//!
//! The document holds `ratelimit` and nothing else; an empty one stands for the defaults, and an empty section for
//! one that is left out. The levels are provider < what the provider publishes < service < service:verb < service.Beginning* <
//! service.Operation. Each takes what it does not set from the level above it, save
//! that a `max_rps` without a `burst` brings its own burst of one second's worth. Where no `max_rps` is known, a leaf starts
//! at 20 calls per second, and [its law](crate::control) says whether it stays there.
//!
//! `per_minute` stands in place of `max_rps` and `burst`: the three are not set together. Set in a later layer, or for a provider
//! over the defaults, it takes away those that are set below it, and a `max_rps` takes away a `per_minute`. A `burst` where nothing
//! but a `per_minute` holds, set or published, is refused.
//!
//! `ec2.*` is a pattern as `ec2.Describe*` is, and not the service `ec2`: it names every operation of it, lies over what is set for the
//! service and for a verb, gives each operation a bucket of its own, and takes no `per_operation` and no `shared`.
//!
//! Rates lie from 0.000001 to 1000000 calls per second, bursts from 1 to 1000000 calls, counts from 0 or 1 to
//! 1000000, durations above 0 up to 365 days.
//!
//! An account whose limits are known might say:
//!
//! ```
//! # let text = r#"
//! ratelimit:
//!   aws:
//!     services:
//!       secretsmanager: { max_rps: 2, burst: 2 }
//!       ec2: { per_operation: true, max_rps: 20 }
//!       ec2.RunInstances: { max_rps: 2, burst: 5 }      # one operation: as a service, but for per_operation and shared
//!       ec2.Describe*: { max_rps: 40, burst: 200 }      # all operations whose names begin so
//!   azure:
//!     services:
//!       network: { max_rps: 25 }
//!       network:write: { max_rps: 10, burst: 200 }      # its writes; or :read, :delete. As a service, else the service's
//!   gcp:
//!     services:
//!       cloudasset.ListAssets: { per_minute: 600 }      # in each full minute of the clock, all of it at once if need be
//!   github:
//!     rules:
//!       - { code: SlowDownPlease, status: 420, class: throttled }
//! # "#;
//! # let config = cloud_governor::Config::from_yaml(text, "docs")?;
//! # let run = cloud_governor::Scope::new("aws", "", "", "ec2").with_operation("RunInstances");
//! # assert_eq!(config.provider("aws").limits_for(&run), cloud_governor::Limits::new(2.0, 5.0, 0.05)?);
//! # let writes = cloud_governor::Scope::new("azure", "", "", "network").with_verb(cloud_governor::Verb::Write);
//! # assert_eq!(config.provider("azure").limits_for(&writes), cloud_governor::Limits::new(10.0, 200.0, 0.05)?);
//! # assert_eq!(config.provider("github").rules.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Published limits
//!
//! What a provider publishes ([`crate::catalogue`]) is where its scopes start and what they do not exceed, with nothing
//! configured. It gives way
//!
//! * to what is set for a service, a verb of it or an operation: that takes the place of everything published for the buckets it
//!   names, and `max_rps: none` there says that nobody knows;
//! * to what the server itself says: a limit that it names ([`Attempt::limit_told`](crate::Attempt::limit_told)), or more calls
//!   left than the published bucket would ever hold ([`Attempt::quota_left`](crate::Attempt::quota_left));
//! * to `published: false`, of one provider or of all.
//!
//! An account whose limits were raised should say so: nothing else tells. What the provider itself sets as `max_rps` holds where
//! nothing is published. An operation of which nothing is known has the limit of its service.
//!
//! Where a limit counts by the minute of the clock, as Google Cloud's do, its calls go as they come until the minute's are used
//! up, and then wait for the next full minute. That wants a clock that is right within a quarter of a second.
//!
//! A `share` below 1 leaves the rest of every known limit to others: published, configured or named by the server. What is not
//! known is shared by finding out. Of a bucket in common the share is that of the service whose operations have it in common, or of a
//! verb of it that it counts alone, else that of the provider: a `share` of an operation or of a pattern (`ec2.Describe*`) is one of the
//! operations' own buckets and does not reach it, as others take from it, too.
//!
//! # Buckets in common
//!
//! One call may take from several buckets: its own and those that it shares, from all at once or from none. Providers publish
//! some; others are set under `shared`, of a service or of a provider:
//!
//! ```
//! # let text = r#"
//! ratelimit:
//!   aws:
//!     services:
//!       ssm:
//!         shared:                                       # by name, in kebab case
//!           parameter-reads: { max_rps: 3000, burst: 3000 }    # one that is published: other figures for it
//!       dynamodb:
//!         shared:
//!           control-plane:
//!             operations: [CreateTable, UpdateTable, DeleteTable, Describe*]   # all where it is left out
//!             max_rps: 10
//!             per: region                               # each account has one in each region; or account, or organization
//!   azure:
//!     shared:
//!       subscription-writes: { enabled: false }         # without one that is published
//!   github:
//!     shared:
//!       points: { max_rps: 1.3, burst: 5000, counts: units, per: account }   # calls take what they cost: Call::cost
//! # "#;
//! # let config = cloud_governor::Config::from_yaml(text, "docs")?;
//! # let scope = cloud_governor::Scope::new("github", "octo", "", "graphql").with_operation("Query");
//! # let shared = config.provider("github").shared_for(&scope);
//! # assert_eq!(shared.len(), 1);
//! # assert_eq!(shared[0].scope.to_string(), "github/octo/*/*/points");
//! # assert_eq!(shared[0].limits.burst(), 5000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `operations: ['*']` names every call that has an operation, in place of those that are published or set in a layer below. An empty
//! list of `operations` or `verbs` is refused: it could be taken for none and for all. Operations are named without their service
//! (`RunInstances`, not `ec2.RunInstances`), also in a bucket of a provider, which counts those of this name of every service.
//!
//! A name that is not published there and that no layer gives a rate (`max_rps`, `max_rps: none` or `per_minute`) is refused, as it
//! would have no effect. What is published stays a known name where `published: false` does without it.
//!
//! [`Inspection::shared`](crate::Inspection) shows them. A throttle does not say which of its buckets was empty at the server:
//! of those here, the ones that are nearly empty, too, are slowed.
//!
//! What a rule may hold is described at [`Rule`](crate::Rule).
//!
//! # Environment
//!
//! `CLOUD_GOVERNOR_CONFIG` names a YAML file. `CLOUD_GOVERNOR__<KEY>__<KEY>..` sets one key, in upper or lower case,
//! to a YAML value: `CLOUD_GOVERNOR__ENABLED=false`, `CLOUD_GOVERNOR__AWS__MAX_RETRIES=3`,
//! `CLOUD_GOVERNOR__AWS__SERVICES='{ec2.RunInstances: {max_rps: 2}}'`. A variable for a key lies over one for the
//! section around it.
//!
//! Shells allow no dash in a variable's name. An underscore stands for one in the name of a bucket in common
//! (`CLOUD_GOVERNOR__AWS__SERVICES__EC2__SHARED__RUN_INSTANCES__MAX_RPS`), in that of a service of AWS (`BEDROCK_RUNTIME`) and of one
//! that is published; other names are taken as they are written. What has a dot or a colon stands in the value of a section, as above.
//!
//! A variable that misses an underscore (`CLOUD_GOVERNOR_AWS__MAX_RETRIES`, `CLOUD_GOVERNOR_ENABLED`) is refused if it names a known key
//! with it. Any other that begins with `CLOUD_GOVERNOR_` is another program's.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

mod bounds;
mod builder;
mod effect;
mod env;
mod error;
mod known;
mod layer;
mod names;
mod node;
mod read;
mod resolve;
mod rules;
mod services;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use bounds::{MOST, MOST_RPS, check_duration};
pub use builder::{ConfigBuilder, ProviderBuilder, ServiceBuilder, SharedBuilder};
pub use error::{ConfigError, ConfigOrigin, ConfigProblem};
pub use services::SharedLimit;
pub use settings::{
    BreakerSettings, Counts, InvalidLimits, Jitter, LawName, Limits, ProviderSettings, RetrySettings, ThrottleSettings,
};

/// A valid configuration of the whole governor.
///
/// Two configurations are equal if they set the same, wherever it was written. The [default](Config::default) is
/// the built-in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    enabled: bool,
    generic: Arc<ProviderSettings>,
    /// Providers whose settings differ from the generic ones.
    providers: BTreeMap<String, Arc<ProviderSettings>>,
}

impl Config {
    /// Starts with the built-in defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// Built-in defaults < this YAML text, which errors call `name`.
    ///
    /// # Errors
    ///
    /// See [`ConfigBuilder::build`].
    pub fn from_yaml(text: impl Into<String>, name: impl AsRef<str>) -> Result<Config, ConfigError> {
        Config::builder().yaml(text, name).build()
    }

    /// Built-in defaults < this YAML file, read on the calling thread.
    ///
    /// # Errors
    ///
    /// See [`ConfigBuilder::build`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Config, ConfigError> {
        Config::builder().file(path).build()
    }

    /// Built-in defaults < the file that `CLOUD_GOVERNOR_CONFIG` names, if it is set < the environment.
    ///
    /// # Errors
    ///
    /// See [`ConfigBuilder::build`].
    pub fn load() -> Result<Config, ConfigError> {
        Config::builder().env().build()
    }

    /// The global switch.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// A provider's settings; the generic ones where nothing is set for it. The name's ASCII case does not matter.
    pub fn provider(&self, name: &str) -> Arc<ProviderSettings> {
        let found = self.providers.get(name).or_else(|| self.providers.get(&name.to_ascii_lowercase()));
        Arc::clone(found.unwrap_or(&self.generic))
    }
}

impl Default for Config {
    fn default() -> Self {
        // The built-in layer sets nothing that could be refused.
        resolve::resolve(layer::Layer::built_in(), &mut Vec::new())
    }
}
