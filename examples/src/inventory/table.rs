//! The report as tables.

use std::fmt;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};

use super::cloud::Cloud;
use super::found::Found;
use super::kind::Place;
use super::report::{Report, ServerTruth};
use crate::sim::Counts;

/// A column of the places' table: the service it is about, its name, its count.
type Column = (&'static str, &'static str, fn(&Found) -> u64);

/// What of a place is told, cloud by cloud.
fn columns(cloud: Cloud) -> &'static [Column] {
    match cloud {
        Cloud::Aws => &[
            ("logs", "log groups", |found| found.log_groups),
            ("logs", "log streams", |found| found.log_streams),
            ("ssm", "parameters", |found| found.parameters),
            ("secretsmanager", "secrets", |found| found.secrets),
            ("ec2", "VPCs", |found| found.vpcs),
            ("ec2", "subnets", |found| found.subnets),
            ("ec2", "security groups", |found| found.security_groups),
            ("ec2", "instances", |found| found.instances),
            ("ec2", "volumes", |found| found.volumes),
        ],
        Cloud::Azure => &[
            ("resources", "resource groups", |found| found.in_azure().resource_groups),
            ("network", "virtual networks", |found| found.in_azure().virtual_networks),
            ("network", "subnets", |found| found.in_azure().subnets),
            ("compute", "virtual machines", |found| found.in_azure().virtual_machines),
        ],
        Cloud::Gcp => &[
            ("cloudasset", "assets", |found| found.in_gcp().assets),
            ("cloudasset", "search results", |found| found.in_gcp().search_results),
            ("compute", "instances", |found| found.in_gcp().instances),
        ],
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.clouds.len() > 1 {
            let clouds: Vec<_> = self.clouds.iter().map(ToString::to_string).collect();
            let through = if self.mode == "governed" { "through one governor" } else { "ungoverned" };
            writeln!(f, "{} side by side, {through}", clouds.join(", "))?;
        }
        for cloud in &self.clouds {
            writeln!(f, "{}", self.places(*cloud))?;
        }
        for incomplete in &self.incomplete {
            let reason = incomplete.reason.as_deref().unwrap_or("stopped");
            writeln!(f, "not complete: {} in {}: {reason}", incomplete.kind, incomplete.place)?;
        }
        let lost = match (self.simulated, self.interrupted) {
            (true, false) => "lost",
            (true, true) => "not listed yet",
            (false, _) => "listings not complete",
        };
        let Report { listed, requeues, wall_s, .. } = self;
        writeln!(f, "\n{}: {listed} listed, {} {lost}, {requeues} queued again, {wall_s:.1} s", self.mode, self.lost)?;
        if let (Some(ratio), Some(ideal), Some(bucket)) = (self.ratio, self.ideal_s, &self.ideal_bucket)
            && !self.interrupted
        {
            let place = Place { account: bucket.account.clone(), region: bucket.region.clone() };
            let name = &bucket.name;
            writeln!(f, "the server's buckets allow {ideal:.1} s at best ({name} in {place}): {ratio:.2} times that")?;
        }
        if self.mode == "governed" {
            self.governor(f)?;
        }
        match &self.server {
            Some(server) => writeln!(f, "\n{}", seen(server)),
            None => Ok(()),
        }
    }
}

impl Report {
    fn places(&self, cloud: Cloud) -> Table {
        let lists = |service: &str| {
            let mut services = self.services.iter().filter(|listed| listed.cloud() == cloud);
            services.any(|listed| listed.name() == service)
        };
        let columns: Vec<_> = columns(cloud).iter().filter(|(service, ..)| lists(service)).collect();
        let place: &[&str] = match cloud {
            Cloud::Aws => &["account", "region"],
            Cloud::Azure => &["subscription"],
            Cloud::Gcp => &["project"],
        };
        let names = columns.iter().map(|(_, name, _)| *name);
        let header: Vec<_> = place.iter().copied().chain(names).chain(["not complete"]).collect();
        let mut table = table(&header, place.len());
        let row = |account: &str, region: &str, found: &Found, incomplete: usize| {
            let counts = columns.iter().map(|(.., count)| count(found)).chain([incomplete as u64]);
            let counts: Vec<_> = counts.map(|count| count.to_string()).collect();
            [account.to_owned(), region.to_owned()].into_iter().take(place.len()).chain(counts)
        };
        let mut incomplete = 0;
        for place in self.places.iter().filter(|place| place.cloud == cloud) {
            table.add_row(row(&place.place.account, &place.place.region, &place.found, place.incomplete));
            incomplete += place.incomplete;
        }
        table.add_row(row("all", "", &self.found, incomplete));
        table
    }

    fn governor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nthe governor says:")?;
        for message in &self.messages {
            writeln!(f, "  {message}")?;
        }
        let totals = &self.summary.totals;
        writeln!(
            f,
            "  in all: {} operations, {} calls, {} throttled, {} transient errors, {} retries, {} gave up, {} refused, \
             {} circuits opened, waited {:.1} s",
            totals.operations,
            totals.calls,
            totals.throttled,
            totals.transient_errors,
            totals.retries,
            totals.gave_up,
            totals.rejected,
            totals.breaker_trips,
            totals.wait_seconds,
        )?;
        let slowed = self.summary.slowed_buckets.len();
        if slowed > 0 { writeln!(f, "  {slowed} slowed, paused or with an open circuit now") } else { Ok(()) }
    }
}

fn seen(server: &ServerTruth) -> Table {
    let mut table = table(&["the server saw", "", "requests", "answered", "throttled", "faulted", "refused"], 2);
    let row = |name: &str, counts: &Counts| {
        let Counts { requests, answered, throttled, faulted, refused, .. } = *counts;
        let counts = [requests, answered, throttled, faulted, refused].map(|count| count.to_string());
        let (service, operation) = name.split_once('.').unwrap_or((name, ""));
        [service.to_owned(), operation.to_owned()].into_iter().chain(counts)
    };
    for (action, counts) in &server.by_action {
        table.add_row(row(action, counts));
    }
    table.add_row(row("all", &server.totals));
    table
}

/// A table whose first `texts` columns hold text, and the others numbers.
fn table(header: &[&str], texts: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
