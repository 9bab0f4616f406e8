//! A simulated Azure: Resource Manager and Entra ID's token endpoint, on one server, over a seeded [`Fleet`].
//!
//! Paths, JSON and errors are as in the published specifications of Microsoft.Resources, Microsoft.Network and
//! Microsoft.Compute. The caller is found by the bearer token, which the token endpoint gives for a client's secret.
//! [`transport`] takes real clients here.
//!
//! # Throttling
//! A call meets Resource Manager first and its provider behind it, as in Azure: each has buckets of its own
//! ([`Limits`]), and Resource Manager's tokens are spent even if the provider then refuses. A refused call costs
//! nothing in the buckets of the gate that refused it. Resource Manager's page says that a request sent before its
//! `Retry-After` is over is not processed and gets a new value; it does not say that it counts, as it did before the
//! token buckets of 2024. So the value is worked out anew for each refused call, and knocking does not make it longer.
//!
//! Every answer tells what is left in `x-ms-ratelimit-remaining-*`, and a refusal is a 429 with `Retry-After` in whole
//! seconds and its code in the body alone.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::http::request::Parts;

use super::{Answer, BucketKey, Call, Cloud, Draw, Ideal, Leaf, Verdict};

mod fleet;
mod identity;
mod limits;
mod operation;
mod resources;
mod route;
mod transport;
mod wire;

pub use fleet::{Fleet, FleetError, FleetSize, Principal, Subscription, Totals, VirtualMachine, VirtualNetwork};
pub use limits::{Bucket, Limits};
pub use operation::{Class, Operation};
pub use route::Ask;
pub use transport::{transport, transport_over};

use limits::Owner;
use route::{Link, Route};
use wire::Error;

/// Tokens are counted apart from the tenant's other calls, in an account of this prefix and the tenant's id.
const IDENTITY: &str = "identity:";

/// The rows of a page, of every list. Azure does not publish its own; callers see from 50 to 1,000.
pub const PAGE: u32 = 100;

/// The simulated Azure. Start it with [`Server::start`](super::Server::start).
#[derive(Debug)]
pub struct Azure {
    fleet: Fleet,
    limits: Limits,
}

impl Azure {
    /// An Azure with this tenant and these throttles.
    pub fn new(fleet: Fleet, limits: Limits) -> Self {
        Azure { fleet, limits }
    }

    /// Its tenant, and what it holds.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Its throttles.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The least wall time for a job of so many requests per subscription and operation, all of them the first
    /// principal's.
    ///
    /// A leaf that names no operation of this Azure weighs nothing: no bucket would refuse it. Nor do the buckets of
    /// single machines, since no leaf tells which machine was asked for.
    pub fn ideal<'a>(&self, job: impl IntoIterator<Item = (&'a Leaf, u64)>) -> Ideal {
        let caller = self.fleet.principals().first().map(Principal::client_id).unwrap_or_default();
        Ideal::of(job.into_iter().map(|(leaf, requests)| {
            let operation = Operation::find(&leaf.service, &leaf.operation);
            let buckets = operation.into_iter().flat_map(limits::gates).copied().flatten().copied();
            let buckets = buckets.filter(|bucket| bucket.owner() != Owner::Resource);
            (requests, buckets.map(|bucket| self.draw(leaf, bucket, caller, "")).collect())
        }))
    }

    fn draw(&self, leaf: &Leaf, bucket: Bucket, caller: &str, resource: &str) -> Draw {
        let quota = self.limits.quota(bucket);
        let name = match bucket.owner() {
            Owner::All => quota.bucket.to_owned(),
            Owner::Principal => format!("{} of {caller}", quota.bucket),
            Owner::Resource => format!("{} of {resource}", quota.bucket),
        };
        let key = BucketKey { account: leaf.account.clone(), region: leaf.region.clone(), name };
        Draw { key, limit: quota.limit, cost: 1 }
    }

    fn buckets(call: &Call<Ask>) -> impl Iterator<Item = Bucket> {
        limits::gates(call.detail.operation).iter().copied().flatten().copied()
    }

    fn token_call(&self, number: u64, route: Route, body: Bytes) -> Call<Ask> {
        let operation = Operation::Token;
        let ask = Ask {
            operation,
            caller: identity::client(&body),
            group: String::new(),
            resource: String::new(),
            link: Link::default(),
        };
        let account = format!("{IDENTITY}{}", route.account);
        Call { number, leaf: leaf(account, operation), body, detail: ask }
    }

    fn arm_call(&self, number: u64, route: Route, head: &Parts, body: Bytes) -> Result<Call<Ask>, Box<Answer>> {
        let caller = identity::caller(number, &self.fleet, head)?.client_id().to_owned();
        let refuse = |error| Box::new(wire::arm_error(number, &error));
        let link = Link::of(head).map_err(refuse)?;
        let Route { operation, account, group, resource } = route;
        let operation = operation.ok_or_else(|| {
            let message = "The resource type could not be found, or has no such action.";
            refuse(Error::not_found("InvalidResourceType", message))
        })?;
        let account = match operation {
            Operation::ListSubscriptions => self.fleet.tenant().to_owned(),
            _ if self.fleet.subscription(&account).is_some() => account,
            _ => {
                let message = format!("The subscription '{account}' could not be found.");
                return Err(refuse(Error::not_found("SubscriptionNotFound", message)));
            }
        };
        let detail = Ask { operation, caller, group, resource, link };
        Ok(Call { number, leaf: leaf(account, operation), body, detail })
    }
}

