//! The content pane: views, scrolling, hunks, search, and asking for what the Files cursor is on.

use super::{files, open, request, show};
use crate::review::PatchOptions;
use crate::tui::action::Id;
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Pane, PatchRow, Search, State, View, Wanted, lines};
use crate::tui::theme::Tone;

/// Columns of one step sideways.
const SIDE: usize = 8;

/// Does what is meant for this pane.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>, id: Id) {
    let half = usize::from(state.areas().body(Pane::Content).height / 2).max(1);
    let top = state.content.top();
    match id {
        Id::Down => scroll(state, top.saturating_add(1)),
        Id::Up => scroll(state, top.saturating_sub(1)),
        Id::HalfDown => scroll(state, top.saturating_add(half)),
        Id::HalfUp => scroll(state, top.saturating_sub(half)),
        Id::Top => scroll(state, 0),
        Id::Bottom => scroll(state, usize::MAX),
        Id::Rightwards | Id::Unfold => state.content.left += SIDE,
        Id::Leftwards | Id::Fold => state.content.left = state.content.left.saturating_sub(SIDE),
        Id::ViewDiff => show(state, View::Diff),
        Id::ViewFile => show(state, View::File),
        Id::ViewTranscript => show(state, View::Transcript),
        Id::ViewInfo => show(state, View::Info),
        Id::Base => open::next_base(state, out),
        Id::NextHunk => hunk(state, true),
        Id::PreviousHunk => hunk(state, false),
        Id::NextFile => files::to_change(state, true),
        Id::PreviousFile => files::to_change(state, false),
        Id::Whitespace => {
            state.content.ignore_whitespace = !state.content.ignore_whitespace;
            let how = if state.content.ignore_whitespace {
                "left out"
            } else {
                "shown"
            };
            state.say(Tone::Plain, format!("changes of white space are {how}"));
        }
        Id::MoreContext => context(
            state,
            state.content.context.saturating_mul(2).clamp(1, 10_000),
        ),
        Id::LessContext => context(state, state.content.context / 2),
        Id::FindNext => to_hit(state, true),
        Id::FindPrevious => to_hit(state, false),
        _ => {}
    }
}

fn context(state: &mut State, context: u32) {
    state.content.context = context;
    state.say(Tone::Plain, format!("{context} lines around a change"));
}

/// Scrolls to `top`, or as far as there are lines.
pub(super) fn scroll(state: &mut State, top: usize) {
    let height = usize::from(state.areas().body(Pane::Content).height);
    let last = lines(state).len().saturating_sub(height);
    state.content.set_top(top.min(last));
}

/// To the next hunk, and on into the next file after the last one.
fn hunk(state: &mut State, forward: bool) {
    let Some(patch) = &state.content.patch.value else {
        return;
    };
    // The first line is the file's name.
    let starts = patch.rows.iter().enumerate();
    let starts = starts
        .filter(|(_, row)| matches!(row, PatchRow::Hunk(_)))
        .map(|(at, _)| at + 1);
    let now = state.content.hunk_line();
    let found = if forward {
        starts.clone().find(|at| *at > now)
    } else {
        starts.clone().rfind(|at| *at < now)
    };
    match found {
        Some(at) => {
            scroll(state, at);
            state.content.at_hunk = Some((state.content.top(), at));
        }
        None => {
            let end = if forward {
                "last hunk; } goes to the next file"
            } else {
                "first hunk; { goes to the file before"
            };
            state.say(Tone::Dim, format!("this is the {end}"));
        }
    }
}

/// Looks for `needle` in what is shown and goes to the first match from the top on.
pub(super) fn search(state: &mut State, needle: &str) {
    let needle = needle.to_lowercase();
    if needle.is_empty() {
        state.content.search = None;
        return;
    }
    let shown = lines(state);
    let hits: Vec<usize> = (0..shown.len())
        .filter(|line| shown.text(*line).to_lowercase().contains(&needle))
        .collect();
    let top = state.content.top();
    let at = hits.iter().position(|line| *line >= top).unwrap_or(0);
    let target = hits.get(at).copied();
    state.content.search = Some(Search { needle, hits, at });
    if let Some(line) = target {
        centre(state, line);
    }
}

