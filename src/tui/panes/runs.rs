//! Agents, sessions and runs. Status is a sign and a word, so that no colour is needed to read it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::runs::{RunData, RunRow, gate};
use crate::text::{grouped, human_bytes, visible};
use crate::tui::fit;
use crate::tui::message::Slot;
use crate::tui::state::{Item, Pane, Row, State};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::tree::{self, TreeRow};
use crate::tui::view::{put, title_room};

/// The title, and how much of the list is loaded.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let runs = &state.runs;
    let mut left = vec![(Tone::Strong, "1 Runs".to_owned())];
    if let Some(status) = &runs.status {
        left.push((Tone::Warn, format!("  {}", visible(status))));
    }
    if !runs.text.is_empty() {
        left.push((Tone::Warn, format!("  /{}", visible(&runs.text))));
    }
    let loaded = grouped(runs.runs.len() as u64);
    let whole = match (runs.next.is_some(), runs.total()) {
        _ if !runs.loaded => "reading…".into(),
        (true, Some(total)) => format!("{loaded} of {}, more below", grouped(total)),
        (true, None) => format!("{loaded}, more below"),
        (false, _) if runs.is_filtered() => format!("{loaded} found"),
        (false, Some(total)) if total != runs.runs.len() as u64 => {
            format!("{loaded} of {}", grouped(total))
        }
        (false, _) => loaded.clone(),
    };
    let shorter = match (runs.next.is_some(), runs.total()) {
        (true, Some(total)) => format!("{loaded} of {}", grouped(total)),
        (true, None) => format!("{loaded}+"),
        _ => loaded,
    };
    let right = fit::first_form([whole, shorter], title_room(&left, width));
    (left, vec![(Tone::Dim, right)])
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
    let mut cursor = None;
    let mut rows = Vec::with_capacity(body.height.into());
    for (at, (index, row)) in window.enumerate() {
        if index == runs.cursor {
            cursor = Some(at);
        }
        let width = usize::from(body.width).saturating_sub(row.depth * 2);
        rows.push(TreeRow {
            depth: row.depth,
            line: theme.line(line(state, row, width)),
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
        lines.push((Tone::Dim, "R tries again.".into()));
        return lines;
    }
    if !runs.loaded {
        return vec![(Tone::Dim, "Reading the runs…".into())];
    }
    if runs.is_filtered() {
        return vec![
            (Tone::Plain, "No run matches.".into()),
            (Tone::Dim, "esc drops the filter.".into()),
        ];
    }
    vec![
        (Tone::Plain, "No runs in this database yet.".into()),
        (Tone::Dim, "Let a sandboxed agent finish a turn, then press R; or look at another database with --db. `afterrun demo` shows a world to try.".into()),
    ]
}

fn line(state: &State, row: &Row, width: usize) -> Toned {
    match &row.item {
        Item::Agent(agent, folded) => agent_line(state, agent.as_deref(), *folded, width),
        Item::Session(_, session, folded) => session_line(state, session, *folded, width),
        Item::Run(index) => match state.runs.runs.get(*index) {
            Some(run) => run_line(state, run, width),
            None => Toned::new(),
        },
        Item::More if state.awaited.contains_key(&Slot::Page) => {
            vec![(Tone::Dim, "… reading on".into())]
        }
        Item::More => {
            let loaded = state.runs.runs.len() as u64;
            let text = match state.runs.total() {
                Some(total) => {
                    format!(
                        "… {} more below (enter)",
                        grouped(total.saturating_sub(loaded))
                    )
                }
                None => "… more below (enter)".into(),
            };
            vec![(Tone::Dim, text)]
        }
        Item::Note(text) => vec![(Tone::Bad, text.clone())],
    }
}

fn sign(folded: bool) -> &'static str {
    if folded { "▸ " } else { "▾ " }
}

/// `left` in what `right` leaves of the width, `right` at the edge.
fn spread(mut left: Toned, right: (Tone, String), width: usize) -> Toned {
    let taken = fit::columns(&right.1) + 1;
    if taken + 12 > width {
        return left;
    }
    let mut room = width - taken;
    for (_, text) in &mut left {
        *text = fit::clip(text, room);
        room -= fit::columns(text);
    }
    left.push((Tone::Plain, " ".repeat(room + 1)));
    left.push(right);
    left
}

