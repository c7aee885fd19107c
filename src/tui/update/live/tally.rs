//! The agents' counts follow what the list sees of the database, between two times that they are read.

use std::collections::HashSet;

use crate::runs::{AgentSummary, RunRow};
use crate::tui::message::{Effect, PageUse, Request, Slot};
use crate::tui::state::{Failure, State, counts_alike, is_unfinished};
use crate::tui::update::request;

/// Has the agents counted, beside everything else.
pub(in crate::tui::update) fn ask(state: &mut State, out: &mut Vec<Effect>) {
    state.live.tally.asked = state.now_ms;
    request(state, out, Request::Agents);
}

/// Has them counted again where the counts may be off, once in a while.
pub(super) fn ask_again(state: &mut State, out: &mut Vec<Effect>) {
    let counted = state.runs.agents.is_some() && !state.awaited.contains_key(&Slot::Agents);
    if counted && state.live.tally.is_due(state.now_ms) {
        ask(state, out);
    }
}

/// Notes that the agents were counted, or could not be.
pub(super) fn counted(state: &mut State, agents: &Result<Vec<AgentSummary>, Failure>) {
    let (now, now_ms) = (state.now(), state.now_ms);
    let live = &mut state.live;
    let Ok(agents) = agents else {
        return live.tally.failed(now_ms);
    };
    live.tally.counted(agents, now, now_ms);
    live.saw(live.tally.newest, now);
    // What is followed is read again: then it is known what of it the counts hold.
    live.version = None;
}

/// Counts a run anew that is other than `before`, or gone.
pub(super) fn count(state: &mut State, before: &RunRow, now: Option<&RunRow>) {
    if now.is_some_and(|now| counts_alike(before, now)) {
        return;
    }
    let tally = &mut state.live.tally;
    tally.meanwhile |= state.awaited.contains_key(&Slot::Agents);
    match tally.read.contains(&before.run_id) {
        true => state.runs.count_change(before, now),
        // The counts may be the newer ones.
        false => tally.doubted = true,
    }
}

/// Counts a run that nobody has seen yet, unless the counts hold it; whether they did not. `in_place`:
/// a list without a gap would have had it.
pub(super) fn came_in(state: &mut State, run: &RunRow, in_place: bool) -> bool {
    let tally = &mut state.live.tally;
    let is_new = run.created_at > tally.newest || (tally.looked && in_place);
    if !is_new {
        tally.doubted |= in_place;
        return false;
    }
    tally.meanwhile |= state.awaited.contains_key(&Slot::Agents);
    let sessions = std::mem::take(&mut state.runs.sessions);
    state.runs.count_new(run, &sessions);
    state.runs.sessions = sessions;
    true
}

/// Notes which runs a look read.
pub(super) fn looked(state: &mut State, read: Vec<String>) {
    state.live.tally.looked = true;
    state.live.tally.read.extend(read);
}

/// Counts what a page says otherwise than the list did, and follows what the list holds no more; called
/// before the page becomes part of it.
pub(in crate::tui::update) fn page(state: &mut State, how: PageUse, page: &[RunRow]) {
    let changes = state.runs.differing(page);
    for change in changes {
        count(state, &change.before, Some(&change.now));
    }
    let listed = state.runs.listed(page);
    for run in page {
        match state.live.followed.remove(&run.run_id) {
            Some(before) => count(state, &before, Some(run)),
            None if listed.contains(&run.run_id) => {}
            // Made since the agents were counted, and read before any look saw it.
            None if run.created_at > state.live.tally.newest && state.live.meet(run) => {
                came_in(state, run, false);
            }
            None => {}
        }
        state.live.tally.read.insert(run.run_id.clone());
    }
    let gone_from = match how {
        PageUse::Replace => &state.runs.runs,
        PageUse::Found => &state.runs.search.found,
        PageUse::Append | PageUse::Merge | PageUse::FoundMore => return,
    };
    let kept: HashSet<&str> = page.iter().map(|run| run.run_id.as_str()).collect();
    for run in gone_from {
        if is_unfinished(run) && !kept.contains(run.run_id.as_str()) {
            state.live.follow(run.clone());
        }
    }
}

/// Follows what a search found, which is about to be listed no more.
pub(in crate::tui::update) fn follow_found(state: &mut State) {
    for run in &state.runs.search.found {
        if is_unfinished(run) {
            state.live.follow(run.clone());
        }
    }
}
