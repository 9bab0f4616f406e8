//! What a decision costs, beside the best existing parts and their sum, in one run.
//!
//! `cargo bench -p cloud-governor-bench --bench cost`; the ratios are at the end. Figures are for comparison within a
//! run: a busy machine is slow for all rows.

mod rows;

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::Criterion;

use rows::{BATCH, CONTENDED, PARTS, REFUSED, RESOLVED, Row, SCOPED, TOWER};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion");
    let mut criterion = Criterion::default()
        .output_directory(&output)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(50)
        .configure_from_args();
    for name in rows::names() {
        measure(&mut criterion, &mut rows::row(name)?);
    }
    criterion.final_summary();
    print_ratios(&output);
    Ok(())
}

fn measure(criterion: &mut Criterion, row: &mut Row) {
    criterion.bench_function(row.name, |bencher| {
        bencher.iter_custom(|calls| {
            let mut spent = Duration::ZERO;
            for begun in (0..calls).step_by(BATCH as usize) {
                let started = Instant::now();
                (row.run)(BATCH.min(calls - begun));
                spent += started.elapsed();
            }
            spent
        });
    });
}

/// Nanoseconds per call, as criterion estimated them.
fn median(output: &Path, name: &str) -> Option<f64> {
    let directory = name.replace(['/', ':', '?', '*', '"', '<', '>', '|', '\\'], "_");
    let text = std::fs::read_to_string(output.join(directory).join("new/estimates.json")).ok()?;
    let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

fn print_ratios(output: &Path) {
    let sum: Option<f64> = PARTS.iter().map(|part| median(output, part)).sum();
    let Some(sum) = sum else { return println!("not every part was measured: no ratios") };
    println!("the best existing parts, summed: {sum:.0} ns");
    for name in [RESOLVED, SCOPED, CONTENDED, REFUSED, TOWER] {
        if let Some(nanos) = median(output, name) {
            println!("{name}: {nanos:.0} ns, {:.2} of the sum", nanos / sum);
        }
    }
}
