//! A plan, shown before it is carried out. What is confirmed is that very plan: it is not made again.

use crate::text::{grouped, human_bytes, visible_bytes};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::message::Written;
use crate::tui::state::State;
use crate::tui::theme::{Tone, Toned};

/// Left-out links that are named.
const NAMED: usize = 3;

/// The plan in lines of `width` columns.
#[must_use]
pub fn lines(state: &State, plan: &Written, only: &[Vec<u8>], width: usize) -> Vec<Toned> {
    let mut lines = vec![vec![(Tone::Strong, "Plan".to_owned())]];
    // Whole, however long: this is what is agreed to.
    let destination = fit::wrap(&plan.destination, width.saturating_sub(11).max(8));
    let names = std::iter::once("writes").chain(std::iter::repeat(""));
    let destination = names.zip(&destination);
    lines.extend(destination.map(|(name, part)| field(name, part, width)));
    lines.push(field(
        "entries",
        &format!("{}, {}", grouped(plan.entries), human_bytes(plan.bytes)),
        width,
    ));
    if !only.is_empty() {
        let marked = fit::count(only.len() as u64, "marked path");
        lines.push(field("only", &marked, width));
        let named = only.iter().take(NAMED).map(|path| visible_bytes(path));
        lines.extend(named.map(|path| field("", &path, width)));
        if only.len() > NAMED {
            lines.push(field(
                "",
                &format!("… and {} more", only.len() - NAMED),
                width,
            ));
        }
    }
    if plan.left_out.is_empty() {
        lines.push(field("left out", "nothing", width));
    } else {
        let links = fit::count(plan.left_out.len() as u64, "link");
        let mut line = field("left out", &format!("{links} to absolute paths"), width);
        line[1].0 = Tone::Warn;
        lines.push(line);
        let named = plan.left_out.iter().take(NAMED);
        lines.extend(
            named.map(|path| field("", &fit::clip_start(path, width.saturating_sub(11)), width)),
        );
        if plan.left_out.len() > NAMED {
            let more = plan.left_out.len() - NAMED;
            lines.push(field("", &format!("… and {more} more"), width));
        }
    }
    lines.push(Toned::new());
    lines.push(vec![
        (Tone::Accent, state.keymap.how(Id::Accept)),
        (Tone::Plain, " restores · ".into()),
        (Tone::Accent, state.keymap.how(Id::Cancel)),
        (Tone::Plain, " leaves it".into()),
    ]);
    lines
}

fn field(name: &str, value: &str, width: usize) -> Toned {
    vec![
        (Tone::Dim, format!("  {name:<9}")),
        (
            Tone::Plain,
            fit::clip_start(value, width.saturating_sub(11)),
        ),
    ]
}
