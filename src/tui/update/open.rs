//! Opening a run, and what its answers change: the last good panes stay until the new ones are
//! there, a refusal stands inline under its run, and a comparison follows on its own.

use std::sync::Arc;

use super::{content, files, job_began, place, reopen, request, stop};
use crate::ErrorKind;
use crate::checkpoint::CheckpointRef;
use crate::progress::{Progress, Stage};
use crate::review::{BaseChoice, Notice};
use crate::runs::{AgentSummary, RunRow, gate};
use crate::text::{visible, visible_bytes};
use crate::tui::action::Id;
use crate::tui::message::{Compared, Effect, Request, Slot, Verified};
use crate::tui::state::{
    Chain, Comparison, Failure, FileTree, Opened, OpeningRun, Pane, Refusal, Shorter, State,
};
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
    compare(state, out);
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

/// What the list goes on to say of a run whose checkpoint was found to be no good, in its size's place.
fn broken(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ObjectMissing => "missing",
        ErrorKind::SizeMismatch => "✖ size",
        ErrorKind::ChecksumMismatch => "✖ sha256",
        ErrorKind::InvalidArchive => "✖ archive",
        _ => return None,
    })
}

/// What to do about a refusal, in keys of this screen and only where they lead somewhere; the
/// library's own step where there is none.
fn with_way_out(state: &State, mut failure: Failure, row: Option<&RunRow>) -> Failure {
    let (earlier, later) = row.map_or((false, false), |row| neighbours(state, row));
    let key = |id| state.keymap.how(id);
    let before = || earlier.then(|| format!("press {} for the turn before", key(Id::PreviousTurn)));
    let after = |what| later.then(|| format!("press {} for {what}", key(Id::NextTurn)));
    let plain = |text: &str| Some(text.to_owned());
    let hint = match failure.kind {
        ErrorKind::NotFound => vec![Some(format!(
            "press {} in the runs to look for it, or {} to read the list again",
            key(Id::Find),
            key(Id::Refresh)
        ))],
        ErrorKind::Foreign => {
            let agent = row.and_then(|row| row.agent_id.as_deref());
            if let Some(agent) = agent.map(visible) {
                failure.hint = Some(format!(
                    "it is a run of {agent}: press {} and type that name, or nothing to open each run as its own agent",
                    key(Id::OpenAs)
                ));
            }
            return failure;
        }
        ErrorKind::NotCompleted => vec![earlier_or_completed(state, earlier)],
        ErrorKind::NoCheckpoint => vec![
            plain("the agent ran without a sandbox or without checkpoints"),
            before(),
            after("the turn after"),
        ],
        ErrorKind::ObjectMissing => vec![
            plain("retention keeps a session's newest checkpoints"),
            after("a later turn"),
        ],
        ErrorKind::BadRow | ErrorKind::BadReference => vec![Some(format!(
            "the row itself is damaged: press {} for what can be read of it",
            key(Id::ViewInfo)
        ))],
        ErrorKind::SizeMismatch | ErrorKind::ChecksumMismatch => vec![
            plain("the stored bytes are not what was committed, so nothing of them is shown"),
            before(),
        ],
        ErrorKind::InvalidArchive => {
            vec![plain(
                "the bytes are what was committed, but no archive that may be restored",
            )]
        }
        _ => vec![Some(format!(
            "press {} on the run to try again",
            key(Id::OpenRun)
        ))],
    };
    let hint: Vec<String> = hint.into_iter().flatten().collect();
    if (failure.hint.is_none() || failure.kind == ErrorKind::NotFound) && !hint.is_empty() {
        failure.hint = Some(hint.join("; "));
    }
    failure
}

/// Instead of a run that is not completed: an earlier one of its session, or any completed one.
fn earlier_or_completed(state: &State, earlier: bool) -> Option<String> {
    let statuses = state.runs.statuses();
    let (back, status) = (
        state.keymap.how(Id::PreviousTurn),
        state.keymap.how(Id::StatusFilter),
    );
    // The first press of `s` leads there.
    let completed =
        state.runs.status.is_none() && statuses.first().is_some_and(|one| one == "COMPLETED");
    match (earlier, completed) {
        (true, true) => Some(format!(
            "press {back} for the session's turn before, or {status} to list completed runs only"
        )),
        (true, false) => Some(format!("press {back} for the session's turn before")),
        (false, true) => Some(format!(
            "press {status} in the runs to list completed runs only"
        )),
        (false, false) => None,
    }
}

