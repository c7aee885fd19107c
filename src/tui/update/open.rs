//! Opening a run, and what its answers change: the last good panes stay until the new ones are
//! there, a refusal stands inline under its run, and a comparison follows on its own.

use super::way_out::{broken, with_way_out};
use super::{comparison, content, files, job_began, place, reopen, request, stop};
use crate::ErrorKind;
use crate::checkpoint::CheckpointRef;
use crate::progress::{Progress, Stage};
use crate::runs::{AgentSummary, RunRow, gate};
use crate::text::visible;
use crate::tui::message::{Effect, Slot, Verified};
use crate::tui::state::{Chain, Comparison, Failure, Opened, OpeningRun, Pane, Refusal, State};
use crate::tui::theme::Tone;

/// Opens a run; a newer one wins over an older one at work.
pub(super) fn open(state: &mut State, out: &mut Vec<Effect>, run_id: String) {
    state.note = None;
    state.place = None;
    state.seek = None;
    state.runs.comparing = None;
    state.current = Some(run_id.clone());
    let mut chain = Chain::begun(state.now_ms);
    if let Some(reference) = state.runs.run(&run_id).and_then(reference) {
        // Shown once it is verified.
        chain.sha256 = reference.sha256().to_owned();
    }
    state.runs.reveal(&run_id);
    if let Some(number) = state.awaited.get(&Slot::Open).copied() {
        state.job_ended(number, Tone::Dim, "given up for a newer one");
    }
    let asked = reopen::request(state, &run_id);
    let number = request(state, out, asked);
    job_began(state, number, format!("open {}", visible(&run_id)));
    state.opening = Some(OpeningRun { run_id, chain });
}

/// Runs that the list knows to be broken.
const BROKEN: usize = 10_000;

fn reference(row: &RunRow) -> Option<CheckpointRef> {
    CheckpointRef::from_row(row.checkpoint()?).ok()
}

/// Whether it is said already that this stage is at work: somebody who listens hears of each stage
/// once, and not of every percent.
fn is_known(state: &State, progress: Progress) -> bool {
    if progress.finished {
        return false;
    }
    let opening = state.opening.as_ref();
    let restoring = state.restoring.as_ref().and_then(|work| work.progress);
    let comparing = state.opened.as_ref().and_then(|run| run.comparison.working);
    opening.is_some_and(|opening| opening.chain.is_at_work(progress.stage))
        || [restoring, comparing]
            .into_iter()
            .flatten()
            .any(|known| known.stage == progress.stage)
}

/// How far a job is.
pub(super) fn progress(state: &mut State, number: u64, progress: Progress) {
    let awaits = |slot| state.awaited.get(&slot) == Some(&number);
    let job = state.jobs.iter_mut().find(|job| job.number == number);
    if let Some(job) = job {
        job.progress = Some(progress);
    }
    if state.linear && is_known(state, progress) {
        return;
    }
    if awaits(Slot::Open) {
        if let Some(opening) = &mut state.opening {
            opening.chain.report(progress, state.now_ms);
        }
    } else if awaits(Slot::Restore) {
        if let Some(restoring) = &mut state.restoring
            && progress.stage == Stage::Restore
        {
            restoring.progress = Some(progress);
        }
    } else if awaits(Slot::Fetch) {
        if let Some(fetching) = &mut state.fetching {
            fetching.progress = Some(progress);
        }
    } else if awaits(Slot::Diff)
        && let Some(opened) = &mut state.opened
    {
        opened.comparison.working = Some(progress);
    }
}

/// The run passed.
pub(super) fn verified(state: &mut State, out: &mut Vec<Effect>, number: u64, run: Verified) {
    let Some(opening) = state.opening.take() else {
        return;
    };
    let mut chain = opening.chain;
    chain.sha256 = run.reference.sha256().to_owned();
    state.job_ended(number, Tone::Good, "verified");
    state.runs.broken.remove(&run.row.run_id);
    state.recent.forget(&run.row.run_id);
    super::compare::choose_base(state, &run.row.run_id);
    let opened = Opened {
        handle: run.handle,
        row: run.row,
        reference: run.reference,
        chain,
        tree: run.tree,
        state: run.state,
        unrestorable: run.unrestorable,
        gzipped: run.gzipped,
        comparison: Comparison::default(),
    };
    show(state, out, opened);
    comparison::compare(state, out);
}

