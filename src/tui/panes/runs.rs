//! Agents, sessions and runs. Status is a sign and a word, so that no colour is needed to read it.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::marker::Marker;
use super::{run_row, titled};
use crate::text::{grouped, visible};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::message::Slot;
use crate::tui::state::{Item, Order, Pane, Row, Searched, State, needle, toned_clip, toned_width};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::tree::{self, TreeRow};
use crate::tui::view::{put, title_room};

/// Columns of a word in the title.
const WORD: usize = 16;

/// The title, and how much of the list is loaded or found.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let mut left = vec![(Tone::Strong, titled(state, Id::PaneRuns, "Runs"))];
    let forms = amount(state);
    let least = forms.last().map_or(0, |form| fit::columns(form));
    for part in parts(state) {
        // How many there are is never cut off.
        let room = title_room(&left, width).saturating_sub(least + 2);
        if room < 4 {
            break;
        }
        left.push((Tone::Warn, format!("  {}", fit::clip(&part, room))));
    }
    let right = fit::first_form(forms, title_room(&left, width));
    (left, vec![(Tone::Dim, right)])
}

/// What narrows and orders the list, the most telling first.
fn parts(state: &State) -> Vec<String> {
    let runs = &state.runs;
    let short = |text: &str| visible(fit::take(text, WORD)).into_owned();
    let mut parts = Vec::new();
    if !runs.text.is_empty() {
        parts.push(format!("/{}", short(&runs.text)));
    }
    parts.extend(runs.status.as_deref().map(short));
    if let Some(since) = &runs.since {
        parts.push(format!("since {}", short(&since.text)));
    }
    match runs.order {
        Order::Newest => {}
        Order::Oldest => parts.push("oldest first".into()),
        Order::Largest => parts.push("largest of loaded".into()),
    }
    if !runs.marks.is_empty() {
        parts.push(format!("{} marked", grouped(runs.marks.len() as u64)));
    }
    if !state.live.fresh.is_empty() {
        parts.push(format!("{} new", grouped(state.live.fresh.len() as u64)));
    }
    parts
}

/// How many of how many, in forms from the longest to the shortest.
fn amount(state: &State) -> Vec<String> {
    let runs = &state.runs;
    if !runs.loaded {
        return vec!["reading…".into()];
    }
    if runs.has_text() {
        let (long, short) = found(state);
        let beyond = runs.next.is_some();
        let (words, sign) = match &runs.search.state {
            Searched::Asked => (", searching…", "…"),
            // What is found so far has its sign already.
            Searched::More(_) if beyond => ("", "…"),
            Searched::More(_) => (", more below", "+"),
            Searched::Failed(_) => (", search failed", " !"),
            Searched::No | Searched::Ended => ("", ""),
        };
        return vec![
            format!("{long}{words}"),
            format!("{long}{sign}"),
            format!("{short}{sign}{}", if beyond { " beyond" } else { "" }),
            format!("{short}{sign}"),
        ];
    }
    let loaded = grouped(runs.runs.len() as u64);
    let total = runs.total().filter(|total| *total > runs.runs.len() as u64);
    match (runs.next.is_some(), total) {
        (true, Some(total)) => {
            let short = format!("{loaded} of {}", grouped(total));
            vec![format!("{short}, more below"), short, format!("{loaded}+")]
        }
        (true, None) => vec![format!("{loaded}, more below"), format!("{loaded}+")],
        (false, _) if runs.is_filtered() => vec![format!("{loaded} found"), loaded],
        (false, Some(total)) => vec![format!("{loaded} of {}", grouped(total))],
        (false, None) => vec![loaded],
    }
}

/// `5 of 128` where all runs are loaded. Else letters may be left out only in those that are, so it is
/// `5 of 200 loaded, 3 beyond` (`3+` while there may be more of them), and in short `5 + 3`.
fn found(state: &State) -> (String, String) {
    let runs = &state.runs;
    let loaded = runs.runs.len() as u64;
    let shown = runs.shown as u64;
    if runs.next.is_none() {
        let all = loaded + runs.search.found.len() as u64;
        let total = runs.total().unwrap_or(all).max(all);
        let whole = format!("{} of {}", grouped(shown), grouped(total));
        return (whole.clone(), whole);
    }
    let beyond = runs.shown_beyond as u64;
    let here = grouped(shown - beyond);
    let mut long = format!("{here} of {} loaded", grouped(loaded));
    match &runs.search.state {
        Searched::More(_) => long.push_str(&format!(", {}+ beyond", grouped(beyond))),
        Searched::Ended if beyond == 0 => long.push_str(", none beyond"),
        _ if beyond > 0 => long.push_str(&format!(", {} beyond", grouped(beyond))),
        _ => {}
    }
    (long, format!("{here} + {}", grouped(beyond)))
}

