//! Going back to a run that was open a moment ago: its bytes were verified and are still held, so
//! only what can have changed since is asked again (its row, the gate, the store), and its panes
//! come back as they were. `enter` on the run that is open checks everything anew.

use super::{comparison, open};
use crate::runs::RunRow;
use crate::tui::message::{Compared, Effect, Request};
use crate::tui::state::{Opened, State};
use crate::tui::theme::Tone;

/// What opens `run_id`: from what is held where that can be, else from the store.
pub(super) fn request(state: &State, run_id: &str) -> Request {
    let opening_as = state.opening_as.clone();
    match state.recent.get(run_id) {
        Some(held) => Request::Reopen {
            run_id: run_id.to_owned(),
            opening_as,
            handle: held.handle.clone(),
            reference: held.reference.clone(),
        },
        None => Request::Open {
            run_id: run_id.to_owned(),
            opening_as,
        },
    }
}

/// Sets the open run aside before another takes its place; its worker need not wait for it.
pub(super) fn set_aside(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(mut run) = state.opened.take() {
        run.comparison.working = None;
        out.push(Effect::Rest(run.handle.clone()));
        state.recent.keep(run);
    }
}

/// Row, gate and store say what they said before.
pub(super) fn reopened(state: &mut State, out: &mut Vec<Effect>, number: u64, row: RunRow) {
    let Some(opening) = state.opening.take() else {
        return;
    };
    let held = state.recent.take(&opening.run_id);
    let same_pin = |run: &Opened| run.row.repository() == row.repository();
    let Some(run) = held.filter(same_pin) else {
        // Let go while it was asked for, or pinned to something else by now: from the store, then.
        return open::open(state, out, opening.run_id);
    };
    state.job_ended(number, Tone::Good, "opened again, verified before");
    super::compare::choose_base(state, &opening.run_id);
    // What another run's row says by now is its base's own question.
    let own_base = |compared: &Compared| !matches!(compared.kind, "previous" | "run");
    let compared = run.comparison.choice == state.content.base
        && run.comparison.done.as_deref().is_some_and(own_base);
    open::show(state, out, Opened { row, ..run });
    if compared {
        comparison::settled(state);
    } else {
        comparison::compare(state, out);
    }
}
