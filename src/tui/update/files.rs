//! The Files pane: moving, folding, and which files are shown.

use super::{act as act_any, in_view, show};
use crate::tui::action::Id;
use crate::tui::message::Effect;
use crate::tui::state::{FileTree, Pane, ROOT, Show, State, View};
use crate::tui::theme::Tone;

/// Runs whose ticks are kept.
const RUNS_VIEWED: usize = 200;

/// Does what is meant for this pane.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>, id: Id) {
    let half = isize::try_from(state.areas().body(Pane::Files).height / 2)
        .unwrap_or(1)
        .max(1);
    match id {
        Id::Down => step(state, 1),
        Id::Up => step(state, -1),
        Id::HalfDown => step(state, half),
        Id::HalfUp => step(state, -half),
        Id::Top => step(state, isize::MIN),
        Id::Bottom => step(state, isize::MAX),
        Id::Unfold => unfold(state),
        Id::Fold => fold(state),
        Id::ToContent => enter(state, out),
        Id::MarkFile => mark(state),
        Id::Viewed => viewed(state),
        Id::ShowFiles => {
            state.files.show = match state.files.show {
                Show::All => Show::Changed,
                Show::Changed => Show::Ignored,
                Show::Ignored => Show::All,
            };
            rebuild(state);
        }
        _ => {}
    }
}

/// Moves the cursor; the content follows.
pub(super) fn step(state: &mut State, by: isize) {
    let files = &mut state.files;
    let last = files.rows.len().saturating_sub(1);
    files.cursor = files.cursor.saturating_add_signed(by).min(last);
    files.touched = true;
}

/// Makes the rows anew for what is shown now; the cursor stays on its path.
pub(super) fn rebuild(state: &mut State) {
    let tree = state.tree().cloned();
    state
        .files
        .rebuild(tree.as_deref(), state.content.path.as_deref());
}

fn unfold(state: &mut State) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    let Some(row) = state.files.rows.get(state.files.cursor).copied() else {
        return;
    };
    let node = &tree.nodes[row.node];
    if row.open {
        return step(state, 1);
    }
    if node.is_folder() {
        state.files.open.insert(node.path.clone());
        state.files.touched = true;
        rebuild(state);
    }
}

fn fold(state: &mut State) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    let Some(row) = state.files.rows.get(state.files.cursor).copied() else {
        return;
    };
    let node = &tree.nodes[row.node];
    state.files.touched = true;
    if row.open && state.files.text.is_empty() {
        state.files.open.remove(&node.path);
        return rebuild(state);
    }
    let parent = tree.nodes[node.parent].path.clone();
    if let Some(at) = state.files.place_of(&tree, &parent) {
        state.files.cursor = at;
    }
}

/// `space`: marks what is under the cursor, or not any more, and goes on to the next row.
fn mark(state: &mut State) {
    let Some(path) = selected_path(state) else {
        return;
    };
    if !state.files.marked.remove(&path) {
        state.files.marked.insert(path);
    }
    step(state, 1);
}

/// `v`: ticks a changed file off and goes on to the next that is not, or takes the tick back.
fn viewed(state: &mut State) {
    let (Some(path), Some(run)) = (selected_path(state), &state.opened) else {
        return;
    };
    let run_id = run.row.run_id.clone();
    if state.files.viewed.len() >= RUNS_VIEWED && !state.files.viewed.contains_key(&run_id) {
        state.files.viewed.clear();
    }
    let viewed = state.files.viewed.entry(run_id).or_default();
    if viewed.remove(&path) {
        return;
    }
    viewed.insert(path);
    let left = state.compared().map_or(0, |compared| compared.files.len());
    let done = state.viewed_now();
    if done >= left {
        return state.say(Tone::Good, "every changed file is viewed");
    }
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    let open = |node: usize| {
        let node = &tree.nodes[node];
        node.change.is_some() && !state.viewed().is_some_and(|seen| seen.contains(&node.path))
    };
    let order = in_order(&tree);
    let now = state.files.selected();
    let at = order
        .iter()
        .position(|node| Some(*node) == now)
        .unwrap_or(0);
    let (before, after) = order.split_at(at);
    let next = after.iter().chain(before).find(|node| open(**node));
    if let Some(path) = next.map(|node| tree.nodes[*node].path.clone()) {
        to_path(state, &path);
    }
}

fn selected_path(state: &State) -> Option<Vec<u8>> {
    Some(state.tree()?.nodes[state.files.selected()?].path.clone())
}

/// Every node in the order of the tree.
fn in_order(tree: &FileTree) -> Vec<usize> {
    let mut order = Vec::new();
    let mut stack = vec![ROOT];
    while let Some(node) = stack.pop() {
        order.push(node);
        stack.extend(tree.nodes[node].children.iter().rev());
    }
    order
}

/// `enter`: a folder folds or unfolds; a file goes to the content, its diff when it changed.
pub(super) fn enter(state: &mut State, out: &mut Vec<Effect>) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    let Some(row) = state.files.rows.get(state.files.cursor).copied() else {
        return;
    };
    let node = &tree.nodes[row.node];
    if node.is_folder() && node.change.is_none() {
        return act_any(state, out, if row.open { Id::Fold } else { Id::Unfold });
    }
    let view = if node.change.is_some() {
        View::Diff
    } else {
        View::File
    };
    show(state, view);
    state.focus = Pane::Content;
}

/// To the changed file after or before the one under the cursor, in the order of the tree.
pub(super) fn to_change(state: &mut State, forward: bool) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    let order = in_order(&tree);
    let now = state.files.selected();
    let at = now
        .and_then(|now| order.iter().position(|node| *node == now))
        .unwrap_or(0);
    let changed = |node: &&usize| tree.nodes[**node].change.is_some();
    let found = if forward {
        order[at + 1..].iter().find(changed)
    } else {
        order[..at].iter().rev().find(changed)
    };
    let Some(node) = found else {
        let end = if forward { "last" } else { "first" };
        return state.say(Tone::Dim, format!("this is the {end} changed file"));
    };
    to_path(state, &tree.nodes[*node].path);
}

/// Puts the cursor on `path`, unfolding the way to it and dropping filters that hide it.
pub(super) fn to_path(state: &mut State, path: &[u8]) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    state.files.unfold_to(path);
    state.files.rebuild(Some(&tree), Some(path));
    if state.files.place_of(&tree, path).is_none() {
        state.files.show = Show::All;
        state.files.text.clear();
        state.files.rebuild(Some(&tree), Some(path));
    }
}

/// The cursor in view.
pub(super) fn settle(state: &mut State) {
    let height = usize::from(state.areas().body(Pane::Files).height);
    let files = &mut state.files;
    files.top = in_view(
        files.top,
        files.cursor,
        files.cursor,
        height,
        files.rows.len(),
    );
}