/// What the line that is typed says of what it found, from the longest form to the shortest.
#[must_use]
pub fn filter_forms(state: &State) -> Vec<String> {
    let runs = &state.runs;
    if !runs.loaded || !runs.has_text() {
        return Vec::new();
    }
    let (long, short) = found(state);
    let (words, word) = match (&runs.search.state, runs.next.is_some()) {
        (Searched::Asked, false) => ("searching the whole database…", "searching…"),
        (Searched::Asked, true) => ("searching the rest for it as typed…", "searching…"),
        (Searched::More(_), _) => ("more of them below", "more below"),
        (Searched::Failed(_), _) => ("the database could not be searched", "search failed"),
        (_, false) => ("the whole database was searched", "all searched"),
        (_, true) => ("the rest was searched for it as typed", "all searched"),
    };
    vec![
        format!(
            "{long} · {words} · {} keeps it · {} drops it",
            state.keymap.how(Id::Accept),
            state.keymap.how(Id::Cancel)
        ),
        format!("{long} · {words}"),
        format!("{long} · {word}"),
        format!("{short} · {word}"),
        short,
    ]
}

/// The rows.
pub fn draw(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) {
    let runs = &state.runs;
    if runs.rows.is_empty() {
        let width = usize::from(body.width);
        let lines = empty(state).into_iter();
        let lines = lines.flat_map(|(tone, text)| {
            fit::wrap(&text, width)
                .into_iter()
                .map(move |line| vec![(tone, line)])
        });
        for (row, line) in body.rows().zip(lines) {
            put(theme, line, row, buffer);
        }
        return;
    }
    let window = runs
        .rows
        .iter()
        .enumerate()
        .skip(runs.top)
        .take(body.height.into());
    let mut marker = Marker::of(&runs.text);
    let folds_new = FoldsNew::of(state);
    let mut cursor = None;
    let mut rows = Vec::with_capacity(body.height.into());
    for (at, (index, row)) in window.enumerate() {
        if index == runs.cursor {
            cursor = Some(at);
        }
        let width = usize::from(body.width).saturating_sub(row.depth * 2);
        rows.push(TreeRow {
            depth: row.depth,
            line: theme.row(line(state, row, width, &mut marker, &folds_new), width),
        });
    }
    tree::draw(
        rows,
        cursor,
        theme.cursor(state.focus == Pane::Runs),
        body,
        buffer,
    );
}

/// What stands in an empty pane: why, and what to do.
fn empty(state: &State) -> Vec<(Tone, String)> {
    let runs = &state.runs;
    if let Some(failure) = &runs.failure {
        let mut lines = vec![(Tone::Bad, format!("✖ {}", failure.message))];
        if let Some(hint) = &failure.hint {
            lines.push((Tone::Plain, format!("→ {hint}")));
        }
        let refresh = state.keymap.how(Id::Refresh);
        lines.push((Tone::Dim, format!("{refresh} tries again.")));
        return lines;
    }
    if !runs.loaded {
        return vec![(Tone::Dim, "Reading the runs…".into())];
    }
    if runs.is_filtered() {
        let beyond = runs.has_text() && runs.next.is_some();
        let text = match &runs.search.state {
            Searched::Ended if beyond => format!(
                "No run matches, none beyond the {} loaded either: there it is searched for as typed.",
                grouped(runs.runs.len() as u64)
            ),
            _ => "No run matches.".into(),
        };
        return vec![
            (Tone::Plain, text),
            (
                Tone::Dim,
                format!("{} drops the filter.", state.keymap.how(Id::Back)),
            ),
        ];
    }
    vec![
        (Tone::Plain, "No runs in this database yet.".into()),
        (
            Tone::Dim,
            format!(
                "Let a sandboxed agent finish a turn, then press {}; or look at another database with --db. `afterrun demo` shows a world to try.",
                state.keymap.how(Id::Refresh)
            ),
        ),
    ]
}

/// Agents and sessions that runs came into: folded, their rows show it.
#[derive(Default)]
struct FoldsNew<'a> {
    agents: HashSet<Option<&'a str>>,
    sessions: HashSet<(Option<&'a str>, &'a str)>,
}

impl<'a> FoldsNew<'a> {
    fn of(state: &'a State) -> Self {
        let mut this = Self::default();
        for fresh in state.live.fresh.values() {
            let agent = fresh.agent.as_deref();
            this.agents.insert(agent);
            this.sessions.insert((agent, &fresh.session));
        }
        this
    }
}

