//! The list keeps up with the database: when it looks, what it takes in, and what is said when the
//! database is lost and when it is back.

use std::time::Duration;

use super::answers::with_hint;
use super::way_out::with_way_out;
use super::{files, request, runs};
use crate::ErrorKind;
use crate::runs::{Binding, RunPage, RunRow, gate};
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::message::{Answer, Effect, Look, LookFor, PageUse, Request, Slot};
use crate::tui::state::{
    Change, Failure, Item, JSON, Lost, Pane, State, is_unfinished, shown_session,
};
use crate::tui::theme::Tone;

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
        request(state, out, Request::Agents);
        runs::reload(state, out, PageUse::Replace);
        return plan(state, out, Duration::ZERO);
    }
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

/// The runs to read by their ids: on the screen, open, and not finished. Of the last, which may be
/// many, others each time.
fn followed(state: &State) -> Vec<String> {
    let runs = &state.runs;
    let height = usize::from(state.areas().body(Pane::Runs).height).min(ON_SCREEN);
    let shown = runs.rows.iter().skip(runs.top).take(height);
    let shown = shown.filter_map(|row| match row.item {
        Item::Run(run) => runs.at(run),
        _ => None,
    });
    let mut ids: Vec<String> = shown.map(|run| run.run_id.clone()).collect();
    ids.extend(state.opened.as_ref().map(|run| run.row.run_id.clone()));
    ids.extend(state.refusal.as_ref().map(|refusal| refusal.run_id.clone()));
    let all = runs.runs.iter().chain(&runs.search.found);
    let all = all.filter(|run| is_unfinished(run));
    let mut rest: Vec<&str> = all
        .chain(state.live.followed.values())
        .map(|run| run.run_id.as_str())
        .collect();
    rest.sort_unstable();
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

/// Takes in what was seen.
pub(super) fn take(state: &mut State, out: &mut Vec<Effect>, look: Result<Box<Look>, Failure>) {
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
    let mut twice = std::collections::HashSet::new();
    unknown.retain(|run| twice.insert(run.run_id.clone()));
    let followed: Vec<RunRow> = known.into_iter().chain(rows.runs).collect();
    for run in followed.iter().chain(&unknown) {
        shown_row(state, run);
    }
    let chosen = state.runs.selected().map(|run| run.run_id.clone());
    let missing = missing(&asked, &followed, &unknown);
    follow_on(state, &followed, &missing);
    let (changes, gone) = state.runs.renew(followed, &missing);
    for change in &changes {
        state.runs.count_change(&change.before, Some(&change.now));
        changed(state, change);
    }
    for run in &gone {
        state.runs.count_change(run, None);
    }
    for run_id in &missing {
        vanished(state, run_id, chosen.as_ref() == Some(run_id));
    }
    came_in(state, unknown);
}

/// Those that were asked for and are not there.
fn missing(asked: &[String], rows: &[RunRow], more: &[RunRow]) -> Vec<String> {
    let there: std::collections::HashSet<&str> = rows
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
    if state.live.followed.is_empty() {
        return;
    }
    for run_id in missing {
        if let Some(run) = state.live.followed.remove(run_id) {
            state.runs.count_change(&run, None);
        }
    }
    let mut listed = Vec::new();
    for run in rows {
        let Some(before) = state.live.followed.get(&run.run_id).cloned() else {
            continue;
        };
        state.runs.count_change(&before, Some(run));
        if state.runs.lets_through(run) && !state.runs.is_beyond(run.created_at) {
            state.live.followed.remove(&run.run_id);
            state.live.came_in(&run.run_id, state.now_ms);
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
        // What has a place in a list of all and is not there came in since, whenever it was made.
        let is_new = first && ((all_listed && !beyond) || run.created_at > state.live.counted);
        if is_new {
            let sessions = std::mem::take(&mut state.runs.sessions);
            state.runs.count_new(&run, &sessions);
            state.runs.sessions = sessions;
        }
        state.live.saw(run.created_at, now);
        if !state.runs.lets_through(&run) || beyond {
            if beyond && is_new && state.runs.lets_through(&run) {
                state.live.came_in(&run.run_id, state.now_ms);
            }
            state.live.follow(run);
            continue;
        }
        if first {
            state.live.came_in(&run.run_id, state.now_ms);
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

/// What follows from a row for the run that is open, or that was refused.
fn shown_row(state: &mut State, row: &RunRow) {
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
fn vanished(state: &mut State, run_id: &str, chosen: bool) {
    state.live.fresh.remove(run_id);
    // Once, and not with each look.
    if !state.live.gone.insert(run_id.to_owned()) {
        return;
    }
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
fn object_gone(state: &mut State) {
    let Some(opened) = &state.opened else { return };
    let run_id = opened.row.run_id.clone();
    if state.runs.broken.insert(run_id, "missing").is_none() {
        state.report(
            Tone::Warn,
            "! the store has the open run's checkpoint no more; what is open stays readable",
        );
    }
}

/// Takes in what the session of Info is bound to.
pub(super) fn bound(state: &mut State, binding: Result<Option<Binding>, Failure>) {
    if let Ok(binding) = binding
        && state.live.bound.binding != binding
    {
        state.live.bound.binding = binding;
        state.content.loaded += 1;
    }
}

/// Asks what the session that Info shows is bound to.
pub(super) fn follow_binding(state: &mut State, out: &mut Vec<Effect>) {
    let session = shown_session(state).map(str::to_owned);
    let Some(session) = session else { return };
    let bound = &mut state.live.bound;
    if bound.session.as_ref() != Some(&session) {
        bound.session = Some(session.clone());
        bound.binding = None;
        bound.stale = true;
    }
    if std::mem::take(&mut bound.stale) {
        request(state, out, Request::Binding { session });
    }
}

/// What an answer says of the database: that it is there, or why not; nothing when it was not asked.
fn says(answer: &Answer) -> Option<Result<(), &Failure>> {
    fn of<T>(read: &Result<T, Failure>) -> Option<Result<(), &Failure>> {
        match read {
            Ok(_) => Some(Ok(())),
            Err(failure) => match failure.kind {
                ErrorKind::Cancelled | ErrorKind::Usage => None,
                _ => Some(Err(failure)),
            },
        }
    }
    match answer {
        Answer::Agents(read) => of(read),
        Answer::Page(_, read) => of(read),
        Answer::Look(read) => of(read),
        Answer::Bound(read) => of(read),
        Answer::Found(read) => of(read),
        Answer::Reopened(_) | Answer::Opened(Ok(_), _) => Some(Ok(())),
        // The store's failures come after the row was read.
        Answer::Opened(Err(failure), row) => match failure.kind {
            ErrorKind::Database => Some(Err(failure)),
            ErrorKind::NotFound => Some(Ok(())),
            _ if row.is_some() => Some(Ok(())),
            _ => None,
        },
        Answer::Turn(Err(failure)) | Answer::Resolved(Err(failure))
            if failure.kind == ErrorKind::Database =>
        {
            Some(Err(failure))
        }
        _ => None,
    }
}

/// Hears of each answer whether the database is there, and what it holds.
pub(super) fn hear(state: &mut State, out: &mut Vec<Effect>, answer: &Answer) {
    let now = state.now();
    match answer {
        Answer::Agents(Ok(agents)) => state.live.counted(agents, now),
        Answer::Page(_, Ok(page)) => {
            for run in &page.runs {
                state.live.saw(run.created_at, now);
            }
        }
        _ => {}
    }
    match says(answer) {
        None => {}
        Some(Ok(())) => {
            state.live.seen = Some(state.now_ms);
            if state.live.lost.take().is_some() {
                back(state, out);
            }
        }
        Some(Err(failure)) => lost(state, out, failure),
    }
}

fn lost(state: &mut State, out: &mut Vec<Effect>, why: &Failure) {
    let before = state.live.lost.take();
    let same = before.as_ref().is_some_and(|lost| lost.why == *why);
    let look = state.live.looks;
    let tries = match &before {
        Some(lost) if lost.look == look => lost.tries,
        Some(lost) => lost.tries + 1,
        None => 1,
    };
    let why = why.clone();
    if !same {
        let refresh = state.keymap.how(Id::Refresh);
        let text = format!(
            "! database not seen: {} ({refresh} tries again)",
            why.message
        );
        say(state, Tone::Warn, text);
    }
    state.live.lost = Some(Lost { why, tries, look });
    if !state.awaited.contains_key(&Slot::Look) {
        plan(state, out, Duration::ZERO);
    }
}

/// The database answers again.
fn back(state: &mut State, out: &mut Vec<Effect>) {
    // What was said of it is not true any more.
    if let Some((said, _)) = state.live.said.take()
        && state.note.as_ref().is_some_and(|note| note.text == said)
    {
        state.note = None;
    }
    say(state, Tone::Good, "✔ the database answers again".into());
    state.runs.more_failure = None;
    let of_the_database = |kind| kind == ErrorKind::Database;
    if state
        .refusal
        .as_ref()
        .is_some_and(|one| of_the_database(one.failure.kind))
    {
        state.refusal = None;
        state.current = state.opened.as_ref().map(|run| run.row.run_id.clone());
        files::rebuild(state);
    }
    if state.runs.agents.is_none() && !state.awaited.contains_key(&Slot::Agents) {
        request(state, out, Request::Agents);
    }
    state.live.bound.stale |= state.live.bound.session.is_some();
    plan(state, out, Duration::ZERO);
}

/// Says something of the database for a moment, unless something stands that was reported.
fn say(state: &mut State, tone: Tone, text: String) {
    if state.note.as_ref().is_none_or(|note| !note.stays) {
        state.live.said = Some((text.clone(), state.now_ms));
        state.say(tone, text);
    }
}

/// Reports that a read which was asked for failed; when the database is back, that goes.
pub(super) fn report(state: &mut State, what: Option<&str>, failure: &Failure) {
    // Once, and not with each try.
    if state.live.lost.as_ref().is_some_and(|lost| lost.tries > 2) {
        return;
    }
    let text = match what {
        Some(what) => format!("✖ {what}: {}", with_hint(failure)),
        None => failure.message.clone(),
    };
    state.live.said = Some((text.clone(), state.now_ms));
    state.report(Tone::Bad, text);
}
