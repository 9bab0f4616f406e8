//! What holds of runs, whatever the law.

use cloud_governor_control::{LAWS, Law, Measured, Merge, SCENARIOS, Scenario, trials};

fn scenario(name: &str) -> Scenario {
    *SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap()
}

/// A short one, so that every law can be run several times.
fn short() -> Scenario {
    Scenario { seconds: 30.0, ..scenario("four-at-once") }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for law in LAWS {
        assert_eq!(short().run(law, 7).unwrap(), short().run(law, 7).unwrap(), "{}", law.name);
    }
}

#[test]
fn another_seed_gives_another_run() {
    for law in LAWS {
        assert_ne!(short().run(law, 7).unwrap(), short().run(law, 8).unwrap(), "{}", law.name);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let short = short();
    let scenarios = [&short];
    let laws: Vec<&Law> = LAWS.iter().filter(|law| law.differs_in(&short)).collect();
    assert_eq!(laws.len(), LAWS.len() - 1, "nothing is told that one could be deaf to");
    let rows = trials(&scenarios, &laws, 1..3, Merge::Mean, |_, _, _, _| Ok(())).unwrap();
    assert_eq!(rows.iter().map(|row| row.law).collect::<Vec<_>>(), laws.iter().map(|law| law.name).collect::<Vec<_>>());
    for (row, law) in rows.iter().zip(laws) {
        let alone: Vec<Measured> = [1, 2].map(|seed| Measured::of(&short, &short.run(law, seed).unwrap())).to_vec();
        assert_eq!(Some(&row.measured), Measured::merged(&alone, Merge::Mean).as_ref());
    }
}

#[test]
fn what_a_watcher_says_went_wrong_is_returned() {
    let short = short();
    let result =
        trials(&[&short], &[&LAWS[0]], 1..2, Merge::Mean, |_, law, seed, _| Err(format!("{} {seed}", law.name)));
    assert_eq!(result, Err(format!("{} 1", LAWS[0].name)));
}

#[test]
fn no_server_grants_more_than_it_could() {
    for scenario in SCENARIOS {
        let short = Scenario { seconds: scenario.seconds.min(60.0), ..*scenario };
        let greedy = Law::named("standard").unwrap();
        let trace = short.run(greedy, 1).unwrap();
        let granted = trace.sends.iter().filter(|send| send.arrival.is_some_and(|at| at.answer.is_granted())).count();
        let could = short.server.quota.most(&short.server.open(short.seconds), short.cost) - trace.background;
        assert!(granted as f64 * short.cost <= could + 1e-6, "{}: {granted} of {could}", scenario.name);
    }
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SCENARIOS.len());
}
