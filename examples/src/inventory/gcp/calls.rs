//! The calls to Cloud Asset Inventory and Compute Engine.

use cloud_governor::Rules;
use google_cloud_asset_v1::client::AssetService;
use google_cloud_compute_v1::client::Instances;

use super::kind::Kind;
use crate::inventory::calls;
use crate::inventory::failure::Failure;
use crate::inventory::found::{Found, FoundInGcp};

type Page = calls::Page<Zone, Pages>;

/// The clients of one project.
#[derive(Clone, Debug)]
pub struct Clients {
    assets: AssetService,
    instances: Instances,
    project: String,
    zones: Vec<String>,
    rules: Rules,
    /// Zero leaves it to the service.
    asset_page: i32,
}

/// A page to ask for. An empty token is that of the first.
#[derive(Clone, Debug)]
pub(in crate::inventory) enum Pages {
    Assets(String),
    SearchResults(String),
    /// No call: the zones are known.
    Zones,
}

impl Pages {
    /// The first page.
    pub(in crate::inventory) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Assets => Pages::Assets(String::new()),
            Kind::SearchResults => Pages::SearchResults(String::new()),
            Kind::Instances => Pages::Zones,
        }
    }

    /// What is listed.
    pub(in crate::inventory) fn kind(&self) -> Kind {
        match self {
            Pages::Assets(_) => Kind::Assets,
            Pages::SearchResults(_) => Kind::SearchResults,
            Pages::Zones => Kind::Instances,
        }
    }
}

/// A zone, which needs its instances, and how far they are listed.
#[derive(Debug)]
pub(in crate::inventory) struct Zone {
    name: String,
    token: String,
}

impl Clients {
    /// The clients of the project with this id, the zones to look into, and the rules by which failures are read.
    ///
    /// Cloud Asset counts calls for the project that its client names, so `assets` is one that names this project.
    /// Compute counts them for the project that is asked about, so `instances` may be everybody's.
    pub fn new(assets: AssetService, instances: Instances, project: &str, zones: Vec<String>, rules: Rules) -> Self {
        Clients { assets, instances, project: project.to_owned(), zones, rules, asset_page: 0 }
    }

    /// With so many assets in a page, if the service has them.
    #[must_use]
    pub fn asset_page(self, rows: u32) -> Self {
        Clients { asset_page: i32::try_from(rows).unwrap_or(i32::MAX), ..self }
    }

    /// One page, and where the list goes on. Pages of instances are as long as the service makes them by itself.
    pub(in crate::inventory) async fn page(&self, pages: &Pages) -> Result<Page, Failure> {
        let Clients { assets, zones, rules, .. } = self;
        let parent = format!("projects/{}", self.project);
        let (found, next) = match pages {
            Pages::Assets(token) => {
                let list = assets.list_assets().set_parent(parent).set_page_size(self.asset_page);
                let answer = list.set_page_token(token).send().await;
                let page = answer.map_err(|error| Failure::of("cloudasset.ListAssets", &error, rules))?;
                let found = FoundInGcp { assets: page.assets.len() as u64, ..FoundInGcp::default() };
                (found, following(page.next_page_token).map(Pages::Assets))
            }
            Pages::SearchResults(token) => {
                let search = assets.search_all_resources().set_scope(parent).set_page_size(self.asset_page);
                let answer = search.set_page_token(token).send().await;
                let page = answer.map_err(|error| Failure::of("cloudasset.SearchAllResources", &error, rules))?;
                let found = FoundInGcp { search_results: page.results.len() as u64, ..FoundInGcp::default() };
                (found, following(page.next_page_token).map(Pages::SearchResults))
            }
            Pages::Zones => {
                let zone = |name: &String| Zone { name: name.clone(), token: String::new() };
                return Ok(Page { rows: zones.iter().map(zone).collect(), ..Page::default() });
            }
        };
        Ok(Page { next, found: found.into(), ..Page::default() })
    }

    /// All instances of a zone.
    pub(in crate::inventory) async fn complete(
        &self,
        zone: &mut Zone,
        count: impl Fn(Found) + Send + Sync,
    ) -> Result<(), Failure> {
        let Zone { name, token } = zone;
        loop {
            let list = self.instances.list().set_project(&self.project).set_zone(name.as_str());
            let answer = list.set_page_token(token.as_str()).send().await;
            let page = answer.map_err(|error| Failure::of("compute.instances.list", &error, &self.rules))?;
            count(FoundInGcp { instances: page.items.len() as u64, ..FoundInGcp::default() }.into());
            match page.next_page_token.and_then(following) {
                Some(next) => *token = next,
                None => return Ok(()),
            }
        }
    }
}

/// Where a list goes on; an empty token is its end.
fn following(token: String) -> Option<String> {
    Some(token).filter(|token| !token.is_empty())
}
