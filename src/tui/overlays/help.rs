//! All keys by scope, straight from the table.

use crate::tui::action::{Scope, TABLE};
use crate::tui::fit;
use crate::tui::overlays::page_width;
use crate::tui::state::State;
use crate::tui::theme::{Tone, Toned};
use crate::tui::update::why_not;

/// Columns before what a key does.
const INDENT: usize = 19;
/// Lines that one key may take.
const AT_MOST: usize = 3;

/// The lines of the page.
#[must_use]
pub fn lines(state: &State) -> Vec<Toned> {
    let width = page_width(state.size.0).saturating_sub(INDENT).max(8);
    let mut lines = Vec::new();
    for scope in Scope::ALL {
        if !lines.is_empty() {
            lines.push(Toned::new());
        }
        lines.push(vec![(Tone::Accent, scope.title().to_owned())]);
        for action in TABLE.iter().filter(|action| action.scope == scope) {
            let why = match scope {
                Scope::Prompt => None,
                _ => why_not(state, action.id),
            };
            let tone = if why.is_some() {
                Tone::Dim
            } else {
                Tone::Plain
            };
            let keys = format!("  {} ", fit::pad(&action.keys.join(" "), INDENT - 3));
            let (key_tone, text) = match why {
                Some(why) => (Tone::Dim, format!("{} — {why}", action.doc)),
                None => (Tone::Accent, action.doc.to_owned()),
            };
            let text = fit::wrap_at_most(&text, width, AT_MOST).into_iter();
            lines.extend(text.enumerate().map(|(index, text)| match index {
                0 => vec![(key_tone, keys.clone()), (tone, text)],
                _ => vec![(tone, format!("{:INDENT$}{text}", ""))],
            }));
        }
    }
    lines
}