/// Puts `run` into the panes; the one that was there is set aside.
pub(super) fn show(state: &mut State, out: &mut Vec<Effect>, run: Opened) {
    state.refusal = None;
    stop(state, out, Slot::Diff);
    stop(state, out, Slot::Content);
    content::leave_mark(state, &run.row);
    if state
        .opened
        .as_ref()
        .is_some_and(|open| open.row.run_id != run.row.run_id)
    {
        reopen::set_aside(state, out);
    }
    learn(state, &run.row);
    state.opened = Some(run);
    state.content.turn_page();
    state.files.touched = false;
    state.files.marked.clear();
    if let Some(tree) = state.tree().cloned() {
        state.files.unfold_changed(&tree);
    }
    files::rebuild(state);
    place::arrive(state, false);
    // What was opened comes into view where the terminal shows one pane only.
    if state.focus == Pane::Runs && !state.zoom && state.areas().files.is_none() {
        state.focus = Pane::Files;
    }
}

/// The run did not pass.
pub(super) fn refused(
    state: &mut State,
    out: &mut Vec<Effect>,
    number: u64,
    failure: Failure,
    row: Option<Box<RunRow>>,
) {
    let Some(opening) = state.opening.take() else {
        return;
    };
    state.job_ended(number, Tone::Bad, failure.message.clone());
    if failure.kind == ErrorKind::Cancelled {
        return;
    }
    let mut chain = opening.chain;
    let mut status = String::new();
    if let Some(row) = &row {
        learn(state, row);
        status = visible(&row.effective_status()).into_owned();
        if let Some(reference) = reference(row) {
            chain.sha256 = reference.sha256().to_owned();
        }
    }
    chain.fail(&failure, &status);
    let still_open = state.opened.as_ref().map(|run| run.row.run_id.as_str());
    state.recent.forget(&opening.run_id);
    if let Some(word) = broken(failure.kind) {
        if state.runs.broken.len() >= BROKEN {
            state.runs.broken.clear();
        }
        state.runs.broken.insert(opening.run_id.clone(), word);
    }
    if still_open == Some(&opening.run_id) {
        // What stands there is not the answer any more.
        stop(state, out, Slot::Diff);
        stop(state, out, Slot::Content);
        state.opened = None;
        state.content.turn_page();
    }
    let failure = with_way_out(state, failure, row.as_deref());
    state.refusal = Some(Refusal {
        run_id: opening.run_id,
        failure,
        row,
        chain,
    });
    files::rebuild(state);
}

/// Puts a run that was opened by its id into the list.
fn learn(state: &mut State, row: &RunRow) {
    let known = state.runs.run(&row.run_id).is_some();
    if !known {
        if !state.runs.is_filtered() {
            state.runs.merge(vec![row.clone().listed()]);
        }
        state.runs.reveal(&row.run_id);
    }
}

/// `A`: from now on as another agent; what is shown must pass again.
pub(super) fn open_as(state: &mut State, out: &mut Vec<Effect>, agent: &str) {
    let agent = agent.trim();
    state.opening_as = (!agent.is_empty()).then(|| agent.to_owned());
    state.refusal = None;
    let shown = state.opened.as_ref();
    let passes =
        shown.is_some_and(|run| gate(&run.row.run_id, Some(&run.row), &state.as_opening()).is_ok());
    if shown.is_some() && !passes {
        stop(state, out, Slot::Diff);
        stop(state, out, Slot::Content);
        state.opened = None;
        state.content.turn_page();
    }
    files::rebuild(state);
    let known = state.runs.agents.as_deref().is_none_or(|agents| {
        let named = |one: &AgentSummary| one.agent_id.as_deref() == Some(agent);
        agent.is_empty() || agents.iter().any(named)
    });
    match state.current.clone() {
        Some(run_id) => open(state, out, run_id),
        None if !known => {}
        None => {
            let who = state
                .opening_as
                .as_deref()
                .map_or("each run's own agent".into(), visible);
            state.say(Tone::Plain, format!("runs are opened as {who}"));
        }
    }
    if !known {
        let text = format!(
            "no agent here is called {}: every run is foreign to it",
            visible(agent)
        );
        state.say(Tone::Warn, text);
    }
}
