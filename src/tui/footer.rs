//! The bottom: the proof chain, what was said last, and the keys that help here. Made as text, since
//! the layout has to know how many lines it takes.

use super::action::{Id, action};
use super::fit;
use super::linear;
use super::state::{Note, Overlay, Pane, PromptKind, State, View, toned_width};
use super::theme::{Tone, Toned};
use super::update::{at_work, why_not};
use crate::progress::Stage;

/// Lines that a message may take.
const MESSAGE_LINES: usize = 4;
/// Rows from which a remark may take two of them.
const TALL: u16 = 30;

/// The lines in `width` columns: the chain with the keys at its right, then what there is to say.
#[must_use]
pub fn lines(state: &State, width: usize) -> Vec<Toned> {
    let mut lines = said(state, width);
    if let Some(first) = lines.first_mut() {
        let hints = beside_chain(state, width, toned_width(first));
        *first = beside(std::mem::take(first), hints, width);
    }
    if state.linear {
        // There is no edge for the keys.
        lines.push(edge(state, width));
        return linear::unrolled(&lines, width);
    }
    lines
}

/// How many lines there are. The keys take none of their own, and what a key does is not asked
/// here: that may depend on where everything stands, which depends on this.
#[must_use]
pub fn height(state: &State, width: usize) -> usize {
    if state.linear {
        return lines(state, width).len();
    }
    said(state, width).len()
}

/// The chain and what there is to say, without the keys.
fn said(state: &State, width: usize) -> Vec<Toned> {
    let mut first = chain(state, width);
    let used = toned_width(&first);
    let message = message(state, width);
    let typed = typing(state, width);
    if let Some((tone, text)) = &message
        && typed.is_none()
        && used + 3 + fit::columns(text) <= width
    {
        if used > 0 {
            first.push((Tone::Dim, " · ".into()));
        }
        first.push((*tone, text.clone()));
        return vec![first];
    }
    let mut lines = vec![first];
    if let Some(typed) = typed {
        lines.push(typed);
    } else if let Some((tone, text)) = message {
        let text = fit::wrap_at_most(&text, width, MESSAGE_LINES).into_iter();
        lines.extend(text.map(|line| vec![(tone, line)]));
    }
    lines
}

fn beside(mut left: Toned, right: Toned, width: usize) -> Toned {
    let gap = width.saturating_sub(toned_width(&left) + toned_width(&right));
    left.push((Tone::Plain, " ".repeat(gap)));
    left.extend(right);
    left
}

fn chain(state: &State, width: usize) -> Toned {
    if let Some(opening) = &state.opening {
        return opening.chain.line(width);
    }
    if let Some(refusal) = &state.refusal {
        return refusal.chain.line(width);
    }
    let Some(opened) = &state.opened else {
        return vec![(Tone::Dim, "no run is open".into())];
    };
    let mut line = opened.chain.line(width);
    if let Some(progress) = opened.comparison.working {
        let what = match progress.stage {
            Stage::Diff => "diff",
            _ => "checkout",
        };
        let mut text = format!(" … {what}");
        if let Some(percent) = (progress.done.saturating_mul(100)).checked_div(progress.total) {
            text.push_str(&format!(" {percent}%"));
        }
        if toned_width(&line) + fit::columns(&text) <= width {
            line.push((Tone::Busy, text));
        }
    }
    line
}

/// A remark in a line, or two where the screen has them; only what went wrong is said whole.
fn short(state: &State, note: &Note, width: usize) -> String {
    let text = note.said(width);
    let lines = if state.size.1 < TALL { 1 } else { 2 };
    if note.tone == Tone::Bad || fit::wrap(&text, width).len() <= lines {
        return text;
    }
    fit::clip(&text, width * lines)
}

/// What there is to say, the most pressing first.
fn message(state: &State, width: usize) -> Option<(Tone, String)> {
    let said = |note: &Note| (note.tone, short(state, note, width));
    if let Some(note) = state.note.as_ref().filter(|note| !note.stays) {
        return Some(said(note));
    }
    if let Some(text) = at_work(state) {
        return Some((Tone::Busy, text));
    }
    // What is being typed needs the room, and has its own answers.
    if state.overlay.is_some() {
        return None;
    }
    if let Some(note) = &state.note {
        return Some(said(note));
    }
    match (&state.opening, &state.refusal) {
        (None, Some(refusal)) => Some((Tone::Bad, refusal.failure.message.clone())),
        _ => None,
    }
}

