//! Lines to type in a box. Filters and searches are typed on the bottom line instead, so that what
//! they find stays in view.

use ratatui::buffer::Buffer;
use tui_input::Input;

use super::{confirm, frame};
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::layout::Areas;
use crate::tui::message::Completion;
use crate::tui::state::{Prompt, PromptKind, State};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::view::put;

/// Draws it.
pub fn draw(state: &State, prompt: &Prompt, theme: Theme, areas: &Areas, buffer: &mut Buffer) {
    let key = |id| state.keymap.how(id);
    let (enter, tab) = (key(Id::Accept), key(Id::Complete));
    let (clear, leave) = (key(Id::Clear), key(Id::Cancel));
    let help = |what: &str| {
        format!("{enter} {what} · {tab} completes · {clear} clears · {leave} leaves it")
    };
    let of = prompt
        .subject
        .as_ref()
        .map_or("the run", |subject| &subject.what);
    let (title, help) = match &prompt.kind {
        PromptKind::OpenAs => (
            " Open runs as agent ".to_owned(),
            format!("{enter} opens runs as this agent · empty: each as its own"),
        ),
        PromptKind::Restore => (
            match prompt.only.len() {
                0 => format!(" Restore to a new directory · {of} "),
                marked => format!(" Restore {marked} marked to a new directory · {of} "),
            },
            help("shows the plan"),
        ),
        PromptKind::Patch => (
            format!(" Write the diff as a patch to a file · {of} "),
            help("writes it"),
        ),
        PromptKind::Fetch(run_id) => (
            format!(
                " Keep the stored bytes of {} in ",
                fit::clip(&visible(run_id), 30)
            ),
            help("writes them"),
        ),
        PromptKind::Since => (
            " Only runs made since ".to_owned(),
            "90m, 12h, 7d, 2w, or a date like 2026-06-01 · empty: all runs".to_owned(),
        ),
        PromptKind::FilterRuns | PromptKind::FilterFiles | PromptKind::Search => return,
    };
    let width = 76.min(areas.screen.width.saturating_sub(4));
    let room = usize::from(width).saturating_sub(4);
    let mut lines = vec![input_line(&prompt.input, "", room), Toned::new()];
    let said = |tone: Tone, text: &str| {
        let lines = fit::wrap(text, room).into_iter();
        lines
            .map(move |line| vec![(tone, line)])
            .collect::<Vec<Toned>>()
    };
    if let Some(failure) = &prompt.failure {
        lines.extend(said(Tone::Bad, &format!("✖ {}", failure.message)));
        if let Some(hint) = &failure.hint {
            lines.extend(said(Tone::Plain, &format!("→ {hint}")));
        }
    }
    match (&prompt.plan, prompt.planning.is_some()) {
        (Some((_, _, plan)), _) => lines.extend(confirm::lines(state, plan, &prompt.only, room)),
        (None, true) => lines.extend(said(Tone::Busy, "planning…")),
        (None, false) => {
            if prompt.kind == PromptKind::OpenAs {
                lines.extend(said(Tone::Dim, &agents(state)));
            }
            if let Some(completion) = &prompt.completion {
                lines.extend(candidates(completion, room));
            }
            lines.extend(said(Tone::Dim, &help));
        }
    }
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let body = frame(&title, width, height, theme, areas, buffer);
    for (row, line) in body.rows().zip(lines) {
        put(theme, line, row, buffer);
    }
}

/// Lines that candidates may take.
const CANDIDATES: usize = 6;

/// How the path that is typed may go on.
fn candidates(completion: &Completion, room: usize) -> Vec<Toned> {
    let said = |tone, text: &str| vec![vec![(tone, text.to_owned())]];
    match completion.names.as_slice() {
        [] if completion.completed == completion.asked => said(Tone::Warn, "nothing begins so"),
        [] => Vec::new(),
        names => {
            let mut text = names.join("  ");
            if completion.more {
                text.push_str("  … and more");
            }
            let lines = fit::wrap_at_most(&text, room, CANDIDATES).into_iter();
            lines.map(|line| vec![(Tone::Plain, line)]).collect()
        }
    }
}

fn agents(state: &State) -> String {
    let known = state.runs.agents.iter().flatten();
    let names: Vec<String> = known
        .filter_map(|agent| agent.agent_id.as_deref())
        .take(12)
        .map(|agent| visible(agent).into_owned())
        .collect();
    format!("known: {}", names.join(", "))
}

/// What is typed, with the cursor, scrolled so that the cursor is in view.
#[must_use]
pub fn input_line(input: &Input, sign: &str, width: usize) -> Toned {
    let value = input.value();
    let at = value
        .char_indices()
        .nth(input.cursor())
        .map_or(value.len(), |(at, _)| at);
    let before = visible(&value[..at]).into_owned();
    let after = visible(&value[at..]).into_owned();
    let room = width.saturating_sub(fit::columns(sign) + 1);
    let before = fit::clip_start(&before, room);
    let after = fit::take(&after, room - fit::columns(&before)).to_owned();
    vec![
        (Tone::Accent, sign.to_owned()),
        (Tone::Plain, before),
        (Tone::Accent, "▏".into()),
        (Tone::Plain, after),
    ]
}