fn agent_line(state: &State, agent: Option<&str>, folded: bool, width: usize) -> Toned {
    let summary = state
        .runs
        .agents
        .iter()
        .flatten()
        .find(|one| one.agent_id.as_deref() == agent);
    let mut line = vec![(Tone::Plain, sign(folded).to_owned())];
    match agent {
        Some(agent) => line.push((Tone::Strong, visible(agent).into_owned())),
        None => line.push((Tone::Strong, "teams and workflows".into())),
    }
    let name = summary.and_then(|summary| summary.name.as_deref());
    if let Some(name) = name.filter(|name| Some(*name) != agent) {
        line.push((Tone::Dim, format!("  {}", visible(name))));
    }
    match summary {
        Some(summary) => {
            let runs = fit::count(summary.runs.values().sum(), "run");
            spread(line, (Tone::Dim, runs), width)
        }
        None => line,
    }
}

fn session_line(state: &State, session: &str, folded: bool, width: usize) -> Toned {
    let info = state.runs.sessions.get(session);
    let title = info.map_or(session, |info| info.title.as_str());
    // A title may be a whole prompt: its first line says enough.
    let first = title
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or(session)
        .trim();
    let line = vec![
        (Tone::Plain, sign(folded).to_owned()),
        (Tone::Plain, visible(fit::take(first, width)).into_owned()),
    ];
    match info {
        Some(info) => spread(line, (Tone::Dim, fit::count(info.runs, "turn")), width),
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

fn run_line(state: &State, run: &RunRow, width: usize) -> Toned {
    let status = run.effective_status();
    let damaged = matches!(run.data, RunData::Unreadable(_));
    let (mut mark, mut tone) = status_sign(&status);
    let mut word = match status.as_str() {
        "" => "unknown".to_owned(),
        status => visible(status).into_owned(),
    };
    if damaged {
        (mark, tone) = ("!", Tone::Bad);
        word = "damaged".into();
    }
    let answer = gate(&run.run_id, Some(run), &state.as_opening());
    let opened = state
        .opened
        .as_ref()
        .is_some_and(|open| open.row.run_id == run.run_id);
    let opening = state
        .opening
        .as_ref()
        .is_some_and(|open| open.run_id == run.run_id);
    let foreign = matches!(&answer, Err(error) if error.kind() == crate::ErrorKind::Foreign);
    let turn = run.turn().map_or("?".into(), |turn| turn.to_string());
    let age = fit::age(state.now(), run.created_at);
    let size = match (&answer, foreign) {
        // A damaged reference may name a size that no disk holds.
        (Ok(reference), _) if reference.size() >> 50 != 0 => "over 1 PB".into(),
        (Ok(reference), _) => human_bytes(reference.size()),
        (Err(_), true) => "foreign".into(),
        (Err(error), _) if error.kind() == crate::ErrorKind::NoCheckpoint => "none".into(),
        (Err(_), _) => "–".into(),
    };
    let quiet = if foreign { Tone::Dim } else { Tone::Plain };
    let here = match (opened, opening) {
        (_, true) => "…",
        (true, _) => "●",
        _ => " ",
    };
    let mut line = vec![
        (tone, format!("{mark} ")),
        (quiet, format!("{turn:>2} ")),
        (
            tone,
            format!("{} ", fit::pad(&word, if width >= 34 { 11 } else { 9 })),
        ),
        (quiet, format!("{age:>4} ")),
    ];
    if width >= 32 {
        line.push((quiet, format!("{size:>9} ")));
    }
    line.push((Tone::Accent, here.into()));
    if state.runs.flat && width >= 44 {
        let title = state.runs.sessions.get(&run.session_id);
        let title = title.map_or(run.session_id.as_str(), |info| info.title.as_str());
        let agent = run.agent_id.as_deref().map_or("no agent".into(), visible);
        let whose = format!(" {agent} · {}", visible(title.lines().next().unwrap_or("")));
        let used: usize = line.iter().map(|(_, text)| fit::columns(text)).sum();
        line.push((Tone::Dim, fit::clip(&whose, width.saturating_sub(used))));
    }
    line
}
