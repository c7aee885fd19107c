//! What leaves the interface beside a restore and a patch file: stored bytes, a patch on the
//! clipboard, a copy for an editor.

use std::io;
use std::process::ExitStatus;

use super::copy::run_id;
use super::place::content_line;
use super::prompt::handles;
use super::{job_began, request};
use crate::ErrorKind;
use crate::text::{grouped, visible};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::message::{CopyToEdit, Effect, Fetched, Request};
use crate::tui::state::{Failure, Overlay, Prompt, PromptKind, Restoring, State};
use crate::tui::theme::Tone;

/// `F`: asks where the stored bytes of the run that is meant go.
pub(super) fn ask_fetch(state: &mut State) {
    let Some(run_id) = run_id(state).map(str::to_owned) else {
        return;
    };
    let open = state.opened.as_ref().filter(|run| run.row.run_id == run_id);
    // Agno gzips; only an open run is known not to be.
    let end = match open {
        Some(run) if !run.gzipped => "tar",
        _ => "tar.gz",
    };
    let text = format!("./afterrun-{}.{end}", super::prompt::short_name(&run_id));
    let prompt = Prompt::new(PromptKind::Fetch(run_id), text);
    state.overlay = Some(Overlay::Prompt(prompt));
}

/// The stored bytes are in their file, or are not.
pub(super) fn fetched(state: &mut State, number: u64, done: Result<Fetched, Failure>) {
    state.fetching = None;
    match done {
        Ok(done) => {
            let text = format!(
                "✔ fetched to {}: {} B, sha256 {}",
                done.path,
                grouped(done.size),
                fit::take(&done.sha256, 12)
            );
            state.job_ended(number, Tone::Good, text.clone());
            state.report(Tone::Good, text);
        }
        Err(failure) if failure.kind == ErrorKind::Cancelled => {
            let text = "fetch stopped; nothing was left behind";
            state.job_ended(number, Tone::Warn, text);
            state.report(Tone::Warn, text);
        }
        Err(failure) => super::answers::failed(state, number, "the fetch", &failure),
    }
}

/// `Y`: the patch of the file under the Files cursor; of everything where that did not change.
pub(super) fn copy_patch(state: &mut State, out: &mut Vec<Effect>) {
    let Some((handle, diff)) = handles(state) else {
        return;
    };
    let file = changed(state);
    state.clip = match file.zip(state.compared()) {
        Some((file, compared)) => {
            let path = compared.files.get(file).map(|file| &file.path[..]);
            crate::text::visible_bytes(path.unwrap_or_default())
        }
        None => "everything".into(),
    };
    request(state, out, Request::PatchText { handle, diff, file });
    let text = format!("making the patch of {}", state.clip);
    state.say(Tone::Busy, text);
}

/// Which of the changed files is under the Files cursor.
fn changed(state: &State) -> Option<usize> {
    state.tree()?.nodes[state.files.selected()?].change
}

/// The patch is there: onto the clipboard with it.
pub(super) fn patch_made(
    state: &mut State,
    out: &mut Vec<Effect>,
    number: u64,
    patch: Result<String, Failure>,
) {
    let patch = match patch {
        Ok(patch) => patch,
        Err(mut failure) => {
            if failure.kind == ErrorKind::Limit {
                let key = state.keymap.how(Id::Patch);
                failure.hint = Some(format!("{key} writes it to a file"));
            }
            return super::answers::failed(state, number, "the patch", &failure);
        }
    };
    let what = std::mem::take(&mut state.clip);
    if patch.is_empty() {
        return state.say(
            Tone::Warn,
            format!("not copied: the patch of {what} is empty"),
        );
    }
    let lines = fit::count(patch.lines().count() as u64, "line");
    let text = format!("sent to the clipboard: the patch of {what}, {lines}");
    state.say(Tone::Good, text);
    out.push(Effect::Copy(patch));
}

/// `e`: a copy of the file under the cursor, for the editor.
pub(super) fn edit(state: &mut State, out: &mut Vec<Effect>) {
    let Some(opened) = &state.opened else { return };
    let Ok(editor) = state.editor.clone() else {
        return;
    };
    let node = state
        .files
        .selected()
        .and_then(|node| opened.tree.nodes.get(node));
    let Some(path) = node.map(|node| node.path.clone()) else {
        return;
    };
    let handle = opened.handle.clone();
    let line = content_line(state);
    request(
        state,
        out,
        Request::CopyToEdit {
            handle,
            path,
            editor,
            line,
        },
    );
}

/// The copy is there.
pub(super) fn copied_to_edit(
    state: &mut State,
    out: &mut Vec<Effect>,
    copy: Result<CopyToEdit, Failure>,
) {
    match copy {
        // A press after the key was for what is on the screen now, not for an editor.
        Ok(copy) if state.overlay.is_none() => out.push(Effect::Edit(copy)),
        Ok(_) => {}
        Err(failure) => {
            let mut text = super::answers::with_hint(&failure);
            // A hint is there where the bytes can be seen otherwise: here they can as well.
            if failure.hint.is_some() {
                let key = state.keymap.how(Id::ViewFile);
                text.push_str(&format!("; {key} shows them here"));
            }
            state.report(Tone::Warn, text);
        }
    }
}

/// The editor has ended, or did not start.
pub fn edited(state: &mut State, copy: &CopyToEdit, ended: io::Result<ExitStatus>) {
    let program = copy
        .words
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let program = visible(&program.unwrap_or_default()).into_owned();
    let shown = &copy.shown;
    match ended {
        Ok(status) if status.success() => state.report(
            Tone::Plain,
            format!("that was a copy of {shown}: the run keeps its own, the copy is removed"),
        ),
        Ok(status) => state.report(
            Tone::Warn,
            format!("{program} ended with {status}; what it had was a copy of {shown}"),
        ),
        Err(error) => state.report(
            Tone::Bad,
            format!(
                "✖ {program} does not start: {} → set $EDITOR, or `editor` in the configuration",
                crate::error::reason(&error)
            ),
        ),
    }
}

/// Starts the fetch of `run_id` to the file that was typed.
pub(super) fn begin_fetch(state: &mut State, out: &mut Vec<Effect>, run_id: String, text: &str) {
    let opening_as = state.opening_as.clone();
    let number = request(
        state,
        out,
        Request::Fetch {
            run_id,
            opening_as,
            path: text.into(),
        },
    );
    let shown = visible(text).into_owned();
    job_began(state, number, format!("fetch to {shown}"));
    state.fetching = Some(Restoring {
        destination: shown,
        progress: None,
        since: state.now_ms,
    });
}

/// How far a fetch or a restore is, in one line.
#[must_use]
pub(in crate::tui) fn at_work(state: &State) -> Option<String> {
    let stop = state.keymap.how(Id::Back);
    let line = |what: &str, work: &Restoring| {
        let progress = work.progress?;
        let pace = crate::tui::pace::bytes(progress, state.now_ms - work.since);
        Some(format!(
            "… {what} {}: {pace}  ({stop} stops it)",
            work.destination
        ))
    };
    let restoring = state.restoring.as_ref();
    let restoring = restoring.and_then(|work| line("restoring to", work));
    restoring.or_else(|| {
        state
            .fetching
            .as_ref()
            .and_then(|work| line("fetching to", work))
    })
}
