//! Rows, and the goals that they meet or miss.

use comfy_table::{CellAlignment, Table, presets};

use crate::law::Law;
use crate::measure::Measured;
use crate::scenario::Scenario;

/// The measures of one law in one scenario, over one seed or several.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The law's name.
    pub law: &'static str,
    /// Over how many seeds.
    pub seeds: u64,
    /// The measures.
    #[serde(flatten)]
    pub measured: Measured,
    /// The goals that were missed, each with the figure that was wanted; empty where there is none or all were met.
    pub missed: Vec<String>,
    /// Whether the scenario has goals and all were met; none if it has none.
    pub met: Option<bool>,
}

impl Row {
    /// A row of measured figures.
    pub fn new(scenario: &Scenario, law: &Law, seeds: u64, measured: Measured) -> Self {
        let goals = scenario.goals;
        let percent = |share: f64| share * 100.0;
        let at_least = [
            ("goodput", goals.goodput.map(percent), measured.goodput.map(percent), " %"),
            ("jain", goals.jain, measured.jain, ""),
            ("kept", goals.kept.map(percent), measured.kept.map(percent), " %"),
        ];
        let at_most = [
            ("waste", goals.waste.map(percent), Some(percent(measured.waste)), " %"),
            ("lost", goals.lost, Some(measured.lost), ""),
            ("converge", goals.converge_s, measured.converge_s, " s"),
            ("recover", goals.recover_s, measured.recover_s, " s"),
            ("probes", goals.probes, measured.probes, ""),
            ("after", goals.after, measured.after, "x"),
            ("load", goals.load, Some(measured.load), "x"),
            ("pause sends", goals.pause_sends, Some(measured.pause_sends), ""),
        ];
        let mut missed = Vec::new();
        let mut judged = false;
        for (name, goal, got, unit) in at_least {
            if let Some(goal) = goal {
                judged = true;
                if got.is_none_or(|got| got < goal) {
                    missed.push(format!("{name} >= {}{unit}", short(goal)));
                }
            }
        }
        for (name, goal, got, unit) in at_most {
            if let (Some(goal), Some(got)) = (goal, got) {
                judged = true;
                if got > goal {
                    missed.push(format!("{name} <= {}{unit}", short(goal)));
                }
            }
        }
        let met = judged.then_some(missed.is_empty());
        Row { scenario: scenario.name, law: law.name, seeds, measured, missed, met }
    }
}

/// A number without more digits than it needs.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const HEADS: [&str; 16] = [
    "scenario", "law", "goodput", "waste", "lost", "converge", "recover", "jain", "in pause", "probes", "after",
    "load", "kept", "p50", "p99", "goals",
];

/// The rows as a text table.
pub fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(HEADS);
    let mut before = "";
    for row in rows {
        let scenario = if row.scenario == before { "" } else { row.scenario };
        before = row.scenario;
        let m = &row.measured;
        let goals = match row.met {
            None => String::new(),
            Some(true) => "met".to_owned(),
            Some(false) => format!("missed: {}", row.missed.join(", ")),
        };
        table.add_row([
            scenario.to_owned(),
            row.law.to_owned(),
            m.goodput.map_or_else(dash, |goodput| format!("{:.1}", goodput * 100.0)),
            format!("{:.1}", m.waste * 100.0),
            format!("{:.0}", m.lost),
            m.converge_s.map_or_else(dash, |s| format!("{s:.0}")),
            m.recover_s.map_or_else(dash, |s| format!("{s:.0}")),
            m.jain.map_or_else(dash, |jain| format!("{jain:.3}")),
            format!("{:.0}", m.pause_sends),
            m.probes.map_or_else(dash, |probes| format!("{probes:.1}")),
            m.after.map_or_else(dash, |after| format!("{after:.2}")),
            format!("{:.2}", m.load),
            m.kept.map_or_else(dash, |kept| format!("{:.0}", kept * 100.0)),
            format!("{:.1}", m.p50_s),
            format!("{:.1}", m.p99_s),
            goals,
        ]);
    }
    for index in 2..HEADS.len() - 1 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn dash() -> String {
    "-".to_owned()
}
