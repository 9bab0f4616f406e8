//! What Cloud Asset Inventory answers.

use std::ops::Range;

use serde_json::{Value, json};

use super::Fleet;
use super::fleet::{AssetKind, Project};
use super::operation::Operation;
use super::route::{Ask, Query};
use super::wire::Error;
use crate::sim::Leaf;
use crate::sim::page::List;

/// When everything was last changed, and read.
const TIME: &str = "2026-01-01T00:00:00Z";

/// One page of what a project or the organization has, as ListAssets or SearchAllResources shows it.
pub(super) fn answer(fleet: &Fleet, leaf: &Leaf, ask: &Ask) -> Result<Value, Error> {
    let query = Query::of(ask.operation, &ask.query)?;
    let projects = parent(fleet, &ask.place.parent)?;
    let kinds = kinds(&query.asset_types)?;
    let runs: Vec<_> = projects
        .iter()
        .flat_map(|project| kinds.iter().map(move |kind| (project, *kind, project.assets(*kind) as usize)))
        .collect();
    let rows = runs.iter().map(|(.., rows)| rows).sum();

    let list = List { leaf, filter: &[&ask.place.parent, &query.asset_types.join(",")] };
    let size = page_size(ask.operation, query.page_size)?;
    let (page, next) = list.page(rows, size, query.page_token.as_deref()).map_err(|_| {
        Error::bad_request("Request contains an invalid argument: the page token is not one of this list.")
    })?;
    let rows = rows_of(&runs, page).filter_map(|(project, kind, index)| match ask.operation {
        Operation::SearchAllResources => found(fleet, project, kind, index),
        _ => listed(fleet, project, kind, index, query.with_resource),
    });
    let rows: Vec<_> = rows.collect();
    let mut body = match ask.operation {
        Operation::SearchAllResources => json!({ "results": rows }),
        _ => json!({ "readTime": TIME, "assets": rows }),
    };
    if let Some(token) = next {
        body["nextPageToken"] = token.into();
    }
    Ok(body)
}

/// The projects of a parent.
fn parent<'a>(fleet: &'a Fleet, parent: &str) -> Result<&'a [Project], Error> {
    let denied = || Error::forbidden("The caller does not have permission");
    match parent.split_once('/') {
        Some(("projects", id)) => fleet.project(id).map(std::slice::from_ref).ok_or_else(denied),
        Some(("organizations", id)) if id == fleet.organization().to_string() => Ok(fleet.projects()),
        Some(("organizations" | "folders", _)) => Err(denied()),
        _ => Err(Error::bad_request(format!("Invalid parent '{parent}'."))),
    }
}

fn kinds(asset_types: &[String]) -> Result<Vec<AssetKind>, Error> {
    if asset_types.is_empty() {
        return Ok(AssetKind::ALL.to_vec());
    }
    let unknown = |name| Error::bad_request(format!("The asset type '{name}' is not supported here."));
    let asked: Vec<_> =
        asset_types.iter().map(|name| AssetKind::find(name).ok_or_else(|| unknown(name))).collect::<Result<_, _>>()?;
    Ok(AssetKind::ALL.into_iter().filter(|kind| asked.contains(kind)).collect())
}

/// The rows of a page. ListAssets refuses a size beyond its bound, SearchAllResources takes its bound instead.
fn page_size(operation: Operation, asked: Option<u32>) -> Result<u32, Error> {
    match (operation, asked) {
        (_, None) => Ok(super::PAGE),
        (Operation::SearchAllResources, Some(asked)) => Ok(asked.min(super::LARGEST_SEARCH_PAGE)),
        (_, Some(asked)) if asked > super::LARGEST_ASSET_PAGE => {
            let largest = super::LARGEST_ASSET_PAGE;
            Err(Error::bad_request(format!("The page size {asked} is not from 1 to {largest}.")))
        }
        (_, Some(asked)) => Ok(asked),
    }
}

/// A run of assets of one kind in one project, and how many they are.
type Run<'a> = (&'a Project, AssetKind, usize);

/// The rows of the runs, one after the other, that are in the page.
fn rows_of<'a>(runs: &[Run<'a>], page: Range<usize>) -> impl Iterator<Item = (&'a Project, AssetKind, usize)> {
    let mut before = 0;
    runs.iter().flat_map(move |(project, kind, rows)| {
        let first = before;
        before += rows;
        let within = page.start.clamp(first, before) - first..page.end.clamp(first, before) - first;
        within.map(move |index| (*project, *kind, index))
    })
}

fn listed(fleet: &Fleet, project: &Project, kind: AssetKind, index: usize, with_resource: bool) -> Option<Value> {
    let asset = project.asset(kind, index)?;
    let mut row = json!({
        "name": asset.name,
        "assetType": kind.asset_type(),
        "updateTime": TIME,
        "ancestors": [format!("projects/{}", project.number), format!("organizations/{}", fleet.organization())],
    });
    if with_resource {
        row["resource"] = json!({
            "version": "v1",
            "discoveryName": kind.asset_type().rsplit('/').next(),
            "parent": format!("//cloudresourcemanager.googleapis.com/projects/{}", project.number),
            "location": asset.location,
            "data": { "name": asset.display_name },
        });
    }
    Some(row)
}

fn found(fleet: &Fleet, project: &Project, kind: AssetKind, index: usize) -> Option<Value> {
    let asset = project.asset(kind, index)?;
    Some(json!({
        "name": asset.name,
        "assetType": kind.asset_type(),
        "project": format!("projects/{}", project.number),
        "organization": format!("organizations/{}", fleet.organization()),
        "displayName": asset.display_name,
        "location": asset.location,
        "updateTime": TIME,
    }))
}
