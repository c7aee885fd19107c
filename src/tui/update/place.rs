//! Going to the place that was asked for before its run was open, and saying where one stands.

use super::{content, files, show};
use crate::text::visible_bytes;
use crate::tui::state::{
    Destination, FileContent, FileTree, Pane, Seek, State, View, lines, split_line,
};
use crate::tui::theme::Tone;

/// The node of `path`: in the restored layout, or below the checkout or the workspace.
fn node(tree: &FileTree, path: &[u8]) -> Option<usize> {
    let mut plain = path.strip_prefix(b"./").unwrap_or(path);
    while let Some(rest) = plain.strip_suffix(b"/") {
        plain = rest;
    }
    let below = |folder: &[u8]| tree.find(&[folder, plain].concat());
    if plain.is_empty() {
        return None;
    }
    below(b"")
        .or_else(|| below(b"workspace/repository/"))
        .or_else(|| below(b"workspace/"))
}

/// The node and the line that `place` names; a file of that whole name wins over a line.
fn found(tree: &FileTree, place: &Destination) -> Option<(usize, Option<u32>)> {
    let path = place.path.as_deref()?;
    if let Some(node) = node(tree, path) {
        return Some((node, place.line));
    }
    let (path, line) = split_line(path)?;
    node(tree, path).map(|node| (node, place.line.or(Some(line))))
}

/// Goes to the place, as far as it is known; `compared` when all there will be is there.
pub(super) fn arrive(state: &mut State, compared: bool) {
    let Some(place) = state.place.clone() else {
        return;
    };
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    if compared {
        state.place = None;
    }
    if let Some(view) = place.view {
        show(state, view);
    }
    let Some(path) = &place.path else { return };
    let Some((node, line)) = found(&tree, &place) else {
        if compared {
            let path = visible_bytes(path);
            let text = format!("there is no {path} in this run, nor among what it deleted");
            state.report(Tone::Warn, text);
        }
        return;
    };
    let node = &tree.nodes[node];
    files::to_path(state, &node.path);
    state.files.touched = true;
    state.focus = Pane::Files;
    if node.is_folder() && node.change.is_none() {
        return;
    }
    state.focus = Pane::Content;
    if !compared {
        return;
    }
    let changed = node.change.is_some();
    let view = place.view.unwrap_or(match changed {
        true => View::Diff,
        false => View::File,
    });
    show(state, view);
    if let Some(line) = line {
        state.seek = Some(Seek {
            path: node.path.clone(),
            line,
            view: place.view,
        });
    }
}

/// Whether what is sought is in the file under the cursor; forgotten when it is not.
fn sought(state: &mut State) -> Option<Seek> {
    let seek = state.seek.take()?;
    (state.content.path.as_deref() == Some(&seek.path)).then_some(seek)
}

/// The hunks are there: to the line, or to the file where no hunk holds it.
pub(super) fn seek_in_patch(state: &mut State) {
    let Some(seek) = sought(state) else { return };
    let shown = lines(state);
    let new = |at: usize| Some((at, shown.numbers(at)?.1?));
    let nearest = (0..shown.len())
        .filter_map(new)
        .min_by_key(|(_, new)| new.abs_diff(seek.line));
    match nearest {
        Some((at, new)) if new == seek.line => stand_at(state, at),
        nearest if seek.view == Some(View::Diff) => {
            if let Some((at, _)) = nearest {
                stand_at(state, at);
            }
            let text = format!("line {} is in no hunk; the nearest is shown", seek.line);
            state.say(Tone::Warn, text);
        }
        _ => {
            show(state, View::File);
            state.seek = Some(seek);
        }
    }
}

/// Puts the line at the top, whatever stood there before.
fn stand_at(state: &mut State, line: usize) {
    state.content.place_anew = false;
    content::scroll_to(state, line);
}

/// The content is there: to the line.
pub(super) fn seek_in_file(state: &mut State) {
    let Some(seek) = sought(state) else { return };
    let Some(FileContent::Text(text, _)) = &state.content.file.value else {
        return;
    };
    let all = text.len();
    let line = usize::try_from(seek.line).unwrap_or(usize::MAX);
    stand_at(state, line - 1);
    if line > all {
        let text = format!("there is no line {line}: {all} are shown");
        state.say(Tone::Warn, text);
    }
}

/// The line that the content pane begins with, on the new side; none at the start.
#[must_use]
fn top_line(state: &State) -> Option<u32> {
    let top = state.content.top().line;
    if top == 0 {
        return None;
    }
    match state.content.view {
        View::File => match &state.content.file.value {
            Some(FileContent::Text(..)) => u32::try_from(top + 1).ok(),
            _ => None,
        },
        View::Diff => {
            let shown = lines(state);
            (top..shown.len()).find_map(|at| shown.numbers(at)?.1)
        }
        View::Transcript | View::Info => None,
    }
}

/// The line to name where the content has the focus.
#[must_use]
pub(super) fn content_line(state: &State) -> Option<u32> {
    match state.focus {
        Pane::Content => top_line(state),
        Pane::Runs | Pane::Files => None,
    }
}
