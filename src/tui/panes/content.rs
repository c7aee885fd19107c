//! The content pane. Its title always names the view and, for a diff, the base it is made against.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use super::titled;
use crate::review::BaseChoice;
use crate::text::{grouped, visible, visible_bytes};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::state::{
    Hit, Line, Pane, Piece, Place, Rows, Search, State, View, lines, row_end, slice, toned_width,
};
use crate::tui::theme::{Theme, Tone, Toned};
use crate::tui::view::{put, title_room};

/// `3 Diff  pin 7fd1a60 → turn 4   +12 −3`.
#[must_use]
pub fn title(state: &State, width: usize) -> (Toned, Toned) {
    let (mut left, right) = named(state, width);
    let right = with_search(state, &left, right, width);
    // The end of a path gives way to what is counted.
    let over = toned_width(&left) + toned_width(&right) + 3;
    if let (Some(over), Some((Tone::Dim, path))) = (over.checked_sub(width), left.last_mut()) {
        let room = fit::columns(path).saturating_sub(over + 2);
        *path = format!("  {}", fit::clip_start(path.trim_start(), room));
    }
    (left, right)
}

/// What is searched for and `3/17` before `right`, as much of it as there is room for.
fn with_search(state: &State, left: &Toned, right: Toned, width: usize) -> Toned {
    let Some(search) = &state.content.search else {
        return right;
    };
    let needle = fit::clip(&visible(&search.needle), 16);
    let count = search.count();
    let room = title_room(left, width);
    let gap = if right.is_empty() { "" } else { "  " };
    for (text, right) in [
        (format!("/{needle} {count}{gap}"), right.clone()),
        (format!("{count}{gap}"), right),
        (format!("/{needle} {count}"), Toned::new()),
    ] {
        let mut line = vec![(Tone::Match, text)];
        line.extend(right);
        if toned_width(&line) <= room {
            return line;
        }
    }
    vec![(Tone::Match, count)]
}

fn named(state: &State, width: usize) -> (Toned, Toned) {
    let view = state.content.view;
    let mut left = vec![(Tone::Strong, titled(state, Id::PaneContent, view.title()))];
    let mut right = Toned::new();
    if state.refusal.is_some() {
        return (left, right);
    }
    let Some(opened) = &state.opened else {
        return (left, right);
    };
    let turn = match opened.row.turn() {
        Some(turn) => format!("turn {turn}"),
        None => format!("run {}", fit::clip(&visible(&opened.row.run_id), 12)),
    };
    match view {
        View::Diff => {
            let failed = opened.comparison.failure.is_some();
            let base = match (&opened.comparison.done, failed) {
                (Some(compared), false) => compared.base.clone(),
                (None, false) => "comparing".into(),
                (_, true) => asked(&state.content.base),
            };
            left.push((Tone::Plain, format!("  {base} → {turn}")));
            if let Some(compared) = opened.comparison.done.as_ref().filter(|_| !failed) {
                let number = |count: Option<u64>| count.map_or("?".into(), grouped);
                right.push((Tone::Added, format!("+{}", number(compared.additions))));
                right.push((Tone::Removed, format!(" −{}", number(compared.deletions))));
            }
            if opened.comparison.working.is_some() {
                left.push((Tone::Busy, " …".into()));
            }
            if state.content.ignore_whitespace {
                left.push((Tone::Warn, " -w".into()));
            }
        }
        View::File => {
            left.push((Tone::Plain, format!("  {turn}")));
            if let Some(path) = &state.content.path {
                let room = width.saturating_sub(12 + fit::columns(&turn)).max(8);
                left.push((
                    Tone::Dim,
                    format!("  {}", fit::clip_start(&visible_bytes(path), room)),
                ));
            }
        }
        View::Info | View::Transcript => left.push((Tone::Plain, format!("  {turn}"))),
    }
    (left, right)
}

fn asked(choice: &BaseChoice) -> String {
    match choice {
        BaseChoice::Default => "no base".into(),
        BaseChoice::Pin => "pin".into(),
        BaseChoice::Head => "head".into(),
        BaseChoice::Previous => "previous".into(),
        BaseChoice::Run(run) => format!("run {}", fit::clip(&visible(run), 12)),
        BaseChoice::Empty => "empty".into(),
    }
}

/// The lines.
pub fn draw(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) {
    let shown = lines(state);
    let pane = &state.content;
    let rows = Rows::of(state, &shown);
    let height = usize::from(body.height);
    if shown.is_empty() {
        return;
    }
    // While something is on its way there may be fewer lines than the place that is kept for it.
    let top = pane.top();
    let mut place = Some(if top.line < shown.len() {
        top
    } else {
        rows.clamped(top, height)
    });
    for row in body.rows() {
        let Some(at) = place else { break };
        place = rows.next(at);
        let line = shown.line(at.line);
        let marks = |side| Marks {
            search: pane.search.as_ref(),
            line: at.line,
            side,
        };
        if let Some(right) = &line.beside {
            let [old, edge, new] = Layout::horizontal([
                Constraint::Fill(1),
                Constraint::Length(2),
                Constraint::Fill(1),
            ])
            .areas(row);
            cut(&line, pane.left, &marks(0)).put(theme, old, buffer);
            put(theme, vec![(Tone::Dim, "│".into())], edge, buffer);
            cut(right, pane.left, &marks(1)).put(theme, new, buffer);
        } else if rows.wraps() {
            wrapped(&line, &rows, at, &marks(0)).put(theme, row, buffer);
        } else {
            let left = if shown.is_heading(at.line) {
                0
            } else {
                pane.left
            };
            cut(&line, left, &marks(0)).put(theme, row, buffer);
        }
        if pane.view == View::Info && pane.info.cursor == at.line {
            buffer.set_style(row, theme.cursor(state.focus == Pane::Content));
        }
    }
}

