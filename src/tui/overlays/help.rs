//! All keys by scope, straight from the table and as they are bound, and what the signs mean; narrowed
//! by what is typed.

use crate::tui::action::{Action, Scope, TABLE};
use crate::tui::fit;
use crate::tui::overlays::page_width;
use crate::tui::signs::SIGNS;
use crate::tui::state::{Help, Pane, State};
use crate::tui::theme::{Tone, Toned};
use crate::tui::update::why_not;

/// Columns before what a key does.
const INDENT: usize = 19;
/// Lines that one key may take.
const AT_MOST: usize = 3;

/// The lines of the page, below the one that is typed.
#[must_use]
pub fn lines(state: &State, open: &Help) -> Vec<Toned> {
    let width = page_width(state.size.0).saturating_sub(INDENT).max(8);
    let needle = open.filter.value().trim();
    let mut lines = Vec::new();
    for scope in order(state.focus) {
        let actions = TABLE.iter().filter(|action| action.scope == scope);
        let mut actions = actions
            .filter(|action| matches(state, action, needle))
            .peekable();
        if actions.peek().is_none() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Toned::new());
        }
        lines.push(vec![(Tone::Accent, scope.title().to_owned())]);
        for action in actions {
            lines.extend(entry(state, action, width));
        }
    }
    let mut signs = SIGNS
        .iter()
        .filter(|(sign, says)| is_about(sign, says, needle))
        .peekable();
    if signs.peek().is_some() {
        if !lines.is_empty() {
            lines.push(Toned::new());
        }
        lines.push(vec![(Tone::Accent, "Signs".to_owned())]);
    }
    for (sign, says) in signs {
        lines.extend(two_columns(sign, says, (Tone::Accent, Tone::Plain), width));
    }
    if lines.is_empty() {
        let text = format!("No key is about {}.", crate::text::visible(needle));
        lines.push(vec![(Tone::Dim, fit::clip(&text, width + INDENT))]);
    }
    lines
}

/// The scopes, that of the pane with the focus first.
fn order(focus: Pane) -> Vec<Scope> {
    let first = match focus {
        Pane::Runs => Scope::Runs,
        Pane::Files => Scope::Files,
        Pane::Content => Scope::Content,
    };
    let others = Scope::ALL.into_iter().filter(|scope| *scope != first);
    std::iter::once(first).chain(others).collect()
}

/// Whether `needle` is the sign, or stands in what it says.
fn is_about(sign: &str, says: &str, needle: &str) -> bool {
    let needle = needle.to_lowercase();
    let letters = needle.chars().count();
    needle.is_empty()
        || sign.to_lowercase().split(' ').any(|one| one == needle)
        || (letters > 1 && format!("{says} signs").to_lowercase().contains(&needle))
}

/// Whether `needle` is one of the action's keys, or stands in its name or in what it does.
fn matches(state: &State, action: &Action, needle: &str) -> bool {
    if needle.is_empty() || state.keymap.keys(action.id).iter().any(|key| key == needle) {
        return true;
    }
    let needle = needle.to_lowercase();
    let holds = |text: &str| text.to_lowercase().contains(&needle);
    let keys = state.keymap.keys(action.id).iter();
    // One letter is a key, or else it would be in every word.
    if needle.chars().count() == 1 {
        return keys.into_iter().any(|key| key.to_lowercase() == needle);
    }
    holds(action.name)
        || holds(action.doc)
        || holds(&action.key())
        || keys.into_iter().any(|key| key.starts_with(&needle))
}

fn entry(state: &State, action: &Action, width: usize) -> Vec<Toned> {
    let why = match action.scope {
        Scope::Prompt => None,
        _ => why_not(state, action.id),
    };
    let tone = if why.is_some() {
        Tone::Dim
    } else {
        Tone::Plain
    };
    let bound = state.keymap.keys(action.id);
    let bound = match bound {
        [] => "unbound".to_owned(),
        keys => keys.join(" "),
    };
    let (key_tone, text) = match why {
        Some(why) => (Tone::Dim, format!("{} — {why}", action.doc)),
        None => (Tone::Accent, action.doc.to_owned()),
    };
    two_columns(&bound, &text, (key_tone, tone), width)
}

/// What is explained, and beside it what it does or says.
fn two_columns(what: &str, text: &str, tones: (Tone, Tone), width: usize) -> Vec<Toned> {
    let keys = fit::wrap(what, INDENT - 3);
    let mut lines: Vec<Toned> = Vec::new();
    let mut texts = fit::wrap_at_most(text, width, AT_MOST).into_iter();
    let mut keys = keys.into_iter();
    loop {
        let (left, right) = (keys.next(), texts.next());
        if left.is_none() && right.is_none() {
            return lines;
        }
        let left = fit::pad(&left.unwrap_or_default(), INDENT - 3);
        lines.push(vec![
            (tones.0, format!("  {left} ")),
            (tones.1, right.unwrap_or_default()),
        ]);
    }
}
