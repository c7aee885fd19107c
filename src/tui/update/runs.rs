//! The Runs pane: moving, folding, filtering, and reading on where the list ends.

use super::run_pages::{another_list, read_on, reads_on_by_itself};
use super::{compare, in_view, open, request, run_pages};
use crate::tui::action::Id;
use crate::tui::message::{Effect, PageUse, Request};
use crate::tui::state::{
    Inline, Item, Marked, Node, Order, Overlay, Pane, Prompt, PromptKind, State,
};
use crate::tui::theme::Tone;

pub(super) use run_pages::reload;

/// Reading on begins this many rows before the end.
const AHEAD: usize = 10;

/// Does what is meant for this pane.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>, id: Id) {
    let half = usize::from(state.areas().body(Pane::Runs).height / 2).max(1);
    match id {
        Id::Down => step(state, 1),
        Id::Up => step(state, -1),
        Id::HalfDown => step(state, half as isize),
        Id::HalfUp => step(state, -(half as isize)),
        Id::Top => {
            state.runs.cursor = 0;
            state.runs.off_notes(false);
        }
        Id::Bottom => {
            state.runs.cursor = state.runs.rows.len().saturating_sub(1);
            state.runs.off_notes(true);
        }
        Id::Unfold => unfold(state, out),
        Id::Fold => fold(state),
        Id::OpenRun => enter(state, out),
        Id::Flat => {
            state.runs.flat = !state.runs.flat;
            state.runs.stale = true;
        }
        Id::StatusFilter => {
            let statuses = state.runs.statuses();
            let next = match &state.runs.status {
                None => 0,
                Some(now) => statuses
                    .iter()
                    .position(|status| status == now)
                    .map_or(0, |at| at + 1),
            };
            state.runs.status = statuses.get(next).cloned();
            another_list(state, out);
        }
        Id::Since => {
            let now = state.runs.since.as_ref();
            let now = now.map_or(String::new(), |since| since.text.clone());
            state.overlay = Some(Overlay::Prompt(Prompt::new(PromptKind::Since, now)));
        }
        Id::Order => order(state, out),
        Id::MarkRun => mark(state),
        Id::Compare => compare::act(state, out),
        _ => {}
    }
}

/// `o`: the next order, from its top.
fn order(state: &mut State, out: &mut Vec<Effect>) {
    let before = state.runs.order;
    let order = before.next();
    state.runs.order = order;
    if order.read() == before.read() {
        // The same runs in another order.
        state.runs.stale = true;
        state.runs.to_top();
    } else {
        another_list(state, out);
    }
    let words = match order {
        Order::Newest => "newest first",
        Order::Oldest => "oldest first",
        Order::Largest => "the largest checkpoints of what is loaded first",
    };
    state.say(Tone::Plain, words);
}

/// `space`: marks the run or unmarks it, and goes to the next line.
fn mark(state: &mut State) {
    let Some(mark) = state.runs.selected().map(Marked::of) else {
        return;
    };
    let marks = &mut state.runs.marks;
    match marks.iter().position(|one| one.run_id == mark.run_id) {
        Some(at) => {
            marks.remove(at);
        }
        None => marks.push(mark),
    }
    step(state, 1);
}

/// `esc` here: marks first, then every filter; whether there was any.
pub(super) fn back(state: &mut State, out: &mut Vec<Effect>) -> bool {
    if !state.runs.marks.is_empty() {
        state.runs.marks.clear();
        state.say(Tone::Dim, "nothing is marked any more");
        return true;
    }
    if !state.runs.is_filtered() {
        return false;
    }
    run_pages::typed(state, out, "");
    if state.runs.status.take().is_some() | state.runs.since.take().is_some() {
        reload(state, out, PageUse::Replace);
    }
    true
}

/// Moves the cursor over rows that can be chosen.
pub(super) fn step(state: &mut State, by: isize) {
    let runs = &mut state.runs;
    let last = runs.rows.len().saturating_sub(1);
    if by.unsigned_abs() == 1 {
        let mut at = runs.cursor;
        while let Some(next) = at.checked_add_signed(by).filter(|next| *next <= last) {
            at = next;
            if !runs.rows[at].item.is_passed_over() {
                runs.cursor = at;
                break;
            }
        }
        return;
    }
    runs.cursor = runs.cursor.saturating_add_signed(by).min(last);
    runs.off_notes(by < 0);
}

