//! What a prompt asks, and what is done with the answer. Filters act while one types; a restore is
//! planned on the first `enter` and carried out on the second.

use std::path::PathBuf;

use super::{files, job_began, open, request, run_pages, search, stop};
use crate::text::visible;
use crate::tui::message::{Effect, Request, Slot};
use crate::tui::state::{Overlay, Prompt, PromptKind, Restoring, State};
use crate::tui::theme::Tone;

/// A name for files of this run: the start of its id, in letters that any shell takes.
fn short_name(state: &State) -> String {
    let Some(run) = &state.opened else {
        return "run".into();
    };
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    let name: String = run.row.run_id.chars().take(8).map(plain).collect();
    if name.is_empty() { "run".into() } else { name }
}

/// `r`.
pub(super) fn ask_restore(state: &mut State) {
    let text = format!("./afterrun-{}", short_name(state));
    state.overlay = Some(Overlay::Prompt(Prompt::new(PromptKind::Restore, text)));
}

/// `p`.
pub(super) fn ask_patch(state: &mut State) {
    let text = format!("./afterrun-{}.patch", short_name(state));
    state.overlay = Some(Overlay::Prompt(Prompt::new(PromptKind::Patch, text)));
}

/// The text changed.
pub(super) fn edited(state: &mut State, out: &mut Vec<Effect>, prompt: &mut Prompt) {
    prompt.failure = None;
    match prompt.kind {
        PromptKind::Restore => forget_plan(state, out, prompt),
        PromptKind::FilterRuns => {
            run_pages::typed(state, out, prompt.input.value());
        }
        PromptKind::FilterFiles => {
            state.files.text = prompt.input.value().to_owned();
            files::rebuild(state);
        }
        PromptKind::Search => search::typed(state, prompt.input.value()),
        PromptKind::OpenAs | PromptKind::Patch | PromptKind::Since => {}
    }
}

fn forget_plan(state: &mut State, out: &mut Vec<Effect>, prompt: &mut Prompt) {
    if prompt.planning || prompt.plan.is_some() {
        stop(state, out, Slot::Restore);
        prompt.planning = false;
        prompt.plan = None;
    }
}

/// `enter`; the prompt comes back where it is not done with.
pub(super) fn accept(state: &mut State, out: &mut Vec<Effect>, mut prompt: Prompt) {
    let text = prompt.input.value().trim().to_owned();
    match prompt.kind {
        PromptKind::FilterRuns | PromptKind::FilterFiles => {}
        PromptKind::Search => match search::accepted(state) {
            Some(search) if search.hits.is_empty() => {
                state.say(Tone::Warn, format!("no match for {}", visible(&text)));
            }
            Some(search) => {
                let (at, all) = (search.at + 1, search.hits.len());
                state.say(Tone::Plain, format!("match {at} of {all}; n and N go on"));
            }
            None => {}
        },
        PromptKind::OpenAs => open::open_as(state, out, &text),
        PromptKind::Since => {
            if let Err(failure) = run_pages::since(state, out, &text) {
                prompt.failure = Some(failure);
                again(state, prompt);
            }
        }
        PromptKind::Patch => {
            let Some((handle, diff)) = handles(state) else {
                return;
            };
            if text.is_empty() {
                return again(state, prompt);
            }
            let path = PathBuf::from(&text);
            let number = request(state, out, Request::WritePatch { handle, diff, path });
            job_began(state, number, format!("patch to {}", visible(&text)));
        }
        PromptKind::Restore => {
            let Some(run) = &state.opened else { return };
            let handle = run.handle.clone();
            if let Some((number, planned, written)) = prompt.plan.take_if(|plan| plan.1 == text) {
                out.push(Effect::Go(number));
                job_began(state, number, format!("restore to {}", visible(&planned)));
                state.restoring = Some(Restoring {
                    destination: written.destination,
                    progress: None,
                });
                return;
            }
            if !prompt.planning && !text.is_empty() {
                let destination = PathBuf::from(&text);
                request(
                    state,
                    out,
                    Request::Restore {
                        handle,
                        destination,
                    },
                );
                prompt.planning = true;
                prompt.failure = None;
            }
            again(state, prompt);
        }
    }
}

fn handles(state: &State) -> Option<(crate::tui::jobs::Handle, crate::tui::jobs::DiffHandle)> {
    let run = state.opened.as_ref()?;
    Some((
        run.handle.clone(),
        run.comparison.done.as_ref()?.handle.clone(),
    ))
}

fn again(state: &mut State, prompt: Prompt) {
    state.overlay = Some(Overlay::Prompt(prompt));
}

/// `esc`.
pub(super) fn cancel(state: &mut State, out: &mut Vec<Effect>, mut prompt: Prompt) {
    match prompt.kind {
        PromptKind::Restore => forget_plan(state, out, &mut prompt),
        PromptKind::FilterRuns => run_pages::typed(state, out, ""),
        PromptKind::FilterFiles if !state.files.text.is_empty() => {
            state.files.text.clear();
            files::rebuild(state);
        }
        PromptKind::Search => search::dropped(state),
        _ => {}
    }
}
