//! Puts the layers of a configuration together.

mod figures;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Config;
use super::env::{self, Variables};
use super::error::{ConfigError, ConfigProblem};
use super::layer::Layer;
use super::node::{Node, Value};
use super::read::Source;
use super::resolve::resolve;
use super::settings::{Counts, Jitter, LawName};
use crate::classify::Rule;
use figures::number;
pub use figures::{ServiceBuilder, SharedBuilder};

/// Puts a [`Config`] together from its layers: built-in defaults < YAML < environment < code.
///
/// The order of the layers does not depend on the order of the calls; within a layer, the later call wins. Nothing
/// is read, and nothing refused, before [`build`](ConfigBuilder::build).
///
/// ```
/// use cloud_governor::{Config, Scope};
///
/// let config = Config::builder()
///     .provider("aws", |aws| aws.max_retries(3).service("ec2.RunInstances", |run| run.max_rps(2.0).burst(5.0)))
///     .build()?;
/// let aws = config.provider("aws");
/// assert_eq!(aws.retry.max_retries, 3);
/// let run = Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation("RunInstances");
/// assert_eq!(aws.limits_for(&run).max_rps(), 2.0);
/// # Ok::<(), cloud_governor::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ConfigBuilder {
    documents: Vec<Document>,
    variables: Vec<(OsString, OsString)>,
    code: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Document {
    Text { name: Arc<str>, text: String },
    File(PathBuf),
}

impl ConfigBuilder {
    /// Adds a YAML text to the YAML layer; `name` is what errors call it.
    pub fn yaml(mut self, text: impl Into<String>, name: impl AsRef<str>) -> Self {
        self.documents.push(Document::Text { name: name.as_ref().into(), text: text.into() });
        self
    }

