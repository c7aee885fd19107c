//! Answers of jobs. Each slot waits for one number; an answer to any other came too late.

use super::{
    acting, comparison, content, copy, info, live, open, overlay, place, reopen, run_pages,
};
use crate::ErrorKind;
use crate::text::{grouped, human_bytes};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::message::{Answer, Effect, PageUse, Resolved, Slot, Written};
use crate::tui::state::{Failure, FileContent, Overlay, Palette, State};
use crate::tui::theme::Tone;

/// Takes an answer in, unless it is late.
pub(super) fn answer(state: &mut State, out: &mut Vec<Effect>, number: u64, answer: Answer) {
    let slot = match &answer {
        Answer::Progress(progress) => return open::progress(state, number, *progress),
        Answer::Agents(_) => Slot::Agents,
        Answer::Look(_) => Slot::Look,
        Answer::Bound(_) => Slot::Binding,
        Answer::Opened(..) | Answer::Reopened(_) => Slot::Open,
        Answer::Page(how, _) => how.slot(),
        Answer::Diff(_) => Slot::Diff,
        Answer::Patch(_) | Answer::File(_) | Answer::Coloured(_) => Slot::Content,
        Answer::Unfolded(..) => Slot::Unfold,
        Answer::Plan(_) | Answer::Restored(_) => Slot::Restore,
        Answer::PatchWritten(_) => Slot::Write,
        Answer::Fetched(_) => Slot::Fetch,
        Answer::PatchText(_) => Slot::Clip,
        Answer::Completed(_) => Slot::Complete,
        Answer::ToEdit(_) => Slot::Edit,
        Answer::Found(_) => Slot::Lookup,
        Answer::Resolved(_) | Answer::Turn(_) => Slot::Find,
        Answer::Kept(_) => Slot::Keep,
        Answer::Crashed(slot) => *slot,
    };
    if state.awaited.get(&slot) != Some(&number) {
        return;
    }
    live::hear(state, out, &answer);
    // After a plan the job goes on, and after a text that is still to be coloured.
    let goes_on = matches!(
        answer,
        Answer::Plan(Ok(_)) | Answer::File(Ok(FileContent::Text(..)))
    );
    if !goes_on {
        state.awaited.remove(&slot);
    }
    match answer {
        Answer::Progress(_) => {}
        Answer::Agents(Ok(agents)) => {
            state.runs.agents = Some(agents);
            state.runs.stale = true;
        }
        Answer::Agents(Err(failure)) => live::report(state, None, &failure),
        Answer::Look(look) => live::take(state, out, look),
        Answer::Bound(binding) => live::bound(state, binding),
        Answer::Page(how, page) => run_pages::take(state, how, page),
        Answer::Opened(Ok(run), _) => open::verified(state, out, number, *run),
        Answer::Opened(Err(failure), row) => open::refused(state, out, number, failure, row),
        Answer::Reopened(row) => reopen::reopened(state, out, number, *row),
        Answer::Diff(done) => {
            comparison::compared(state, done);
            place::arrive(state, true);
        }
        Answer::Patch(patch) => {
            content::take_patch(state, patch);
            place::seek_in_patch(state);
        }
        Answer::File(file) => {
            content::take_file(state, file);
            place::seek_in_file(state);
        }
        Answer::Fetched(done) => acting::fetched(state, number, done),
        Answer::PatchText(patch) => acting::patch_made(state, out, number, patch),
        Answer::Completed(done) => overlay::completed(state, out, done),
        Answer::ToEdit(copy) => acting::copied_to_edit(state, out, copy),
        Answer::Coloured(colours) => state.content.colours = colours,
        Answer::Unfolded(name, detail) => info::take(state, name, detail),
        Answer::Plan(plan) => overlay::planned(state, number, plan),
        Answer::Restored(done) => restored(state, number, done),
        Answer::PatchWritten(done) => match done {
            Ok((path, files, bytes)) => {
                let text = format!(
                    "✔ wrote {path}: {}, {}",
                    fit::count(files, "file"),
                    human_bytes(bytes)
                );
                state.job_ended(number, Tone::Good, text.clone());
                state.report(Tone::Good, text);
            }
            Err(failure) if failure.kind == ErrorKind::Cancelled => {
                let text = "patch stopped; nothing was left behind";
                state.job_ended(number, Tone::Warn, text);
                state.report(Tone::Warn, text);
            }
            Err(failure) => failed(state, number, "the patch", &failure),
        },
        Answer::Resolved(Ok(Resolved::Run(run_id))) => open::open(state, out, run_id),
        // Whoever types something else by now does not mean it any more.
        Answer::Resolved(Ok(Resolved::Action(_) | Resolved::Several(_)))
            if state.overlay.is_some() => {}
        Answer::Resolved(Ok(Resolved::Action(id))) => super::act(state, out, id),
        Answer::Resolved(Ok(Resolved::Several(found))) => several(state, found),
        Answer::Resolved(Err(failure)) => state.report(Tone::Bad, with_hint(&failure)),
        Answer::Found(found) => match state.overlay.take() {
            Some(Overlay::Palette(mut palette)) => {
                super::palette::found(state, &mut palette, found);
                state.overlay = Some(Overlay::Palette(palette));
            }
            other => state.overlay = other,
        },
        Answer::Turn(Ok(run_id)) => open::open(state, out, run_id),
        Answer::Turn(Err(failure)) => state.say(Tone::Warn, failure.message),
        Answer::Kept(done) => copy::kept(state, done),
        Answer::Crashed(slot) => crashed(state, out, number, slot),
    }
}

