//! Many runs, on as many threads as there are processors. Each run is on one of them, so the number changes nothing.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::law::Law;
use crate::measure::{Measured, Merge};
use crate::report::Row;
use crate::scenario::Scenario;
use crate::trace::Trace;

/// Runs each law in each scenario in which [it differs](Law::differs_in) from the others with each of these seeds and hands every trace to `watch`, from several threads.
/// The rows come scenario by scenario.
///
/// # Errors
///
/// What `watch` returns, or a governor whose configuration is not valid, in words; the other runs are finished first.
pub fn trials(
    scenarios: &[&Scenario],
    laws: &[&Law],
    seeds: Range<u64>,
    merge: Merge,
    watch: impl Fn(&Scenario, &Law, u64, &Trace) -> Result<(), String> + Sync,
) -> Result<Vec<Row>, String> {
    let pairs: Vec<(&Scenario, &Law)> = scenarios
        .iter()
        .flat_map(|scenario| laws.iter().map(move |law| (*scenario, *law)))
        .filter(|(scenario, law)| law.differs_in(scenario))
        .collect();
    let next = AtomicUsize::new(0);
    let one = |scenario: &Scenario, law: &Law| {
        let mut runs = Vec::new();
        for seed in seeds.clone() {
            let trace =
                scenario.run(law, seed).map_err(|error| format!("{} in {}: {error}", law.name, scenario.name))?;
            watch(scenario, law, seed, &trace)?;
            runs.push(Measured::of(scenario, &trace));
        }
        Ok(Measured::merged(&runs, merge).map(|measured| Row::new(scenario, law, seeds.end - seeds.start, measured)))
    };
    let work = || {
        let mut done = Vec::new();
        while let Some((index, (scenario, law))) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            pairs.get(index).map(|pair| (index, *pair))
        } {
            done.push((index, one(scenario, law)));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().map_err(|_| "a run panicked".to_owned()));
        joined.collect::<Result<Vec<_>, String>>()
    })?
    .concat();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().filter_map(|(_, row)| row.transpose()).collect()
}
