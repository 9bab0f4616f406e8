//! The drawings in the engine's chapter on its control laws are what the program draws today.
//!
//! After a change that is meant: `control --scenario 100/20 --scenario step --law .. --draw governor/src/_guide/drawings`.

use std::path::Path;

use cloud_governor_control::{LAWS, Merge, SCENARIOS, draw, trials};

const DRAWN: [(&str, &str); 3] = [("100/20", "aimd"), ("100/20", "delivery_rate"), ("step", "delivery_rate")];

#[test]
fn the_drawings_in_the_docs_are_of_these_runs() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../governor/src/_guide/drawings");
    let drawn = tempfile::tempdir().expect("a directory");
    for (scenario, law) in DRAWN {
        let scenario = SCENARIOS.iter().find(|one| one.name == scenario).expect("a scenario");
        let law = LAWS.iter().find(|one| one.name == law).expect("a law");
        let name = draw::file_name(scenario, law);
        trials(&[scenario], &[law], 1..2, Merge::Mean, |scenario, law, _, trace| {
            draw::draw(&drawn.path().join(&name), scenario, law, trace).map_err(|error| error.to_string())
        })
        .expect("a run");
        let read = |directory: &Path| std::fs::read_to_string(directory.join(&name)).expect("a drawing");
        assert!(read(drawn.path()) == read(&kept), "{name} has changed");
    }
}
