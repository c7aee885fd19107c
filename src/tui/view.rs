//! The screen as a function of the state: frame, title, panes, bottom line, and what lies over them.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::action::Id;
use super::keymap::Keymap;
use super::layout::{Areas, SMALLEST};
use super::state::{Pane, State, live_word, toned_width};
use super::theme::{Theme, Tone, Toned};
use super::{apart, fit, footer, linear, overlays, panes};
use crate::text::visible;

/// Draws everything.
pub fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>) {
    // The terminal may be smaller by now than the last size that was reported.
    let size = (frame.area().width, frame.area().height);
    let areas = Areas::of(state, size);
    let buffer = frame.buffer_mut();
    if areas.too_small {
        too_small(&state.keymap, theme, areas.screen, buffer);
        return;
    }
    if areas.linear {
        let row = Rect::new(0, 0, areas.screen.width, 1);
        put(theme, headline(state, usize::from(row.width)), row, buffer);
    } else {
        outline(state, theme, &areas, buffer);
    }
    for pane in Pane::ALL {
        let Some(area) = areas.pane(pane) else {
            continue;
        };
        let title = match pane {
            Pane::Runs => panes::runs::title(state, area.width.into()),
            Pane::Files => panes::files::title(state, area.width.into()),
            Pane::Content => panes::content::title(state, area.width.into()),
        };
        let edge = u16::from(!areas.linear);
        let row = Rect::new(
            area.x + edge,
            area.y,
            area.width.saturating_sub(2 * edge),
            1,
        );
        pane_title(state, theme, pane, title, row, buffer);
        let body = areas.body(pane);
        match pane {
            Pane::Runs => panes::runs::draw(state, theme, body, buffer),
            Pane::Files => panes::files::draw(state, theme, body, buffer),
            Pane::Content => panes::content::draw(state, theme, body, buffer),
        }
    }
    let lines = footer::lines(state, usize::from(areas.footer.width));
    for (row, line) in areas.footer.rows().zip(lines) {
        put(theme, line, row, buffer);
    }
    overlays::draw(state, theme, &areas, buffer);
    apart::spread(buffer);
    if areas.linear {
        let at = linear::cursor(state, &areas, buffer);
        frame.set_cursor_position(at);
    }
}

/// Draws a toned line into the row `area`.
pub fn put(theme: Theme, line: Toned, area: Rect, buffer: &mut Buffer) {
    let line = theme.row(line, area.width.into());
    buffer.set_line(area.x, area.y, &line, area.width);
}

fn too_small(keymap: &Keymap, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (area.width, area.height);
    let text = format!(
        "afterrun needs {}×{} characters; this terminal has {width}×{height}. Make it larger, or press {}.",
        SMALLEST.0,
        SMALLEST.1,
        keymap.how(Id::Quit)
    );
    let lines = fit::wrap(&text, usize::from(area.width));
    for (row, line) in area.rows().zip(lines) {
        put(theme, vec![(Tone::Plain, line)], row, buffer);
    }
}

/// The frame, the lines between panes, and the title in its top edge.
fn outline(state: &State, theme: Theme, areas: &Areas, buffer: &mut Buffer) {
    let style = theme.frame();
    let screen = areas.screen;
    let (right, bottom) = (screen.right() - 1, screen.bottom() - 1);
    let above_footer = areas.footer.y - 1;
    for x in screen.x..=right {
        for y in [screen.y, above_footer, bottom] {
            set(buffer, x, y, "─", style);
        }
    }
    for y in screen.y..=bottom {
        set(buffer, screen.x, y, "│", style);
        set(buffer, right, y, "│", style);
    }
    for area in [areas.runs, areas.files, areas.content]
        .into_iter()
        .flatten()
    {
        if area.right() < right {
            for y in area.y..above_footer {
                set(buffer, area.right(), y, "│", style);
            }
            set(buffer, area.right(), above_footer, "┴", style);
        }
    }
    for (x, y, corner) in [
        (screen.x, screen.y, "╭"),
        (right, screen.y, "╮"),
        (screen.x, bottom, "╰"),
        (right, bottom, "╯"),
        (screen.x, above_footer, "├"),
        (right, above_footer, "┤"),
    ] {
        set(buffer, x, y, corner, style);
    }
    let hints = footer::edge(state, usize::from(areas.footer.width));
    let taken = u16::try_from(toned_width(&hints)).unwrap_or(0);
    if taken > 0 {
        let row = Rect::new(right.saturating_sub(taken + 3), bottom, taken + 2, 1);
        let mut line = vec![(Tone::Plain, " ".to_owned())];
        line.extend(hints);
        line.push((Tone::Plain, " ".into()));
        put(theme, line, row, buffer);
    }
    let row = Rect::new(screen.x + 1, screen.y, screen.width - 2, 1);
    put(theme, headline(state, usize::from(row.width)), row, buffer);
}

