//! What lies over the panes. A refusal never does: it stands inline, under its run.

pub mod confirm;
pub mod help;
pub mod jobs;
pub mod palette;
pub mod prompt;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::action::Id;
use super::fit;
use super::layout::Areas;
use super::state::{Help, Overlay, State};
use super::theme::{Theme, Tone, Toned};
use super::view::put;

/// Draws the overlay that is open.
pub fn draw(state: &State, theme: Theme, areas: &Areas, buffer: &mut Buffer) {
    match &state.overlay {
        None => {}
        Some(Overlay::Prompt(open)) => prompt::draw(state, open, theme, areas, buffer),
        Some(Overlay::Palette(open)) => palette::draw(state, open, theme, areas, buffer),
        Some(Overlay::Help(open)) => {
            let lines = help::lines(state, open);
            let body = page(state, " Keys ", lines, open.top, theme, areas, buffer);
            narrowing(state, open, theme, body, buffer);
        }
        Some(Overlay::Jobs(top)) => {
            page(
                state,
                " Jobs ",
                jobs::lines(state),
                *top,
                theme,
                areas,
                buffer,
            );
        }
    }
}

/// A box of `width` × `height` (borders included) in the middle of the panes, cleared and framed.
pub fn frame(
    title: &str,
    width: u16,
    height: u16,
    theme: Theme,
    areas: &Areas,
    buffer: &mut Buffer,
) -> Rect {
    let screen = areas.screen;
    if areas.linear {
        let all = Rect::new(0, 1, screen.width, areas.footer.y.saturating_sub(1));
        Clear.render(all, buffer);
        let row = Rect::new(0, 1, screen.width, 1);
        let title = title.trim().to_owned();
        put(theme, vec![(Tone::Accent, title)], row, buffer);
        return Rect::new(0, 2, screen.width, all.height.saturating_sub(1));
    }
    // Between the title and the bottom line, which go on telling where one is.
    let room = Rect::new(
        screen.x + 2,
        screen.y + 1,
        screen.width.saturating_sub(4),
        areas.footer.y.saturating_sub(screen.y + 2),
    );
    let (width, height) = (width.min(room.width), height.min(room.height));
    let x = room.x + (room.width - width) / 2;
    // A little above the middle, where the eye is.
    let y = room.y + (room.height - height) / 3;
    let area = Rect::new(x, y, width, height).intersection(screen);
    Clear.render(area, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(Style::new())
        .title(ratatui::text::Span::styled(
            fit::clip(title, usize::from(width.saturating_sub(2))),
            theme.style(Tone::Accent),
        ));
    let inner = block.inner(area);
    block.render(area, buffer);
    Rect::new(
        inner.x + 1,
        inner.y,
        inner.width.saturating_sub(2),
        inner.height,
    )
}

/// Columns of a page, its frame included, where the screen has them.
const PAGE: u16 = 84;

/// Columns that the lines of a page have on a screen of `screen` columns.
#[must_use]
pub fn page_width(screen: u16) -> usize {
    usize::from(PAGE.min(screen.saturating_sub(4)).saturating_sub(4))
}

/// The furthest that the page `open` scrolls.
#[must_use]
pub fn last_top(state: &State, open: &Overlay) -> usize {
    let lines = match open {
        Overlay::Help(open) => help::lines(state, open).len(),
        Overlay::Jobs(_) => jobs::lines(state).len(),
        Overlay::Prompt(_) | Overlay::Palette(_) => 0,
    };
    let shown = usize::from(state.areas().footer.y).saturating_sub(4);
    lines.saturating_sub(shown)
}

/// What narrows the list of keys, on the frame's last line.
fn narrowing(state: &State, open: &Help, theme: Theme, body: Rect, buffer: &mut Buffer) {
    let row = Rect::new(body.x, body.bottom(), body.width, 1).intersection(buffer.area);
    let find = state.keymap.how(Id::Find);
    let width = usize::from(row.width).saturating_sub(2);
    let mut line = match (open.typing, open.filter.value()) {
        (true, _) => prompt::input_line(&open.filter, "narrow: ", width),
        (false, "") => vec![(Tone::Dim, format!("{find} narrows the list"))],
        (false, text) => vec![(
            Tone::Accent,
            fit::clip(
                &format!("narrowed to {}", crate::text::visible(text)),
                width,
            ),
        )],
    };
    line.insert(0, (Tone::Plain, " ".into()));
    line.push((Tone::Plain, " ".into()));
    put(theme, line, row, buffer);
}

fn page(
    state: &State,
    title: &str,
    lines: Vec<Toned>,
    top: usize,
    theme: Theme,
    areas: &Areas,
    buffer: &mut Buffer,
) -> Rect {
    let all = lines.len();
    let height = u16::try_from(all + 2).unwrap_or(u16::MAX);
    let key = |id| state.keymap.how(id);
    let close = key(Id::Back);
    let title = if all + 4 > usize::from(areas.footer.y) {
        let (down, up) = (key(Id::Down), key(Id::Up));
        format!("{title}· {down} {up} scroll · {close} closes ")
    } else {
        format!("{title}· {close} closes ")
    };
    let body = frame(&title, PAGE, height, theme, areas, buffer);
    for (row, line) in body.rows().zip(lines.into_iter().skip(top)) {
        put(theme, line, row, buffer);
    }
    body
}
