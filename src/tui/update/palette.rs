//! The palette: runs by their id, actions by their name. An id that is typed whole wins over
//! everything; the database decides that, not what happens to be loaded.

use super::answers::offered;
use super::enabled::why_not;
use super::{act, open, request};
use crate::runs::gate;
use crate::text::visible;
use crate::tui::action::{Action, Scope, TABLE};
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Failure, Overlay, Palette, PaletteItem, State};

/// Loaded runs that are offered.
const RUNS: usize = 6;
/// Shorter starts of an id are not looked up.
const PREFIX: usize = 8;

/// Makes the offers for what is typed.
pub(super) fn offer(state: &State, palette: &mut Palette) {
    let text = palette.input.value().trim();
    palette.chosen = None;
    palette.items.clear();
    if !text.is_empty() {
        let loaded = state.runs.runs.iter().map(|run| &run.run_id);
        let starting = loaded.filter(|run_id| run_id.starts_with(text)).take(RUNS);
        let mut runs: Vec<String> = starting.cloned().collect();
        for found in &palette.found {
            if found.starts_with(text) && !runs.contains(found) {
                runs.push(found.clone());
            }
        }
        // The one typed whole comes first.
        runs.sort_by_key(|run_id| run_id != text);
        palette.items.extend(runs.into_iter().map(PaletteItem::Run));
    }
    let mut actions: Vec<(u8, &Action)> = TABLE
        .iter()
        .filter(|action| action.scope != Scope::Prompt && offered(action.id))
        .filter_map(|action| rank(action, text).map(|rank| (rank, action)))
        .collect();
    actions.sort_by_key(|(rank, _)| *rank);
    palette.items.extend(
        actions
            .into_iter()
            .map(|(_, action)| PaletteItem::Action(action.id, why_not(state, action.id))),
    );
}

/// How well `text` names the action, 0 best; `None` when it does not.
fn rank(action: &Action, text: &str) -> Option<u8> {
    let text = text.to_lowercase();
    let name = action.name.to_lowercase();
    if name == text {
        return Some(0);
    }
    if name.starts_with(&text) {
        return Some(1);
    }
    if name.contains(&text) {
        return Some(2);
    }
    let doc = action.doc.to_lowercase();
    let mut words = doc.split(|letter: char| !letter.is_alphanumeric());
    if words.any(|word| word.starts_with(&text)) {
        return Some(3);
    }
    // Letters in order, with others between them; one or two would be in every name.
    if text.chars().count() < 3 {
        return None;
    }
    let mut rest = name.chars();
    text.chars()
        .filter(|letter| !letter.is_whitespace())
        .all(|letter| rest.any(|other| other == letter))
        .then_some(4)
}

/// The text changed.
pub(super) fn edited(state: &mut State, out: &mut Vec<Effect>, palette: &mut Palette) {
    offer(state, palette);
    palette.refusal = None;
    let text = palette.input.value().trim();
    // Where nothing is offered, a short text is looked up too: it may be a whole id.
    if text.chars().count() >= PREFIX || palette.items.is_empty() {
        let prefix = text.to_owned();
        palette.asked.clone_from(&prefix);
        request(state, out, Request::Lookup { prefix });
    }
}

/// What was looked up is there, for the text that is typed or an older one.
pub(super) fn found(state: &State, palette: &mut Palette, found: Result<Vec<String>, Failure>) {
    let answer = found.is_ok();
    // A failing lookup offers nothing; opening will say what is wrong.
    palette.found = found.unwrap_or_default();
    offer(state, palette);
    let text = palette.input.value().trim();
    if answer && palette.items.is_empty() && palette.asked == text {
        let refusal = gate(text, None, &state.as_opening()).err();
        palette.refusal = refusal.map(|error| visible(error.message()).into_owned());
    }
}

/// `enter`.
pub(super) fn accept(state: &mut State, out: &mut Vec<Effect>, palette: &Palette) {
    state.overlay = None;
    let text = palette.input.value().trim().to_owned();
    let first = palette.items.first();
    let exact = matches!(first, Some(PaletteItem::Run(run_id)) if *run_id == text);
    match palette.chosen.and_then(|at| palette.items.get(at)) {
        Some(PaletteItem::Run(run_id)) => return open::open(state, out, run_id.clone()),
        Some(PaletteItem::Action(id, _)) => return act(state, out, *id),
        None if exact => return open::open(state, out, text),
        None if text.is_empty() => return,
        None => {}
    }
    let otherwise = palette.items.iter().find_map(|item| match item {
        PaletteItem::Action(id, _) => Some(*id),
        PaletteItem::Run(_) => None,
    });
    request(state, out, Request::Resolve { text, otherwise });
}

/// Moves in the list.
pub(super) fn step(palette: &mut Palette, forward: bool) {
    let last = palette.items.len().saturating_sub(1);
    palette.chosen = match (palette.chosen, forward) {
        _ if palette.items.is_empty() => None,
        (None, true) => Some(0),
        (None, false) => Some(last),
        (Some(at), true) => Some((at + 1).min(last)),
        (Some(0), false) => None,
        (Some(at), false) => Some(at - 1),
    };
}

/// Puts the palette back over the panes.
pub(super) fn keep(state: &mut State, palette: Palette) {
    state.overlay = Some(Overlay::Palette(palette));
}
