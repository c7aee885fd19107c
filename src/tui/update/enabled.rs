//! Why an action cannot be done now. No key is dead without saying why: the footer, the palette and
//! the press itself all take their answer from here.

use super::info;
use crate::tui::action::{Id, action};
use crate::tui::message::Slot;
use crate::tui::state::{NodeKind, Opened, Pane, SIDES_WIDTH, State, View, side_by_side};

/// Why `id` cannot be done now; `None` when it can.
#[must_use]
pub fn why_not(state: &State, id: Id) -> Option<String> {
    if action(id).later {
        return Some("not in this version yet".into());
    }
    // A refusal stands where the diff was.
    if let (Some(refusal), true) = (&state.refusal, is_of_diff(id)) {
        return Some(refusal.failure.message.clone());
    }
    let key = |id| state.keymap.how(id);
    let open_first = || Some(format!("open a run first ({} on it)", key(Id::OpenRun)));
    match id {
        Id::Restore => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(_)) if state.restoring.is_some() => Some(format!(
                "one restore is at work; {} stops it",
                key(Id::Back)
            )),
            (None, Some(run)) => run.unrestorable.clone(),
        },
        Id::Patch | Id::CopyPatch => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(_)) if state.compared().is_none() => {
                Some("the comparison is not there yet".into())
            }
            (None, Some(_)) if id == Id::CopyPatch => no_change(state),
            (None, Some(_)) if state.awaited.contains_key(&Slot::Write) => Some(format!(
                "one patch is being written; {} stops it",
                key(Id::Back)
            )),
            (None, Some(_)) => None,
        },
        Id::Fetch if state.fetching.is_some() => {
            Some(format!("one fetch is at work; {} stops it", key(Id::Back)))
        }
        Id::Editor => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(run)) => no_editor(state, run),
        },
        Id::Base | Id::ShowFiles => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(_)) => None,
        },
        Id::ToContent => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(_)) => no_file(state),
        },
        Id::MarkFile | Id::Viewed => match (&state.refusal, &state.opened) {
            (Some(refusal), _) => Some(refusal.failure.message.clone()),
            (None, None) => open_first(),
            (None, Some(_)) => {
                let node = state.files.selected().zip(state.tree());
                match node.map(|(node, tree)| &tree.nodes[node]) {
                    None => Some("no file here".into()),
                    Some(node) if id == Id::Viewed && node.change.is_none() => {
                        Some("only changed files are ticked off".into())
                    }
                    Some(_) => None,
                }
            }
        },
        Id::OpenRun => state.runs.rows.is_empty().then(|| "no run here".into()),
        Id::Copy | Id::Fetch | Id::PreviousTurn | Id::NextTurn => {
            let some = state.current.is_some() || state.opened.is_some();
            (!some && state.runs.selected().is_none()).then(|| "choose a run first".into())
        }
        Id::Wrap if state.content.view == View::Transcript => Some("nothing to wrap here".into()),
        Id::Wrap if state.content.view == View::Diff && side_by_side(state) => {
            let below = key(Id::SideBySide);
            Some(format!(
                "sides are cut at their edges ({below} puts them below each other)"
            ))
        }
        Id::Leftwards | Id::Rightwards if state.content.wrap && !side_by_side(state) => {
            let cut = key(Id::Wrap);
            Some(format!(
                "long lines are wrapped ({cut} cuts them at the edge)"
            ))
        }
        Id::SideBySide => beside(state),
        Id::Follow if state.content.view != View::Info => {
            Some(format!("only in the info ({} shows it)", key(Id::ViewInfo)))
        }
        Id::Follow => info::under(state)
            .is_none()
            .then(|| "this line holds nothing".into()),
        Id::NextHunk | Id::PreviousHunk | Id::Whitespace | Id::MoreContext | Id::LessContext => {
            if state.content.view != View::Diff {
                return Some(format!("only in the diff ({} shows it)", key(Id::ViewDiff)));
            }
            state
                .compared()
                .is_none()
                .then(|| "there is no diff here".into())
        }
        Id::NextFile | Id::PreviousFile => match state.compared() {
            None => Some("there is no diff here".into()),
            Some(compared) if compared.files.is_empty() => Some("no file changed".into()),
            Some(_) => None,
        },
        Id::FindNext | Id::FindPrevious => state
            .content
            .search
            .is_none()
            .then(|| format!("search in the content pane first ({})", key(Id::Find))),
        Id::MarkRun => {
            let none = state.runs.selected().is_none();
            none.then(|| "move to a run first".into())
        }
        Id::Compare => super::compare::pair(state).err(),
        Id::StatusFilter => state
            .runs
            .statuses()
            .is_empty()
            .then(|| "no status to filter by".into()),
        _ => None,
    }
}

fn no_file(state: &State) -> Option<String> {
    let none = state.files.selected().is_none();
    none.then(|| "no file here".into())
}

fn no_change(state: &State) -> Option<String> {
    let compared = state.compared()?;
    if compared.files.is_empty() {
        return Some("no file changed".into());
    }
    let node = &state.tree()?.nodes[state.files.selected()?];
    // A folder above every change stands for all of them.
    let all = node.changed == compared.files.len();
    (node.change.is_none() && !all).then(|| {
        let patch = state.keymap.how(Id::Patch);
        format!("this one did not change; {patch} writes the patch of everything")
    })
}

fn no_editor(state: &State, run: &Opened) -> Option<String> {
    if let Err(why) = &state.editor {
        return Some(why.clone());
    }
    let Some(node) = state
        .files
        .selected()
        .and_then(|node| run.tree.nodes.get(node))
    else {
        return Some("no file here".into());
    };
    match node.kind {
        NodeKind::File(_) => None,
        NodeKind::Gone => Some("it is gone: the run deleted it".into()),
        _ => Some("only for a file".into()),
    }
}

/// Why old and new cannot stand beside each other.
fn beside(state: &State) -> Option<String> {
    if state.content.view != View::Diff {
        let diff = state.keymap.how(Id::ViewDiff);
        return Some(format!("only in the diff ({diff} shows it)"));
    }
    let width = usize::from(state.areas().body(Pane::Content).width);
    if width < SIDES_WIDTH && !state.content.side_by_side {
        let wider = if state.zoom {
            String::new()
        } else {
            let zoom = state.keymap.how(Id::Zoom);
            format!("; {zoom} gives it the whole screen")
        };
        return Some(format!(
            "it takes a pane of {SIDES_WIDTH} columns, and this one has {width}{wider}"
        ));
    }
    state
        .compared()
        .is_none()
        .then(|| "there is no diff here".into())
}

/// Whether `id` moves in the diff, or changes how it is shown.
fn is_of_diff(id: Id) -> bool {
    matches!(
        id,
        Id::NextHunk
            | Id::PreviousHunk
            | Id::NextFile
            | Id::PreviousFile
            | Id::Whitespace
            | Id::MoreContext
            | Id::LessContext
            | Id::SideBySide
    )
}
