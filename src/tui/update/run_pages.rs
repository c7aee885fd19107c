//! What is asked of the database for the list, and its answers: pages of the list, and beside them
//! the search of everything for the text that is typed.

use super::live;
use super::{request, stop};
use crate::runs::{RunPage, since as moment};
use crate::text::visible;
use crate::tui::message::{Effect, PageUse, Request, Slot};
use crate::tui::state::{Failure, Searched, Since, State};
use crate::tui::theme::Tone;

/// What is said while the list is read again because somebody asked for it.
pub(super) const READING: &str = "reading the list again";

/// Reads the list, from its start or on from its end; from its start with what is searched for.
pub(super) fn reload(state: &mut State, out: &mut Vec<Effect>, how: PageUse) {
    state.runs.more_failure = None;
    let after = match how {
        PageUse::Append => state.runs.next.clone(),
        _ => None,
    };
    if how == PageUse::Replace {
        let now = state.now();
        if let Some(since) = &mut state.runs.since
            && let Ok(at) = moment(&since.text, now)
        {
            since.at = at;
        }
    }
    let filter = state.runs.filter();
    request(state, out, Request::Page { filter, after, how });
    if how == PageUse::Replace && state.runs.has_text() {
        search(state, out);
    }
}

/// Asks the database for the text, the newest request of all.
fn search(state: &mut State, out: &mut Vec<Effect>) {
    state.runs.search.state = Searched::Asked;
    let filter = state.runs.search_filter();
    let (after, how) = (None, PageUse::Found);
    request(state, out, Request::Page { filter, after, how });
}

/// Reads on where what is shown ends.
pub(super) fn read_on(state: &mut State, out: &mut Vec<Effect>) {
    if !state.runs.has_text() {
        // It would go on from where another list ended.
        if !state.awaited.contains_key(&Slot::Page) {
            reload(state, out, PageUse::Append);
        }
        return;
    }
    match state.runs.search.state.clone() {
        Searched::More(after) => {
            let filter = state.runs.search_filter();
            let (after, how) = (Some(after), PageUse::FoundMore);
            request(state, out, Request::Page { filter, after, how });
        }
        Searched::Failed(_) => {
            search(state, out);
            state.runs.stale = true;
        }
        _ => {}
    }
}

/// Whether reading on is under way, or waits for a person.
pub(super) fn reads_on_by_itself(state: &State) -> bool {
    let runs = &state.runs;
    let slot = if runs.has_text() {
        Slot::Search
    } else {
        Slot::Page
    };
    let goes_on = match runs.has_text() {
        true => matches!(runs.search.state, Searched::More(_)),
        false => runs.next.is_some() && runs.failure.is_none() && runs.more_failure.is_none(),
    };
    goes_on && !state.awaited.contains_key(&slot)
}

/// The text that the list is filtered by changed.
pub(super) fn typed(state: &mut State, out: &mut Vec<Effect>, text: &str) {
    if state.runs.text == text {
        return;
    }
    if text.trim().is_empty() {
        live::follow_found(state);
    }
    state.runs.set_text(text);
    if state.runs.has_text() {
        search(state, out);
    } else {
        stop(state, out, Slot::Search);
    }
}

/// Another time range; why it is none, else.
pub(super) fn since(state: &mut State, out: &mut Vec<Effect>, text: &str) -> Result<(), Failure> {
    let range = match text {
        "" => None,
        text => {
            let at = moment(text, state.now()).map_err(Failure::from)?;
            let text = text.to_owned();
            Some(Since { text, at })
        }
    };
    if state.runs.since != range {
        state.runs.since = range;
        another_list(state, out);
    }
    Ok(())
}

/// The list again from its top, after a filter of the database or the order changed.
pub(super) fn another_list(state: &mut State, out: &mut Vec<Effect>) {
    state.runs.anew = true;
    live::follow_found(state);
    state.runs.search.found.clear();
    state.runs.next = None;
    state.runs.stale = true;
    stop(state, out, Slot::Unfolded);
    reload(state, out, PageUse::Replace);
}

/// Takes a page in.
pub(super) fn take(state: &mut State, how: PageUse, page: Result<RunPage, Failure>) {
    state.runs.stale = true;
    let first = how == PageUse::Replace && !state.runs.loaded;
    let page = match page {
        Ok(page) => page,
        Err(failure) => return failed(state, how, failure),
    };
    live::page(state, how, &page.runs);
    let runs = &mut state.runs;
    match how {
        PageUse::Replace => runs.replace(page),
        PageUse::Append => runs.append(page),
        PageUse::Merge => runs.take_in(page),
        PageUse::Found | PageUse::FoundMore => {
            return runs.search_found(page, how == PageUse::FoundMore);
        }
    }
    if how == PageUse::Merge {
        return;
    }
    runs.failure = None;
    runs.loaded = true;
    if state.note.as_ref().is_some_and(|note| note.text == READING) {
        state.note = None;
    }
    // A run that was opened before the list was there has its row under the cursor too.
    if let Some(run_id) = state.current.as_ref().filter(|_| first) {
        runs.reveal(run_id);
    }
    if how == PageUse::Replace
        && let Some(notice) = runs
            .notices
            .first()
            .map(|notice| visible(notice).into_owned())
        && state.note.is_none()
    {
        state.report(Tone::Warn, format!("! {notice}"));
    }
}

fn failed(state: &mut State, how: PageUse, failure: Failure) {
    let runs = &mut state.runs;
    let what = match how {
        // The row at the list's end says it.
        PageUse::Found | PageUse::FoundMore => {
            runs.search.state = Searched::Failed(failure);
            return;
        }
        PageUse::Append => {
            runs.more_failure = Some(failure);
            return;
        }
        PageUse::Replace | PageUse::Merge => "the list",
    };
    runs.loaded = true;
    // An empty pane says it itself.
    let empty = runs.runs.is_empty();
    runs.failure = Some(failure.clone());
    if !empty {
        live::report(state, Some(what), &failure);
    }
}
