//! The content pane: views, scrolling, hunks, the place that is kept, and asking for what the Files
//! cursor is on.

use super::{comparison, files, info, request, search, show, stop, why_not};
use crate::review::PatchOptions;
use crate::runs::RunRow;
use crate::tui::action::Id;
use crate::tui::message::{Effect, Request, Slot};
use crate::tui::state::{
    Failure, FileContent, FileTree, Kept, Line, Lines, Load, Pane, Patch, Place, Rows, State, View,
    Wanted, beside, lines, row_end, slice,
};
use crate::tui::theme::Tone;

/// Columns of one step sideways.
const SIDE: usize = 8;

/// Does what is meant for this pane.
pub(super) fn act(state: &mut State, out: &mut Vec<Effect>, id: Id) {
    let half = isize::try_from(height(state) / 2).unwrap_or(1).max(1);
    match id {
        Id::Down => go(state, 1),
        Id::Up => go(state, -1),
        Id::HalfDown => go(state, half),
        Id::HalfUp => go(state, -half),
        Id::Top => go(state, isize::MIN),
        Id::Bottom => go(state, isize::MAX),
        Id::Unfold if state.content.view == View::Info => info::unfold(state),
        Id::Fold if state.content.view == View::Info => info::fold(state),
        Id::Follow => info::turn(state),
        Id::Rightwards | Id::Unfold => sideways(state, true),
        Id::Leftwards | Id::Fold => sideways(state, false),
        Id::Wrap => wrap(state),
        Id::SideBySide => {
            state.content.side_by_side = !state.content.side_by_side;
            let how = if state.content.side_by_side {
                "beside each other"
            } else {
                "below each other"
            };
            state.say(Tone::Plain, format!("old and new are {how}"));
        }
        Id::ViewDiff => show(state, View::Diff),
        Id::ViewFile => show(state, View::File),
        Id::ViewTranscript => show(state, View::Transcript),
        Id::ViewInfo => show(state, View::Info),
        Id::Base => comparison::next_base(state, out),
        Id::NextHunk => hunk(state, true),
        Id::PreviousHunk => hunk(state, false),
        Id::NextFile => files::to_change(state, true),
        Id::PreviousFile => files::to_change(state, false),
        Id::Whitespace => {
            state.content.ignore_whitespace = !state.content.ignore_whitespace;
            let how = if state.content.ignore_whitespace {
                "left out"
            } else {
                "shown"
            };
            state.say(Tone::Plain, format!("changes of white space are {how}"));
        }
        Id::MoreContext => context(
            state,
            state.content.context.saturating_mul(2).clamp(1, 10_000),
        ),
        Id::LessContext => context(state, state.content.context / 2),
        Id::FindNext => search::step(state, true),
        Id::FindPrevious => search::step(state, false),
        _ => {}
    }
}

fn height(state: &State) -> usize {
    usize::from(state.areas().body(Pane::Content).height)
}

fn context(state: &mut State, context: u32) {
    state.content.context = context;
    state.say(Tone::Plain, format!("{context} lines around a change"));
}

/// Moves by rows: Info's cursor, and elsewhere what is shown.
fn go(state: &mut State, by: isize) {
    if state.content.view == View::Info {
        info::step(state, by);
    } else {
        scroll(state, by);
    }
}

/// The wheel over the pane.
pub(super) fn turn_wheel(state: &mut State, by: isize) {
    go(state, by);
}

/// Scrolls by rows, as far as there are rows.
pub(super) fn scroll(state: &mut State, by: isize) {
    let height = height(state);
    let shown = lines(state);
    let rows = Rows::of(state, &shown);
    let top = state.content.top();
    let top = match by {
        isize::MIN => Place::default(),
        isize::MAX => rows.last_top(height),
        0.. => rows.down(top, by.unsigned_abs()),
        _ => rows.up(top, by.unsigned_abs()),
    };
    let top = rows.clamped(top, height);
    state.content.set_top(top);
}

/// Puts a line at the top, or as near to it as there are rows below.
pub(super) fn scroll_to(state: &mut State, line: usize) {
    let shown = lines(state);
    let top = Rows::of(state, &shown).clamped(Place::at(line), height(state));
    state.content.set_top(top);
}

