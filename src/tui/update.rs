//! State and message in, state changed and effects out: nothing here waits, reads or draws. A key
//! goes to the overlay when there is one, else to the action that the table gives for it.

mod acting;
mod answers;
mod away;
mod compare;
mod comparison;
mod content;
mod copy;
mod enabled;
mod files;
mod info;
mod live;
mod mouse;
mod open;
mod overlay;
mod palette;
mod place;
mod prompt;
mod reopen;
mod run_pages;
mod runs;
mod search;
mod way_out;

use crossterm::event::{KeyEvent, KeyEventKind};

pub(in crate::tui) use acting::at_work;
pub use acting::edited;
pub use enabled::why_not;

use super::action::{Id, Scope, action};
use super::message::{Effect, Message, PageUse, Request, Slot};
use super::state::{Help, JobLine, Overlay, Palette, Pane, Prompt, PromptKind, State, View};
use super::theme::Tone;
use crate::text::visible;

/// Takes `message` in and says what is to be done.
pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    let mut out = Vec::new();
    let awaited = away::unfinished(state, &message);
    match message {
        Message::Start => start(state, &mut out),
        Message::Key(event) => key(state, &mut out, &event),
        Message::Paste(text) => overlay::paste(state, &mut out, &text),
        Message::Mouse(event) => mouse::mouse(state, &mut out, event),
        Message::Resize(width, height) => state.size = (width, height),
        Message::Focus(here) => live::focus(state, &mut out, here),
        Message::Look => live::due(state, &mut out),
        Message::NotCopied(text, why) => copy::to_file(state, &mut out, text, &why),
        Message::Tick => {
            live::pass(state);
            if let Some(opening) = &mut state.opening {
                opening.chain.now = state.now_ms;
            }
        }
        Message::Answer(number, answer) => answers::answer(state, &mut out, number, answer),
    }
    away::tell(state, &mut out, awaited);
    settle(state, &mut out);
    out
}

/// Starts a job and remembers that its slot waits for it.
pub(super) fn request(state: &mut State, out: &mut Vec<Effect>, request: Request) -> u64 {
    state.last_number += 1;
    let number = state.last_number;
    if let Some(older) = state.awaited.insert(request.slot(), number) {
        state.job_ended(older, Tone::Dim, "given up for a newer one");
    }
    out.push(Effect::Start(number, request));
    number
}

/// Stops what runs in `slot`; whatever it still answers is late.
pub(super) fn stop(state: &mut State, out: &mut Vec<Effect>, slot: Slot) {
    if let Some(number) = state.awaited.remove(&slot) {
        state.job_ended(number, Tone::Dim, "stopped");
        out.push(Effect::Cancel(slot));
    }
}

/// Puts a job on the list of jobs.
pub(super) fn job_began(state: &mut State, number: u64, what: String) {
    const KEPT: usize = 100;
    if state.jobs.len() >= KEPT {
        state.jobs.remove(0);
    }
    state.jobs.push(JobLine {
        number,
        what,
        began_ms: state.now_ms,
        outcome: None,
        ended: None,
        progress: None,
    });
}

fn start(state: &mut State, out: &mut Vec<Effect>) {
    live::ask(state, out);
    runs::reload(state, out, PageUse::Replace);
    live::start(state, out);
    if let Some(run_id) = state.open_first.take() {
        let place = state.place.take();
        open::open(state, out, run_id);
        state.place = place;
    }
}

fn key(state: &mut State, out: &mut Vec<Effect>, event: &KeyEvent) {
    if event.kind == KeyEventKind::Release {
        return;
    }
    if state.note.as_ref().is_some_and(|note| !note.stays) {
        state.note = None;
    }
    if state.overlay.is_some() {
        return overlay::key(state, out, event);
    }
    let scope = scope(state);
    if let Some(id) = state.keymap.lookup(scope, event) {
        return act(state, out, id);
    }
    // No key of ours is dead without a word.
    if let Some((pane, id)) = state.keymap.elsewhere(scope, event) {
        let (pane, focus) = match pane {
            Scope::Runs => ("runs", Id::PaneRuns),
            Scope::Files => ("files", Id::PaneFiles),
            _ => ("content", Id::PaneContent),
        };
        let text = format!(
            "{}: in the {pane} ({})",
            action(id).name,
            state.keymap.how(focus)
        );
        state.say(Tone::Dim, text);
    }
}

