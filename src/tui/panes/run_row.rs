//! The row of one run, in columns that stand under each other whatever the rows hold: sign, mark,
//! turn, status word, age, size, lines added and deleted. What there is no room for goes from the
//! right; where the status word has no column of its own, it stands in the size's place.

use super::marker::Marker;
use super::runs::status_sign;
use crate::checkpoint::CheckpointRef;
use crate::runs::{RunData, RunRow, gate};
use crate::text::{human_bytes, visible};
use crate::tui::fit;
use crate::tui::state::{Counted, State, needle, toned_width};
use crate::tui::theme::{Tone, Toned};
use crate::{ErrorKind, Result};

/// Columns of a status word that has a column of its own.
const WORD: usize = 11;
/// Columns of a size, or of the word in its place.
const SIZE: usize = 9;
/// Columns of `+999 −999`, with the gap before them.
const COUNTS: usize = 10;
/// Columns of a base's word, with the gap before it.
const BASE: usize = 6;
/// Columns of agent and session that are worth their place in a flat list.
const WHOSE: usize = 24;
/// Columns that a title needs beside an agent.
const TITLE: usize = 15;
/// Columns of an id that are worth their place.
const ID: usize = 8;

/// Which columns have room.
#[derive(Clone, Copy, Debug)]
struct Columns {
    turn: usize,
    word: bool,
    counts: bool,
    base: bool,
}

impl Columns {
    fn of(width: usize, turn: usize, flat: bool) -> Self {
        // Sign, mark, turn, age, size, and the signs of an open run and of retention.
        let least = 2 + turn + 1 + 4 + 1 + SIZE + 2;
        let whose = if flat { WHOSE } else { 0 };
        let room = width.saturating_sub(least + whose);
        let counts = room >= COUNTS;
        let word = room > COUNTS + WORD;
        let rest = room.saturating_sub(COUNTS + if word { WORD + 1 } else { 0 });
        Self {
            turn,
            word,
            counts,
            base: counts && rest >= BASE,
        }
    }
}

/// The row of `run` in `width` columns.
pub(super) fn line(state: &State, run: &RunRow, width: usize, marker: &mut Marker) -> Toned {
    let runs = &state.runs;
    let columns = Columns::of(width, runs.turn_digits.max(2), runs.flat);
    let answer = gate(&run.run_id, Some(run), &state.as_opening());
    let foreign = matches!(&answer, Err(error) if error.kind() == ErrorKind::Foreign);
    let quiet = if foreign { Tone::Dim } else { Tone::Plain };
    let status = run.effective_status();
    let (mut sign, mut tone) = status_sign(&status);
    let mut word = match status.as_str() {
        "" => "unknown".to_owned(),
        status => visible(needle::looked_at(status)).into_owned(),
    };
    if matches!(run.data, RunData::Unreadable(_)) {
        (sign, tone) = ("!", Tone::Bad);
        word = "damaged".into();
    }
    let turn = run.turn().map_or("?".into(), |turn| turn.to_string());
    let turn = fit::clip(&turn, columns.turn);
    let age = fit::age(state.now(), run.created_at);
    let marked = if runs.is_marked(&run.run_id) {
        "*"
    } else if state.live.fresh.contains_key(&run.run_id) {
        "◆"
    } else {
        " "
    };
    let at_risk = runs.at_risk(run).is_some();
    let mut line = vec![
        (tone, sign.to_owned()),
        (Tone::Accent, marked.to_owned()),
        (quiet, format!("{turn:>width$} ", width = columns.turn)),
    ];
    if columns.word {
        marker.mark(&mut line, tone, needle::Field::Words, &word, WORD);
        line.push((quiet, format!(" {age:>4} ")));
        line.push(size(state, run, quiet, &answer));
    } else {
        line.push((quiet, format!("{age:>4} ")));
        match &answer {
            Err(error) if error.kind() == ErrorKind::NotCompleted => {
                marker.mark(&mut line, tone, needle::Field::Words, &word, SIZE);
            }
            Err(error) if matches!(error.kind(), ErrorKind::BadRow | ErrorKind::BadReference) => {
                line.push((Tone::Bad, fit::pad("damaged", SIZE)));
            }
            answer => line.push(size(state, run, quiet, answer)),
        }
    }
    line.push((Tone::Accent, open_sign(state, run).to_owned()));
    line.push((Tone::Warn, if at_risk { "⧗" } else { " " }.to_owned()));
    // Why a run is there that shows nothing of what was typed.
    let id = visible(needle::looked_at(&run.run_id)).into_owned();
    let has_room = !runs.flat && width >= toned_width(&line) + ID;
    if has_room && !marker.is_explained(state, run) && marker.finds(needle::Field::Id, &id) {
        let room = width - toned_width(&line) - 1;
        line.push((Tone::Plain, " ".into()));
        marker.mark(&mut line, Tone::Dim, needle::Field::Id, &id, room);
        return line;
    }
    if columns.counts {
        let counted = runs.counts.of(&run.run_id);
        let other = counted.filter(|counted| !counted.is_against(&state.content.base));
        // Where the base's word has no room, a sign says that it is another one.
        let sign = if other.is_some() && !columns.base {
            "~"
        } else {
            " "
        };
        counts(&mut line, counted, sign);
        if columns.base {
            let word = other.map_or("", Counted::word);
            line.push((Tone::Dim, format!(" {}", fit::pad(word, BASE - 1))));
        }
    }
    let room = width.saturating_sub(toned_width(&line) + 1);
    if runs.flat {
        whose(&mut line, state, run, room, marker);
    } else if at_risk {
        let forms = ["next turn deletes it", "goes next"];
        let word = fit::first_form(forms.map(str::to_owned), room);
        line.push((Tone::Warn, format!(" {word}")));
    }
    line
}

