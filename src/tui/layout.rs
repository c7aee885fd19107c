//! Where everything stands, as a function of the state: `update` scrolls by it, the view draws by
//! it, and the mouse is read by it, so the three cannot disagree.

use ratatui::layout::Rect;

use super::footer;
use super::state::{Pane, State};

/// The smallest terminal that works.
pub const SMALLEST: (u16, u16) = (60, 16);
/// Below this many columns there are two panes.
const THREE: u16 = 110;
/// Below this many there is one.
const TWO: u16 = 80;

/// The screen in pieces. Each pane has its title in its first row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Areas {
    /// All of it; the frame goes around its edge.
    pub screen: Rect,
    /// The runs, where they are shown.
    pub runs: Option<Rect>,
    /// The files, where they are shown.
    pub files: Option<Rect>,
    /// The content, where it is shown.
    pub content: Option<Rect>,
    /// The lines below the panes.
    pub footer: Rect,
    /// Whether the terminal is too small for anything.
    pub too_small: bool,
    /// Whether there are no frames: for a screen reader.
    pub linear: bool,
}

impl Areas {
    /// The areas for `state` on a terminal of `width` columns and `height` rows.
    #[must_use]
    pub fn of(state: &State, (width, height): (u16, u16)) -> Self {
        let screen = Rect::new(0, 0, width, height);
        if width < SMALLEST.0 || height < SMALLEST.1 {
            return Self {
                screen,
                too_small: true,
                ..Self::default()
            };
        }
        if state.linear {
            return Self::linear(state, screen);
        }
        let inner = width - 2;
        let lines = footer::height(state, usize::from(inner - 2));
        let lines = u16::try_from(lines).unwrap_or(1).clamp(1, height - 8);
        let footer = Rect::new(2, height - 1 - lines, inner - 2, lines);
        let panes = Rect::new(1, 1, inner, height - 3 - lines);
        let mut areas = Self {
            screen,
            footer,
            ..Self::default()
        };
        let shown = shown(state, width);
        let mut left = panes.x;
        for (index, pane) in shown.iter().enumerate() {
            let rest = panes.right() - left;
            let last = index + 1 == shown.len();
            let width = if last {
                rest
            } else {
                share(*pane, inner, shown.len())
            };
            let area = Rect::new(left, panes.y, width, panes.height);
            *areas.slot(*pane) = Some(area);
            // One column for the line between two panes.
            left += width + 1;
        }
        areas
    }

    /// A title, one pane, and the lines below it, edge to edge.
    fn linear(state: &State, screen: Rect) -> Self {
        let lines = footer::height(state, usize::from(screen.width));
        let lines = u16::try_from(lines)
            .unwrap_or(1)
            .clamp(1, screen.height - 8);
        let bottom = screen.height - lines;
        let mut areas = Self {
            screen,
            footer: Rect::new(0, bottom, screen.width, lines),
            linear: true,
            ..Self::default()
        };
        *areas.slot(state.focus) = Some(Rect::new(0, 1, screen.width, bottom - 1));
        areas
    }

    fn slot(&mut self, pane: Pane) -> &mut Option<Rect> {
        match pane {
            Pane::Runs => &mut self.runs,
            Pane::Files => &mut self.files,
            Pane::Content => &mut self.content,
        }
    }

    /// Where `pane` is shown.
    #[must_use]
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        match pane {
            Pane::Runs => self.runs,
            Pane::Files => self.files,
            Pane::Content => self.content,
        }
    }

    /// The rows of `pane` below its title; a guess for one that is not shown.
    #[must_use]
    pub fn body(&self, pane: Pane) -> Rect {
        let all = self.pane(pane).unwrap_or(Rect::new(
            1,
            1,
            self.screen.width.saturating_sub(2),
            self.screen.height.saturating_sub(4),
        ));
        if self.linear {
            return Rect::new(all.x, all.y + 1, all.width, all.height.saturating_sub(1));
        }
        Rect::new(
            all.x + 1,
            all.y + 1,
            all.width.saturating_sub(2),
            all.height.saturating_sub(1),
        )
    }
}

fn shown(state: &State, width: u16) -> Vec<Pane> {
    if state.zoom || width < TWO {
        return vec![state.focus];
    }
    if width >= THREE {
        return Pane::ALL.to_vec();
    }
    match state.focus {
        Pane::Runs => vec![Pane::Runs, Pane::Files],
        _ => vec![Pane::Files, Pane::Content],
    }
}

/// Columns of a pane that is not the last one.
fn share(pane: Pane, inner: u16, panes: usize) -> u16 {
    let part =
        |percent: u16| u16::try_from(u32::from(inner) * u32::from(percent) / 100).unwrap_or(inner);
    match (panes, pane) {
        (3, Pane::Runs) => part(33).min(64),
        (3, _) => part(26).min(56),
        (_, Pane::Runs) => part(52),
        _ => part(38),
    }
}
