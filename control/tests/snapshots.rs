//! The laws in every scenario with one seed, against the tables in `snapshots/`, which are reviewed like code: a change
//! of a law, a model or a measure shows there. Nothing here depends on a processor's arithmetic beyond IEEE 754: where
//! more is needed the logarithm and the cube root come from `libm`.
//!
//! Workers with no limiter send as fast as answers come, half a million times a run, and it always looks the same. They
//! are left out here but for one scenario of that kind, which makes the test three times as fast.

use cloud_governor_control::{LAWS, Law, Load, Merge, SCENARIOS, Scenario, table, trials};

fn laws(scenario: &Scenario) -> Vec<&'static Law> {
    let workers = scenario.phases.iter().any(|phase| matches!(phase.load, Load::Closed { .. }));
    let too_many = workers && scenario.name != "100/20";
    LAWS.iter().filter(|law| !(too_many && law.name == "standard")).collect()
}

#[test]
fn every_law_does_in_every_scenario_as_it_did() {
    for scenario in SCENARIOS {
        let rows =
            trials(&[scenario], &laws(scenario), 1..2, Merge::Mean, |_, _, _, _| Ok(())).expect("valid settings");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            let described = format!("{}\n\n{}", scenario.about, table(&rows));
            insta::assert_snapshot!(scenario.name.replace('/', "-"), described);
        });
    }
}
