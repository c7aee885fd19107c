//! Keys while something lies over the panes, and text that is pasted.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, InputRequest};

use super::{act, palette, prompt, scope};
use crate::tui::action::{Id, Scope};
use crate::tui::message::{Completion, Effect, Written};
use crate::tui::overlays;
use crate::tui::state::{Failure, Help, Overlay, PromptKind, State};
use crate::tui::theme::Tone;

/// A key for the overlay.
pub(super) fn key(state: &mut State, out: &mut Vec<Effect>, event: &KeyEvent) {
    let id = state.keymap.lookup(Scope::Prompt, event);
    match state.overlay.take() {
        None => {}
        Some(Overlay::Prompt(mut open)) => match id {
            Some(Id::Accept) => prompt::accept(state, out, open),
            Some(Id::Cancel) => prompt::cancel(state, out, open),
            Some(Id::Complete) => {
                prompt::complete(state, out, &open);
                state.overlay = Some(Overlay::Prompt(open));
            }
            _ => {
                if edit(&mut open.input, id, event) {
                    prompt::edited(state, out, &mut open);
                }
                state.overlay = Some(Overlay::Prompt(open));
            }
        },
        Some(Overlay::Palette(mut open)) => match id {
            Some(Id::Accept) => palette::accept(state, out, &open),
            Some(Id::Cancel) => {}
            Some(Id::ListDown) => {
                palette::step(&mut open, true);
                palette::keep(state, open);
            }
            Some(Id::ListUp) => {
                palette::step(&mut open, false);
                palette::keep(state, open);
            }
            _ => {
                if edit(&mut open.input, id, event) {
                    palette::edited(state, out, &mut open);
                }
                palette::keep(state, open);
            }
        },
        Some(Overlay::Help(open)) => help(state, out, event, id, open),
        Some(Overlay::Jobs(top)) => {
            let last = overlays::last_top(state, &Overlay::Jobs(top));
            match page(state, event, top, last) {
                Some(top) => state.overlay = Some(Overlay::Jobs(top)),
                None => beyond(state, out, event),
            }
        }
    }
}

/// A key on the list of keys: `/` begins to narrow it, and what is typed then is text.
fn help(
    state: &mut State,
    out: &mut Vec<Effect>,
    event: &KeyEvent,
    id: Option<Id>,
    mut open: Help,
) {
    let narrowed = !open.filter.value().is_empty();
    if open.typing {
        match id {
            Some(Id::Accept) => open.typing = false,
            Some(Id::Cancel) => {
                open.typing = false;
                open.filter.reset();
            }
            Some(Id::ListDown) => open.top += 1,
            Some(Id::ListUp) => open.top = open.top.saturating_sub(1),
            _ => {
                if edit(&mut open.filter, id, event) {
                    open.top = 0;
                }
            }
        }
    } else {
        let last = overlays::last_top(state, &Overlay::Help(open.clone()));
        match state.keymap.lookup(scope(state), event) {
            Some(Id::Find) => open.typing = true,
            Some(Id::Back) if narrowed => open.filter.reset(),
            _ => match page(state, event, open.top, last) {
                Some(top) => open.top = top,
                None => return beyond(state, out, event),
            },
        }
    }
    let last = overlays::last_top(state, &Overlay::Help(open.clone()));
    open.top = open.top.min(last);
    state.overlay = Some(Overlay::Help(open));
}

/// The page is closed; a key that is no way out does what the page said it does.
fn beyond(state: &mut State, out: &mut Vec<Effect>, event: &KeyEvent) {
    let id = state.keymap.lookup(scope(state), event);
    if let Some(id) = id.filter(|id| !is_way_out(*id)) {
        act(state, out, id);
    }
}

fn is_way_out(id: Id) -> bool {
    matches!(
        id,
        Id::Back
            | Id::Quit
            | Id::Stop
            | Id::Help
            | Id::Jobs
            | Id::OpenRun
            | Id::ToContent
            | Id::Follow
    )
}

/// A key on a page of text: the new top, or nothing when it closes.
fn page(state: &State, event: &KeyEvent, top: usize, last: usize) -> Option<usize> {
    let half = usize::from(state.size.1 / 2);
    let top = match state.keymap.lookup(scope(state), event) {
        Some(Id::Down) => top + 1,
        Some(Id::Up) => top.saturating_sub(1),
        Some(Id::HalfDown) => top + half,
        Some(Id::HalfUp) => top.saturating_sub(half),
        Some(Id::Top) => 0,
        Some(Id::Bottom) => last,
        Some(_) => return None,
        None => top,
    };
    Some(top.min(last))
}