/// Where the matches of a search are in a line.
struct Marks<'a> {
    search: Option<&'a Search>,
    line: usize,
    side: u8,
}

/// A row before its width is known.
struct Row<'l, 'a> {
    line: &'l Line<'a>,
    gutter: Toned,
    /// Where its text begins, and where it ends when it is wrapped.
    from: Option<usize>,
    to: Option<usize>,
    left: usize,
    marks: &'l Marks<'l>,
}

/// A row of a line that is wrapped.
fn wrapped<'l, 'a>(
    line: &'l Line<'a>,
    rows: &Rows<'_, '_>,
    at: Place,
    marks: &'l Marks<'l>,
) -> Row<'l, 'a> {
    let gutter = if at.offset == 0 {
        line.gutter.clone()
    } else {
        let blank = " ".repeat(rows.indent(line).saturating_sub(2));
        vec![(Tone::Dim, format!("{blank}↪ "))]
    };
    Row {
        line,
        gutter,
        from: Some(at.offset),
        to: Some(row_end(&line.body, at.offset, rows.room(line, at.offset))),
        left: 0,
        marks,
    }
}

/// A row of a line that is cut at both edges; its gutter stays where it is.
fn cut<'l, 'a>(line: &'l Line<'a>, left: usize, marks: &'l Marks<'l>) -> Row<'l, 'a> {
    Row {
        line,
        gutter: line.gutter.clone(),
        from: None,
        to: None,
        left,
        marks,
    }
}

impl Row<'_, '_> {
    fn put(self, theme: Theme, area: Rect, buffer: &mut Buffer) {
        let mut toned = self.gutter;
        let mut used = toned_width(&toned);
        let room = usize::from(area.width).saturating_sub(used);
        let body = &self.line.body;
        let all: usize = body.iter().map(|(_, text)| text.len()).sum();
        let (mut from, mut room_left) = (self.from.unwrap_or(0), room);
        if self.left > 0 && self.from.is_none() && all > 0 {
            // The first column says that the line begins before it.
            from = row_end(body, 0, self.left + 1);
            let missing = (self.left + 1).saturating_sub(columns_of(body, from));
            toned.push((Tone::Dim, format!("‹{}", " ".repeat(missing))));
            used += 1 + missing;
            room_left = room.saturating_sub(1 + missing);
        }
        let mut to = self
            .to
            .unwrap_or_else(|| row_end(body, from, room_left.max(1)));
        let more = self.to.is_none() && to < all;
        if more {
            to = match room_left {
                0 | 1 => from,
                _ => row_end(body, from, room_left - 1),
            };
        }
        let hits = match self.marks.search {
            Some(search) => search.within(self.marks.line, self.marks.side, from..to),
            None => &[],
        };
        let current = self.marks.search.and_then(Search::current);
        let mut bright = Vec::new();
        for (begins, tone, text) in slice(body, from, to) {
            for (part, hit) in parted(begins, text, hits) {
                let columns = fit::columns(part);
                if hit.is_some() && hit == current {
                    bright.push((used, columns));
                }
                let tone = if hit.is_some() { Tone::Match } else { tone };
                toned.push((tone, part.to_owned()));
                used += columns;
            }
        }
        if more {
            toned.push((Tone::Dim, "›".into()));
        }
        put(theme, toned, area, buffer);
        for (x, columns) in bright {
            let cell = |columns: usize| u16::try_from(columns).unwrap_or(u16::MAX);
            let area = Rect::new(area.x.saturating_add(cell(x)), area.y, cell(columns), 1)
                .intersection(area);
            buffer.set_style(area, theme.cursor(true));
        }
    }
}

/// Columns of the text before `end`.
fn columns_of(body: &[Piece<'_>], end: usize) -> usize {
    slice(body, 0, end)
        .map(|(_, _, text)| fit::columns(text))
        .sum()
}

/// `text`, which begins at `begins`, in what matches and what does not.
fn parted<'t>(
    begins: usize,
    text: &'t str,
    hits: &'t [Hit],
) -> impl Iterator<Item = (&'t str, Option<Hit>)> {
    let mut at = 0;
    let mut hits = hits.iter().peekable();
    std::iter::from_fn(move || {
        while at < text.len() {
            let within = |offset: u32| (offset as usize).saturating_sub(begins).min(text.len());
            let (end, hit) = match hits.peek() {
                None => (text.len(), None),
                Some(hit) if within(hit.start) > at => (within(hit.start), None),
                Some(hit) => (within(hit.end), Some(**hit)),
            };
            if hit.is_some() {
                hits.next();
            }
            let part = text.get(at..end).unwrap_or_default();
            at = end.max(at);
            if !part.is_empty() {
                return Some((part, hit));
            }
        }
        None
    })
}
