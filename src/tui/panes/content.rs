//! The content pane. Its title always names the view and, for a diff, the base it is made against.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::review::BaseChoice;
use crate::text::{grouped, visible, visible_bytes};
use crate::tui::fit;
use crate::tui::state::{State, View, lines};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::view::put;

/// `3 Diff  pin 7fd1a60 → turn 4   +12 −3`.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let view = state.content.view;
    let mut left = vec![(Tone::Strong, format!("3 {}", view.title()))];
    let mut right = Toned::new();
    if state.refusal.is_some() {
        return (left, right);
    }
    let Some(opened) = &state.opened else {
        return (left, right);
    };
    let turn = match opened.row.turn() {
        Some(turn) => format!("turn {turn}"),
        None => format!("run {}", fit::clip(&visible(&opened.row.run_id), 12)),
    };
    match view {
        View::Diff => {
            let failed = opened.comparison.failure.is_some();
            let base = match (&opened.comparison.done, failed) {
                (Some(compared), false) => compared.base.clone(),
                (None, false) => "comparing".into(),
                (_, true) => asked(&state.content.base),
            };
            left.push((Tone::Plain, format!("  {base} → {turn}")));
            if let Some(compared) = opened.comparison.done.as_ref().filter(|_| !failed) {
                let number = |count: Option<u64>| count.map_or("?".into(), grouped);
                right.push((Tone::Added, format!("+{}", number(compared.additions))));
                right.push((Tone::Removed, format!(" −{}", number(compared.deletions))));
            }
            if opened.comparison.working.is_some() {
                left.push((Tone::Busy, " …".into()));
            }
            if state.content.ignore_whitespace {
                left.push((Tone::Warn, " -w".into()));
            }
        }
        View::File => {
            left.push((Tone::Plain, format!("  {turn}")));
            if let Some(path) = &state.content.path {
                let room = width.saturating_sub(12 + fit::columns(&turn)).max(8);
                left.push((
                    Tone::Dim,
                    format!("  {}", fit::clip_start(&visible_bytes(path), room)),
                ));
            }
        }
        View::Info | View::Transcript => left.push((Tone::Plain, format!("  {turn}"))),
    }
    (left, right)
}

fn asked(choice: &BaseChoice) -> String {
    match choice {
        BaseChoice::Default => "no base".into(),
        BaseChoice::Pin => "pin".into(),
        BaseChoice::Head => "head".into(),
        BaseChoice::Previous => "previous".into(),
        BaseChoice::Run(run) => format!("run {}", fit::clip(&visible(run), 12)),
        BaseChoice::Empty => "empty".into(),
    }
}

/// The lines.
pub fn draw(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) {
    let shown = lines(state);
    let pane = &state.content;
    let width = usize::from(body.width);
    for (row, index) in body.rows().zip(pane.top()..shown.len()) {
        let mut line = shown.line(index);
        let hit = pane
            .search
            .as_ref()
            .is_some_and(|search| search.hits.binary_search(&index).is_ok());
        if hit {
            for part in line.iter_mut().skip(1) {
                part.0 = Tone::Match;
            }
            if let [only] = line.as_mut_slice() {
                only.0 = Tone::Match;
            }
        }
        put(theme, fitted(line, pane.left, width), row, buffer);
    }
}

/// The columns of a line from `left` on; the first part (line numbers) stays where it is.
fn fitted(line: Toned, left: usize, width: usize) -> Toned {
    let mut out = Toned::new();
    let mut hidden = left;
    let mut room = width;
    let fixed = line.len() > 1 && line[0].0 == Tone::Dim;
    for (index, (tone, text)) in line.into_iter().enumerate() {
        let mut part = text.as_str();
        if hidden > 0 && !(fixed && index == 0) {
            let columns = fit::columns(part);
            part = fit::skip(part, hidden);
            hidden = hidden.saturating_sub(columns);
        }
        let cut = fit::take(part, room);
        let more = cut.len() < part.len();
        room -= fit::columns(cut);
        out.push((tone, cut.to_owned()));
        if more {
            // The last column says that the line goes on.
            if let Some((_, text)) = out.last_mut() {
                *text = format!("{}›", fit::take(text, fit::columns(text).saturating_sub(1)));
            }
            break;
        }
    }
    out
}