fn leaf(account: String, operation: Operation) -> Leaf {
    let (service, operation) = (operation.service().to_owned(), operation.name().to_owned());
    Leaf { account, region: String::new(), service, operation }
}

impl Cloud for Azure {
    type Detail = Ask;

    fn identify(&self, number: u64, head: &Parts, body: Bytes) -> Result<Call<Ask>, Box<Answer>> {
        let route = Route::of(&head.method, head.uri.path());
        match route.operation {
            Some(Operation::Token) => Ok(self.token_call(number, route, body)),
            _ => self.arm_call(number, route, head, body),
        }
    }

    fn draws(&self, call: &Call<Ask>) -> Vec<Vec<Draw>> {
        let Ask { operation, caller, group, resource, .. } = &call.detail;
        let resource = format!("{group}/{resource}");
        let draw = |bucket: &Bucket| self.draw(&call.leaf, *bucket, caller, &resource);
        limits::gates(*operation).iter().map(|gate| gate.iter().map(draw).collect()).collect()
    }

    fn answer(&self, call: &Call<Ask>) -> Answer {
        let Call { number, leaf, body, detail: ask } = call;
        let found = match ask.operation {
            Operation::Token => {
                let tenant = leaf.account.strip_prefix(IDENTITY).unwrap_or_default();
                return identity::answer(*number, &self.fleet, tenant, body);
            }
            Operation::ListSubscriptions => resources::subscriptions(&self.fleet, leaf, ask),
            _ => match self.fleet.subscription(&leaf.account) {
                Some(subscription) => resources::within(&self.fleet, subscription, leaf, ask),
                None => Err(Error::not_found("SubscriptionNotFound", "The subscription could not be found.")),
            },
        };
        match found {
            Ok(body) => wire::arm(*number, StatusCode::OK, &body),
            Err(error) => wire::arm_error(*number, &error),
        }
    }

    fn throttled(&self, call: &Call<Ask>, verdict: &Verdict) -> Answer {
        let Call { number, leaf, detail: ask, .. } = call;
        let seconds = wire::retry_after(verdict);
        let refused = verdict.refused_by.and_then(|index| Self::buckets(call).nth(index)).unwrap_or(Bucket::Reads);
        let mut answer = match refused {
            Bucket::Tokens => identity::throttled(*number),
            bucket => {
                let limit = self.limits.quota(bucket).limit.capacity();
                let path = ask.link.path();
                wire::arm_error(*number, &Error::throttled(bucket, limit, path, &leaf.account, &ask.caller, seconds))
            }
        };
        wire::set_retry_after(&mut answer, seconds);
        answer
    }

    fn failed(&self, call: &Call<Ask>, status: StatusCode) -> Answer {
        match call.detail.operation {
            Operation::Token => identity::failed(call.number, status),
            _ => wire::arm_error(call.number, &Error::failed(status)),
        }
    }

    fn note(&self, call: &Call<Ask>, verdict: &Verdict, answer: &mut Answer) {
        wire::note(Self::buckets(call), verdict, answer);
    }
}