/// Edits a line; whether its text changed.
fn edit(input: &mut Input, id: Option<Id>, event: &KeyEvent) -> bool {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let request = match (id, event.code) {
        (Some(Id::Clear), _) => {
            input.reset();
            return true;
        }
        (_, KeyCode::Char('a')) if control => InputRequest::GoToStart,
        (_, KeyCode::Char('e')) if control => InputRequest::GoToEnd,
        (_, KeyCode::Char('w')) if control => InputRequest::DeletePrevWord,
        (_, KeyCode::Char('k')) if control => InputRequest::DeleteTillEnd,
        (_, KeyCode::Char('h')) if control => InputRequest::DeletePrevChar,
        (_, KeyCode::Char(letter)) if !control && !event.modifiers.contains(KeyModifiers::ALT) => {
            InputRequest::InsertChar(letter)
        }
        (_, KeyCode::Backspace) => InputRequest::DeletePrevChar,
        (_, KeyCode::Delete) => InputRequest::DeleteNextChar,
        (_, KeyCode::Left) => InputRequest::GoToPrevChar,
        (_, KeyCode::Right) => InputRequest::GoToNextChar,
        (_, KeyCode::Home) => InputRequest::GoToStart,
        (_, KeyCode::End) => InputRequest::GoToEnd,
        _ => return false,
    };
    input.handle(request).is_some_and(|changed| changed.value)
}

/// Pasted text goes into a line; elsewhere it is not taken for keys.
pub(super) fn paste(state: &mut State, out: &mut Vec<Effect>, text: &str) {
    // What is pasted is one line; its end is not an `enter`.
    let line = text.trim_end_matches(['\r', '\n']);
    match state.overlay.take() {
        Some(Overlay::Prompt(mut open)) => {
            insert(&mut open.input, line);
            prompt::edited(state, out, &mut open);
            state.overlay = Some(Overlay::Prompt(open));
        }
        Some(Overlay::Palette(mut open)) => {
            insert(&mut open.input, line);
            palette::edited(state, out, &mut open);
            palette::keep(state, open);
        }
        Some(Overlay::Help(mut open)) => {
            open.typing = true;
            open.top = 0;
            insert(&mut open.filter, line);
            state.overlay = Some(Overlay::Help(open));
        }
        other => {
            state.overlay = other;
            let keys = [Id::Palette, Id::Find].map(|id| state.keymap.how(id));
            let keys = keys.join(" or ");
            let text = format!("pasted text goes into a prompt: press {keys} first");
            state.say(Tone::Warn, text);
        }
    }
}

fn insert(input: &mut Input, text: &str) {
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        input.handle(InputRequest::InsertChar(letter));
    }
}

/// The plan of a restore is there, for the prompt that still waits for it.
pub(super) fn planned(state: &mut State, number: u64, plan: Result<Written, Failure>) {
    let Some(Overlay::Prompt(prompt)) = &mut state.overlay else {
        return;
    };
    if prompt.kind != PromptKind::Restore {
        return;
    }
    let Some(text) = prompt.planning.take() else {
        return;
    };
    match plan {
        Ok(plan) => prompt.plan = Some((number, text, plan)),
        Err(failure) => prompt.failure = Some(failure),
    }
}

/// A path is completed, for the prompt that still says what was asked.
pub(super) fn completed(
    state: &mut State,
    out: &mut Vec<Effect>,
    done: Result<Completion, Failure>,
) {
    let mut open = match state.overlay.take() {
        Some(Overlay::Prompt(open)) => open,
        other => {
            state.overlay = other;
            return;
        }
    };
    match done {
        Ok(done) if done.asked == open.input.value() => {
            if done.completed != done.asked {
                open.input = Input::new(done.completed.clone());
                open.failure = None;
                prompt::forget_plan(state, out, &mut open);
            }
            open.completion = Some(done);
        }
        Ok(_) => {}
        Err(failure) => open.failure = Some(failure),
    }
    state.overlay = Some(Overlay::Prompt(open));
}
