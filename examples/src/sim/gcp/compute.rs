//! What Compute Engine answers.

use serde_json::{Map, Value, json};

use super::fleet::{Instance, Project};
use super::operation::Operation;
use super::route::{Ask, Query};
use super::wire::Error;
use crate::sim::Leaf;
use crate::sim::page::List;

/// Where its resources say they are.
const ROOT: &str = "https://www.googleapis.com/compute/v1";

/// Everything that is within one project.
pub(super) fn answer(project: &Project, leaf: &Leaf, ask: &Ask) -> Result<Value, Error> {
    let query = Query::of(ask.operation, &ask.query)?;
    let zone = ask.place.zone.as_str();
    match ask.operation {
        Operation::AggregatedListInstances => {
            let (page, next) = page(leaf, "", &project.instances, &query)?;
            let mut zones: Map<String, Value> = Map::new();
            for instance in page {
                let scope = zones.entry(format!("zones/{}", instance.zone)).or_insert(json!({ "instances": [] }));
                if let Some(Value::Array(instances)) = scope.get_mut("instances") {
                    instances.push(row(project, instance));
                }
            }
            Ok(listed("compute#instanceAggregatedList", zones.into(), next))
        }
        _ if !project.zones.contains(&zone) => {
            Err(Error::bad_request(format!("Invalid value for field 'zone': '{zone}'. Unknown zone.")))
        }
        Operation::GetInstance => {
            let name = ask.place.name.as_str();
            project.instance(zone, name).map(|instance| row(project, instance)).ok_or_else(|| {
                let resource = format!("projects/{}/zones/{zone}/instances/{name}", project.id);
                Error::not_found(format!("The resource '{resource}' was not found"))
            })
        }
        _ => {
            let (page, next) = page(leaf, zone, project.instances_in(zone), &query)?;
            let items = page.iter().map(|instance| row(project, instance)).collect();
            Ok(listed("compute#instanceList", items, next))
        }
    }
}

type Page<'a> = (&'a [Instance], Option<String>);

fn page<'a>(leaf: &Leaf, zone: &str, instances: &'a [Instance], query: &Query) -> Result<Page<'a>, Error> {
    let size = query.page_size.unwrap_or(super::COMPUTE_PAGE);
    if size > super::COMPUTE_PAGE {
        let message =
            format!("Invalid value for field 'maxResults': '{size}'. Must be at most {}.", super::COMPUTE_PAGE);
        return Err(Error::bad_request(message));
    }
    let list = List { leaf, filter: &[zone] };
    let (rows, next) = list
        .page(instances.len(), size, query.page_token.as_deref())
        .map_err(|_| Error::bad_request("Invalid value for field 'pageToken'."))?;
    Ok((instances.get(rows).unwrap_or_default(), next))
}

fn listed(kind: &str, items: Value, next: Option<String>) -> Value {
    let mut body = json!({ "kind": kind, "items": items });
    if let Some(token) = next {
        body["nextPageToken"] = token.into();
    }
    body
}

fn row(project: &Project, instance: &Instance) -> Value {
    let Instance { name, zone, machine_type, running } = instance;
    let place = format!("{ROOT}/projects/{}/zones/{zone}", project.id);
    json!({
        "kind": "compute#instance",
        "name": name,
        "zone": place,
        "machineType": format!("{place}/machineTypes/{machine_type}"),
        "status": if *running { "RUNNING" } else { "TERMINATED" },
        "selfLink": format!("{place}/instances/{name}"),
    })
}