/// The pane whose keys count.
pub(super) fn scope(state: &State) -> Scope {
    match state.focus {
        Pane::Runs => Scope::Runs,
        Pane::Files => Scope::Files,
        Pane::Content => Scope::Content,
    }
}

/// Does `id`, or says why it cannot be done.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>, id: Id) {
    if let Some(why) = why_not(state, id) {
        state.say(Tone::Warn, format!("{}: {why}", action(id).name));
        return;
    }
    match id {
        Id::Quit => out.push(Effect::Quit),
        Id::Suspend => out.push(Effect::Suspend),
        Id::Stop => {
            if !stop_one(state, out) {
                out.push(Effect::Quit);
            }
        }
        Id::Back => back(state, out),
        Id::PaneRuns => state.focus = Pane::Runs,
        Id::PaneFiles => state.focus = Pane::Files,
        Id::PaneContent => state.focus = Pane::Content,
        Id::NextPane => turn_focus(state, 1),
        Id::LastPane => turn_focus(state, 2),
        Id::Zoom => state.zoom = !state.zoom,
        Id::Help => state.overlay = Some(Overlay::Help(Help::default())),
        Id::Jobs => state.overlay = Some(Overlay::Jobs(0)),
        Id::Palette => {
            let mut palette = Palette::default();
            palette::offer(state, &mut palette);
            state.overlay = Some(Overlay::Palette(palette));
        }
        Id::Find => find(state),
        Id::Mouse => {
            state.mouse = !state.mouse;
            out.push(Effect::Mouse(state.mouse));
            let how = if state.mouse {
                "on"
            } else {
                "off: the terminal selects text"
            };
            state.say(Tone::Plain, format!("mouse {how}"));
        }
        Id::Refresh => {
            live::forget(state);
            live::ask(state, out);
            runs::reload(state, out, PageUse::Replace);
            state.say(Tone::Plain, run_pages::READING);
        }
        Id::OpenAs => {
            let now = state.opening_as.clone().unwrap_or_default();
            state.overlay = Some(Overlay::Prompt(Prompt::new(PromptKind::OpenAs, now)));
        }
        Id::Restore => prompt::ask_restore(state),
        Id::Patch => prompt::ask_patch(state),
        Id::Copy => copy::copy(state, out),
        Id::CopyPatch => acting::copy_patch(state, out),
        Id::Fetch => acting::ask_fetch(state),
        Id::Editor => acting::edit(state, out),
        Id::PreviousTurn | Id::NextTurn => {
            let run_id = state
                .current
                .clone()
                .or_else(|| state.runs.selected().map(|run| run.run_id.clone()));
            if let Some(run_id) = run_id {
                let forward = id == Id::NextTurn;
                request(state, out, Request::Turn { run_id, forward });
            }
        }
        Id::Down
        | Id::Up
        | Id::Top
        | Id::Bottom
        | Id::HalfDown
        | Id::HalfUp
        | Id::Fold
        | Id::Unfold => match state.focus {
            Pane::Runs => runs::act(state, out, id),
            Pane::Files => files::act(state, out, id),
            Pane::Content => content::act(state, out, id),
        },
        _ => match action(id).scope {
            Scope::Runs => runs::act(state, out, id),
            Scope::Files => files::act(state, out, id),
            _ => content::act(state, out, id),
        },
    }
}

fn turn_focus(state: &mut State, by: usize) {
    let at = Pane::ALL
        .iter()
        .position(|pane| *pane == state.focus)
        .unwrap_or(0);
    state.focus = Pane::ALL[(at + by) % Pane::ALL.len()];
}