fn set(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    if let Some(cell) = buffer.cell_mut((x, y)) {
        cell.set_symbol(symbol).set_style(style);
    }
}

/// `afterrun ── DB · STORE ── as AGENT ── N agents · M runs`, with what there is room for.
fn headline(state: &State, width: usize) -> Toned {
    let who = match &state.opening_as {
        Some(agent) => format!("as {}", fit::clip(&visible(agent), width / 4)),
        None => "as its own agent".into(),
    };
    let counted = state.runs.agents.as_ref().map(|agents| {
        let runs: u64 = agents.iter().flat_map(|agent| agent.runs.values()).sum();
        let named = agents
            .iter()
            .filter(|agent| agent.agent_id.is_some())
            .count();
        format!(
            "{} · {}",
            fit::count(named as u64, "agent"),
            fit::count(runs, "run")
        )
    });
    let live = live_word(state);
    let counted = match (counted, live) {
        (Some(counted), Some(live)) => {
            let both = format!("{counted} · {live}");
            let least = fit::columns(" afterrun ── ") + fit::columns(&who) + 5;
            // When the database was seen says more than how much there was in it.
            match least + fit::columns(&both) <= width {
                true => Some(both),
                false => Some(live),
            }
        }
        (counted, live) => counted.or(live),
    };
    let labels = &state.labels;
    let profile = labels
        .profile
        .as_deref()
        .map(|name| format!("{}: ", visible(name)));
    let profile = profile.unwrap_or_default();
    let taken = " afterrun ".len()
        + fit::columns(&who)
        + counted.as_ref().map_or(0, |text| fit::columns(text))
        + 3 * 4
        + 2;
    let room = width.saturating_sub(taken);
    let (database, store) = (visible(&labels.database), visible(&labels.store));
    let whole = format!("{profile}{database} · {store}");
    let place = if fit::columns(&whole) <= room {
        whole
    } else if room >= 32 {
        let rest = room - 3;
        let first = (rest / 2).max(rest.saturating_sub(fit::columns(&store)));
        let database = named(&profile, &database, first);
        let rest = rest - fit::columns(&database);
        format!("{database} · {}", fit::clip_start(&store, rest))
    } else {
        named(&profile, &database, room)
    };
    let mut line = vec![(Tone::Accent, " afterrun ".into())];
    let mut part = |tone: Tone, text: String| {
        line.push((Tone::Dim, "── ".into()));
        line.push((tone, format!("{text} ")));
    };
    if fit::columns(&place) >= 6 {
        part(Tone::Plain, place);
    }
    part(Tone::Strong, who);
    if let Some(counted) = counted {
        part(Tone::Plain, counted);
    }
    while toned_width(&line) > width && line.len() > 1 {
        line.pop();
    }
    line
}

/// The database in so many columns, after the profile's name, which stays whole where it can.
fn named(profile: &str, database: &str, columns: usize) -> String {
    match columns.saturating_sub(fit::columns(profile)) {
        0 => fit::clip_start(profile, columns),
        rest => format!("{profile}{}", fit::clip_start(database, rest)),
    }
}

/// Columns that the right part of a pane's title may take beside `left`.
#[must_use]
pub fn title_room(left: &Toned, pane: usize) -> usize {
    pane.saturating_sub(2 + toned_width(left) + 1)
}

fn pane_title(
    state: &State,
    theme: Theme,
    pane: Pane,
    title: (Toned, Toned),
    row: Rect,
    buffer: &mut Buffer,
) {
    let (mut left, mut right) = title;
    if state.linear {
        // In words before its room is measured.
        right = linear::in_words(right);
    }
    let focused = state.focus == pane;
    if let Some(first) = left.first_mut() {
        first.0 = if focused { Tone::Accent } else { Tone::Strong };
    }
    let width = toned_width(&right);
    let room = usize::from(row.width);
    put(theme, left.clone(), row, buffer);
    if width > 0 && toned_width(&left) + 1 + width <= room {
        let x = row.right() - u16::try_from(width).unwrap_or(0);
        put(
            theme,
            right,
            Rect::new(x, row.y, row.right() - x, 1),
            buffer,
        );
    }
    if focused && !state.linear {
        // The number stands out without colour too.
        let number = Rect::new(row.x, row.y, 1, 1);
        buffer.set_style(number, theme.cursor(true));
    }
}