/// `enter`: opens a run, folds or unfolds, reads on.
pub(super) fn enter(state: &mut State, out: &mut Vec<Effect>) {
    let Some(node) = state.runs.node(state.runs.cursor) else {
        return;
    };
    match node {
        Node::Run(run_id) => open::open(state, out, run_id),
        Node::More => read_on(state, out),
        Node::Agent(_) | Node::Session(..) => {
            if is_folded(state) {
                unfold(state, out);
            } else {
                state.runs.folds().insert(node);
                state.runs.stale = true;
            }
        }
    }
}

fn is_folded(state: &State) -> bool {
    match state.runs.rows.get(state.runs.cursor).map(|row| &row.item) {
        Some(Item::Agent(_, folded) | Item::Session(_, _, folded)) => *folded,
        _ => false,
    }
}

fn unfold(state: &mut State, out: &mut Vec<Effect>) {
    let Some(node) = state.runs.node(state.runs.cursor) else {
        return;
    };
    if matches!(node, Node::Run(_) | Node::More) {
        return;
    }
    if !is_folded(state) {
        return step(state, 1);
    }
    if !state.runs.folds().remove(&node)
        && let Node::Agent(agent) = node
    {
        // Nothing of it is read yet.
        match agent {
            Some(agent) => {
                let mut filter = state.runs.filter();
                filter.agent = Some(agent);
                let how = PageUse::Merge;
                request(
                    state,
                    out,
                    Request::Page {
                        filter,
                        after: None,
                        how,
                    },
                );
            }
            None => {
                let bottom = state.keymap.how(Id::Bottom);
                let said = format!("its runs are further down the list: {bottom} reads on");
                state.say(Tone::Warn, said);
            }
        }
    }
    state.runs.stale = true;
}

fn fold(state: &mut State) {
    let runs = &mut state.runs;
    let Some(node) = runs.node(runs.cursor) else {
        return;
    };
    let folds = matches!(node, Node::Agent(_) | Node::Session(..));
    if folds && !is_folded(state) {
        state.runs.folds().insert(node);
        state.runs.stale = true;
        return;
    }
    let runs = &mut state.runs;
    let depth = runs.rows[runs.cursor].depth;
    let above = (0..runs.cursor)
        .rev()
        .find(|at| runs.rows[*at].depth < depth);
    if let Some(parent) = above {
        runs.cursor = parent;
    }
}

/// Rows for the width and the refusal, the cursor in view, and more of the list where it is near
/// the end of what is loaded.
pub(super) fn settle(state: &mut State, out: &mut Vec<Effect>) {
    let body = state.areas().body(Pane::Runs);
    let width = usize::from(body.width);
    let refusal = state.refusal.as_ref();
    let inline = refusal.map(|refusal| Inline {
        run_id: &refusal.run_id,
        message: &refusal.failure.message,
    });
    let before = state.runs.cursor;
    let holds = std::mem::take(&mut state.runs.holds);
    state.runs.refresh(width, inline);
    let runs = &mut state.runs;
    // At its top the list shows what comes in; further down nothing moves.
    if holds && (runs.top > 0 || runs.cursor_end() >= usize::from(body.height)) {
        runs.top = (runs.top + runs.cursor).saturating_sub(before);
    }
    let (from, to) = (runs.cursor, runs.cursor_end());
    runs.top = in_view(
        runs.top,
        from,
        to,
        usize::from(body.height),
        runs.rows.len(),
    );
    let near_end = runs.cursor + AHEAD >= runs.rows.len() && runs.cursor > 0;
    let here = runs.node(runs.cursor);
    if let Some(Node::Run(run_id)) = &here {
        state.live.fresh.remove(run_id);
    }
    if near_end && runs.rows.len() > AHEAD && runs.read_for != here && reads_on_by_itself(state) {
        state.runs.read_for = here;
        read_on(state, out);
    }
}
