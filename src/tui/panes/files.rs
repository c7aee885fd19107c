//! The tree that a restore would write, as it would write it, with what changed marked on it.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::file_columns::Columns;
use super::{file_row, titled};
use crate::text::{grouped, visible, visible_bytes};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::fuzzy::Fuzzy;
use crate::tui::message::Compared;
use crate::tui::state::{FileTree, Pane, Show, State};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::tree::{self, TreeRow};
use crate::tui::view::{put, title_room};

/// What a row is drawn from, gathered once for a frame.
pub(super) struct Shown<'a> {
    pub(super) tree: &'a FileTree,
    pub(super) compared: Option<&'a Compared>,
    viewed: Option<&'a HashSet<Vec<u8>>>,
    marked: &'a HashSet<Vec<u8>>,
    fuzzy: Option<Fuzzy>,
}

impl<'a> Shown<'a> {
    fn of(state: &'a State, tree: &'a FileTree) -> Self {
        let text = &state.files.text;
        Self {
            tree,
            compared: state.compared().map(|compared| &**compared),
            viewed: state.viewed(),
            marked: &state.files.marked,
            fuzzy: (!text.is_empty()).then(|| Fuzzy::new(text)),
        }
    }

    /// Whether the file at `path` is ticked off.
    pub(super) fn viewed(&self, path: &[u8]) -> bool {
        self.viewed.is_some_and(|viewed| viewed.contains(path))
    }

    /// Whether `path` is marked itself.
    pub(super) fn marked(&self, path: &[u8]) -> bool {
        self.marked.contains(path)
    }

    /// Which characters of the last part of `path`, made visible, the filter found.
    pub(super) fn letters(&mut self, path: &[u8]) -> Vec<usize> {
        let Some(fuzzy) = &mut self.fuzzy else {
            return Vec::new();
        };
        fuzzy.letters_of_name(&visible_bytes(path))
    }
}

/// The title, and how many files changed.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let mut left = vec![(Tone::Strong, titled(state, Id::PaneFiles, "Files"))];
    if state.tree().is_none() {
        return (left, Toned::new());
    }
    if state.files.show != Show::All {
        left.push((Tone::Warn, format!("  {}", state.files.show.word())));
    }
    if !state.files.text.is_empty() {
        left.push((Tone::Warn, format!("  /{}", visible(&state.files.text))));
    }
    if !state.files.marked.is_empty() {
        let marked = grouped(state.files.marked.len() as u64);
        left.push((Tone::Warn, format!("  * {marked}")));
    }
    let forms = match state.compared() {
        _ if state.files.found.is_some() => {
            let (found, all) = state.files.found.unwrap_or_default();
            let (found, all) = (grouped(found as u64), grouped(all as u64));
            vec![
                format!("{found} of {all} files"),
                format!("{found} of {all}"),
                found,
            ]
        }
        Some(compared) => {
            let changed = grouped(compared.files.len() as u64);
            let mut forms = Vec::new();
            let viewed = state.viewed_now() as u64;
            if viewed > 0 {
                forms.push(format!("{} of {changed} viewed", grouped(viewed)));
                forms.push(format!("✓ {} of {changed}", grouped(viewed)));
            }
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
    let mut shown = Shown::of(state, tree);
    let window = files
        .rows
        .iter()
        .enumerate()
        .skip(files.top)
        .take(body.height.into());
    let deepest = window.clone().map(|(_, row)| row.depth).max().unwrap_or(0);
    let columns = Columns::of(shown.compared, body.width.into(), deepest);
    let mut cursor = None;
    let mut rows = Vec::with_capacity(body.height.into());
    for (at, (index, row)) in window.enumerate() {
        if index == files.cursor {
            cursor = Some(at);
        }
        let width = usize::from(body.width).saturating_sub(row.depth * 2);
        rows.push(TreeRow {
            depth: row.depth,
            line: theme.row(file_row::line(&mut shown, row, &columns, width), width),
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
            Some(_) => "Opening…".into(),
            None => format!(
                "The files of a run stand here once it is open: {} on a run.",
                state.keymap.how(Id::OpenRun)
            ),
        };
        return vec![(Tone::Dim, text)];
    }
    let others = state.keymap.how(Id::ShowFiles);
    let text = match state.files.show {
        _ if !state.files.text.is_empty() => {
            let back = state.keymap.how(Id::Back);
            format!("No file matches. {back} drops the filter.")
        }
        Show::Changed if state.compared().is_none() => {
            format!("Comparing… {others} shows all files.")
        }
        Show::Changed => format!("No file changed against this base. {others} shows the others."),
        Show::Ignored => format!("No file is ignored. {others} shows all files."),
        Show::All => "The checkpoint holds no files.".into(),
    };
    vec![(Tone::Dim, text)]
}
