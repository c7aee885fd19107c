//! What a look says of the run that is open, refused or chosen: that its row is another, that it is
//! gone, or that the store has its checkpoint no more.

use crate::ErrorKind;
use crate::runs::{RunRow, gate};
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::state::State;
use crate::tui::theme::Tone;
use crate::tui::update::files;
use crate::tui::update::way_out::with_way_out;

/// What follows from a row for the run that is open, or that was refused.
pub(super) fn shown_row(state: &mut State, row: &RunRow) {
    if state
        .refusal
        .as_ref()
        .is_some_and(|one| one.run_id == row.run_id)
    {
        ask_gate_again(state, row);
    }
    let Some(opened) = state
        .opened
        .as_mut()
        .filter(|run| run.row.run_id == row.run_id)
    else {
        return;
    };
    let status = row.effective_status();
    if opened.row.effective_status() != status {
        let shown = visible(&status).into_owned();
        opened.row.status = Some(status);
        state.report(
            Tone::Warn,
            format!("! the open run is {shown} by now; what is shown is what was verified"),
        );
    }
}

/// A refusal of the gate is asked for again when its row is another: it may pass by now.
fn ask_gate_again(state: &mut State, row: &RunRow) {
    use ErrorKind::{BadReference, BadRow, Foreign, NoCheckpoint, NotCompleted, NotFound};
    let of_the_gate = [
        NotFound,
        Foreign,
        BadRow,
        NotCompleted,
        NoCheckpoint,
        BadReference,
    ];
    let Some(mut refusal) = state.refusal.take() else {
        return;
    };
    if !of_the_gate.contains(&refusal.failure.kind) {
        state.refusal = Some(refusal);
        return;
    }
    match gate(&row.run_id, Some(row), &state.as_opening()) {
        Ok(_) => {
            let open = state.keymap.how(Id::OpenRun);
            let turn = row
                .turn()
                .map_or("the run".into(), |turn| format!("turn {turn}"));
            state.current = state.opened.as_ref().map(|run| run.row.run_id.clone());
            state.report(
                Tone::Good,
                format!("✔ {turn} is COMPLETED now; {open} opens it"),
            );
        }
        Err(error) if visible(error.message()) == refusal.failure.message => {
            state.refusal = Some(refusal);
            return;
        }
        Err(error) => {
            refusal.failure = with_way_out(state, error.into(), Some(row));
            let status = visible(&row.effective_status()).into_owned();
            refusal.chain = crate::tui::state::Chain::begun(state.now_ms);
            refusal.chain.fail(&refusal.failure, &status);
            refusal.row = Some(Box::new(row.clone()));
            state.refusal = Some(refusal);
        }
    }
    files::rebuild(state);
}

/// A run is not in the database any more.
pub(super) fn vanished(state: &mut State, run_id: &str, chosen: bool) {
    state.live.fresh.remove(run_id);
    state.live.met.remove(run_id);
    // Once, and not with each look.
    if !state.live.gone.insert(run_id.to_owned()) {
        return;
    }
    // Whether its session went with it is not known.
    state.live.tally.doubted = true;
    let shown = visible(run_id).into_owned();
    if state
        .opened
        .as_ref()
        .is_some_and(|run| run.row.run_id == run_id)
    {
        state.report(
            Tone::Warn,
            "! the open run's row is gone from the database; what is open stays readable",
        );
    } else if state
        .refusal
        .as_ref()
        .is_some_and(|one| one.run_id == run_id)
    {
        if state.refusal.as_ref().is_some_and(|one| one.row.is_some()) {
            state.refusal = None;
            state.current = state.opened.as_ref().map(|run| run.row.run_id.clone());
            files::rebuild(state);
            state.report(
                Tone::Warn,
                format!("! run {shown} is gone from the database"),
            );
        }
    } else if chosen {
        state.say(
            Tone::Warn,
            format!("! run {shown} is gone from the database"),
        );
    }
}

/// The store has the open run's object no more.
pub(super) fn object_gone(state: &mut State) {
    let Some(opened) = &state.opened else { return };
    let run_id = opened.row.run_id.clone();
    if state.runs.broken.insert(run_id, "missing").is_none() {
        state.report(
            Tone::Warn,
            "! the store has the open run's checkpoint no more; what is open stays readable",
        );
    }
}
