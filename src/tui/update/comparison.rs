//! The comparison of the open run with a base: asked for, there or not, and what it moves.

use std::sync::Arc;

use super::{content, files, request};
use crate::progress::{Progress, Stage};
use crate::review::{BaseChoice, Notice};
use crate::text::{visible, visible_bytes};
use crate::tui::action::Id;
use crate::tui::message::{Compared, Effect, Request};
use crate::tui::state::{Failure, FileTree, Shorter, State};
use crate::tui::theme::Tone;

/// Starts the comparison of the open run with the base that is asked for.
pub(super) fn compare(state: &mut State, out: &mut Vec<Effect>) {
    let Some(opened) = &mut state.opened else {
        return;
    };
    let handle = opened.handle.clone();
    opened.comparison.failure = None;
    opened.comparison.working = Some(Progress {
        stage: Stage::Checkout,
        done: 0,
        total: 0,
        finished: false,
    });
    let choice = state.content.base.clone();
    opened.comparison.asked = choice.clone();
    request(state, out, Request::Diff { handle, choice });
}

/// The comparison is there, or is not.
pub(super) fn compared(state: &mut State, answer: Result<(Box<Compared>, Arc<FileTree>), Failure>) {
    let Some(opened) = &mut state.opened else {
        return;
    };
    opened.comparison.working = None;
    let (compared, tree) = match answer {
        Ok(done) => done,
        Err(failure) => {
            let Some(done) = &opened.comparison.done else {
                let text = format!("✖ not compared: {}", failure.message);
                opened.comparison.failure = Some(failure);
                // On a narrow screen the pane that says it may not be seen.
                if state.refusal.is_none() {
                    state.report(Tone::Bad, text);
                }
                return;
            };
            // What is shown goes on to be true of the base that is named beside it.
            state.content.base = opened.comparison.choice.clone();
            state.content.refused_base = Some(opened.comparison.asked.clone());
            let text = format!(
                "✖ {}; still against {}, {} goes on",
                failure.message,
                done.base,
                state.keymap.how(Id::Base)
            );
            return state.report(Tone::Bad, text);
        }
    };
    state.content.refused_base = None;
    opened.comparison.choice = opened.comparison.asked.clone();
    let first = opened.comparison.done.is_none();
    let compared = Arc::new(*compared);
    opened.comparison.done = Some(Arc::clone(&compared));
    opened.comparison.failure = None;
    opened.tree = Arc::clone(&tree);
    let counts = &mut state.runs.counts;
    counts.note(&opened.row.run_id, &compared, &state.content.base);
    state.content.turn_base();
    // A later run's refusal keeps the bottom line.
    if first && state.refusal.is_none() {
        remark(state, &compared.notices);
    }
    if first {
        settled(state);
    } else {
        files::rebuild(state);
    }
}

/// A run's files and its comparison are there: the cursor goes to the first change, unless it was
/// moved or stands on one already.
pub(super) fn settled(state: &mut State) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    state.files.unfold_changed(&tree);
    files::rebuild(state);
    if !state.files.touched && content::to_mark(state, &tree) {
        return;
    }
    let kept = state
        .content
        .path
        .as_deref()
        .and_then(|path| tree.find(path));
    let kept_changed = kept.is_some_and(|node| tree.nodes[node].change.is_some());
    if !state.files.touched && !kept_changed {
        let change = (1..tree.nodes.len())
            .filter(|node| tree.nodes[*node].change == Some(0))
            .min();
        if let Some(node) = change {
            let path = tree.nodes[node].path.clone();
            files::to_path(state, &path);
        }
    }
}

/// Says the first of the notices, with the path that it is about.
fn remark(state: &mut State, notices: &[Notice]) {
    let Some(notice) = notices.first() else {
        return;
    };
    let info = state.keymap.how(Id::ViewInfo);
    let end = match notices.len() {
        1 => format!("; {info} shows notices"),
        many => format!(" (and {} more); {info} shows notices", many - 1),
    };
    let remark = visible(&notice.message).into_owned();
    let Some(path) = &notice.path else {
        return state.report(Tone::Warn, format!("! {remark}{end}"));
    };
    let path = visible_bytes(path);
    state.report(Tone::Warn, format!("! {path}: {remark}{end}"));
    if let Some(note) = &mut state.note {
        note.shorter = Some(Shorter { path, remark, end });
    }
}

/// `b`: the next of pin, HEAD, previous turn, nothing.
pub(super) fn next_base(state: &mut State, out: &mut Vec<Effect>) {
    let shown = state.compared().map(|compared| compared.kind);
    let refused = state.content.refused_base.take();
    let next = match (refused.as_ref().unwrap_or(&state.content.base), shown) {
        (BaseChoice::Default, Some("head")) => BaseChoice::Previous,
        (BaseChoice::Default, Some("previous")) => BaseChoice::Empty,
        (BaseChoice::Default, Some("pin")) | (BaseChoice::Pin, _) => BaseChoice::Head,
        (BaseChoice::Head, _) => BaseChoice::Previous,
        (BaseChoice::Previous, _) => BaseChoice::Empty,
        _ => BaseChoice::Pin,
    };
    state.say(Tone::Plain, format!("comparing with {}", base_words(&next)));
    state.content.base = next;
    compare(state, out);
}

/// A base that is asked for, in words.
#[must_use]
pub(super) fn base_words(choice: &BaseChoice) -> String {
    match choice {
        BaseChoice::Default => "the default base".into(),
        BaseChoice::Pin => "the pin".into(),
        BaseChoice::Head => "HEAD".into(),
        BaseChoice::Previous => "the previous turn".into(),
        BaseChoice::Run(run) => format!("run {}", visible(run)),
        BaseChoice::Empty => "nothing (everything is added)".into(),
    }
}
