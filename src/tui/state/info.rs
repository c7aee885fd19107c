//! The Info view: what is known of the run that the panes are about, from its row to its notices.

use super::lines::{both_sizes, failure_lines};
use super::{Chain, STAGES, State, Step};
use crate::progress::Stage;
use crate::runs::{RunData, RunRow, gate};
use crate::text::{visible, visible_bytes};
use crate::tui::fit;
use crate::tui::theme::{Tone, Toned};

/// Commits, stashes and notices listed; an agent can make any number of them.
const LISTED: usize = 500;
/// Characters of a text that are shown.
const SHOWN: usize = 2_000;

fn heading(text: &str) -> Toned {
    vec![(Tone::Accent, text.to_owned())]
}

/// The start of a text from outside, safe to show; a row may hold megabytes of it.
fn shown(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map(|(end, _)| end);
    match cut {
        Some(end) => format!("{}…", visible(&text[..end])),
        None => visible(text).into_owned(),
    }
}

fn field(name: &str, value: impl Into<String>) -> Toned {
    vec![
        (Tone::Dim, format!("  {name:<12}")),
        (Tone::Plain, value.into()),
    ]
}

/// The lines of the view.
#[must_use]
pub fn info(state: &State) -> Vec<Toned> {
    let mut lines = Vec::new();
    if let Some(refusal) = &state.refusal {
        lines.extend(failure_lines(&refusal.failure));
        lines.push(Vec::new());
        if let Some(row) = &refusal.row {
            run(&mut lines, state, row);
        }
        chain(&mut lines, &refusal.chain);
        return lines;
    }
    let Some(opened) = &state.opened else {
        match state.runs.selected() {
            Some(row) => {
                run(&mut lines, state, row);
                if let Err(error) = gate(&row.run_id, Some(row), &state.as_opening()) {
                    lines.extend(failure_lines(&error.into()));
                }
            }
            None => lines.push(vec![(Tone::Dim, "Choose a run.".into())]),
        }
        return lines;
    };
    run(&mut lines, state, &opened.row);
    chain(&mut lines, &opened.chain);
    lines.push(heading("Archive"));
    lines.push(field("sha256", opened.reference.sha256()));
    let form = if opened.gzipped {
        "gzipped tar"
    } else {
        "plain tar"
    };
    lines.push(field(
        "stored",
        format!("{}, {form}", both_sizes(opened.reference.size())),
    ));
    let tree = &opened.tree;
    lines.push(field(
        "holds",
        format!("{}, {}", entries(tree.entries), both_sizes(tree.bytes)),
    ));
    if tree.left_out > 0 {
        let links = fit::count(tree.left_out, "link");
        lines.push(field(
            "left out",
            format!("{links} to absolute paths, by a restore"),
        ));
    }
    if let Some(why) = &opened.unrestorable {
        lines.push(vec![
            (Tone::Bad, "  ✖ cannot be restored: ".into()),
            (Tone::Plain, why.clone()),
        ]);
    }
    lines.push(field("state", opened.state.clone()));
    lines.push(Vec::new());
    comparison(&mut lines, state);
    lines
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".into(),
        count => format!("{} entries", crate::text::grouped(count)),
    }
}

fn run(lines: &mut Vec<Toned>, state: &State, row: &RunRow) {
    lines.push(heading("Run"));
    lines.push(field("run", shown(&row.run_id)));
    if let Some(turn) = row.turn() {
        lines.push(field("turn", turn.to_string()));
    }
    let session = state.runs.sessions.get(&row.session_id);
    if let Some(session) = session.filter(|session| session.title != row.session_id) {
        lines.push(field("session", shown(&session.title)));
    }
    lines.push(field("session id", shown(&row.session_id)));
    let agent = row.agent_id.as_deref().map_or("none".into(), shown);
    match row.agent_name() {
        Some(name) if Some(name) != row.agent_id.as_deref() => {
            lines.push(field("agent", format!("{agent}  {}", shown(name))));
        }
        _ => lines.push(field("agent", agent)),
    }
    if let Some(user) = &row.user_id {
        lines.push(field("user", shown(user)));
    }
    if let Some(kind) = &row.run_type {
        lines.push(field("type", shown(kind)));
    }
    let status = row.effective_status();
    let status = if status.is_empty() {
        "unknown".into()
    } else {
        status
    };
    lines.push(field("status", shown(&status)));
    for (name, at) in [("created", row.created_at), ("updated", row.updated_at)] {
        if let Some(at) = at {
            let time = jiff::Timestamp::from_second(at)
                .map_or_else(|_| at.to_string(), |at| at.to_string());
            lines.push(field(
                name,
                format!("{time}  ({} ago)", fit::age(state.now(), Some(at))),
            ));
        }
    }
    if let Some(warning) = super::warning(state, row) {
        lines.push(field("retention", warning));
        if let Some((tone, _)) = lines.last_mut().and_then(|line| line.last_mut()) {
            *tone = Tone::Warn;
        }
    }
    if let Some(input) = row.input() {
        lines.push(field("input", shown(input)));
    }
    if let RunData::Unreadable(why) = &row.data {
        lines.push(vec![
            (Tone::Bad, "  ✖ damaged: ".into()),
            (Tone::Plain, shown(why)),
        ]);
    }
    if let Some(pin) = row.repository() {
        lines.push(field("repository", shown(&pin.url)));
        if let Some(branch) = &pin.branch {
            lines.push(field("branch", shown(branch)));
        }
        lines.push(field("pin", shown(&pin.commit)));
    }
    lines.push(Vec::new());
}

