//! Whether the database is there: every answer says something of it, and what is said to whoever looks
//! when it is lost and when it is back.

use std::time::Duration;

use super::{plan, tally};
use crate::ErrorKind;
use crate::tui::action::Id;
use crate::tui::message::{Answer, Effect, Slot};
use crate::tui::state::{Failure, Lost, State};
use crate::tui::theme::Tone;
use crate::tui::update::answers::with_hint;
use crate::tui::update::files;

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
        // Counting every run may be too much for a database that answers everything else.
        Answer::Agents(Err(failure)) if failure.kind == ErrorKind::Timeout => None,
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
pub(in crate::tui::update) fn hear(state: &mut State, out: &mut Vec<Effect>, answer: &Answer) {
    let now = state.now();
    match answer {
        Answer::Agents(agents) => tally::counted(state, agents),
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
        let reason = reason(state, &why);
        let text = format!("! database not seen: {reason} ({refresh} tries again)");
        say(state, Tone::Warn, text);
    }
    state.live.lost = Some(Lost { why, tries, look });
    if !state.awaited.contains_key(&Slot::Look) {
        plan(state, out, Duration::ZERO);
    }
}

/// Why the database is not seen, without its name: that is in the header, and a narrow line has room
/// for one of them.
fn reason(state: &State, why: &Failure) -> String {
    let name = format!("{}: ", state.labels.database);
    match why.message.split_once(&name) {
        Some((_, reason)) if !reason.trim().is_empty() => reason.to_owned(),
        _ => why.message.clone(),
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
        tally::ask(state, out);
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
pub(in crate::tui::update) fn report(state: &mut State, what: Option<&str>, failure: &Failure) {
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
