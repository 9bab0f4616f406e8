//! The limits as a table, with their sources below.

use std::fmt;

use cloud_governor::catalogue::{Counted, Per, PublishedLimit};
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;

use super::listing::Listing;

/// How wide a list of operations gets.
const OPERATIONS_WIDTH: usize = 44;

const PROVIDER: &str = "provider";

/// A column: its head, and a limit's cell in it.
type Column = (&'static str, fn(&PublishedLimit) -> String);

const COLUMNS: [Column; 8] = [
    (PROVIDER, |limit| limit.provider.to_owned()),
    ("service", |limit| limit.service.to_owned()),
    ("operations", |limit| lines(limit.operations, OPERATIONS_WIDTH)),
    ("verbs", |limit| limit.verbs.iter().map(|verb| verb.code()).collect::<Vec<_>>().join(", ")),
    ("counted", |limit| counted(limit.counted)),
    ("grant", |limit| limit.grant.to_string()),
    ("unit", |limit| limit.unit.unwrap_or_default().to_owned()),
    ("condition", |limit| limit.condition.unwrap_or_default().to_owned()),
];

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.sources();
        let columns: Vec<_> = COLUMNS.iter().filter(|column| self.has(column)).collect();
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        table.set_header(columns.iter().map(|(head, _)| *head).chain(["source"]));
        for limit in self.limits() {
            let number = sources.iter().position(|source| *source == page(limit)).map_or(0, |place| place + 1);
            let source = match limit.source.code {
                Some(code) => format!("[{number}] {code}"),
                None => format!("[{number}]"),
            };
            table.add_row(columns.iter().map(|(_, cell)| cell(limit)).chain([source]));
        }
        writeln!(f, "{table}")?;
        sources.iter().zip(1..).try_for_each(|((page, read), number)| writeln!(f, "[{number}] {page}, read {read}"))
    }
}

impl Listing {
    /// Whether a column says anything: no limit may have it, and all may be of one provider.
    fn has(&self, (head, cell): &Column) -> bool {
        let mut cells = self.limits().iter().map(|limit| cell(limit));
        let first = cells.next().unwrap_or_default();
        if *head == PROVIDER {
            cells.any(|cell| cell != first)
        } else {
            !first.is_empty() || cells.any(|cell| !cell.is_empty())
        }
    }

    /// The pages, in the order in which limits name them.
    fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let mut sources = Vec::new();
        for source in self.limits().iter().map(|limit| page(limit)) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }
}

fn page(limit: &PublishedLimit) -> (&'static str, &'static str) {
    (limit.source.page, limit.source.read)
}

fn counted(counted: Counted) -> String {
    match counted {
        Counted::Each => "each".to_owned(),
        Counted::Together { name, per } => format!("{name}, per {}", whose(per)),
        Counted::Allowance => "told".to_owned(),
        // What the catalogue learns to say after this was written.
        other => format!("{other:?}"),
    }
}

fn whose(per: Per) -> &'static str {
    match per {
        Per::Region => "region",
        Per::Account => "account",
        Per::Organization => "organization",
        _ => "other",
    }
}

/// Names with commas between, in lines of this width, unless a single one is longer.
fn lines(names: &[&str], width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            text.push(',');
            let is_room = used + name.len() + 3 <= width;
            text.push(if is_room { ' ' } else { '\n' });
            used = if is_room { used + 2 } else { 0 };
        }
        text.push_str(name);
        used += name.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use cloud_governor::catalogue;

    use super::*;

    fn shown(provider: &str, service: &str) -> String {
        let all = Listing::of(catalogue::published());
        all.of_provider(provider).and_then(|listing| listing.of_service(service)).expect("known").to_string()
    }

    #[test]
    fn a_row_says_what_is_counted_how_much_is_granted_and_where_that_is_published() {
        let shown = shown("azure", "network");
        let row = shown.lines().find(|line| line.contains("changes")).expect("a row");
        let cells: Vec<_> = row.trim_matches('│').split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells, ["network", "write, delete", "changes, per region", "1000 in 300 s, burst 1000", "[1]"]);
        assert!(shown.ends_with("request-limits-and-throttling, read 2026-11\n"), "{shown}");
    }

    #[test]
    fn a_column_that_would_say_nothing_is_left_out() {
        let heads = |provider, service| shown(provider, service).lines().nth(1).expect("the heads").to_owned();
        let logging = heads("gcp", "logging");
        assert!(!["provider", "verbs", "unit", "condition"].iter().any(|head| logging.contains(head)), "{logging}");
        assert!(heads("azure", "network").contains("verbs"));
        assert!(heads("gcp", "cloudasset").contains("condition"));
    }

    #[test]
    fn each_page_is_named_once() {
        let shown = Listing::of(catalogue::published()).to_string();
        assert!(shown.lines().nth(1).is_some_and(|heads| heads.contains("provider")), "{shown}");
        let pages: Vec<_> = shown.lines().filter(|line| line.starts_with('[')).collect();
        let mut names: Vec<_> = pages.iter().filter_map(|line| line.split_once(' ')).map(|(_, page)| page).collect();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == pages.len() && pages.len() > 5, "{pages:?}");
    }

    #[test]
    fn operations_are_broken_into_lines_and_never_in_themselves() {
        assert_eq!(lines(&["List", "Get", "Describe"], 10), "List, Get,\nDescribe");
        assert_eq!(lines(&["AVeryLongOperation", "Get"], 10), "AVeryLongOperation,\nGet");
        assert_eq!(lines(&[], 10), "");
    }
}
