//! What was started and how it ended, after it is gone from the bottom line.

use crate::tui::fit;
use crate::tui::overlays::page_width;
use crate::tui::pace;
use crate::tui::state::{JobLine, State};
use crate::tui::theme::{Tone, Toned};

/// The lines of the page, newest first.
#[must_use]
pub fn lines(state: &State) -> Vec<Toned> {
    if state.jobs.is_empty() {
        return vec![vec![(Tone::Dim, "Nothing was started yet.".into())]];
    }
    let width = page_width(state.size.0).max(20);
    let mut lines = Vec::new();
    for job in state.jobs.iter().rev() {
        let took = format!("  {}", pace::took(elapsed(state, job)));
        let room = width.saturating_sub(fit::columns(&took));
        let what = fit::pad(&fit::clip(&job.what, room), room);
        lines.push(vec![(Tone::Plain, what), (Tone::Dim, took)]);
        let (tone, outcome) = match &job.outcome {
            Some((tone, text)) => (*tone, text.clone()),
            None => (Tone::Busy, at_work(state, job)),
        };
        let outcome = fit::wrap(&outcome, width - 2).into_iter();
        lines.extend(outcome.map(|line| vec![(tone, format!("  {line}"))]));
    }
    lines
}

fn elapsed(state: &State, job: &JobLine) -> i64 {
    job.ended.unwrap_or(state.now_ms) - job.began_ms
}

fn at_work(state: &State, job: &JobLine) -> String {
    match job.progress {
        Some(progress) if progress.total > 0 => {
            format!("at work: {}", pace::bytes(progress, elapsed(state, job)))
        }
        _ => "at work".into(),
    }
}
