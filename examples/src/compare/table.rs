//! The comparison as tables: one of the runs, and for each job one of its actions.

use std::collections::BTreeSet;
use std::fmt;

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_BORDERS_ONLY};
use comfy_table::{CellAlignment, Table};

use super::contender::Load;
use super::row::{Comparison, Row};

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mut table in self.tables() {
            table.load_style(UTF8_BORDERS_ONLY);
            // The first column is text, the others are numbers.
            for column in table.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            writeln!(f, "{table}")?;
        }
        if self.interrupted { writeln!(f, "stopped before the end") } else { Ok(()) }
    }
}

impl Comparison {
    /// The tables in Markdown.
    pub fn markdown(&self) -> String {
        let tables = self.tables().into_iter().map(|mut table| format!("{}\n", table.load_style(ASCII_MARKDOWN)));
        tables.collect::<Vec<_>>().join("\n")
    }

    fn tables(&self) -> Vec<Table> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let jobs: BTreeSet<_> = self.rows.iter().map(|row| row.job).collect();
        let mut tables = vec![self.runs(jobs.len() > 1)];
        tables.extend(jobs.into_iter().map(|job| self.actions(job)));
        tables
    }

    /// The job is named where there is more than one.
    fn runs(&self, jobs: bool) -> Table {
        // Without a planned fault none can strike.
        let faults = self.rows.iter().any(|row| row.faulted > 0);
        let mut table = Table::new();
        let mut header = vec!["", "wall", "the buckets' ideal", "ratio", "requests", "throttled", "lost", "listed"];
        if faults {
            header.insert(6, "faulted");
        }
        table.set_header(header);
        for row in &self.rows {
            let mut cells = vec![
                if jobs { format!("{}, {}", row.mode, row.job) } else { row.mode.to_string() },
                format!("{:.1} s", row.wall_s),
                format!("{:.1} s", row.ideal_s),
                row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                row.requests.to_string(),
                format!("{} ({:.1} %)", row.throttled, 100.0 * row.throttled_share),
                row.lost.to_string(),
                row.listed.to_string(),
            ];
            if faults {
                cells.insert(6, row.faulted.to_string());
            }
            table.add_row(cells);
        }
        table
    }

    fn actions(&self, job: Load) -> Table {
        let rows: Vec<_> = self.rows.iter().filter(|row| row.job == job).collect();
        let mut table = Table::new();
        let corner = format!("requests (throttled), {job}");
        table.set_header(std::iter::once(corner).chain(rows.iter().map(|row| row.mode.id().to_owned())));
        let actions: BTreeSet<_> = rows.iter().flat_map(|row| row.actions.keys()).collect();
        for action in actions {
            let cell = |row: &&Row| {
                let counts = row.actions.get(action).copied().unwrap_or_default();
                format!("{} ({})", counts.requests, counts.throttled)
            };
            table.add_row(std::iter::once(action.clone()).chain(rows.iter().map(cell)));
        }
        table
    }
}
