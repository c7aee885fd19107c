//! What to do about a refusal, in keys of this screen, and what the list goes on to say of it.

use crate::ErrorKind;
use crate::runs::RunRow;
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::state::{Failure, State};

/// What the list goes on to say of a run whose checkpoint was found to be no good, in its size's place.
pub(super) fn broken(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ObjectMissing => "missing",
        ErrorKind::SizeMismatch => "✖ size",
        ErrorKind::ChecksumMismatch => "✖ sha256",
        ErrorKind::InvalidArchive => "✖ archive",
        _ => return None,
    })
}

/// What to do about a refusal, in keys of this screen and only where they lead somewhere; the
/// library's own step where there is none.
pub(super) fn with_way_out(state: &State, mut failure: Failure, row: Option<&RunRow>) -> Failure {
    let (earlier, later) = row.map_or((false, false), |row| neighbours(state, row));
    let key = |id| state.keymap.how(id);
    let before = || earlier.then(|| format!("press {} for the turn before", key(Id::PreviousTurn)));
    let after = |what| later.then(|| format!("press {} for {what}", key(Id::NextTurn)));
    let plain = |text: &str| Some(text.to_owned());
    let hint = match failure.kind {
        ErrorKind::NotFound => vec![Some(format!(
            "press {} in the runs to look for it, or {} to read the list again",
            key(Id::Find),
            key(Id::Refresh)
        ))],
        ErrorKind::Foreign => {
            let agent = row.and_then(|row| row.agent_id.as_deref());
            if let Some(agent) = agent.map(visible) {
                failure.hint = Some(format!(
                    "it is a run of {agent}: press {} and type that name, or nothing to open each run as its own agent",
                    key(Id::OpenAs)
                ));
            }
            return failure;
        }
        ErrorKind::NotCompleted => vec![earlier_or_completed(state, earlier)],
        ErrorKind::NoCheckpoint => vec![
            plain("the agent ran without a sandbox or without checkpoints"),
            before(),
            after("the turn after"),
        ],
        ErrorKind::ObjectMissing => vec![
            plain("retention keeps a session's newest checkpoints"),
            after("a later turn"),
        ],
        ErrorKind::BadRow | ErrorKind::BadReference => vec![Some(format!(
            "the row itself is damaged: press {} for what can be read of it",
            key(Id::ViewInfo)
        ))],
        ErrorKind::SizeMismatch | ErrorKind::ChecksumMismatch => vec![
            plain("the stored bytes are not what was committed, so nothing of them is shown"),
            before(),
        ],
        ErrorKind::InvalidArchive => {
            vec![plain(
                "the bytes are what was committed, but no archive that may be restored",
            )]
        }
        _ => vec![Some(format!(
            "press {} on the run to try again",
            key(Id::OpenRun)
        ))],
    };
    let hint: Vec<String> = hint.into_iter().flatten().collect();
    if (failure.hint.is_none() || failure.kind == ErrorKind::NotFound) && !hint.is_empty() {
        failure.hint = Some(hint.join("; "));
    }
    failure
}

/// Instead of a run that is not completed: an earlier one of its session, or any completed one.
fn earlier_or_completed(state: &State, earlier: bool) -> Option<String> {
    let statuses = state.runs.statuses();
    let (back, status) = (
        state.keymap.how(Id::PreviousTurn),
        state.keymap.how(Id::StatusFilter),
    );
    // The first press of `s` leads there.
    let completed =
        state.runs.status.is_none() && statuses.first().is_some_and(|one| one == "COMPLETED");
    match (earlier, completed) {
        (true, true) => Some(format!(
            "press {back} for the session's turn before, or {status} to list completed runs only"
        )),
        (true, false) => Some(format!("press {back} for the session's turn before")),
        (false, true) => Some(format!(
            "press {status} in the runs to list completed runs only"
        )),
        (false, false) => None,
    }
}

/// Whether the run's session has a turn before it, and one after it, as far as is known here.
fn neighbours(state: &State, row: &RunRow) -> (bool, bool) {
    let all = state.runs.sessions.get(&row.session_id);
    let all = all.and_then(|session| i64::try_from(session.runs).ok());
    match (row.turn(), all) {
        (_, Some(..=1)) => (false, false),
        (Some(turn), Some(all)) => (turn > 1, turn < all),
        (Some(turn), None) => (turn > 1, false),
        (None, all) => (all.is_some(), all.is_some()),
    }
}
