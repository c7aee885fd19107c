//! What was started and how it ended, after it is gone from the bottom line.

use crate::tui::fit;
use crate::tui::state::State;
use crate::tui::theme::{Tone, Toned};

/// The lines of the page, newest first.
#[must_use]
pub fn lines(state: &State) -> Vec<Toned> {
    if state.jobs.is_empty() {
        return vec![vec![(Tone::Dim, "Nothing was started yet.".into())]];
    }
    let mut lines = Vec::new();
    for job in state.jobs.iter().rev() {
        let (tone, outcome) = match &job.outcome {
            Some((tone, text)) => (*tone, text.clone()),
            None => (Tone::Busy, "at work".into()),
        };
        lines.push(vec![(Tone::Plain, job.what.clone())]);
        let width = usize::from(state.size.0).clamp(20, 84) - 10;
        let outcome = fit::wrap(&outcome, width).into_iter();
        lines.extend(outcome.map(|line| vec![(tone, format!("  {line}"))]));
    }
    lines
}
