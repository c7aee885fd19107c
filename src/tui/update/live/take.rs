//! What a look saw is sorted into what changed, what is gone and what came in.

use std::collections::HashSet;
use std::time::Duration;

use super::shown::{object_gone, shown_row, vanished};
use super::{plan, tally};
use crate::runs::{RunPage, RunRow};
use crate::tui::message::{Effect, Look};
use crate::tui::state::{Change, Failure, JSON, State};

/// Takes in what was seen.
pub(in crate::tui::update) fn take(
    state: &mut State,
    out: &mut Vec<Effect>,
    look: Result<Box<Look>, Failure>,
) {
    state.live.slow = false;
    let Ok(look) = look else {
        // What it was is told where every failure is.
        return plan(state, out, Duration::ZERO);
    };
    let took = look.took;
    let live = &mut state.live;
    if look.version.is_none() || look.version != live.version {
        live.read.clear();
    }
    live.version = look.version;
    live.read.extend(look.asked.iter().cloned());
    live.bound.stale |= look.written && live.bound.session.is_some();
    if look.object_gone {
        object_gone(state);
    }
    let more = look.new.next.is_some();
    if look.written {
        state.live.on = look.new.next.clone();
    }
    saw(state, *look);
    match more {
        // More came in than one look reads.
        true => plan_at_once(state, out),
        false => plan(state, out, took),
    }
}

fn plan_at_once(state: &mut State, out: &mut Vec<Effect>) {
    if state.live.every.is_some() {
        state.live.planned = true;
        out.push(Effect::LookIn(Duration::from_millis(50)));
    }
}

/// Sorts what was read into what changed, what is gone and what came in.
fn saw(state: &mut State, look: Look) {
    let Look {
        asked,
        mut rows,
        mut new,
        mut late,
        ..
    } = look;
    for page in [&mut rows, &mut new, &mut late] {
        renew_sessions(state, page);
    }
    let made: Vec<RunRow> = new.runs.into_iter().chain(late.runs).collect();
    let listed = state.runs.listed(&made);
    let (known, mut unknown): (Vec<_>, Vec<_>) = made
        .into_iter()
        .partition(|run| listed.contains(&run.run_id));
    let mut twice = HashSet::new();
    unknown.retain(|run| twice.insert(run.run_id.clone()));
    let followed: Vec<RunRow> = known.into_iter().chain(rows.runs).collect();
    for run in followed.iter().chain(&unknown) {
        shown_row(state, run);
    }
    let read: Vec<String> = (followed.iter().chain(&unknown))
        .map(|run| run.run_id.clone())
        .collect();
    let chosen = state.runs.selected().map(|run| run.run_id.clone());
    let missing = missing(&asked, &followed, &unknown);
    follow_on(state, &followed, &missing);
    let (changes, gone) = state.runs.renew(followed, &missing);
    for change in &changes {
        tally::count(state, &change.before, Some(&change.now));
        changed(state, change);
    }
    for run in &gone {
        tally::count(state, run, None);
    }
    for run_id in &missing {
        vanished(state, run_id, chosen.as_ref() == Some(run_id));
    }
    came_in(state, unknown);
    tally::looked(state, read);
}

/// Those that were asked for and are not there.
fn missing(asked: &[String], rows: &[RunRow], more: &[RunRow]) -> Vec<String> {
    let there: HashSet<&str> = rows
        .iter()
        .chain(more)
        .map(|run| run.run_id.as_str())
        .collect();
    let asked = asked.iter().filter(|id| !there.contains(id.as_str()));
    asked.cloned().collect()
}

fn renew_sessions(state: &mut State, page: &mut RunPage) {
    let opened = state.opened.as_ref().map(|run| &run.row.session_id);
    let of_opened = opened
        .and_then(|session| page.sessions.get(session))
        .cloned();
    let before = opened
        .and_then(|session| state.runs.sessions.get(session))
        .cloned();
    // A turn more may be the one that has the open run's object deleted.
    state.live.object |= of_opened.is_some() && of_opened != before;
    state.runs.renew_sessions(page);
}

/// What became of runs that are not listed, which are counted and may come to be listed.
fn follow_on(state: &mut State, rows: &[RunRow], missing: &[String]) {
    // What came to be listed is followed there.
    let runs = &state.runs;
    state.live.followed.retain(|id, _| runs.run(id).is_none());
    if state.live.followed.is_empty() {
        return;
    }
    for run_id in missing {
        if let Some(run) = state.live.followed.remove(run_id) {
            tally::count(state, &run, None);
        }
    }
    let mut listed = Vec::new();
    for run in rows {
        let Some(before) = state.live.followed.get(&run.run_id).cloned() else {
            continue;
        };
        tally::count(state, &before, Some(run));
        if state.runs.lets_through(run) && !state.runs.is_beyond(run.created_at) {
            state.live.followed.remove(&run.run_id);
            state.live.came_in(run, state.now_ms);
            listed.push(run.clone());
        } else {
            state.live.follow(run.clone());
        }
    }
    let known = state.runs.listed(&listed);
    listed.retain(|run| !known.contains(&run.run_id));
    state.runs.came_in(listed);
}

/// Runs that nobody has seen yet: counted, and listed where the list would have them.
fn came_in(state: &mut State, unknown: Vec<RunRow>) {
    let now = state.now();
    let mut listed = Vec::new();
    let all_listed = state.runs.lists_the_newest();
    for run in unknown {
        if state.live.followed.contains_key(&run.run_id) {
            continue;
        }
        state.live.gone.remove(&run.run_id);
        let first = state.live.meet(&run);
        let beyond = state.runs.is_beyond(run.created_at);
        let is_new = first && tally::came_in(state, &run, all_listed && !beyond);
        state.live.saw(run.created_at, now);
        if !state.runs.lets_through(&run) || beyond {
            if beyond && is_new && state.runs.lets_through(&run) {
                state.live.came_in(&run, state.now_ms);
            }
            state.live.follow(run);
            continue;
        }
        if first {
            state.live.came_in(&run, state.now_ms);
        }
        listed.push(run);
    }
    state.runs.came_in(listed);
}

/// What follows from a listed run being other than it was.
fn changed(state: &mut State, change: &Change) {
    let Change { before, now } = change;
    if before.checkpoint() != now.checkpoint() {
        state.runs.broken.remove(&now.run_id);
    }
    if state.content.info.run_id.as_ref() == Some(&now.run_id)
        && state.content.info.details.remove(JSON).is_some()
    {
        state.content.loaded += 1;
    }
}