fn chain(lines: &mut Vec<Toned>, chain: &Chain) {
    lines.push(heading("Proof"));
    for (stage, step) in STAGES.iter().zip(&chain.steps) {
        let what = match stage {
            Stage::Row => "the run's row was read",
            Stage::Gate => "the gate let it pass",
            Stage::Object => "the stored object has the reference's size",
            Stage::Digest => "its bytes have the reference's sha256",
            _ => "it is a valid checkpoint archive",
        };
        let (tone, mark) = match step {
            Step::Passed(_) => (Tone::Good, "✔"),
            Step::Working(..) => (Tone::Busy, "…"),
            Step::Failed(_) => (Tone::Bad, "✖"),
            Step::Waiting => (Tone::Dim, "·"),
        };
        let asked = match step {
            Step::Waiting => " (not reached)".to_owned(),
            Step::Failed(word) => format!(": no, {word}"),
            _ => String::new(),
        };
        lines.push(vec![
            (tone, format!("  {mark} ")),
            (Tone::Plain, format!("{what}{asked}")),
        ]);
    }
    lines.push(Vec::new());
}

fn comparison(lines: &mut Vec<Toned>, state: &State) {
    let Some(opened) = &state.opened else { return };
    if let Some(failure) = &opened.comparison.failure {
        lines.push(heading("Comparison"));
        lines.extend(failure_lines(failure));
        lines.push(Vec::new());
    }
    let Some(compared) = state.compared() else {
        return;
    };
    lines.push(heading("Compared"));
    lines.push(field("base", compared.base.clone()));
    lines.push(field("folder", visible_bytes(&compared.root)));
    for (name, commit) in [("pin", &compared.pin), ("head", &compared.head)] {
        lines.push(field(
            name,
            commit.as_deref().map_or("none".into(), visible),
        ));
    }
    lines.push(field(
        "changed",
        fit::count(compared.files.len() as u64, "file"),
    ));
    lines.push(field("ignored", fit::count(compared.ignored, "file")));
    lines.push(Vec::new());
    lines.push(heading(&format!(
        "Commits since the pin: {}",
        compared.commits.len()
    )));
    for commit in compared.commits.iter().take(LISTED) {
        lines.push(vec![
            (
                Tone::Warn,
                format!("  {} ", commit.id.get(..7).unwrap_or(&commit.id)),
            ),
            (Tone::Plain, visible(&commit.subject).into_owned()),
            (
                Tone::Dim,
                format!(
                    "  {}, {} ago",
                    visible(&commit.author),
                    fit::age(state.now(), Some(commit.time))
                ),
            ),
        ]);
    }
    more(lines, compared.commits.len());
    lines.push(heading(&format!("Stashes: {}", compared.stashes.len())));
    for stash in compared.stashes.iter().take(LISTED) {
        lines.push(vec![
            (
                Tone::Warn,
                format!("  {} ", stash.id.get(..7).unwrap_or(&stash.id)),
            ),
            (Tone::Plain, visible(&stash.subject).into_owned()),
        ]);
    }
    more(lines, compared.stashes.len());
    lines.push(heading(&format!("Notices: {}", compared.notices.len())));
    for notice in compared.notices.iter().take(LISTED) {
        let mut line = vec![(Tone::Warn, format!("  ! {} ", notice.tag))];
        if let Some(path) = &notice.path {
            line.push((Tone::Strong, format!("{} ", visible_bytes(path))));
        }
        line.push((Tone::Plain, visible(&notice.message).into_owned()));
        lines.push(line);
    }
    more(lines, compared.notices.len());
}

/// Says how many are not listed.
fn more(lines: &mut Vec<Toned>, all: usize) {
    if all > LISTED {
        let text = format!("  … and {} more", all - LISTED);
        lines.push(vec![(Tone::Dim, text)]);
    }
}
