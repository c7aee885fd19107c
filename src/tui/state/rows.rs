//! How lines become rows of the screen. Only rows on the screen are laid out: a place is a line and how
//! far into its text a row begins, so that a line of a megabyte costs no more than what is seen of it.

use std::borrow::Cow;
use std::collections::VecDeque;

use unicode_width::UnicodeWidthChar;

use super::shown::{Line, Lines};
use super::{Pane, State, toned_width};
use crate::tui::theme::Tone;

/// Text in one tone.
pub type Piece<'a> = (Tone, Cow<'a, str>);

/// Columns at the left of a row that goes on with a line that has no gutter.
const GOES_ON: usize = 2;

/// Where a row begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// Bytes of its text that come before; 0 unless long lines are wrapped.
    pub offset: usize,
}

impl Place {
    /// Where a line begins.
    #[must_use]
    pub fn at(line: usize) -> Self {
        Self { line, offset: 0 }
    }
}

/// Lines laid out in rows.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'s, 'a> {
    shown: &'s Lines<'a>,
    width: usize,
    wrap: bool,
}

impl<'s, 'a> Rows<'s, 'a> {
    /// The rows of what the content pane shows.
    #[must_use]
    pub fn of(state: &State, shown: &'s Lines<'a>) -> Self {
        Self {
            shown,
            width: usize::from(state.areas().body(Pane::Content).width),
            wrap: state.content.wrap && shown.can_wrap(),
        }
    }

    /// Whether long lines go on in a further row.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wrap
    }

    /// Columns that a row leaves to the line's text.
    #[must_use]
    pub fn room(&self, line: &Line<'_>, offset: usize) -> usize {
        let gutter = toned_width(&line.gutter);
        let taken = if offset == 0 {
            gutter
        } else {
            gutter.max(GOES_ON)
        };
        self.width.saturating_sub(taken).max(1)
    }

    /// Columns before the text of a row that goes on with a line.
    #[must_use]
    pub fn indent(&self, line: &Line<'_>) -> usize {
        toned_width(&line.gutter).max(GOES_ON)
    }

    /// Where the row after the one at `place` begins.
    #[must_use]
    pub fn next(&self, place: Place) -> Option<Place> {
        if self.wrap {
            let line = self.shown.line(place.line);
            let end = row_end(&line.body, place.offset, self.room(&line, place.offset));
            if end < length(&line.body) {
                return Some(Place {
                    line: place.line,
                    offset: end,
                });
            }
        }
        (place.line + 1 < self.shown.len()).then(|| Place::at(place.line + 1))
    }

    /// `rows` further down, as far as there are rows.
    #[must_use]
    pub fn down(&self, place: Place, rows: usize) -> Place {
        if !self.wrap {
            let last = self.shown.len().saturating_sub(1);
            return Place::at(place.line.saturating_add(rows).min(last));
        }
        let mut place = place;
        for _ in 0..rows {
            match self.next(place) {
                Some(next) => place = next,
                None => break,
            }
        }
        place
    }

    /// `rows` further up. Each line on the way is walked once.
    #[must_use]
    pub fn up(&self, place: Place, rows: usize) -> Place {
        if !self.wrap {
            return Place::at(place.line.saturating_sub(rows));
        }
        let (mut line, mut before, mut left) = (place.line, place.offset, rows);
        loop {
            let starts = self.starts(line, before, left);
            if starts.len() >= left {
                let offset = starts.front().copied().unwrap_or(place.offset);
                return Place { line, offset };
            }
            left -= starts.len();
            if line == 0 {
                return Place::default();
            }
            line -= 1;
            before = usize::MAX;
        }
    }

    /// Where the last `count` rows of a line begin that begin before `before`.
    fn starts(&self, line: usize, before: usize, count: usize) -> VecDeque<usize> {
        let mut starts = VecDeque::new();
        if count == 0 {
            starts.push_back(before);
            return starts;
        }
        let line = self.shown.line(line);
        let all = length(&line.body);
        let mut at = 0;
        while at < before {
            if starts.len() == count {
                starts.pop_front();
            }
            starts.push_back(at);
            let end = row_end(&line.body, at, self.room(&line, at));
            if end >= all {
                break;
            }
            at = end;
        }
        starts
    }

    /// The row that holds what is `offset` bytes into a line's text.
    #[must_use]
    pub fn holding(&self, line: usize, offset: usize) -> Place {
        if !self.wrap {
            return Place::at(line);
        }
        let starts = self.starts(line, offset.saturating_add(1), 1);
        Place {
            line,
            offset: starts.front().copied().unwrap_or(0),
        }
    }

    /// The first row so that the last one is at the bottom of `height` rows.
    #[must_use]
    pub fn last_top(&self, height: usize) -> Place {
        let Some(last) = self.shown.len().checked_sub(1) else {
            return Place::default();
        };
        let rows = height.max(1);
        if !self.wrap {
            return Place::at(self.shown.len().saturating_sub(rows));
        }
        self.up(Place::at(last + 1), rows)
    }

    /// `place` as the first of `height` rows, or as far down as there are rows.
    #[must_use]
    pub fn clamped(&self, place: Place, height: usize) -> Place {
        if !self.wrap {
            return Place::at(place.line).min(self.last_top(height));
        }
        if place.line >= self.shown.len() {
            return self.last_top(height);
        }
        let mut place = place;
        if !is_row_start(&self.shown.line(place.line).body, place.offset) {
            place.offset = 0;
        }
        let mut at = place;
        for _ in 1..height {
            match self.next(at) {
                Some(next) => at = next,
                None => return self.last_top(height).min(place),
            }
        }
        place
    }

    /// Whether the row at `row` is among the `height` from `top` on.
    #[must_use]
    pub fn is_seen(&self, row: Place, top: Place, height: usize) -> bool {
        row >= top && row <= self.down(top, height.saturating_sub(1))
    }
}

/// Bytes of text.
fn length(body: &[Piece<'_>]) -> usize {
    body.iter().map(|(_, text)| text.len()).sum()
}

/// Whether a row may begin here: within the text, between two characters.
fn is_row_start(body: &[Piece<'_>], offset: usize) -> bool {
    let mut at = 0;
    for (_, text) in body {
        if offset < at + text.len() {
            return text.is_char_boundary(offset - at);
        }
        at += text.len();
    }
    offset == 0
}

/// Where the row ends that begins `start` bytes into the text and has `room` columns; a character that
/// is wider than that still gets a row.
#[must_use]
pub fn row_end(body: &[Piece<'_>], start: usize, room: usize) -> usize {
    let (mut at, mut used) = (0, 0);
    for (_, text) in body {
        let end = at + text.len();
        if end > start {
            let from = start.saturating_sub(at);
            let rest = text.get(from..).unwrap_or_default();
            for (index, letter) in rest.char_indices() {
                let columns = letter.width().unwrap_or(0);
                if used + columns > room && used > 0 {
                    return at + from + index;
                }
                used += columns;
            }
        }
        at = end;
    }
    at
}

/// The pieces from `start` to `end`, each with where it begins.
pub fn slice<'p>(
    body: &'p [Piece<'_>],
    start: usize,
    end: usize,
) -> impl Iterator<Item = (usize, Tone, &'p str)> {
    let mut at = 0;
    body.iter().filter_map(move |(tone, text)| {
        let begins = at;
        at += text.len();
        let from = start.max(begins).min(at);
        let to = end.min(at).max(from);
        let part = text.get(from - begins..to - begins)?;
        (!part.is_empty()).then_some((from, *tone, part))
    })
}
