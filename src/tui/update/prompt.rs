//! What a prompt asks, and what is done with the answer. Filters act while one types; a restore is
//! planned on the first `enter` and carried out on the second.

use std::path::PathBuf;

use super::{acting, files, job_began, open, request, run_pages, search, stop};
use crate::ErrorKind;
use crate::text::visible;
use crate::tui::action::Id;
use crate::tui::message::{Effect, Request, Slot};
use crate::tui::state::{Failure, Overlay, Prompt, PromptKind, Restoring, State, Subject};
use crate::tui::theme::Tone;

/// The open run, for a prompt that is about it.
fn subject(state: &State) -> Option<Subject> {
    let run = state.opened.as_ref()?;
    let name = short_name(&run.row.run_id);
    Some(Subject {
        what: match run.row.turn() {
            Some(turn) => format!("turn {turn} ({name})"),
            None => name.clone(),
        },
        name,
        handle: run.handle.clone(),
        diff: run.comparison.done.as_ref().map(|done| done.handle.clone()),
    })
}

/// A name for files of a run: the start of its id, in letters that any shell takes.
pub(super) fn short_name(run_id: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    let name: String = run_id.chars().take(8).map(plain).collect();
    if name.is_empty() { "run".into() } else { name }
}

/// `r`.
pub(super) fn ask_restore(state: &mut State) {
    let Some(subject) = subject(state) else {
        return;
    };
    let text = format!("./afterrun-{}", subject.name);
    let mut prompt = Prompt::new(PromptKind::Restore, text);
    prompt.subject = Some(subject);
    prompt.only = state.files.marked.iter().cloned().collect();
    prompt.only.sort();
    state.overlay = Some(Overlay::Prompt(prompt));
}

/// `p`.
pub(super) fn ask_patch(state: &mut State) {
    let Some(subject) = subject(state) else {
        return;
    };
    let text = format!("./afterrun-{}.patch", subject.name);
    let mut prompt = Prompt::new(PromptKind::Patch, text);
    prompt.subject = Some(subject);
    state.overlay = Some(Overlay::Prompt(prompt));
}

/// The text changed.
pub(super) fn edited(state: &mut State, out: &mut Vec<Effect>, prompt: &mut Prompt) {
    prompt.failure = None;
    prompt.completion = None;
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
        PromptKind::OpenAs | PromptKind::Patch | PromptKind::Fetch(_) | PromptKind::Since => {}
    }
}

/// Lets go of a plan that was made, or is being made, for what stood there before.
pub(super) fn forget_plan(state: &mut State, out: &mut Vec<Effect>, prompt: &mut Prompt) {
    if prompt.planning.is_some() || prompt.plan.is_some() {
        stop(state, out, Slot::Restore);
        prompt.planning = None;
        prompt.plan = None;
    }
}

/// `enter`; the prompt comes back where it is not done with.
pub(super) fn accept(state: &mut State, out: &mut Vec<Effect>, mut prompt: Prompt) {
    let text = prompt.input.value().trim().to_owned();
    match prompt.kind.clone() {
        PromptKind::FilterRuns | PromptKind::FilterFiles => {}
        PromptKind::Fetch(run_id) => {
            if text.is_empty() {
                prompt.failure = Some(no_path("a file that does not exist yet"));
                return again(state, prompt);
            }
            acting::begin_fetch(state, out, run_id, &text);
        }
        PromptKind::Search => match search::accepted(state) {
            Some(search) if search.hits.is_empty() => {
                state.say(Tone::Warn, format!("no match for {}", visible(&text)));
            }
            Some(search) => {
                let (at, all) = (search.at + 1, search.hits.len());
                let keys = [Id::FindNext, Id::FindPrevious].map(|id| state.keymap.how(id));
                let text = format!("match {at} of {all}; {} go on", keys.join(" and "));
                state.say(Tone::Plain, text);
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
            let subject = prompt.subject.clone();
            let Some((handle, diff)) = subject.and_then(|run| Some((run.handle, run.diff?))) else {
                return;
            };
            if text.is_empty() {
                prompt.failure = Some(no_path("a file that does not exist yet"));
                return again(state, prompt);
            }
            let path = PathBuf::from(&text);
            let number = request(state, out, Request::WritePatch { handle, diff, path });
            job_began(state, number, format!("patch to {}", visible(&text)));
        }
        PromptKind::Restore => {
            let Some(run) = &prompt.subject else { return };
            let handle = run.handle.clone();
            if let Some((number, planned, written)) = prompt.plan.take_if(|plan| plan.1 == text) {
                out.push(Effect::Go(number));
                job_began(state, number, format!("restore to {}", visible(&planned)));
                state.restoring = Some(Restoring {
                    destination: written.destination,
                    progress: None,
                    since: state.now_ms,
                });
                return;
            }
            if text.is_empty() {
                prompt.failure = Some(no_path("a directory that does not exist yet"));
            } else if prompt.planning.is_none() {
                let destination = PathBuf::from(&text);
                request(
                    state,
                    out,
                    Request::Restore {
                        handle,
                        destination,
                        only: prompt.only.clone(),
                    },
                );
                prompt.planning = Some(text);
                prompt.failure = None;
                prompt.completion = None;
            }
            again(state, prompt);
        }
    }
}

fn no_path(what: &str) -> Failure {
    Failure::new(ErrorKind::Usage, &format!("nothing is typed: name {what}"))
}

/// `tab`: completes the path that is typed.
pub(super) fn complete(state: &mut State, out: &mut Vec<Effect>, prompt: &Prompt) {
    let folders = match prompt.kind {
        PromptKind::Restore => true,
        PromptKind::Patch | PromptKind::Fetch(_) => false,
        _ => return,
    };
    let text = prompt.input.value().to_owned();
    request(state, out, Request::Complete { text, folders });
}

pub(super) fn handles(
    state: &State,
) -> Option<(crate::tui::jobs::Handle, crate::tui::jobs::DiffHandle)> {
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
