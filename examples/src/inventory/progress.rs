//! The bar on a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::listing::Progress;

/// The bar; it draws nothing where standard error is no terminal.
#[derive(Debug)]
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar for so many listings, if `wanted` and if somebody can see it.
    pub(super) fn new(listings: usize, wanted: bool) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(listings as u64), ProgressDrawTarget::stderr());
        // The template is a constant; were it wrong, the plain bar would do.
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:32}] {pos}/{len} listings{msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Bar(Some(bar))
    }

    /// Draws how far all have come.
    pub(super) fn show(&self, all: &[Progress]) {
        let Some(bar) = &self.0 else { return };
        let resources: u64 = all.iter().map(|progress| progress.found.resources()).sum();
        let requeues: u32 = all.iter().map(|progress| progress.requeues).sum();
        let again = if requeues > 0 { format!(", queued again {requeues}x") } else { String::new() };
        bar.set_position(all.iter().filter(|progress| progress.ended).count() as u64);
        bar.set_message(format!(", {resources} resources{again}"));
        bar.tick();
    }

    /// Takes the bar away, so that what follows has the terminal to itself.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