/// Long lines to the side, as far as one of those that are seen goes on.
pub(super) fn sideways(state: &mut State, right: bool) {
    if let Some(why) = why_not(state, Id::Rightwards) {
        return state.say(Tone::Warn, why);
    }
    if !right {
        state.content.left = state.content.left.saturating_sub(SIDE);
        return;
    }
    let shown = lines(state);
    let rows = Rows::of(state, &shown);
    let left = state.content.left;
    let goes_on = |line: &Line<'_>, room: usize| {
        let seen = row_end(&line.body, 0, left + room);
        slice(&line.body, seen, usize::MAX).next().is_some()
    };
    let top = state.content.top().line;
    let cut = (top..shown.len()).take(height(state)).any(|line| {
        let line = shown.line(line);
        let mut room = rows.room(&line, 0);
        if line.beside.is_some() {
            room = (room / 2).saturating_sub(1).max(1);
        }
        goes_on(&line, room) || line.beside.as_ref().is_some_and(|new| goes_on(new, room))
    });
    if cut {
        state.content.left += SIDE;
    } else {
        state.say(Tone::Dim, "no line goes on to the right");
    }
}

fn wrap(state: &mut State) {
    let content = &mut state.content;
    content.wrap = !content.wrap;
    content.left = 0;
    for top in &mut content.tops {
        top.offset = 0;
    }
    let how = if content.wrap {
        "long lines are wrapped".to_owned()
    } else {
        let keys = [Id::Rightwards, Id::Leftwards].map(|id| state.keymap.how(id));
        format!(
            "long lines are cut at the edge; {} go on",
            keys.join(" and ")
        )
    };
    state.say(Tone::Plain, how);
}

/// To the next hunk, and on into the next file after the last one.
fn hunk(state: &mut State, forward: bool) {
    let shown = lines(state);
    let now = state.content.hunk_line();
    let is_hunk = |line: &usize| shown.is_hunk(*line);
    let found = if forward {
        (now + 1..shown.len()).find(is_hunk)
    } else {
        (0..now.min(shown.len())).rev().find(is_hunk)
    };
    match found {
        Some(at) => {
            scroll_to(state, at);
            state.content.at_hunk = Some((state.content.top(), at));
        }
        None if !(0..shown.len()).any(|line| shown.is_hunk(line)) => {
            let next = state.keymap.how(Id::NextFile);
            state.say(
                Tone::Dim,
                format!("no hunk here; {next} goes to the next changed file"),
            );
        }
        None => {
            let end = if forward {
                let next = state.keymap.how(Id::NextFile);
                format!("last hunk; {next} goes to the next file")
            } else {
                let before = state.keymap.how(Id::PreviousFile);
                format!("first hunk; {before} goes to the file before")
            };
            state.say(Tone::Dim, format!("this is the {end}"));
        }
    }
}

/// Remembers what is looked at when another turn of its session takes its place.
pub(super) fn leave_mark(state: &mut State, next: &RunRow) {
    let before = state.opened.as_ref().map(|run| &run.row);
    let same = before
        .is_some_and(|row| row.session_id == next.session_id && row.agent_id == next.agent_id);
    let content = &mut state.content;
    let mark = content
        .path
        .clone()
        .map(|path| (path, content.kept.clone(), content.tops));
    content.mark = mark.filter(|_| same);
    if !same {
        // A place in another session's file says nothing about this one's.
        content.path = None;
        content.kept = None;
        content.tops = Default::default();
    }
    // The row may say something else by now.
    content.info.details.clear();
}

/// Goes back to it in the turn that is open now; whether it is there.
pub(super) fn to_mark(state: &mut State, tree: &FileTree) -> bool {
    let mark = state.content.mark.take();
    let Some((path, kept, tops)) = mark.filter(|(path, ..)| tree.find(path).is_some()) else {
        return false;
    };
    files::to_path(state, &path);
    let content = &mut state.content;
    content.path = Some(path);
    content.kept = kept;
    for view in [View::Diff, View::File] {
        content.tops[view as usize] = tops[view as usize];
    }
    content.place_anew = true;
    true
}

/// The changes of the file are there, or are not.
pub(super) fn take_patch(state: &mut State, patch: Result<Patch, Failure>) {
    let content = &mut state.content;
    content.patch.answer(patch);
    content.sides = match &content.patch.value {
        Some(patch) => beside(&patch.rows),
        None => Vec::new(),
    };
    content.place_anew = true;
    content.loaded += 1;
}

/// The content of the file is there, or is not; its colours may follow.
pub(super) fn take_file(state: &mut State, file: Result<FileContent, Failure>) {
    state.content.file.answer(file);
    state.content.colours.clear();
    state.content.loaded += 1;
}

