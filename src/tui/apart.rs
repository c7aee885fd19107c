//! A cell for each character that has a width: one step on what was drawn. A screen of cells may hold two
//! of them in one, a flag or a letter with its vowel sign, where they belong together. A terminal that
//! knows nothing of that puts them in two, and the second would stay there once the first is gone.

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthChar as _;

/// Gives each character with a width its own cell; those without stay with the one they stand on.
pub fn spread(buffer: &mut Buffer) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if buffer[(x, y)].symbol().chars().nth(1).is_none() {
                continue;
            }
            let symbol = buffer[(x, y)].symbol().to_owned();
            let style = buffer[(x, y)].style();
            let mut at = x;
            for part in parts(&symbol) {
                if at >= area.right() {
                    break;
                }
                buffer[(at, y)].set_symbol(part).set_style(style);
                let width = part.chars().filter_map(|c| c.width()).max().unwrap_or(0);
                at = at.saturating_add(u16::try_from(width).unwrap_or(1));
            }
        }
    }
}

/// `symbol` cut before each character that has a width.
fn parts(symbol: &str) -> impl Iterator<Item = &str> {
    let begins = |(at, c): (usize, char)| (at > 0 && c.width() > Some(0)).then_some(at);
    let mut cuts: Vec<usize> = symbol.char_indices().filter_map(begins).collect();
    cuts.push(symbol.len());
    let mut from = 0;
    cuts.into_iter().map(move |to| {
        let part = &symbol[from..to];
        from = to;
        part
    })
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn each_character_with_a_width_has_its_cell() {
        for (text, cells) in [
            ("🇵🇱x", &["🇵", "🇱", "x"][..]),
            ("กำx", &["ก", "ำ", "x"]),
            ("क्षx", &["क्", "ष", "x"]),
            ("e\u{301}日x", &["e\u{301}", "日", " ", "x"]),
        ] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
            buffer.set_string(0, 0, text, Style::default());
            spread(&mut buffer);
            let drawn: Vec<&str> = buffer.content.iter().map(|cell| cell.symbol()).collect();
            assert_eq!(&drawn[..cells.len()], cells, "{text}");
        }
    }
}