/// `/`: filters a list, searches a content.
fn find(state: &mut State) {
    let prompt = match state.focus {
        Pane::Runs => Prompt::new(PromptKind::FilterRuns, state.runs.text.clone()),
        Pane::Files => Prompt::new(PromptKind::FilterFiles, state.files.text.clone()),
        Pane::Content => Prompt::new(PromptKind::Search, ""),
    };
    state.overlay = Some(Overlay::Prompt(prompt));
}

/// Stops the job that a person would mean by it; whether there was one.
fn stop_one(state: &mut State, out: &mut Vec<Effect>) -> bool {
    if state.restoring.is_some() {
        // Its answer is still waited for: it says that nothing was left behind.
        out.push(Effect::Cancel(Slot::Restore));
        state.say(Tone::Warn, "stopping the restore, removing what it wrote");
    } else if state.fetching.is_some() {
        out.push(Effect::Cancel(Slot::Fetch));
        state.say(Tone::Warn, "stopping the fetch, removing what it wrote");
    } else if let Some(opening) = state.opening.take() {
        stop(state, out, Slot::Open);
        state.current = state.opened.as_ref().map(|run| run.row.run_id.clone());
        state.report(
            Tone::Warn,
            format!("stopped opening {}", visible(&opening.run_id)),
        );
    } else if state.awaited.contains_key(&Slot::Clip) {
        stop(state, out, Slot::Clip);
        state.report(Tone::Warn, "stopped making the patch; nothing is copied");
    } else if state.awaited.contains_key(&Slot::Write) {
        out.push(Effect::Cancel(Slot::Write));
        state.say(Tone::Warn, "stopping the patch, removing what it wrote");
    } else if state.awaited.contains_key(&Slot::Diff) {
        stop(state, out, Slot::Diff);
        comparison::compared(state, Err(crate::Error::cancelled().into()));
        let base = state.keymap.how(Id::Base);
        state.report(
            Tone::Warn,
            format!("stopped the comparison; {base} starts another"),
        );
    } else {
        return false;
    }
    true
}

/// `esc`: one layer back.
fn back(state: &mut State, out: &mut Vec<Effect>) {
    if stop_one(state, out) {
        return;
    }
    if state.note.take().is_some() {
        return;
    }
    if state.refusal.take().is_some() {
        state.current = state.opened.as_ref().map(|run| run.row.run_id.clone());
        files::rebuild(state);
        return;
    }
    if state.focus == Pane::Content && state.content.search.take().is_some() {
        return;
    }
    if state.focus == Pane::Files && !state.files.marked.is_empty() {
        state.files.marked.clear();
        return;
    }
    if state.focus == Pane::Files && !state.files.text.is_empty() {
        state.files.text.clear();
        return files::rebuild(state);
    }
    if state.focus == Pane::Runs && runs::back(state, out) {
        return;
    }
    if state.zoom {
        state.zoom = false;
        return;
    }
    match state.focus {
        Pane::Content => state.focus = Pane::Files,
        Pane::Files => state.focus = Pane::Runs,
        Pane::Runs => {
            let quit = state.keymap.how(Id::Quit);
            state.say(Tone::Dim, format!("nothing to go back to; {quit} quits"));
        }
    }
}

/// What follows from whatever just changed: rows for the width, cursors in view, content in step.
fn settle(state: &mut State, out: &mut Vec<Effect>) {
    if state.areas().too_small {
        return;
    }
    runs::settle(state, out);
    files::settle(state);
    content::follow(state, out);
    content::settle(state);
    live::follow_binding(state, out);
}

/// Shows `view`, and the content pane where it is not on the screen.
pub(super) fn show(state: &mut State, view: View) {
    if state.content.view != view {
        state.content.left = 0;
    }
    state.content.view = view;
    if state.areas().content.is_none() {
        state.focus = Pane::Content;
    }
}

/// The first row of a list of rows so that `from` to `to` are among the `height` that are shown.
pub(super) fn in_view(top: usize, from: usize, to: usize, height: usize, rows: usize) -> usize {
    let height = height.max(1);
    let mut top = top.min(rows.saturating_sub(height));
    if to >= top + height {
        top = to + 1 - height;
    }
    top.min(from)
}