fn to_hit(state: &mut State, forward: bool) {
    // What is shown may have changed since.
    let Some(old) = state.content.search.take() else {
        return;
    };
    let shown = lines(state);
    let hits: Vec<usize> = (0..shown.len())
        .filter(|line| shown.text(*line).to_lowercase().contains(&old.needle))
        .collect();
    if hits.is_empty() {
        state.say(
            Tone::Warn,
            format!("no match for {}", crate::text::visible(&old.needle)),
        );
        state.content.search = Some(Search { hits, at: 0, ..old });
        return;
    }
    let at = if forward {
        (old.at + 1) % hits.len()
    } else {
        (old.at + hits.len() - 1) % hits.len()
    };
    let line = hits[at];
    state.content.search = Some(Search { hits, at, ..old });
    centre(state, line);
}

fn centre(state: &mut State, line: usize) {
    let height = usize::from(state.areas().body(Pane::Content).height);
    let top = state.content.top();
    if line < top || line >= top + height {
        scroll(state, line.saturating_sub(height / 3));
    }
}

/// Asks for what the Files cursor is on, unless that is asked for already.
pub(super) fn follow(state: &mut State, out: &mut Vec<Effect>) {
    if state.refusal.is_some() {
        return;
    }
    let Some(opened) = &state.opened else { return };
    let tree = &opened.tree;
    let node = state.files.selected().and_then(|node| tree.nodes.get(node));
    let path = node.map(|node| node.path.clone());
    if path != state.content.path {
        state.content.path.clone_from(&path);
        state.content.tops[View::Diff as usize] = 0;
        state.content.tops[View::File as usize] = 0;
        state.content.left = 0;
        state.content.file.value = None;
        state.content.at_hunk = None;
    }
    let Some(node) = node else { return };
    let handle = opened.handle.clone();
    match state.content.view {
        View::Diff => {
            let Some(compared) = opened.comparison.done.clone() else {
                return;
            };
            let Some(file) = node.change else { return };
            let options = PatchOptions {
                context: state.content.context,
                ignore_whitespace: state.content.ignore_whitespace,
            };
            let wanted = Wanted::Patch(state.content.epoch, file, options);
            if state.content.asked_patch.as_ref() == Some(&wanted) {
                return;
            }
            state.content.asked_patch = Some(wanted);
            // Another content request has taken the slot.
            state.content.file.waiting = false;
            state.content.asked_file = None;
            state.content.patch.waiting = true;
            state.content.patch.failure = None;
            let diff = compared.handle.clone();
            request(
                state,
                out,
                Request::Patch {
                    handle,
                    diff,
                    file,
                    options,
                },
            );
        }
        View::File => {
            let path = node.path.clone();
            let wanted = Wanted::File(state.content.epoch, path.clone());
            if state.content.asked_file.as_ref() == Some(&wanted) {
                return;
            }
            state.content.asked_file = Some(wanted);
            state.content.patch.waiting = false;
            state.content.asked_patch = None;
            state.content.file.waiting = true;
            state.content.file.failure = None;
            request(state, out, Request::File { handle, path });
        }
        View::Transcript | View::Info => {}
    }
}

/// Keeps the top within what there is, but not while something is on its way: its place is kept.
pub(super) fn settle(state: &mut State) {
    let content = &state.content;
    let comparing = state
        .opened
        .as_ref()
        .is_some_and(|run| run.comparison.done.is_none());
    if content.patch.waiting || content.file.waiting || comparing || state.opening.is_some() {
        return;
    }
    scroll(state, state.content.top());
}