fn restored(state: &mut State, number: u64, done: Result<Written, Failure>) {
    state.restoring = None;
    match done {
        Ok(done) => {
            let text = format!("✔ restored to {}: {}", done.destination, amount(&done));
            state.job_ended(number, Tone::Good, text.clone());
            state.report(Tone::Good, text);
        }
        Err(failure) if failure.kind == ErrorKind::Cancelled => {
            let text = "restore stopped; nothing was left behind";
            state.job_ended(number, Tone::Warn, text);
            state.report(Tone::Warn, text);
        }
        Err(failure) => failed(state, number, "the restore", &failure),
    }
}

/// What a restore writes, and what it leaves out.
#[must_use]
pub(in crate::tui) fn amount(written: &Written) -> String {
    let entries = match written.entries {
        1 => "1 entry".to_owned(),
        count => format!("{} entries", grouped(count)),
    };
    let left_out = match written.left_out.as_slice() {
        [] => "nothing left out".to_owned(),
        [one] => format!("left out the link {one}, which leads to an absolute path"),
        many => format!(
            "left out {} links to absolute paths ({}, …)",
            grouped(many.len() as u64),
            many[0]
        ),
    };
    format!("{entries}, {}; {left_out}", human_bytes(written.bytes))
}

pub(super) fn with_hint(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{} → {hint}", failure.message),
        None => failure.message.clone(),
    }
}

pub(super) fn failed(state: &mut State, number: u64, what: &str, failure: &Failure) {
    let text = format!("✖ {what}: {}", with_hint(failure));
    state.job_ended(number, Tone::Bad, text.clone());
    state.report(Tone::Bad, text);
}

/// A typed start of an id that several runs share.
fn several(state: &mut State, found: Vec<String>) {
    let mut palette = Palette::default();
    let common = found.iter().skip(1).fold(found[0].clone(), |common, id| {
        let same = common.chars().zip(id.chars()).take_while(|(a, b)| a == b);
        same.map(|(letter, _)| letter).collect()
    });
    palette.input = tui_input::Input::new(common);
    palette.found = found;
    super::palette::offer(state, &mut palette);
    state.overlay = Some(Overlay::Palette(palette));
    state.say(Tone::Warn, "several runs begin so: choose one");
}

/// A defect of ours: said, and nothing else is lost.
fn crashed(state: &mut State, out: &mut Vec<Effect>, number: u64, slot: Slot) {
    let failure = Failure::new(ErrorKind::Io, "this job stopped by a defect of afterrun");
    match slot {
        Slot::Open => open::refused(state, out, number, failure, None),
        Slot::Diff => comparison::compared(state, Err(failure)),
        Slot::Content if state.content.patch.waiting || state.content.file.waiting => {
            state.content.patch.answer(Err(failure.clone()));
            state.content.file.answer(Err(failure));
        }
        // The text is there without its colours.
        Slot::Content => {}
        Slot::Unfold => info::crashed(state, &failure),
        Slot::Restore if state.restoring.is_none() => {
            overlay::planned(state, number, Err(failure));
        }
        Slot::Restore => restored(state, number, Err(failure)),
        Slot::Fetch => acting::fetched(state, number, Err(failure)),
        Slot::Page => run_pages::take(state, PageUse::Replace, Err(failure)),
        Slot::Search => run_pages::take(state, PageUse::Found, Err(failure)),
        Slot::Look => live::take(state, out, Err(failure)),
        _ => failed(state, number, "a job", &failure),
    }
}

/// Whether an action is worth offering by name.
#[must_use]
pub(super) fn offered(id: Id) -> bool {
    !matches!(id, Id::Back | Id::Stop | Id::Palette)
}