fn line(state: &State, row: &Row, width: usize, marker: &mut Marker, new: &FoldsNew<'_>) -> Toned {
    match &row.item {
        Item::Agent(agent, folded) => {
            let agent = agent.as_deref();
            let new = *folded && new.agents.contains(&agent);
            agent_line(state, agent, (*folded, new), width, marker)
        }
        Item::Session(agent, session, folded) => {
            let new = *folded && new.sessions.contains(&(agent.as_deref(), session.as_str()));
            session_line(state, session, (*folded, new), width, marker)
        }
        Item::Run(index) => match state.runs.at(*index) {
            Some(run) => run_row::line(state, run, width, marker),
            None => Toned::new(),
        },
        Item::More => vec![more(state, width)],
        Item::End => {
            let all = fit::count(state.runs.runs.len() as u64, "run");
            vec![(Tone::Dim, format!("that is all: {all}"))]
        }
        Item::Note(text) => vec![(Tone::Bad, text.clone())],
    }
}

/// The row at the end of what is loaded, or of what is found.
fn more(state: &State, width: usize) -> (Tone, String) {
    let runs = &state.runs;
    let open = state.keymap.how(Id::OpenRun);
    let (slot, failure) = match &runs.search.state {
        Searched::Failed(failure) if runs.has_text() => (Slot::Search, Some(failure)),
        _ if runs.has_text() => (Slot::Search, None),
        _ => (Slot::Page, runs.more_failure.as_ref()),
    };
    if state.awaited.contains_key(&slot) {
        return (Tone::Dim, "… reading on".into());
    }
    if let Some(failure) = failure {
        let end = format!(" ({open} tries again)");
        let room = width.saturating_sub(fit::columns(&end) + 2);
        let why = fit::clip(&failure.message, room);
        return (Tone::Bad, format!("✖ {why}{end}"));
    }
    let loaded = runs.runs.len() as u64;
    let text = match runs.total().filter(|total| *total > loaded) {
        Some(total) if !runs.has_text() => {
            format!("… {} more below ({open})", grouped(total - loaded))
        }
        _ => format!("… more below ({open})"),
    };
    (Tone::Dim, text)
}

fn sign(folded: bool) -> &'static str {
    if folded { "▸ " } else { "▾ " }
}

/// `left` in what `count` leaves of the width, `count` at the edge, marked where a run is new.
fn spread(left: Toned, count: String, new: bool, width: usize) -> Toned {
    let mark = if new { 2 } else { 0 };
    let taken = fit::columns(&count) + mark + 1;
    if taken + 12 > width {
        return toned_clip(left, width);
    }
    let mut line = toned_clip(left, width - taken);
    let gap = width - taken - toned_width(&line) + 1;
    line.push((Tone::Plain, " ".repeat(gap)));
    if new {
        line.push((Tone::Accent, "◆".into()));
        line.push((Tone::Plain, " ".into()));
    }
    line.push((Tone::Dim, count));
    line
}

fn agent_line(
    state: &State,
    agent: Option<&str>,
    (folded, new): (bool, bool),
    width: usize,
    marker: &mut Marker,
) -> Toned {
    let summary = state.runs.agent(agent);
    let id = agent.map_or("teams and workflows", needle::looked_at);
    let name = summary.and_then(|summary| summary.name.as_deref());
    let name = name.filter(|name| Some(*name) != agent);
    let name = name.map(|name| visible(needle::looked_at(name)));
    let id = visible(id);
    let mut line = vec![(Tone::Plain, sign(folded).to_owned())];
    let words = needle::Field::Words;
    marker.mark(&mut line, Tone::Strong, words, &id, fit::columns(&id));
    if let Some(name) = &name {
        line.push((Tone::Plain, "  ".into()));
        marker.mark(&mut line, Tone::Dim, words, name, fit::columns(name));
    }
    match summary {
        Some(summary) => {
            let runs = fit::count(summary.runs.values().sum(), "run");
            spread(line, runs, new, width)
        }
        None => line,
    }
}

fn session_line(
    state: &State,
    session: &str,
    (folded, new): (bool, bool),
    width: usize,
    marker: &mut Marker,
) -> Toned {
    let title = state.runs.title(session);
    let mut line = vec![(Tone::Plain, sign(folded).to_owned())];
    let words = needle::Field::Words;
    let columns = fit::columns(&title).min(width.saturating_sub(2));
    marker.mark(&mut line, Tone::Plain, words, &title, columns);
    match state.runs.sessions.get(session) {
        Some(info) => spread(line, fit::count(info.runs, "turn"), new, width),
        None => line,
    }
}

/// A status as sign and tone.
#[must_use]
pub fn status_sign(status: &str) -> (&'static str, Tone) {
    match status {
        "COMPLETED" => ("✔", Tone::Good),
        "ERROR" => ("✖", Tone::Bad),
        "RUNNING" => ("▶", Tone::Busy),
        "PENDING" => ("◌", Tone::Busy),
        "PAUSED" => ("‖", Tone::Warn),
        "CANCELLED" => ("⊘", Tone::Dim),
        "REGENERATED" => ("↻", Tone::Dim),
        _ => ("?", Tone::Warn),
    }
}