/// The line being typed at the bottom: a filter or a search.
fn typing(state: &State, width: usize) -> Option<Toned> {
    let Some(Overlay::Prompt(prompt)) = &state.overlay else {
        return None;
    };
    let what = match prompt.kind {
        PromptKind::FilterRuns => "filter the runs",
        PromptKind::FilterFiles => "filter the files",
        PromptKind::Search => "search",
        _ => return None,
    };
    let mut line = vec![
        (Tone::Accent, format!("{what} /")),
        (
            Tone::Plain,
            crate::text::visible(prompt.input.value()).into_owned(),
        ),
        (Tone::Accent, "▏".into()),
    ];
    if prompt.kind == PromptKind::FilterRuns {
        let room = width.saturating_sub(toned_width(&line) + 2);
        let found = fit::first_form(super::panes::runs::filter_forms(state), room);
        line.push((Tone::Dim, format!("  {found}")));
    }
    Some(line)
}

/// The keys for the bottom edge of the frame, where more of them have room than beside the chain.
#[must_use]
pub fn edge(state: &State, width: usize) -> Toned {
    let used = said(state, width).first().map_or(0, toned_width);
    if beside_chain(state, width, used).is_empty() {
        hints(state, width)
    } else {
        Toned::new()
    }
}

/// The keys beside a first line of `used` columns, unless the edge has room for more of them.
fn beside_chain(state: &State, width: usize, used: usize) -> Toned {
    let beside = hints(state, width.saturating_sub(used + 2));
    let edge = hints(state, width);
    if toned_width(&edge) > toned_width(&beside) {
        Toned::new()
    } else {
        beside
    }
}

/// The keys that help where the focus is, as many as fit.
fn hints(state: &State, width: usize) -> Toned {
    // What lies over the panes takes the keys, and says itself which.
    if state.overlay.is_some() {
        return Toned::new();
    }
    let mut ids = match (state.focus, state.content.view) {
        (Pane::Runs, _) => vec![Id::OpenRun, Id::Find, Id::Palette, Id::Restore],
        (Pane::Files, _) => vec![Id::ToContent, Id::ShowFiles, Id::Base, Id::Restore],
        (Pane::Content, View::Diff) => vec![Id::NextHunk, Id::NextFile, Id::Base, Id::Restore],
        (Pane::Content, View::Info) => vec![Id::Follow, Id::ViewDiff, Id::Find, Id::Restore],
        (Pane::Content, _) => vec![Id::ViewDiff, Id::Find, Id::Restore],
    };
    if state.focus == Pane::Runs {
        let risk = state
            .runs
            .selected()
            .and_then(|run| state.runs.at_risk(run));
        if risk.is_some() {
            ids.insert(1, Id::Fetch);
        }
        if !state.runs.marks.is_empty() {
            ids.insert(1, Id::Compare);
        }
    }
    if state.at_work() {
        ids = vec![Id::Back];
    }
    if state.refusal.is_some() && state.focus != Pane::Runs && !state.at_work() {
        ids = vec![Id::ViewInfo, Id::Palette];
    }
    ids.retain(|id| why_not(state, *id).is_none());
    ids.push(Id::Help);
    loop {
        let mut line = Toned::new();
        for id in &ids {
            let action = action(*id);
            let Some(key) = state.keymap.keys(*id).first() else {
                continue;
            };
            if !line.is_empty() {
                line.push((Tone::Dim, " · ".into()));
            }
            line.push((Tone::Accent, key.clone()));
            let name = match id {
                Id::Back => "stop",
                Id::Find if state.focus == Pane::Content => "search",
                _ => action.name,
            };
            line.push((Tone::Plain, format!(" {name}")));
        }
        if toned_width(&line) <= width {
            return line;
        }
        // `? keys` goes last.
        if ids.len() < 2 {
            return Toned::new();
        }
        ids.remove(ids.len() - 2);
    }
}
