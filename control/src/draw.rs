//! Draws a run: what was sent, granted and throttled over time, and the rate that the client believed in.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::law::Law;
use crate::scenario::Scenario;
use crate::trace::{Send, Trace};

const SIZE: (u32, u32) = (1000, 420);
const TRUE: RGBColor = RGBColor(150, 150, 150);
const SENT: RGBColor = RGBColor(31, 119, 180);
const GRANTED: RGBColor = RGBColor(44, 160, 44);
const BELIEVED: RGBColor = RGBColor(148, 103, 189);
const THROTTLED: RGBColor = RGBColor(214, 39, 40);

/// Draws one run into an SVG file.
///
/// # Errors
///
/// The file cannot be written.
pub fn draw(path: &Path, scenario: &Scenario, law: &Law, trace: &Trace) -> Result<(), Box<dyn Error>> {
    // As many steps as can be told apart.
    let step = (scenario.seconds / 300.0).max(1.0);
    let sent = per_second(scenario, step, trace, |_| true);
    let granted =
        per_second(scenario, step, trace, |send| send.arrival.is_some_and(|arrival| arrival.answer.is_granted()));
    let throttled =
        per_second(scenario, step, trace, |send| send.arrival.is_some_and(|arrival| arrival.answer.is_throttled()));
    let truth: Vec<(f64, f64)> =
        steps(scenario.seconds, step).map(|at| (at, scenario.server.true_rate(at, scenario.cost))).collect();
    let steady = truth.iter().map(|(_, rate)| *rate).fold(1.0, f64::max);
    // What goes far beyond the true rate is cut off at the top, or the rest could not be seen.
    let top = 3.0 * steady;

    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{}, {}: {}", scenario.name, law.name, scenario.about), ("sans-serif", 16))
        .margin(10)
        .margin_right(30)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..scenario.seconds, 0.0..top)?;
    chart.configure_mesh().x_desc("seconds").y_desc("calls a second").light_line_style(TRANSPARENT).draw()?;
    let mut line = |name: &str, points: Vec<(f64, f64)>, style: ShapeStyle| -> Result<(), Box<dyn Error>> {
        let points = points.into_iter().map(|(at, value)| (at, value.min(top)));
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        Ok(())
    };
    line("true rate", truth, TRUE.stroke_width(3))?;
    for process in 0..scenario.processes {
        let believed =
            trace.rates.iter().filter(|believed| believed.process == process).map(|one| (one.at, one.rate)).collect();
        let name = if process == 0 { "believed" } else { "believed, another process" };
        line(name, believed, BELIEVED.stroke_width(1))?;
    }
    line("sent", sent, SENT.stroke_width(1))?;
    line("granted", granted, GRANTED.stroke_width(1))?;
    line("throttled", throttled, THROTTLED.stroke_width(1))?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(TRUE)
        .draw()?;
    root.present()?;
    Ok(())
}

fn steps(seconds: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..(seconds / step).ceil() as usize).map(move |index| index as f64 * step)
}

fn per_second(scenario: &Scenario, step: f64, trace: &Trace, counts: impl Fn(&Send) -> bool) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = steps(scenario.seconds, step).map(|at| (at, 0.0)).collect();
    for send in trace.sends.iter().filter(|send| counts(send)) {
        if let Some((_, rate)) = points.get_mut((send.sent / step) as usize) {
            *rate += 1.0 / step;
        }
    }
    points
}

/// The name of a run's file.
pub fn file_name(scenario: &Scenario, law: &Law) -> String {
    format!("{}-{}.svg", scenario.name.replace('/', "-"), law.name)
}