/// Asks for what the Files cursor is on, unless that is asked for already.
pub(super) fn follow(state: &mut State, out: &mut Vec<Effect>) {
    info::follow(state, out);
    if state.refusal.is_some() {
        return;
    }
    let Some(opened) = &state.opened else { return };
    let tree = &opened.tree;
    let node = state.files.selected();
    let path = node.and_then(|node| tree.nodes.get(node));
    let path = path.map(|node| node.path.clone());
    if path != state.content.path {
        state.content.path.clone_from(&path);
        state.content.tops[View::Diff as usize] = Place::default();
        state.content.tops[View::File as usize] = Place::default();
        state.content.kept = None;
        state.content.loaded += 1;
        state.content.left = 0;
        state.content.file = Load::default();
        state.content.asked_file = None;
        state.content.patch.waiting = false;
        state.content.asked_patch = None;
        state.content.colours.clear();
        state.content.at_hunk = None;
        // What is still on its way is about another file.
        stop(state, out, Slot::Content);
    }
    let Some(opened) = &state.opened else { return };
    let Some(node) = node.and_then(|node| opened.tree.nodes.get(node)) else {
        return;
    };
    let handle = opened.handle.clone();
    match state.content.view {
        View::Diff => {
            let Some(compared) = opened.comparison.done.clone() else {
                return;
            };
            let Some(file) = node.change else { return };
            let options = PatchOptions {
                context: state.content.context,
                ignore_whitespace: state.content.ignore_whitespace,
            };
            let wanted = Wanted::Patch(state.content.epoch, file, options);
            if state.content.asked_patch.as_ref() == Some(&wanted) {
                return;
            }
            state.content.asked_patch = Some(wanted);
            // Another content request has taken the slot.
            state.content.file.waiting = false;
            state.content.asked_file = None;
            state.content.patch.waiting = true;
            state.content.patch.failure = None;
            let diff = compared.handle.clone();
            request(
                state,
                out,
                Request::Patch {
                    handle,
                    diff,
                    file,
                    options,
                },
            );
        }
        View::File => {
            let path = node.path.clone();
            let wanted = Wanted::File(state.content.epoch, path.clone());
            if state.content.asked_file.as_ref() == Some(&wanted) {
                return;
            }
            state.content.asked_file = Some(wanted);
            state.content.patch.waiting = false;
            state.content.asked_patch = None;
            state.content.file.waiting = true;
            state.content.file.failure = None;
            request(state, out, Request::File { handle, path });
        }
        View::Transcript | View::Info => {}
    }
}

/// Keeps the place within what there is, but not while something is on its way: it is kept then.
pub(super) fn settle(state: &mut State) {
    info::settle(state);
    search::settle(state);
    let content = &state.content;
    let comparing = state
        .opened
        .as_ref()
        .is_some_and(|run| run.comparison.done.is_none());
    if content.patch.waiting || content.file.waiting || comparing || state.opening.is_some() {
        return;
    }
    keep_place(state);
    if state.content.view == View::Info {
        info::in_view(state);
    } else {
        scroll(state, 0);
    }
}

/// In a diff: finds the lines that stood on the screen when others came, and remembers those that do.
fn keep_place(state: &mut State) {
    if state.content.view != View::Diff {
        return;
    }
    let shown = lines(state);
    let beside = matches!(shown, Lines::Sides(..));
    if !beside && !matches!(shown, Lines::Patch(_)) {
        return;
    }
    let content = &state.content;
    let (mut top, mut hunk) = (content.top(), content.at_hunk);
    let height = height(state);
    let rows = Rows::of(state, &shown);
    if content.place_anew || content.beside != beside {
        let kept = content.kept.as_ref();
        let kept = kept.filter(|kept| Some(&kept.path) == content.path.as_ref());
        if let Some(line) = kept.and_then(|kept| kept.line(&shown)) {
            top = Place::at(line);
        }
        hunk = kept
            .and_then(|kept| kept.header(&shown))
            .map(|line| (rows.clamped(top, height), line));
    }
    top = rows.clamped(top, height);
    let gone_to = hunk.filter(|(at, _)| *at == top).map(|(_, line)| line);
    let kept = content
        .path
        .clone()
        .map(|path| Kept::of(path, &shown, top, gone_to));
    let content = &mut state.content;
    content.set_top(top);
    content.at_hunk = hunk;
    content.kept = kept;
    content.beside = beside;
    content.place_anew = false;
}