    /// Adds a YAML file to the YAML layer. [`build`](ConfigBuilder::build) reads it.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.documents.push(Document::File(path.as_ref().to_owned()));
        self
    }

    /// Adds this process's environment as it is now: the `CLOUD_GOVERNOR__..` variables, and the file that
    /// `CLOUD_GOVERNOR_CONFIG` names, which lies over the files given in code.
    pub fn env(self) -> Self {
        self.variables(std::env::vars_os())
    }

    /// [`env`](ConfigBuilder::env) with these variables in place of the process's.
    pub fn variables<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        // The rest of the environment is none of the governor's business, and may hold secrets.
        self.variables.extend(variables.filter(|(name, _)| env::is_ours(name)));
        self
    }

    /// Switches the whole governor on or off.
    pub fn enabled(self, enabled: bool) -> Self {
        self.code(&["enabled"], Value::Bool(enabled))
    }

    /// Sets what holds for every provider.
    pub fn defaults(self, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Self {
        self.provider_node("defaults", set)
    }

    /// Sets what holds for one provider, whose name is taken in lower case.
    pub fn provider(self, name: impl AsRef<str>, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Self {
        self.provider_node(&name.as_ref().to_ascii_lowercase(), set)
    }

    fn provider_node(self, name: &str, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Self {
        let provider = set(ProviderBuilder { node: Node::new(Value::Map(Vec::new())) });
        self.code(&[name], provider.node.value)
    }

    fn code(mut self, path: &[&str], value: Value) -> Self {
        let mut root = Node::new(Value::Map(Vec::new()));
        let path: Vec<&str> = std::iter::once("ratelimit").chain(path.iter().copied()).collect();
        root.put(&path, Node::new(value));
        self.code.push(root);
        self
    }

    /// Reads and validates everything. Files are read here, on the calling thread.
    ///
    /// # Errors
    ///
    /// Whatever is wrong in any layer, all of it at once: a file that cannot be read, a text that is not YAML, an
    /// unknown key, a value of the wrong kind or out of range, a backoff base above its cap.
    pub fn build(self) -> Result<Config, ConfigError> {
        let mut problems = Vec::new();
        let variables = Variables::read(self.variables, &mut problems);
        let mut documents = self.documents;
        documents.extend(variables.file.map(|file| Document::File(file.into())));

        let mut merged = Layer::built_in();
        for document in documents {
            if let Some(layer) = document.read(&mut problems) {
                merged = layer.over(merged);
            }
        }
        for layer in variables.layers {
            merged = layer.over(merged);
        }
        for node in self.code {
            merged = Layer::read(node, &Source::Code, &mut problems).over(merged);
        }
        let config = resolve(merged, &mut problems);
        ConfigError::check(problems)?;
        Ok(config)
    }
}

impl Document {
    fn read(self, problems: &mut Vec<ConfigProblem>) -> Option<Layer> {
        let (name, text) = match self {
            Document::Text { name, text } => (name, Ok(text)),
            Document::File(path) => (path.display().to_string().into(), std::fs::read_to_string(&path)),
        };
        let source = Source::Yaml(name);
        let problem = |line, message: String| ConfigProblem::new("", source.at(line), message);
        let read = text
            .map_err(|error| problem(None, format!("cannot be read: {error}")))
            .and_then(|text| Node::parse(&text).map_err(|error| problem(error.line, error.message)));
        match read {
            Ok(node) => Some(Layer::read(node, &source, problems)),
            Err(problem) => {
                problems.push(problem);
                None
            }
        }
    }
}

/// Sets a provider's settings in code. Each is validated by [`ConfigBuilder::build`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ProviderBuilder {
    node: Node,
}

impl ProviderBuilder {
    fn set(mut self, path: &[&str], value: Value) -> Self {
        self.node.put(path, Node::new(value));
        self
    }

    /// Whether the provider's calls are governed.
    pub fn enabled(self, enabled: bool) -> Self {
        self.set(&["enabled"], Value::Bool(enabled))
    }

    /// How many attempts may be in flight at once, per account.
    pub fn account_concurrency(self, attempts: NonZeroUsize) -> Self {
        self.set(&["account_concurrency"], Value::whole(attempts.get()))
    }

    /// The retry budget, in tokens.
    pub fn retry_budget(self, tokens: u32) -> Self {
        self.set(&["retry_budget"], Value::Whole(tokens.into()))
    }

    /// What a leaf's rate follows from.
    pub fn law(self, law: LawName) -> Self {
        self.set(&["law"], Value::Text(law.name().to_owned()))
    }

    /// The ceiling of a leaf's rate, in calls per second; `None` where nobody knows it.
    pub fn max_rps(self, rps: impl Into<Option<f64>>) -> Self {
        self.set(&["max_rps"], number(rps.into()))
    }

    /// The share of every known limit that is used, above 0 and at most 1: what is left over is for others.
    pub fn share(self, share: f64) -> Self {
        self.set(&["share"], Value::Number(share))
    }

    /// Whether the limits that the provider [publishes](crate::catalogue) hold where nothing is configured.
    pub fn published(self, published: bool) -> Self {
        self.set(&["published"], Value::Bool(published))
    }

    /// A bucket that services share, by its name, in kebab case: each call takes from it besides its own.
    pub fn shared(self, name: impl AsRef<str>, set: impl FnOnce(SharedBuilder) -> SharedBuilder) -> Self {
        let shared = set(SharedBuilder::new());
        self.set(&["shared", name.as_ref()], shared.into_value())
    }

    /// How many calls a rested leaf lets through at once; one second's worth where it is not set.
    pub fn burst(self, calls: impl Into<Option<f64>>) -> Self {
        self.set(&["burst"], number(calls.into()))
    }

    /// The rate that throttles never go under, in calls per second.
    pub fn floor_rps(self, rps: f64) -> Self {
        self.set(&["floor_rps"], Value::Number(rps))
    }

    /// How many calls each full minute of the clock brings a leaf: see [`ServiceBuilder::per_minute`].
    pub fn per_minute(self, calls: f64) -> Self {
        self.set(&["per_minute"], Value::Number(calls))
    }

    /// What takes tokens from a leaf: calls, or what they [cost](crate::Call::cost).
    pub fn counts(self, counts: Counts) -> Self {
        self.set(&["counts"], Value::Text(counts.name().to_owned()))
    }

    /// Retries after a call's first attempt.
    pub fn max_retries(self, retries: u32) -> Self {
        self.set(&["max_retries"], Value::Whole(retries.into()))
    }

    /// The shortest backoff.
    pub fn base_delay(self, delay: Duration) -> Self {
        self.set(&["base_delay"], Value::Duration(delay))
    }

    /// The longest backoff.
    pub fn max_backoff(self, delay: Duration) -> Self {
        self.set(&["max_backoff"], Value::Duration(delay))
    }

    /// How a backoff is drawn.
    pub fn jitter(self, jitter: Jitter) -> Self {
        self.set(&["jitter"], Value::Text(jitter.name().to_owned()))
    }

    /// How long a call may take in all; `None` for ever.
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.set(&["deadline"], deadline.into().map_or(Value::Null, Value::Duration))
    }

    /// How long one attempt may take; `None` for as long as the SDK lets it.
    pub fn attempt_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        self.set(&["attempt_timeout"], timeout.into().map_or(Value::Null, Value::Duration))
    }

    /// How many give-ups in a row open a circuit.
    pub fn breaker_failures(self, failures: u32) -> Self {
        self.set(&["breaker", "failures"], Value::Whole(failures.into()))
    }

    /// How long a circuit stays open before a probe.
    pub fn breaker_cooldown(self, cooldown: Duration) -> Self {
        self.set(&["breaker", "cooldown"], Value::Duration(cooldown))
    }

    /// What a throttle multiplies a leaf's rate by.
    pub fn throttle_factor(self, factor: f64) -> Self {
        self.set(&["throttle", "factor"], Value::Number(factor))
    }

    /// The longest pause a leaf takes from a Retry-After.
    pub fn pause_cap(self, cap: Duration) -> Self {
        self.set(&["throttle", "pause_cap"], Value::Duration(cap))
    }

    /// Throttles closer together than this are one congestion event.
    pub fn cut_interval(self, interval: Duration) -> Self {
        self.set(&["throttle", "cut_interval"], Value::Duration(interval))
    }

    /// How long after a throttle, or a raise, a leaf's rate may rise.
    pub fn recovery_after(self, quiet: Duration) -> Self {
        self.set(&["throttle", "recovery_after"], Value::Duration(quiet))
    }

    /// How far the rate rises at once, as a share of the ceiling.
    pub fn recovery_step(self, share: f64) -> Self {
        self.set(&["throttle", "recovery_step"], Value::Number(share))
    }

    /// The connect timeout for plugins whose SDK has none set.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        self.set(&["connect_timeout"], Value::Duration(timeout))
    }

    /// The read timeout for plugins whose SDK has none set.
    pub fn read_timeout(self, timeout: Duration) -> Self {
        self.set(&["read_timeout"], Value::Duration(timeout))
    }

    /// The classification rules, in the order in which they are looked at.
    pub fn rules(self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.set(&["rules"], Value::Rules(rules.into_iter().collect()))
    }

    /// Sets what holds for one service (`ec2`), for its reads, writes or deletes where it counts them apart
    /// (`network:write`), for one operation (`ec2.RunInstances`), or for those whose names begin so (`ec2.Describe*`; `ec2.*` is such a
    /// pattern, and not the service).
    pub fn service(self, name: impl AsRef<str>, set: impl FnOnce(ServiceBuilder) -> ServiceBuilder) -> Self {
        let service = set(ServiceBuilder::new());
        self.set(&["services", name.as_ref()], service.into_value())
    }
}
