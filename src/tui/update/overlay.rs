//! Keys while something lies over the panes, and text that is pasted.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, InputRequest};

use super::{act, palette, prompt};
use crate::tui::action::{Id, Scope};
use crate::tui::message::{Effect, Written};
use crate::tui::overlays;
use crate::tui::state::{Failure, Overlay, PromptKind, State};
use crate::tui::theme::Tone;

/// A key for the overlay.
pub(super) fn key(state: &mut State, out: &mut Vec<Effect>, event: &KeyEvent) {
    let id = state.keymap.lookup(Scope::Prompt, event);
    match state.overlay.take() {
        None => {}
        Some(Overlay::Prompt(mut open)) => match id {
            Some(Id::Accept) => prompt::accept(state, out, open),
            Some(Id::Cancel) => prompt::cancel(state, out, open),
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
        Some(open @ (Overlay::Help(top) | Overlay::Jobs(top))) => {
            let last = overlays::last_top(state, &open);
            let Some(top) = page(state, event, top, last) else {
                // It is closed; a key that is no way out does what the page said it does.
                let id = state.keymap.lookup(Scope::Runs, event);
                if let Some(id) = id.filter(|id| !is_way_out(*id)) {
                    act(state, out, id);
                }
                return;
            };
            state.overlay = Some(match open {
                Overlay::Jobs(_) => Overlay::Jobs(top),
                _ => Overlay::Help(top),
            });
        }
    }
}

fn is_way_out(id: Id) -> bool {
    matches!(
        id,
        Id::Back | Id::Quit | Id::Stop | Id::Help | Id::Jobs | Id::OpenRun
    )
}

/// A key on a page of text: the new top, or nothing when it closes.
fn page(state: &State, event: &KeyEvent, top: usize, last: usize) -> Option<usize> {
    let half = usize::from(state.size.1 / 2);
    let top = match state.keymap.lookup(Scope::Runs, event) {
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
        other => {
            state.overlay = other;
            state.say(
                Tone::Warn,
                "pasted text goes into a prompt: press : or / first",
            );
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
    prompt.planning = false;
    match plan {
        Ok(plan) => {
            let text = prompt.input.value().trim().to_owned();
            prompt.plan = Some((number, text, plan));
        }
        Err(failure) => prompt.failure = Some(failure),
    }
}
