//! Searching the content pane: while one types, from match to match, and anew when something else is
//! shown there.

use super::info;
use crate::tui::fit;
use crate::tui::state::{
    Hit, Pane, Place, Rows, Search, Stamp, State, View, lines, row_end, slice,
};
use crate::tui::theme::Tone;

/// Looks for `needle` in what is shown, and goes to the first match from where typing began.
pub(super) fn typed(state: &mut State, needle: &str) {
    let now = (state.content.top(), state.content.info.cursor);
    let from = *state.content.search_from.get_or_insert(now);
    state.content.search = None;
    back_to(state, from);
    if needle.is_empty() {
        return;
    }
    let mut search = made(state, needle);
    let (line, offset) = match state.content.view {
        View::Info => (from.1, 0),
        _ => (from.0.line, from.0.offset),
    };
    search.at = search.from(line, offset);
    let hit = search.current();
    state.content.search = Some(search);
    reach(state, hit);
}

fn back_to(state: &mut State, from: (Place, usize)) {
    state.content.set_top(from.0);
    if state.content.view == View::Info {
        info::put(state, from.1);
    }
}

/// What was typed is looked for from now on.
pub(super) fn accepted(state: &mut State) -> Option<&Search> {
    state.content.search_from = None;
    state.content.search.as_ref()
}

/// Ends the search, and goes back to where typing began.
pub(super) fn dropped(state: &mut State) {
    state.content.search = None;
    if let Some(from) = state.content.search_from.take() {
        back_to(state, from);
    }
}

/// To the next match, or the one before.
pub(super) fn step(state: &mut State, forward: bool) {
    let Some(search) = &mut state.content.search else {
        return;
    };
    let all = search.hits.len();
    if all == 0 {
        let needle = crate::text::visible(&search.needle).into_owned();
        return state.say(Tone::Warn, format!("no match for {needle}"));
    }
    let before = search.at;
    search.at = if forward {
        (search.at + 1) % all
    } else {
        (search.at + all - 1) % all
    };
    let around = match forward {
        true if search.at <= before => ", from the top again",
        false if search.at >= before => ", from the end again",
        _ => "",
    };
    let text = format!("match {} of {all}{around}", search.at + 1);
    let hit = search.current();
    reach(state, hit);
    state.say(Tone::Plain, text);
}

/// Looks anew when what is shown is not what was looked at.
pub(super) fn settle(state: &mut State) {
    let Some(search) = &state.content.search else {
        return;
    };
    if search.stamp == Some(stamp(state)) {
        return;
    }
    let mut found = made(state, &search.needle);
    let top = state.content.top();
    found.at = found.from(top.line, top.offset);
    state.content.search = Some(found);
}

fn made(state: &State, needle: &str) -> Search {
    Search::made(needle, &lines(state), stamp(state))
}

fn stamp(state: &State) -> Stamp {
    let shown = lines(state);
    (
        state.content.view,
        state.content.loaded,
        shown.len(),
        usize::from(state.areas().body(Pane::Content).width),
        shown.can_wrap(),
    )
}

/// Brings a match into view, sideways too.
fn reach(state: &mut State, hit: Option<Hit>) {
    let Some(hit) = hit else { return };
    let height = usize::from(state.areas().body(Pane::Content).height);
    let line = hit.line as usize;
    if state.content.view == View::Info {
        info::put(state, line);
    }
    let shown = lines(state);
    let rows = Rows::of(state, &shown);
    let row = rows.holding(line, hit.start as usize);
    let top = state.content.top();
    let place = if rows.is_seen(row, top, height) {
        top
    } else {
        rows.clamped(rows.up(row, height / 3), height)
    };
    let mut left = state.content.left;
    if !rows.wraps() {
        let whole = shown.line(line);
        let one = match &whole.beside {
            Some(right) if hit.side == 1 => right,
            _ => &whole,
        };
        let mut room = rows.room(one, 0);
        if whole.beside.is_some() {
            room = (room / 2).max(1);
        }
        let seen = |left: usize| {
            let from = if left == 0 {
                0
            } else {
                row_end(&one.body, 0, left + 1)
            };
            (
                from,
                row_end(&one.body, from, room.saturating_sub(2).max(1)),
            )
        };
        let (from, to) = seen(left);
        if (hit.start as usize) < from || hit.end as usize > to {
            let before: usize = slice(&one.body, 0, hit.start as usize)
                .map(|(_, _, text)| fit::columns(text))
                .sum();
            let fits = hit.end as usize <= seen(0).1;
            left = if fits {
                0
            } else {
                before.saturating_sub(room / 3)
            };
        }
    }
    state.content.left = left;
    state.content.set_top(place);
}