/// The size, with a gap before what follows unless it is very large.
fn size(
    state: &State,
    run: &RunRow,
    quiet: Tone,
    answer: &Result<CheckpointRef>,
) -> (Tone, String) {
    let broken = state.runs.broken.get(&run.run_id);
    if let (Some(word), Ok(_)) = (broken, answer) {
        return (Tone::Bad, fit::pad(word, SIZE));
    }
    let text = match answer {
        // A damaged reference may name a size that no disk holds.
        Ok(reference) if reference.size() >> 50 != 0 => "over 1 PB".into(),
        Ok(reference) => human_bytes(reference.size()),
        Err(error) => match error.kind() {
            ErrorKind::Foreign => "foreign".into(),
            ErrorKind::NoCheckpoint => "none".into(),
            _ => "–".into(),
        },
    };
    let text = format!("{text:>width$}", width = SIZE - 1);
    (quiet, fit::pad(&text, SIZE))
}

fn open_sign(state: &State, run: &RunRow) -> &'static str {
    let is = |run_id: &str| run_id == run.run_id;
    if state.opening.as_ref().is_some_and(|open| is(&open.run_id)) {
        "…"
    } else if state
        .opened
        .as_ref()
        .is_some_and(|open| is(&open.row.run_id))
    {
        "●"
    } else {
        " "
    }
}

fn counts(line: &mut Toned, counted: Option<&Counted>, sign: &str) {
    let Some(counted) = counted else {
        line.push((Tone::Plain, " ".repeat(COUNTS)));
        return;
    };
    let short = |count: Option<u64>| match count {
        None => "?".into(),
        Some(count @ 0..1_000) => count.to_string(),
        Some(count @ 1_000..100_000) => format!("{}k", count / 1_000),
        Some(count @ 100_000..1_000_000) => format!(".{}M", count / 100_000),
        Some(count) => format!("{}M", (count / 1_000_000).min(99)),
    };
    let (added, removed) = (short(counted.additions), short(counted.deletions));
    line.push((Tone::Dim, sign.to_owned()));
    line.push((Tone::Added, fit::pad(&format!("+{added}"), 4)));
    line.push((
        Tone::Removed,
        format!(" {}", fit::pad(&format!("−{removed}"), 4)),
    ));
}

/// Whose run it is: a flat list has no agents and sessions above its runs.
fn whose(line: &mut Toned, state: &State, run: &RunRow, room: usize, marker: &mut Marker) {
    if room < 6 {
        return;
    }
    let agent = run.agent_id.as_deref().map(needle::looked_at);
    let agent = agent.map_or("no agent".into(), visible);
    let words = needle::Field::Words;
    let before = toned_width(line);
    line.push((Tone::Plain, " ".into()));
    // Half a title says more than an agent and two letters of it.
    if room < fit::columns(&agent) + TITLE {
        let title = state.runs.title(&run.session_id);
        return marker.mark(line, Tone::Dim, words, &title, room);
    }
    marker.mark(
        line,
        Tone::Dim,
        words,
        &agent,
        fit::columns(&agent).min(room),
    );
    let rest = room.saturating_sub(toned_width(line) - before - 1);
    if rest > 4 {
        line.push((Tone::Dim, " · ".into()));
        let title = state.runs.title(&run.session_id);
        marker.mark(line, Tone::Dim, words, &title, rest - 3);
    }
}
