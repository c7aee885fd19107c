//! The palette: what is typed, and what it may mean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::{visible, visible_bytes};
use crate::tui::action::{Id, action};
use crate::tui::fit;
use crate::tui::layout::Areas;
use crate::tui::overlays::{frame, prompt::input_line};
use crate::tui::state::{Palette, PaletteItem, State};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::view::put;

const OFFERS: usize = 14;

/// Draws it.
pub fn draw(state: &State, palette: &Palette, theme: Theme, areas: &Areas, buffer: &mut Buffer) {
    let rows = palette.items.len().clamp(1, OFFERS) + 4;
    let title = " An action, or the id of a run ";
    let height = u16::try_from(rows).unwrap_or(u16::MAX);
    let body = frame(title, 76, height, theme, areas, buffer);
    let width = usize::from(body.width);
    let mut lines = body.rows();
    if let Some(row) = lines.next() {
        put(theme, input_line(&palette.input, ": ", width), row, buffer);
    }
    if let Some(row) = lines.next().filter(|_| palette.input.value().is_empty()) {
        let also = "or sha256:DIGEST, AGENT@latest, or a part of a changed file's path";
        put(
            theme,
            vec![(Tone::Dim, fit::clip(also, width))],
            row,
            buffer,
        );
    }
    let text = palette.input.value().trim();
    if palette.items.is_empty() {
        let (tone, line) = match &palette.refusal {
            Some(refusal) => (Tone::Bad, format!("✖ {refusal}")),
            None => {
                let enter = state.keymap.how(Id::Accept);
                let line = format!("{enter} opens the run {}", visible(text));
                (Tone::Dim, line)
            }
        };
        if let Some(row) = lines.next() {
            put(theme, vec![(tone, fit::clip(&line, width))], row, buffer);
        }
        return;
    }
    let room = usize::from(body.height).saturating_sub(2);
    let at = palette.chosen.unwrap_or(0);
    let top = (at + 1).saturating_sub(room);
    for (index, item) in palette.items.iter().enumerate().skip(top) {
        let Some(row) = lines.next() else { break };
        put(theme, line(state, item, width), row, buffer);
        if palette.chosen == Some(index) || palette.chosen.is_none() && taken(palette, index) {
            let line = Rect::new(row.x, row.y, row.width, 1);
            buffer.set_style(line, theme.cursor(true));
        }
    }
}

/// Whether `enter` takes this one when nothing was moved to: the run typed whole, else the first
/// action (unless the database knows what was typed as a run).
fn taken(palette: &Palette, index: usize) -> bool {
    let text = palette.input.value().trim();
    if text.is_empty() {
        return false;
    }
    if matches!(palette.items.first(), Some(PaletteItem::Run(run_id)) if run_id == text) {
        return index == 0;
    }
    let first = palette
        .items
        .iter()
        .position(|item| matches!(item, PaletteItem::Action(..)));
    match (first, palette.items.first()) {
        (None, Some(PaletteItem::File(_))) => index == 0,
        (first, _) => first == Some(index),
    }
}

fn line(state: &State, item: &PaletteItem, width: usize) -> Toned {
    match item {
        PaletteItem::File(path) => vec![
            (Tone::Accent, "go to ".into()),
            (
                Tone::Plain,
                fit::clip_start(&visible_bytes(path), width.saturating_sub(6)),
            ),
        ],
        PaletteItem::Run(run_id) => vec![
            (Tone::Accent, "open ".into()),
            (
                Tone::Plain,
                fit::clip(&visible(run_id), width.saturating_sub(5)),
            ),
        ],
        PaletteItem::Action(id, why) => {
            let action = action(*id);
            let tone = if why.is_some() {
                Tone::Dim
            } else {
                Tone::Plain
            };
            let doc = match why {
                Some(why) => format!("— {why}"),
                None => action.doc.to_owned(),
            };
            let name = fit::pad(action.name, 15);
            let keys = fit::clip(&state.keymap.keys(*id).join(" "), 12);
            let keys = fit::pad(&keys, 13);
            vec![
                (tone, format!("{name} ")),
                (
                    if why.is_some() {
                        Tone::Dim
                    } else {
                        Tone::Accent
                    },
                    keys,
                ),
                (Tone::Dim, fit::clip_words(&doc, width.saturating_sub(29))),
            ]
        }
    }
}
