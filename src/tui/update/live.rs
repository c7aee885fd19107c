//! The list keeps up with the database: when it looks, and for what.

mod bound;
mod lost;
mod shown;
mod take;
mod tally;

use std::collections::HashSet;
use std::time::Duration;

pub(super) use self::bound::{bound, follow_binding};
pub(super) use self::lost::{hear, report};
pub(super) use self::take::take;
pub(super) use self::tally::{ask, follow_found, page};
use super::{request, runs};
use crate::tui::message::{Effect, LookFor, PageUse, Request, Slot};
use crate::tui::state::{Item, Pane, State, is_unfinished};

/// A look that takes longer than this is one that the title tells of.
const SLOW: Duration = Duration::from_secs(5);
/// Rows on the screen that are read at once.
const ON_SCREEN: usize = 120;
/// Runs that have not finished, of which these many are read at once.
const UNFINISHED: usize = 80;
/// Runs that came in late are looked for each time where a version says that something was written,
/// else this often.
const LATE_EACH: u64 = 10;

/// Plans the next look.
fn plan(state: &mut State, out: &mut Vec<Effect>, took: Duration) {
    if let Some(pause) = state.live.pause(took) {
        state.live.planned = true;
        out.push(Effect::LookIn(pause));
    }
}

/// Plans the first look.
pub(super) fn start(state: &mut State, out: &mut Vec<Effect>) {
    plan(state, out, Duration::ZERO);
}

/// The time for a look has come.
pub(super) fn due(state: &mut State, out: &mut Vec<Effect>) {
    state.live.planned = false;
    pass(state);
    if state.awaited.contains_key(&Slot::Look) {
        // One at a time; the title tells how long it has been.
        state.live.slow = true;
        return;
    }
    look(state, out);
}

/// What passes with time: marks, and what was said of the database.
pub(super) fn pass(state: &mut State) {
    state.live.expire(state.now_ms);
    if !state.live.has_said(state.now_ms) {
        return;
    }
    let said = state.live.said.as_ref().map(|(text, _)| text);
    match &state.note {
        Some(note) if said == Some(&note.text) && note.stays => {}
        Some(note) if said == Some(&note.text) => {
            state.note = None;
            state.live.said = None;
        }
        _ => state.live.said = None,
    }
}

/// The terminal got or lost the focus of its window: nobody is shown anything meanwhile.
pub(super) fn focus(state: &mut State, out: &mut Vec<Effect>, here: bool) {
    let away = !std::mem::replace(&mut state.focused, here);
    if here && (away || !state.live.planned) && !state.awaited.contains_key(&Slot::Look) {
        pass(state);
        look(state, out);
    }
}

/// A person has everything read again: no version says that this is not needed.
pub(super) fn forget(state: &mut State) {
    let live = &mut state.live;
    live.version = None;
    live.read.clear();
    live.on = None;
    live.gone.clear();
    live.bound.stale = live.bound.session.is_some();
    if let Some(lost) = &mut live.lost {
        lost.tries = 0;
    }
}

fn look(state: &mut State, out: &mut Vec<Effect>) {
    if state.live.every.is_none() || !state.focused {
        return;
    }
    if !state.runs.loaded || state.awaited.contains_key(&Slot::Page) {
        // What is being read is newer than any look.
        return plan(state, out, Duration::ZERO);
    }
    if state.runs.failure.is_some() {
        // It was never read, or could not be when it was asked for: that is tried again.
        state.live.looks += 1;
        ask(state, out);
        runs::reload(state, out, PageUse::Replace);
        return plan(state, out, Duration::ZERO);
    }
    tally::ask_again(state, out);
    let wanted = wanted(state);
    request(state, out, Request::Look(Box::new(wanted)));
    state.live.looks += 1;
    state.live.planned = true;
    out.push(Effect::LookIn(SLOW));
}

fn wanted(state: &mut State) -> LookFor {
    let rows = followed(state);
    let live = &mut state.live;
    let unread = rows.iter().filter(|id| !live.read.contains(*id)).cloned();
    let object = std::mem::take(&mut live.object);
    let opened = state.opened.as_ref().filter(|_| object);
    LookFor {
        known: live.version,
        since: live.newest,
        after: live.on.clone(),
        late: live.version.is_some() || live.looks.is_multiple_of(LATE_EACH),
        unread: unread.collect(),
        rows,
        object: opened.map(|run| run.reference.clone()),
    }
}

/// The runs to read by their ids: on the screen, open, and those that have not finished or that are
/// counted as new. Of the last two, which may be many, others each time.
fn followed(state: &State) -> Vec<String> {
    let runs = &state.runs;
    let height = usize::from(state.areas().body(Pane::Runs).height).min(ON_SCREEN);
    let shown = runs.rows.iter().skip(runs.top).take(height);
    let shown = shown.filter_map(|row| match row.item {
        Item::Run(run) => runs.at(run),
        _ => None,
    });
    let mut ids: Vec<String> = shown.map(|run| run.run_id.clone()).collect();
    ids.extend(of_folded(state, height));
    ids.extend(state.opened.as_ref().map(|run| run.row.run_id.clone()));
    ids.extend(state.refusal.as_ref().map(|refusal| refusal.run_id.clone()));
    let all = runs.runs.iter().chain(&runs.search.found);
    let all = all.filter(|run| is_unfinished(run));
    let mut rest: Vec<&str> = all
        .chain(state.live.followed.values())
        .map(|run| run.run_id.as_str())
        .chain(state.live.fresh.keys().map(String::as_str))
        .collect();
    rest.sort_unstable();
    rest.dedup();
    if rest.len() > UNFINISHED {
        let turns = rest.len().div_ceil(UNFINISHED);
        let turn = usize::try_from(state.live.looks).unwrap_or(0) % turns;
        rest = rest.split_off(turn * UNFINISHED);
        rest.truncate(UNFINISHED);
    }
    ids.extend(rest.into_iter().map(str::to_owned));
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// A run of each folded session on the screen: with it comes what the session's row says.
fn of_folded(state: &State, height: usize) -> Vec<String> {
    let runs = &state.runs;
    let shown = runs.rows.iter().skip(runs.top).take(height);
    let mut sessions: HashSet<&str> = shown
        .filter_map(|row| match &row.item {
            Item::Session(_, session, true) => Some(session.as_str()),
            _ => None,
        })
        .collect();
    if sessions.is_empty() {
        return Vec::new();
    }
    let all = runs.runs.iter().chain(&runs.search.found);
    all.filter(|run| sessions.remove(run.session_id.as_str()))
        .map(|run| run.run_id.clone())
        .collect()
}
