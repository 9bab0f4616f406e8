//! One row of the built-in table, in a form that can stand in a constant.

use super::rules::{Matchers, Untold};
use super::{Class, GrpcCode, Resend, Rule, Transport};

/// A [`Rule`] that can stand in a constant table. Its texts for `messages` and `quotas` are in lower case.
#[derive(Clone, Copy)]
pub(super) struct Row {
    provider: Option<&'static str>,
    services: &'static [&'static str],
    codes: &'static [&'static str],
    statuses: &'static [u16],
    reasons: &'static [&'static str],
    messages: &'static [&'static str],
    quotas: &'static [&'static str],
    grpc: &'static [GrpcCode],
    transports: &'static [Transport],
    bare: bool,
    outside_clouds: bool,
    held_off: bool,
    class: Class,
    resend: Resend,
    pays_budget: bool,
    untold: Untold,
}

/// Begins a row for one provider, or for all.
pub(super) const fn on(provider: Option<&'static str>) -> Row {
    Row {
        provider,
        services: &[],
        codes: &[],
        statuses: &[],
        reasons: &[],
        messages: &[],
        quotas: &[],
        grpc: &[],
        transports: &[],
        bare: false,
        outside_clouds: false,
        held_off: false,
        class: Class::Fatal,
        resend: Resend::IfIdempotent,
        pays_budget: false,
        untold: Untold::Backoff,
    }
}

impl Row {
    pub(super) const fn service(self, services: &'static [&'static str]) -> Self {
        Row { services, ..self }
    }

    pub(super) const fn code(self, codes: &'static [&'static str]) -> Self {
        Row { codes, ..self }
    }

    pub(super) const fn status(self, statuses: &'static [u16]) -> Self {
        Row { statuses, ..self }
    }

    pub(super) const fn reason(self, reasons: &'static [&'static str]) -> Self {
        Row { reasons, ..self }
    }

    pub(super) const fn message(self, messages: &'static [&'static str]) -> Self {
        Row { messages, ..self }
    }

    pub(super) const fn quota(self, quotas: &'static [&'static str]) -> Self {
        Row { quotas, ..self }
    }

    pub(super) const fn grpc(self, grpc: &'static [GrpcCode]) -> Self {
        Row { grpc, ..self }
    }

    pub(super) const fn transport(self, transports: &'static [Transport]) -> Self {
        Row { transports, ..self }
    }

    /// Only where the answer has neither a reason nor a retry-after.
    pub(super) const fn bare(self) -> Self {
        Row { bare: true, ..self }
    }

    /// For every provider but the three clouds.
    pub(super) const fn outside_clouds(self) -> Self {
        Row { outside_clouds: true, ..self }
    }

    /// Only where the answer says that a limit is used up, or asks for a wait.
    pub(super) const fn held_off(self) -> Self {
        Row { held_off: true, ..self }
    }

    pub(super) const fn pays_budget(self) -> Self {
        Row { pays_budget: true, ..self }
    }

    /// How long is waited where the answer asks for no wait.
    pub(super) const fn untold(self, untold: Untold) -> Self {
        Row { untold, ..self }
    }

    pub(super) const fn is(self, class: Class, resend: Resend) -> Self {
        Row { class, resend, ..self }
    }
}

impl From<&Row> for Rule {
    fn from(row: &Row) -> Rule {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Rule {
            matchers: Matchers {
                provider: row.provider.map(str::to_owned),
                services: owned(row.services),
                codes: owned(row.codes),
                statuses: row.statuses.to_vec(),
                reasons: owned(row.reasons),
                messages: owned(row.messages),
                quotas: owned(row.quotas),
                grpc: row.grpc.to_vec(),
                transports: row.transports.to_vec(),
                bare: row.bare,
                outside_clouds: row.outside_clouds,
                held_off: row.held_off,
            },
            class: row.class,
            resend: row.resend,
            pays_budget: row.pays_budget,
            untold: row.untold,
        }
    }
}
