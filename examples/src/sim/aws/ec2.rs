//! EC2: a query protocol of its own, close to the AWS one.

use std::collections::BTreeSet;

use serde::Serialize;

use super::wire::{Error, Wire};
use super::{Operation, Place, query};
use crate::sim::Answer;
use crate::sim::page::List;

mod document;
mod request;
mod shapes;

pub(super) use document::error;
pub(super) use request::asks_for_everything;

use document::Document;
use request::Request;

/// The API's version, which every request names.
const VERSION: &str = "2016-11-15";

/// The `Action` of a form of the right version.
pub(super) fn operation_name(body: &[u8]) -> Result<String, Error> {
    let (action, version) = query::action_and_version(body)?;
    if version != VERSION {
        let message = format!("The requested version ({version}) of service AmazonEC2 does not exist");
        return Err(Error::bad_request("NoSuchVersion", message));
    }
    Ok(action)
}

/// What the operations have in common: they list one kind of resource, all of it or by id or by VPC.
pub(super) fn describe(operation: Operation, place: &Place<'_>, body: &[u8], wire: Wire) -> Result<Answer, Error> {
    let estate = &place.estate.ec2;
    let shape = shapes::Shape { place };
    match operation {
        Operation::DescribeSubnets => {
            let request = Request::read(body, "SubnetId", &["vpc-id"])?;
            let all = estate.vpcs.iter().enumerate().flat_map(|(n, vpc)| {
                let subnets = (0..).zip(&vpc.subnets);
                subnets.map(move |(index, id)| Row { id, vpc: Some(&vpc.id), what: (n, vpc, index, id) })
            });
            let (rows, next) = page(place, &request, all, "InvalidSubnetID.NotFound", "subnet ID")?;
            let rows: Vec<_> = rows.into_iter().map(|(n, vpc, index, id)| shape.subnet(n, vpc, index, id)).collect();
            Ok(answer(wire, operation, "subnetSet", rows, next))
        }
        Operation::DescribeSecurityGroups => {
            let request = Request::read(body, "GroupId", &["vpc-id"])?;
            let all = estate.vpcs.iter().flat_map(|vpc| {
                let groups = (0..).zip(&vpc.security_groups);
                groups.map(move |(index, id)| Row { id, vpc: Some(&vpc.id), what: (vpc, index, id) })
            });
            let (rows, next) = page(place, &request, all, "InvalidGroup.NotFound", "security group")?;
            let rows: Vec<_> = rows.into_iter().map(|(vpc, index, id)| shape.security_group(vpc, index, id)).collect();
            Ok(answer(wire, operation, "securityGroupInfo", rows, next))
        }
        Operation::DescribeInstances => {
            let request = Request::read(body, "InstanceId", &["vpc-id"])?;
            request.ids_or_pages("instancesSet")?;
            let all = estate.instances.iter().enumerate().map(|(n, instance)| Row {
                id: &instance.id,
                vpc: Some(&instance.vpc),
                what: (n, instance),
            });
            let (rows, next) = page(place, &request, all, "InvalidInstanceID.NotFound", "instance ID")?;
            Ok(answer(wire, operation, "reservationSet", shape.reservations(&rows), next))
        }
        Operation::DescribeVolumes => {
            let request = Request::read(body, "VolumeId", &[])?;
            request.ids_or_pages("volumesSet")?;
            let all = estate.volumes.iter().enumerate().map(|(n, id)| Row { id, vpc: None, what: (n, id) });
            let (rows, next) = page(place, &request, all, "InvalidVolume.NotFound", "volume")?;
            let rows: Vec<_> = rows.into_iter().map(|(n, id)| shape.volume(n, id)).collect();
            Ok(answer(wire, operation, "volumeSet", rows, next))
        }
        Operation::DescribeVpcs => {
            let request = Request::read(body, "VpcId", &["vpc-id"])?;
            let all = estate.vpcs.iter().enumerate();
            let all = all.map(|(n, vpc)| Row { id: &vpc.id, vpc: Some(&vpc.id), what: (n, vpc) });
            let (rows, next) = page(place, &request, all, "InvalidVpcID.NotFound", "vpc ID")?;
            let rows: Vec<_> = rows.into_iter().map(|(n, vpc)| shape.vpc(n, vpc)).collect();
            Ok(answer(wire, operation, "vpcSet", rows, next))
        }
        other => Err(Error::unknown_operation(wire.protocol, other.name())),
    }
}

/// A resource, with what it is asked for by.
struct Row<'a, T> {
    id: &'a str,
    vpc: Option<&'a str>,
    what: T,
}

/// The rows that the request is about, as far as its page goes, and the token of the next page.
fn page<'a, T>(
    place: &Place<'_>,
    request: &Request,
    all: impl Iterator<Item = Row<'a, T>>,
    not_found: &'static str,
    noun: &str,
) -> Result<(Vec<T>, Option<String>), Error> {
    let ids: BTreeSet<&str> = request.ids.iter().map(String::as_str).collect();
    let mut missing = ids.clone();
    let mut rows: Vec<T> = Vec::new();
    for row in all {
        let asked = ids.is_empty() || ids.contains(row.id);
        missing.remove(row.id);
        if asked && request.is_in_vpc(row.vpc) {
            rows.push(row.what);
        }
    }
    if let Some(missing) = missing.first() {
        return Err(Error::bad_request(not_found, format!("The {noun} '{missing}' does not exist")));
    }
    let filter = request.selection();
    let list = List { leaf: place.leaf, filter: &filter };
    let (range, next) = list
        .page(rows.len(), request.page_size, request.next_token.as_deref())
        .map_err(|_| Error::bad_request("InvalidNextToken", "The specified NextToken is not valid."))?;
    Ok((rows.drain(range).collect(), next))
}

fn answer<T: Serialize>(
    wire: Wire,
    operation: Operation,
    set: &'static str,
    rows: Vec<T>,
    next: Option<String>,
) -> Answer {
    let root = format!("{}Response", operation.name());
    wire.xml_rooted(&root, &Document::new(wire.request_id(), set, rows, next))
}
