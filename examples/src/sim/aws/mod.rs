//! A simulated AWS: STS, CloudWatch Logs, Systems Manager parameters, Secrets Manager and EC2 over a seeded [`Fleet`].
//!
//! The account is found by the access key in the SigV4 `Authorization` header, the region and the service by the
//! header's credential scope. The date is checked as the services check it; the signature is not. The wire forms
//! are those of aws-sdk-sts 1.124 (AWS query), aws-sdk-ec2 1.274 (EC2 query), aws-sdk-cloudwatchlogs 1.162,
//! aws-sdk-ssm 1.133 and aws-sdk-secretsmanager 1.125 (all AWS JSON 1.1).

use bytes::Bytes;
use hyper::StatusCode;
use hyper::http::request::Parts;

use super::{Answer, BucketKey, Call, Cloud, Draw, Ideal, Leaf, Quota, Verdict};

mod ec2;
mod fleet;
mod limits;
mod logs;
mod operation;
mod page;
mod query;
mod secrets;
mod signature;
mod ssm;
mod sts;
mod wire;

pub use fleet::{
    Account, Ec2Estate, Ec2Size, Estate, Fleet, FleetError, FleetSize, Instance, LogGroup, REGIONS, Totals, Vpc,
};
pub use limits::Limits;
pub use operation::Operation;
pub use page::{LOGS_PAGE, PARAMETERS_PAGE, SECRETS_PAGE};

use wire::{Protocol, Wire};

/// The region that STS's global endpoint signs for.
const GLOBAL_REGION: &str = "us-east-1";

/// The simulated AWS. Start it with [`Server::start`](super::Server::start).
#[derive(Debug)]
pub struct Aws {
    fleet: Fleet,
    limits: Limits,
}

impl Aws {
    /// An AWS with these accounts and these throttles.
    pub fn new(fleet: Fleet, limits: Limits) -> Self {
        Aws { fleet, limits }
    }

    /// Its accounts and what they hold.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Its throttles.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The least wall time for a job of so many requests per account, region and operation.
    ///
    /// A leaf that names no operation of this AWS weighs nothing: no bucket would refuse it. Requests of EC2 are taken
    /// to name a filter, an id or a page size.
    pub fn ideal<'a>(&self, job: impl IntoIterator<Item = (&'a Leaf, u64)>) -> Ideal {
        Ideal::of(job.into_iter().map(|(leaf, requests)| (requests, self.draws_of(leaf, Limits::of))))
    }

    fn draws_of(&self, leaf: &Leaf, quota: impl Fn(&Limits, Operation) -> Quota) -> Vec<Draw> {
        let Some(operation) = Operation::find(&leaf.service, &leaf.operation) else { return Vec::new() };
        let quota = quota(&self.limits, operation);
        let name = quota.bucket.to_owned();
        let key = BucketKey { account: leaf.account.clone(), region: leaf.region.clone(), name };
        vec![Draw { key, limit: quota.limit, cost: 1 }]
    }

    fn serves(&self, service: &str, region: &str) -> bool {
        self.fleet.regions().contains(&region) || (service == "sts" && region == GLOBAL_REGION)
    }
}

impl Cloud for Aws {
    type Detail = ();

    fn identify(&self, number: u64, head: &Parts, body: Bytes) -> Result<Call, Box<Answer>> {
        let wire = Wire::of(head, number);
        let refuse = |error| Box::new(wire.error(&error));
        let signed = signature::read(head, wire.protocol, jiff::Timestamp::now()).map_err(refuse)?;
        let account = self
            .fleet
            .account_of_key(&signed.access_key)
            .ok_or_else(|| refuse(wire::Error::unknown_key(wire.protocol)))?;
        if !self.serves(&signed.service, &signed.region) {
            return Err(refuse(wire::Error::wrong_region(wire.protocol)));
        }
        let operation = wire::operation(head, &body, &signed.service, wire.protocol).map_err(refuse)?;
        let leaf = Leaf {
            account: account.id().to_owned(),
            region: signed.region,
            service: operation.service().to_owned(),
            operation: operation.name().to_owned(),
        };
        Ok(Call { number, leaf, body, detail: () })
    }

    fn draws(&self, call: &Call) -> Vec<Vec<Draw>> {
        let unfiltered = call.leaf.service == "ec2" && ec2::asks_for_everything(&call.body);
        vec![self.draws_of(&call.leaf, if unfiltered { Limits::of_unfiltered } else { Limits::of })]
    }

    fn answer(&self, call: &Call) -> Answer {
        let wire = Wire { protocol: Protocol::of_service(&call.leaf.service), number: call.number };
        let Some(account) = self.fleet.account(&call.leaf.account) else {
            return wire.error(&wire::Error::unknown_key(wire.protocol));
        };
        let Some(operation) = Operation::find(&call.leaf.service, &call.leaf.operation) else {
            return wire.error(&wire::Error::unknown_operation(wire.protocol, &call.leaf.operation));
        };
        let place = Place { account, estate: account.estate(&call.leaf.region), leaf: &call.leaf };
        let result = match operation {
            Operation::GetCallerIdentity => return wire.xml(&sts::identity(&place, wire.request_id())),
            Operation::DescribeLogGroups => logs::describe_log_groups(&place, &call.body),
            Operation::DescribeLogStreams => logs::describe_log_streams(&place, &call.body),
            Operation::DescribeParameters => ssm::describe_parameters(&place, &call.body),
            Operation::GetParameter => ssm::get_parameter(&place, &call.body),
            Operation::ListSecrets => secrets::list_secrets(&place, &call.body),
            Operation::DescribeSecret => secrets::describe_secret(&place, &call.body),
            Operation::DescribeVpcs
            | Operation::DescribeSubnets
            | Operation::DescribeSecurityGroups
            | Operation::DescribeInstances
            | Operation::DescribeVolumes => {
                let result = ec2::describe(operation, &place, &call.body, wire);
                return result.unwrap_or_else(|error| wire.error(&error));
            }
        };
        match result {
            Ok(body) => wire.json(&body),
            Err(error) => wire.error(&error),
        }
    }

    fn throttled(&self, call: &Call, _verdict: &Verdict) -> Answer {
        let protocol = Protocol::of_service(&call.leaf.service);
        Wire { protocol, number: call.number }.error(&wire::Error::throttled(protocol))
    }

    fn failed(&self, call: &Call, status: StatusCode) -> Answer {
        let protocol = Protocol::of_service(&call.leaf.service);
        Wire { protocol, number: call.number }.error(&wire::Error::failed(&call.leaf.service, status))
    }
}

/// Where an operation looks: one region of one account.
struct Place<'a> {
    account: &'a Account,
    estate: &'a Estate,
    leaf: &'a Leaf,
}

impl Place<'_> {
    fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{resource}", self.leaf.region, self.leaf.account)
    }
}