/// Whether the run's session has a turn before it, and one after it, as far as is known here.
fn neighbours(state: &State, row: &RunRow) -> (bool, bool) {
    let all = state.runs.sessions.get(&row.session_id);
    let all = all.and_then(|session| i64::try_from(session.runs).ok());
    match (row.turn(), all) {
        (_, Some(..=1)) => (false, false),
        (Some(turn), Some(all)) => (turn > 1, turn < all),
        (Some(turn), None) => (turn > 1, false),
        (None, all) => (all.is_some(), all.is_some()),
    }
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

/// Starts the comparison of the open run with the base that is asked for.
pub(super) fn compare(state: &mut State, out: &mut Vec<Effect>) {
    let Some(opened) = &mut state.opened else {
        return;
    };
    let handle = opened.handle.clone();
    opened.comparison.failure = None;
    opened.comparison.working = Some(Progress {
        stage: Stage::Checkout,
        done: 0,
        total: 0,
        finished: false,
    });
    let choice = state.content.base.clone();
    opened.comparison.asked = choice.clone();
    request(state, out, Request::Diff { handle, choice });
}

/// The comparison is there, or is not.
pub(super) fn compared(state: &mut State, answer: Result<(Box<Compared>, Arc<FileTree>), Failure>) {
    let Some(opened) = &mut state.opened else {
        return;
    };
    opened.comparison.working = None;
    let (compared, tree) = match answer {
        Ok(done) => done,
        Err(failure) => {
            let Some(done) = &opened.comparison.done else {
                opened.comparison.failure = Some(failure);
                return;
            };
            // What is shown goes on to be true of the base that is named beside it.
            state.content.base = opened.comparison.choice.clone();
            state.content.refused_base = Some(opened.comparison.asked.clone());
            let text = format!(
                "✖ {}; still against {}, {} goes on",
                failure.message,
                done.base,
                state.keymap.how(Id::Base)
            );
            return state.report(Tone::Bad, text);
        }
    };
    state.content.refused_base = None;
    opened.comparison.choice = opened.comparison.asked.clone();
    let first = opened.comparison.done.is_none();
    let compared = Arc::new(*compared);
    opened.comparison.done = Some(Arc::clone(&compared));
    opened.comparison.failure = None;
    opened.tree = Arc::clone(&tree);
    let counts = &mut state.runs.counts;
    counts.note(&opened.row.run_id, &compared, &state.content.base);
    state.content.turn_base();
    // A later run's refusal keeps the bottom line.
    if first && state.refusal.is_none() {
        remark(state, &compared.notices);
    }
    if first {
        settled(state);
    } else {
        files::rebuild(state);
    }
}

/// A run's files and its comparison are there: the cursor goes to the first change, unless it was
/// moved or stands on one already.
pub(super) fn settled(state: &mut State) {
    let Some(tree) = state.tree().cloned() else {
        return;
    };
    state.files.unfold_changed(&tree);
    files::rebuild(state);
    if !state.files.touched && content::to_mark(state, &tree) {
        return;
    }
    let kept = state
        .content
        .path
        .as_deref()
        .and_then(|path| tree.find(path));
    let kept_changed = kept.is_some_and(|node| tree.nodes[node].change.is_some());
    if !state.files.touched && !kept_changed {
        let change = (1..tree.nodes.len())
            .filter(|node| tree.nodes[*node].change == Some(0))
            .min();
        if let Some(node) = change {
            let path = tree.nodes[node].path.clone();
            files::to_path(state, &path);
        }
    }
}

/// Says the first of the notices, with the path that it is about.
fn remark(state: &mut State, notices: &[Notice]) {
    let Some(notice) = notices.first() else {
        return;
    };
    let info = state.keymap.how(Id::ViewInfo);
    let end = match notices.len() {
        1 => format!("; {info} shows notices"),
        many => format!(" (and {} more); {info} shows notices", many - 1),
    };
    let remark = visible(&notice.message).into_owned();
    let Some(path) = &notice.path else {
        return state.report(Tone::Warn, format!("! {remark}{end}"));
    };
    let path = visible_bytes(path);
    state.report(Tone::Warn, format!("! {path}: {remark}{end}"));
    if let Some(note) = &mut state.note {
        note.shorter = Some(Shorter { path, remark, end });
    }
}

/// `b`: the next of pin, HEAD, previous turn, nothing.
pub(super) fn next_base(state: &mut State, out: &mut Vec<Effect>) {
    let shown = state.compared().map(|compared| compared.kind);
    let refused = state.content.refused_base.take();
    let next = match (refused.as_ref().unwrap_or(&state.content.base), shown) {
        (BaseChoice::Default, Some("head")) => BaseChoice::Previous,
        (BaseChoice::Default, Some("previous")) => BaseChoice::Empty,
        (BaseChoice::Default, Some("pin")) | (BaseChoice::Pin, _) => BaseChoice::Head,
        (BaseChoice::Head, _) => BaseChoice::Previous,
        (BaseChoice::Previous, _) => BaseChoice::Empty,
        _ => BaseChoice::Pin,
    };
    state.say(Tone::Plain, format!("comparing with {}", base_words(&next)));
    state.content.base = next;
    compare(state, out);
}

/// A base that is asked for, in words.
#[must_use]
pub(super) fn base_words(choice: &BaseChoice) -> String {
    match choice {
        BaseChoice::Default => "the default base".into(),
        BaseChoice::Pin => "the pin".into(),
        BaseChoice::Head => "HEAD".into(),
        BaseChoice::Previous => "the previous turn".into(),
        BaseChoice::Run(run) => format!("run {}", visible(run)),
        BaseChoice::Empty => "nothing (everything is added)".into(),
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
