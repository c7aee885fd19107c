//! The palette: runs by their id, actions by their name. An id that is typed whole wins over
//! everything; the database decides that, not what happens to be loaded.

use super::answers::offered;
use super::enabled::why_not;
use super::{act, files, open, request, show};
use crate::runs::{SHORTEST_PREFIX, gate};
use crate::text::{visible, visible_bytes};
use crate::tui::action::{Action, Scope, TABLE};
use crate::tui::fuzzy::Fuzzy;
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Failure, Overlay, Palette, PaletteItem, Pane, State, View};

/// Loaded runs that are offered.
const RUNS: usize = 6;
/// Changed files that are offered.
const FILES: usize = 8;
/// Fewer letters offer no files: they would be in every path.
const FILE_LETTERS: usize = 2;

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
    // One or two letters would be in every name.
    let enough = text.chars().count() >= 3;
    let mut fuzzy = enough.then(|| Fuzzy::new(&text.to_lowercase()));
    let mut actions: Vec<((u8, u32), &Action)> = TABLE
        .iter()
        .filter(|action| action.scope != Scope::Prompt && offered(action.id))
        .filter_map(|action| rank(action, text, &mut fuzzy).map(|rank| (rank, action)))
        .collect();
    actions.sort_by_key(|(rank, _)| *rank);
    palette.items.extend(
        actions
            .into_iter()
            .map(|(_, action)| PaletteItem::Action(action.id, why_not(state, action.id))),
    );
    palette.items.extend(changed_files(state, text));
}

/// Changed files of the open run whose path holds what is typed, those whose name begins so first.
fn changed_files(state: &State, text: &str) -> Vec<PaletteItem> {
    let (Some(compared), Some(tree)) = (state.compared(), state.tree()) else {
        return Vec::new();
    };
    if text.chars().count() < FILE_LETTERS {
        return Vec::new();
    }
    let needle = text.to_lowercase();
    let mut found: Vec<(bool, &[u8])> = compared
        .files
        .iter()
        .filter_map(|file| {
            let path = visible_bytes(&file.path).to_lowercase();
            let name = path.rsplit('/').next().unwrap_or(&path);
            path.contains(&needle)
                .then(|| (!name.starts_with(&needle), &file.path[..]))
        })
        .collect();
    found.sort();
    let whole = |path: &[u8]| match compared.root.is_empty() {
        true => path.to_vec(),
        false => [&compared.root[..], b"/", path].concat(),
    };
    let found = found.into_iter().map(|(_, path)| whole(path));
    let found = found.filter(|path| tree.find(path).is_some());
    found.take(FILES).map(PaletteItem::File).collect()
}

/// How well `text` names the action, 0 best; `None` when it does not.
fn rank(action: &Action, text: &str, fuzzy: &mut Option<Fuzzy>) -> Option<(u8, u32)> {
    // As the key configuration writes them, too.
    let text = text.to_lowercase().replace('-', " ");
    let name = action.name.to_lowercase();
    if name == text {
        return Some((0, 0));
    }
    if name.starts_with(&text) {
        return Some((1, 0));
    }
    if name.contains(&text) {
        return Some((2, 0));
    }
    let doc = action.doc.to_lowercase();
    let mut words = doc.split(|letter: char| !letter.is_alphanumeric());
    if words.any(|word| word.starts_with(&text)) {
        return Some((3, 0));
    }
    let score = fuzzy.as_mut()?.score(&name)?;
    Some((4, u32::MAX - score))
}

/// The text changed.
pub(super) fn edited(state: &mut State, out: &mut Vec<Effect>, palette: &mut Palette) {
    offer(state, palette);
    palette.refusal = None;
    let text = palette.input.value().trim();
    // Where nothing is offered, a short text is looked up too: it may be a whole id.
    if text.chars().count() >= SHORTEST_PREFIX || palette.items.is_empty() {
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
    if answer && palette.items.is_empty() && palette.asked == text && !is_named(text) {
        let refusal = gate(text, None, &state.as_opening()).err();
        palette.refusal = refusal.map(|error| visible(error.message()).into_owned());
    }
}

/// Whether `text` names a run by other means than its id.
fn is_named(text: &str) -> bool {
    text.starts_with("sha256:") || text.ends_with("@latest")
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
        Some(PaletteItem::File(path)) => return to_file(state, path),
        None if exact => return open::open(state, out, text),
        None if text.is_empty() => return,
        None => {}
    }
    let otherwise = palette.items.iter().find_map(|item| match item {
        PaletteItem::Action(id, _) => Some(*id),
        PaletteItem::Run(_) | PaletteItem::File(_) => None,
    });
    // Nothing else begins so, as far as is known.
    if let (None, Some(PaletteItem::File(path))) = (otherwise, first) {
        return to_file(state, path);
    }
    request(state, out, Request::Resolve { text, otherwise });
}

/// Goes to a changed file.
fn to_file(state: &mut State, path: &[u8]) {
    files::to_path(state, path);
    state.files.touched = true;
    show(state, View::Diff);
    state.focus = Pane::Content;
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
