//! The mouse: a click focuses and chooses, a click on what is chosen already does what `enter` does,
//! the wheel scrolls what it is over.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{act, content, files, info, runs};
use crate::tui::action::Id;
use crate::tui::message::Effect;
use crate::tui::overlays;
use crate::tui::state::{Help, Overlay, Pane, State};

/// Lines that the wheel turns.
const WHEEL: usize = 3;

/// Takes a report of the mouse in.
pub(super) fn mouse(state: &mut State, out: &mut Vec<Effect>, event: MouseEvent) {
    if !state.mouse {
        return;
    }
    let down = match event.kind {
        MouseEventKind::ScrollDown => Some(true),
        MouseEventKind::ScrollUp => Some(false),
        MouseEventKind::Down(MouseButton::Left) => None,
        _ => return,
    };
    if let Some(overlay) = &state.overlay {
        let last = overlays::last_top(state, overlay);
        if let (Some(down), Some(Overlay::Help(Help { top, .. }) | Overlay::Jobs(top))) =
            (down, &mut state.overlay)
        {
            *top = if down {
                (*top + WHEEL).min(last)
            } else {
                top.saturating_sub(WHEEL)
            };
        }
        return;
    }
    let at = Position::new(event.column, event.row);
    let areas = state.areas();
    let under = |pane: &Pane| areas.pane(*pane).is_some_and(|area| area.contains(at));
    let Some(pane) = Pane::ALL.into_iter().find(under) else {
        return;
    };
    match down {
        Some(down) => wheel(state, pane, down),
        None => click(state, out, pane, at, areas.body(pane)),
    }
}

fn wheel(state: &mut State, pane: Pane, down: bool) {
    let by = if down {
        WHEEL as isize
    } else {
        -(WHEEL as isize)
    };
    match pane {
        Pane::Runs => runs::step(state, by),
        Pane::Files => files::step(state, by),
        Pane::Content => {
            content::turn_wheel(state, by);
        }
    }
}

fn click(state: &mut State, out: &mut Vec<Effect>, pane: Pane, at: Position, body: Rect) {
    let had_focus = std::mem::replace(&mut state.focus, pane) == pane;
    let Some(line) = at.y.checked_sub(body.y).map(usize::from) else {
        return;
    };
    match pane {
        Pane::Runs => {
            let row = state.runs.top + line;
            let Some(found) = state.runs.rows.get(row) else {
                return;
            };
            if found.item.is_passed_over() {
                return;
            }
            let again = std::mem::replace(&mut state.runs.cursor, row) == row;
            if again && had_focus {
                act(state, out, Id::OpenRun);
            }
        }
        Pane::Files => {
            let row = state.files.top + line;
            if row >= state.files.rows.len() {
                return;
            }
            let again = std::mem::replace(&mut state.files.cursor, row) == row;
            state.files.touched = true;
            if again && had_focus {
                act(state, out, Id::ToContent);
            }
        }
        Pane::Content => info::click(state, line),
    }
}
