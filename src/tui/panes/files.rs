//! The tree that a restore would write, as it would write it, with what changed marked on it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::{grouped, human_bytes, visible, visible_bytes};
use crate::tui::fit;
use crate::tui::state::{
    FileRow, FileTree, NodeKind, Pane, Show, State, counts, status_tone, toned_width,
};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::tree::{self, TreeRow};
use crate::tui::view::{put, title_room};

/// The title, and how many files changed.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let mut left = vec![(Tone::Strong, "2 Files".to_owned())];
    if state.tree().is_none() {
        return (left, Toned::new());
    }
    if state.files.show != Show::All {
        left.push((Tone::Warn, format!("  {}", state.files.show.word())));
    }
    if !state.files.text.is_empty() {
        left.push((Tone::Warn, format!("  /{}", visible(&state.files.text))));
    }
    let forms = match state.compared() {
        Some(compared) => {
            let changed = grouped(compared.files.len() as u64);
            let mut forms = Vec::new();
            if compared.ignored > 0 {
                let ignored = grouped(compared.ignored);
                forms.push(format!("{changed} changed · {ignored} ignored"));
                forms.push(format!("{changed} changed · {ignored} ign."));
                forms.push(format!("{changed} ch. · {ignored} ign."));
            }
            forms.push(format!("{changed} changed"));
            forms.push(format!("{changed} ch."));
            forms.push(changed);
            forms
        }
        None => state.tree().map_or_else(Vec::new, |tree| {
            let entries = grouped(tree.entries);
            vec![format!("{entries} entries"), entries]
        }),
    };
    let right = fit::first_form(forms, title_room(&left, width));
    (left, vec![(Tone::Dim, right)])
}

/// The rows.
pub fn draw(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) {
    let Some(tree) = state.tree().filter(|_| !state.files.rows.is_empty()) else {
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
    };
    let files = &state.files;
    let window = files
        .rows
        .iter()
        .enumerate()
        .skip(files.top)
        .take(body.height.into());
    let mut cursor = None;
    let mut rows = Vec::with_capacity(body.height.into());
    for (at, (index, row)) in window.enumerate() {
        if index == files.cursor {
            cursor = Some(at);
        }
        let width = usize::from(body.width).saturating_sub(row.depth * 2);
        rows.push(TreeRow {
            depth: row.depth,
            line: theme.line(line(state, tree, row, width)),
        });
    }
    tree::draw(
        rows,
        cursor,
        theme.cursor(state.focus == Pane::Files),
        body,
        buffer,
    );
}

fn empty(state: &State) -> Vec<(Tone, String)> {
    if let Some(refusal) = &state.refusal {
        let mut lines = vec![(Tone::Bad, "✖ not opened, so there are no files".to_owned())];
        if let Some(hint) = &refusal.failure.hint {
            lines.push((Tone::Plain, format!("→ {hint}")));
        }
        return lines;
    }
    if state.opened.is_none() {
        let text = match state.opening {
            Some(_) => "Opening…",
            None => "The files of a run stand here once it is open: enter on a run.",
        };
        return vec![(Tone::Dim, text.into())];
    }
    let text = match state.files.show {
        _ if !state.files.text.is_empty() => "No file matches. esc drops the filter.",
        Show::Changed if state.compared().is_none() => "Comparing… x shows all files.",
        Show::Changed => "No file changed against this base. x shows the others.",
        Show::Ignored => "No file is ignored. x shows all files.",
        Show::All => "The checkpoint holds no files.",
    };
    vec![(Tone::Dim, text.into())]
}

fn line(state: &State, tree: &FileTree, row: &FileRow, width: usize) -> Toned {
    let node = &tree.nodes[row.node];
    let compared = state.compared();
    let change = node.change.and_then(|index| compared?.files.get(index));
    let name = visible_bytes(node.name());
    let mut line = Toned::new();
    if node.is_folder() {
        line.push((Tone::Plain, if row.open { "▾ " } else { "▸ " }.into()));
        if let Some(change) = change {
            line.push((
                status_tone(change.status),
                format!("{} ", change.status.letter()),
            ));
        }
        line.push((
            Tone::Strong,
            format!("{name}{}", if change.is_some() { "/" } else { "" }),
        ));
        if node.changed > 0 && !row.open {
            line.push((
                Tone::Changed,
                format!("  {} changed", grouped(node.changed as u64)),
            ));
        }
        return clipped(line, width);
    }
    let tone = match change {
        Some(change) => {
            let tone = status_tone(change.status);
            line.push((tone, format!("{} ", change.status.letter())));
            tone
        }
        None => {
            line.push((Tone::Plain, "  ".into()));
            if node.ignored { Tone::Dim } else { Tone::Plain }
        }
    };
    line.push((tone, name));
    if let Some(old) = change.and_then(|change| change.old_path.as_ref()) {
        line.push((Tone::Dim, format!(" ← {}", visible_bytes(old))));
    }
    match &node.kind {
        NodeKind::Link(target) => {
            line.push((Tone::Dim, format!(" → {}", visible_bytes(target))));
        }
        NodeKind::AbsoluteLink(target) => {
            // The mark first: a long target is clipped.
            line.push((Tone::Warn, " (left out)".into()));
            line.push((Tone::Dim, format!(" → {}", visible_bytes(target))));
        }
        _ => {}
    }
    if node.ignored && change.is_none() {
        line.push((Tone::Dim, " (ignored)".into()));
    }
    match (change, &node.kind) {
        (Some(change), _) => line.extend(counts(change)),
        (None, NodeKind::File(size)) => {
            let size = human_bytes(*size);
            if toned_width(&line) + size.len() + 2 <= width {
                line.push((Tone::Dim, format!("  {size}")));
            }
        }
        _ => {}
    }
    clipped(line, width)
}

/// Clips what is said beside the name first (targets, sizes), then the name; counts and marks stay.
fn clipped(mut line: Toned, width: usize) -> Toned {
    let over = |line: &Toned| toned_width(line).saturating_sub(width);
    for part in (0..line.len()).rev() {
        let missing = over(&line);
        let (tone, text) = &mut line[part];
        if missing == 0 || *tone != Tone::Dim {
            continue;
        }
        let room = fit::columns(text).saturating_sub(missing);
        *text = if room < 5 {
            String::new()
        } else {
            fit::clip(text, room)
        };
    }
    let missing = over(&line);
    if missing > 0
        && let Some((_, text)) = line.iter_mut().max_by_key(|(_, text)| fit::columns(text))
    {
        let room = fit::columns(text).saturating_sub(missing);
        *text = fit::clip(text, room.max(6));
    }
    line
}
