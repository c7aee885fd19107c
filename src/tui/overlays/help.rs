//! All keys by scope, straight from the table.

use crate::tui::action::{Scope, TABLE};
use crate::tui::fit;
use crate::tui::state::State;
use crate::tui::theme::{Tone, Toned};
use crate::tui::update::why_not;

/// The lines of the page.
#[must_use]
pub fn lines(state: &State) -> Vec<Toned> {
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
            let mut line = vec![
                (
                    Tone::Accent,
                    format!("  {} ", fit::pad(&action.keys.join(" "), 16)),
                ),
                (tone, action.doc.to_owned()),
            ];
            if let Some(why) = why {
                line[0].0 = Tone::Dim;
                line.push((Tone::Dim, format!(" — {why}")));
            }
            lines.push(line);
        }
    }
    lines
}
