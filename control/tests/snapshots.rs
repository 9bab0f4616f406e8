//! Every law in every scenario with one seed, against the tables in `snapshots/`, which are reviewed like code: a change
//! of a law, a model or a measure shows there. Nothing here depends on a processor's arithmetic beyond IEEE 754: where
//! more is needed the logarithm and the cube root come from `libm`.

use cloud_governor_control::{LAWS, Merge, Row, SCENARIOS, Scenario, table, trials};

fn described(scenario: &Scenario, rows: &[Row]) -> String {
    let rows: Vec<Row> = rows.iter().filter(|row| row.scenario == scenario.name).cloned().collect();
    format!("{}\n\n{}", scenario.about, table(&rows))
}

#[test]
fn every_law_does_in_every_scenario_as_it_did() {
    let scenarios: Vec<&Scenario> = SCENARIOS.iter().collect();
    let laws: Vec<_> = LAWS.iter().collect();
    let rows = trials(&scenarios, &laws, 1, Merge::Mean, |_, _, _, _| Ok(())).expect("every law's settings are valid");
    for scenario in scenarios {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(scenario.name.replace('/', "-"), described(scenario, &rows));
        });
    }
}
