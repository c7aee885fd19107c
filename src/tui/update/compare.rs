//! Two marked runs, compared: the newer one is opened with the older one as its base.

use super::{comparison, open, show};
use crate::review::BaseChoice;
use crate::text::grouped;
use crate::tui::action::Id;
use crate::tui::message::Effect;
use crate::tui::state::{Marked, State, View};

/// The newer and the older of the two runs that are meant, or what is missing.
pub(super) fn pair(state: &State) -> Result<(String, String), String> {
    let under_cursor = state.runs.selected().map(Marked::of);
    let key = |id| state.keymap.how(id);
    let (one, other) = match state.runs.marks.as_slice() {
        [] => {
            let mark = key(Id::MarkRun);
            return Err(format!(
                "mark two runs first ({mark}), or one and move to the other"
            ));
        }
        [one] => match under_cursor {
            Some(here) if here.run_id != one.run_id => (one.clone(), here),
            _ => return Err("one run is marked: mark another, or move to it".into()),
        },
        [one, other] => (one.clone(), other.clone()),
        many => {
            let many = grouped(many.len() as u64);
            let (mark, back) = (key(Id::MarkRun), key(Id::Back));
            return Err(format!(
                "{many} runs are marked and two are compared; {mark} unmarks one, {back} all"
            ));
        }
    };
    Ok(if one.made >= other.made {
        (one.run_id, other.run_id)
    } else {
        (other.run_id, one.run_id)
    })
}

/// `D`.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>) {
    let Ok((newer, older)) = pair(state) else {
        return;
    };
    show(state, View::Diff);
    let opened = state.opened.as_ref().map(|run| run.row.run_id.as_str());
    if opened == Some(&newer) && state.opening.is_none() && state.refusal.is_none() {
        state.content.base = BaseChoice::Run(older);
        return comparison::compare(state, out);
    }
    open::open(state, out, newer.clone());
    state.runs.comparing = Some((newer, older));
}

/// The base for a run that was just opened: the one it is to be compared with, else the default where
/// the base was another run, which was chosen for one comparison and not for all.
pub(super) fn choose_base(state: &mut State, run_id: &str) {
    if let Some((newer, older)) = state.runs.comparing.take()
        && newer == run_id
    {
        state.content.base = BaseChoice::Run(older);
        return;
    }
    let opened = state.opened.as_ref();
    let again = opened.is_some_and(|run| run.row.run_id == run_id);
    if !again && matches!(state.content.base, BaseChoice::Run(_)) {
        state.content.base = BaseChoice::Default;
    }
}
