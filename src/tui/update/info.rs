//! Info's cursor, what it folds and unfolds, and asking for what that needs.

use super::{request, stop};
use crate::tui::message::{Effect, Request, Slot, Unfold};
use crate::tui::state::{
    Detail, Failure, Fold, Info, JSON, Lines, Load, Pane, Place, Rows, State, View, about,
    commit_name, lines,
};

/// Calls `look` with the lines of Info, when it is shown.
fn with<T>(state: &State, look: impl FnOnce(&Info<'_>, &Lines<'_>) -> T) -> Option<T> {
    let shown = lines(state);
    match &shown {
        Lines::Info(info) => Some(look(info, &shown)),
        _ => None,
    }
}

/// Puts the cursor on a line.
pub(super) fn put(state: &mut State, line: usize) {
    let last = with(state, |_, shown| shown.len().saturating_sub(1));
    state.content.info.cursor = line.min(last.unwrap_or(0));
    remember(state);
}

/// Moves the cursor.
pub(super) fn step(state: &mut State, by: isize) {
    put(state, state.content.info.cursor.saturating_add_signed(by));
}

/// What is under the cursor.
pub(super) fn under(state: &State) -> Option<&Fold> {
    let info = &state.content.info;
    info.under
        .as_ref()
        .filter(|_| state.content.view == View::Info)
}

/// `enter`: folds or unfolds what is under the cursor.
pub(super) fn turn(state: &mut State) {
    if let Some(fold) = under(state).cloned() {
        let info = &mut state.content.info;
        info.turn(&fold.name);
        // What failed is asked for once more when it is unfolded again.
        let failed = |load: &Load<Detail>| load.failure.is_some();
        if info.details.get(&fold.name).is_some_and(failed) {
            info.details.remove(&fold.name);
        }
        state.content.loaded += 1;
    }
}

/// `l`: unfolds it, or goes on into it.
pub(super) fn unfold(state: &mut State) {
    match under(state) {
        Some(fold) if !fold.open => turn(state),
        Some(_) => step(state, 1),
        None => super::content::sideways(state, true),
    }
}

/// `h`: folds it, or goes out to what holds it.
pub(super) fn fold(state: &mut State) {
    if state.content.left > 0 {
        return super::content::sideways(state, false);
    }
    match under(state).cloned() {
        Some(fold) if fold.open => turn(state),
        fold => {
            let cursor = state.content.info.cursor;
            let outer = with(state, |info, _| {
                let above = info.folds().take_while(|(line, _)| *line < cursor);
                let holds = |above: &Fold| fold.as_ref().is_none_or(|one| above.level < one.level);
                above
                    .filter(|(_, above)| holds(above))
                    .last()
                    .map(|(line, _)| line)
            });
            if let Some(line) = outer.flatten() {
                put(state, line);
            }
        }
    }
}

/// Remembers what is under the cursor, and the header at or above it.
fn remember(state: &mut State) {
    let cursor = state.content.info.cursor;
    let found = with(state, |info, _| {
        let anchor = info.header(cursor).and_then(|line| {
            let name = info.fold(line)?.name.clone();
            Some((name, line))
        });
        (info.fold(cursor).cloned(), anchor)
    });
    let (under, anchor) = found.unwrap_or_default();
    state.content.info.under = under;
    state.content.info.anchor = anchor;
}

/// Keeps the cursor on its line when there are more or fewer lines above it.
pub(super) fn settle(state: &mut State) {
    if state.content.view != View::Info {
        return;
    }
    let moved = state.content.info.anchor.as_ref().and_then(|(name, was)| {
        let now = with(state, |info, _| info.find(name))??;
        (now != *was).then_some((now, *was))
    });
    if let Some((now, was)) = moved {
        let shift = |line: usize| (line + now).saturating_sub(was);
        let top = state.content.top();
        state.content.info.cursor = shift(state.content.info.cursor);
        state.content.set_top(Place {
            line: shift(top.line),
            ..top
        });
    }
    put(state, state.content.info.cursor);
}

/// The cursor in view.
pub(super) fn in_view(state: &mut State) {
    let height = usize::from(state.areas().body(Pane::Content).height).max(1);
    let shown = lines(state);
    let rows = Rows::of(state, &shown);
    let cursor = Place::at(state.content.info.cursor);
    let mut top = rows.clamped(state.content.top(), height);
    if cursor < top {
        top = cursor;
    } else if !rows.is_seen(cursor, top, height) {
        top = rows.up(cursor, height - 1);
    }
    state.content.set_top(top);
}

/// Asks for what is unfolded and not there yet, one after another.
pub(super) fn follow(state: &mut State, out: &mut Vec<Effect>) {
    let run_id = about(state).map(str::to_owned);
    if run_id != state.content.info.run_id {
        stop(state, out, Slot::Unfold);
        state.content.info.details.clear();
        state.content.info.run_id = run_id;
        state.content.loaded += 1;
    }
    if state.content.view != View::Info || state.awaited.contains_key(&Slot::Unfold) {
        return;
    }
    let Some((name, what)) = wanted(state) else {
        return;
    };
    let load = Load {
        waiting: true,
        ..Load::default()
    };
    state.content.info.details.insert(name.clone(), load);
    request(state, out, Request::Unfold { name, what });
}

/// The first thing that is unfolded and was not asked for.
fn wanted(state: &State) -> Option<(String, Unfold)> {
    let info = &state.content.info;
    let missing = |name: &str| !info.details.contains_key(name);
    if info.is_open(JSON, false) && missing(JSON) {
        let run_id = info.run_id.clone()?;
        return Some((JSON.to_owned(), Unfold::Row { run_id }));
    }
    if state.refusal.is_some() {
        return None;
    }
    let opened = state.opened.as_ref()?;
    let compared = opened.comparison.done.as_ref()?;
    let commits = compared.commits.iter().map(|commit| &commit.id);
    let stashes = compared.stashes.iter().map(|stash| &stash.id);
    // Names of what is turned are few, commits may be many.
    let turned = info
        .turned
        .iter()
        .any(|name| name.starts_with("commit ") && missing(name));
    if !turned {
        return None;
    }
    commits.chain(stashes).find_map(|id| {
        let name = commit_name(id);
        (info.is_open(&name, false) && missing(&name)).then(|| {
            let what = Unfold::Commit {
                handle: opened.handle.clone(),
                diff: compared.handle.clone(),
                id: id.clone(),
            };
            (name, what)
        })
    })
}

/// What was asked for is there, or is not.
pub(super) fn take(state: &mut State, name: String, detail: Result<Detail, Failure>) {
    let mut load = Load::default();
    load.answer(detail);
    state.content.info.details.insert(name, load);
    state.content.loaded += 1;
}

/// The job that was asked died.
pub(super) fn crashed(state: &mut State, failure: &Failure) {
    for load in state.content.info.details.values_mut() {
        if load.waiting {
            load.answer(Err(failure.clone()));
        }
    }
}

/// A click: the cursor goes there, and a second one does what `enter` does.
pub(super) fn click(state: &mut State, row: usize) {
    if state.content.view != View::Info {
        return;
    }
    let shown = lines(state);
    let rows = Rows::of(state, &shown);
    let line = rows.down(state.content.top(), row).line;
    let again = line == state.content.info.cursor;
    put(state, line);
    if again {
        turn(state);
    }
}
