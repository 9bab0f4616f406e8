//! Turns the merged layers into settings, and checks what concerns more than one key.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use super::Config;
use super::effect;
use super::error::ConfigProblem;
use super::layer::{Layer, Provider, Rates, Shared};
use super::read::At;
use super::services::{Figures, MINUTE, Override, Rate, Services, SharedOverride};
use super::settings::{BreakerSettings, Limits, ProviderSettings, RetrySettings, ThrottleSettings};

/// The whole configuration. Problems are reported once, also where several providers inherit them.
pub(super) fn resolve(layer: Layer, problems: &mut Vec<ConfigProblem>) -> Config {
    let enabled = value(&layer.enabled, true);
    let Layer { defaults, providers, .. } = layer;
    let mut finish = |name: Option<&str>, provider: Provider| {
        let settings = settings(provider.clone(), enabled);
        let more_than_one_key = check_delays(&provider).into_iter().chain(check_rates(&provider));
        for problem in more_than_one_key.chain(effect::problems(name, &provider, &settings, &providers)) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        settings
    };
    let generic = finish(None, defaults.clone());
    let providers: BTreeMap<_, _> = providers
        .iter()
        .map(|(name, provider)| {
            let settings = finish(Some(name), provider.clone().over_defaults(name, defaults.clone()));
            (name.clone(), settings)
        })
        // A provider that is named without being different is as one that is not named.
        .filter(|(_, settings)| *settings != generic)
        .map(|(name, settings)| (name, Arc::new(settings)))
        .collect();
    Config { enabled, generic: Arc::new(generic), providers }
}

fn value<T: Clone>(set: &Option<At<T>>, default: T) -> T {
    set.as_ref().map_or(default, |at| at.value.clone())
}

fn settings(provider: Provider, enabled: bool) -> ProviderSettings {
    let default = ProviderSettings::default();
    ProviderSettings {
        enabled: enabled && value(&provider.enabled, default.enabled),
        account_concurrency: provider
            .account_concurrency
            .as_ref()
            .and_then(|at| NonZeroUsize::new(usize::try_from(at.value).unwrap_or(usize::MAX)))
            .unwrap_or(default.account_concurrency),
        retry_budget: value(&provider.retry_budget, default.retry_budget),
        limits: limits(&provider.rates, default.limits),
        breaker: BreakerSettings {
            failures: provider
                .failures
                .as_ref()
                .and_then(|at| NonZeroU32::new(at.value))
                .unwrap_or(default.breaker.failures),
            cooldown: value(&provider.cooldown, default.breaker.cooldown),
        },
        retry: retry(&provider, default.retry),
        throttle: ThrottleSettings {
            law: value(&provider.law, default.throttle.law),
            factor: value(&provider.factor, default.throttle.factor),
            pause_cap: value(&provider.pause_cap, default.throttle.pause_cap),
            cut_interval: value(&provider.cut_interval, default.throttle.cut_interval),
            recovery_after: value(&provider.recovery_after, default.throttle.recovery_after),
            recovery_step: value(&provider.recovery_step, default.throttle.recovery_step),
        },
        share: value(&provider.share, default.share),
        published: value(&provider.published, default.published),
        connect_timeout: value(&provider.connect_timeout, default.connect_timeout),
        read_timeout: value(&provider.read_timeout, default.read_timeout),
        rules: value(&provider.rules, default.rules),
        services: services(provider),
    }
}

/// The provider's own; the [share](ProviderSettings::share) of it is taken where it is used.
fn limits(rates: &Rates, default: Limits) -> Limits {
    let floor_rps = value(&rates.floor_rps, default.floor_rps());
    let limits = match &rates.per_minute {
        Some(calls) => Limits::in_windows(calls.value, MINUTE, floor_rps),
        None => {
            let (ceiling, burst) =
                (value(&rates.max_rps, default.ceiling()), value(&rates.burst, default.known_burst()));
            Limits::of(ceiling, burst, floor_rps)
        }
    };
    limits.counting(value(&rates.counts, default.counts()))
}

fn retry(provider: &Provider, default: RetrySettings) -> RetrySettings {
    RetrySettings {
        max_retries: value(&provider.max_retries, default.max_retries),
        base_delay: value(&provider.base_delay, default.base_delay),
        max_backoff: value(&provider.max_backoff, default.max_backoff),
        jitter: value(&provider.jitter, default.jitter),
        deadline: value(&provider.deadline, default.deadline),
        attempt_timeout: value(&provider.attempt_timeout, default.attempt_timeout),
    }
}

fn services(provider: Provider) -> Services {
    let floor_rps = value(&provider.rates.floor_rps, Limits::DEFAULT_FLOOR_RPS);
    let mut shared: Vec<SharedOverride> =
        provider.shared.into_iter().map(|(name, set)| shared_override(None, name, set)).collect();
    let mut overrides = Vec::new();
    for service in provider.services.into_values() {
        let of_service =
            service.shared.into_iter().map(|(name, set)| shared_override(Some(&service.key.value), name, set));
        shared.extend(of_service);
        overrides.push(Override {
            per_operation: service.per_operation.map(|at| at.value),
            law: service.law.map(|at| at.value),
            share: service.share.map(|at| at.value),
            figures: figures(service.rates),
            key: service.key.value,
        });
    }
    Services { floor_rps, overrides, shared }
}

fn shared_override(service: Option<&str>, name: String, set: Shared) -> SharedOverride {
    SharedOverride {
        service: service.map(str::to_owned),
        name,
        enabled: set.enabled.map(|at| at.value),
        operations: set.operations.map(|at| at.value),
        verbs: set.verbs.map(|at| at.value),
        per: set.per.map(|at| at.value),
        law: set.law.map(|at| at.value),
        figures: figures(set.rates),
    }
}

fn figures(rates: Rates) -> Figures {
    let per_second = rates.max_rps.map(|at| at.value.map_or(Rate::Unknown, Rate::PerSecond));
    Figures {
        rate: rates.per_minute.map(|at| Rate::PerMinute(at.value)).or(per_second),
        burst: rates.burst.map(|at| at.value),
        floor_rps: rates.floor_rps.map(|at| at.value),
        counts: rates.counts.map(|at| at.value),
    }
}

/// A later layer may set a `burst` where `per_minute` is set.
fn check_rates(provider: &Provider) -> impl Iterator<Item = ConfigProblem> {
    let all = std::iter::once(&provider.rates).chain(provider.services.values().map(|service| &service.rates));
    all.chain(provider.shared_buckets().map(|(_, _, shared)| &shared.rates)).filter_map(Rates::contradiction)
}

/// `base_delay <= max_backoff`. The blame goes to whichever was set; to the base where both were.
fn check_delays(provider: &Provider) -> Option<ConfigProblem> {
    let retry = retry(provider, RetrySettings::default());
    let (base, cap) = (retry.base_delay, retry.max_backoff);
    if base <= cap {
        return None;
    }
    let whence = |at: &Option<At<_>>| at.as_ref().map_or("the default".to_owned(), |at| at.origin.to_string());
    match (&provider.base_delay, &provider.max_backoff) {
        (Some(at), _) => {
            let whence = whence(&provider.max_backoff);
            Some(at.problem(format!("is {base:?}, but must be at most max_backoff, which is {cap:?} ({whence})")))
        }
        (None, Some(at)) => {
            Some(at.problem(format!("is {cap:?}, but must be at least base_delay, which is {base:?} (the default)")))
        }
        (None, None) => None,
    }
}
