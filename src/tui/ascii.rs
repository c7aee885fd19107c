//! The screen in ASCII, for terminals and locales that have nothing else: one step on what was drawn, so
//! that no view has to know of it. Every sign keeps its one column and its own meaning.

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

/// Signs and what stands for them; no two of different meaning share one.
pub const SIGNS: &[(&str, &str)] = &[
    ("✔", "v"),
    ("✖", "X"),
    ("▶", "&"),
    ("◌", "o"),
    ("‖", "="),
    ("⊘", "/"),
    ("↻", "@"),
    ("▾", "-"),
    ("▸", "+"),
    // The star marks already.
    ("●", "#"),
    ("⧗", "%"),
    ("◆", "N"),
    ("✓", "^"),
    ("…", "~"),
    ("›", "$"),
    ("→", ">"),
    ("←", "<"),
    ("·", ";"),
    ("▏", "_"),
    ("×", "x"),
];

/// Lines of frames, and marks that have a twin in ASCII.
const ALIKE: &[(&str, &str)] = &[
    ("─│┃━", "-||-"),
    ("╭╮╰╯├┤┬┴┼└┌┐┘", "+++++++++++++"),
    ("−–—‐‑", "-----"),
    ("‘’“”", "''\"\""),
    ("\u{a0}", " "),
];

/// What stands for one column of `symbol`.
fn ascii(symbol: &str) -> &'static str {
    let sign = SIGNS.iter().find(|(sign, _)| *sign == symbol);
    if let Some((_, letter)) = sign {
        return letter;
    }
    let mut letters = symbol.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return "?";
    };
    let twin = ALIKE.iter().find_map(|(these, those)| {
        let at = these.chars().position(|one| one == letter)?;
        those.get(at..=at)
    });
    twin.unwrap_or("?")
}

/// Leaves nothing but ASCII in `buffer`: what has no sign of its own is `?`, once for each column but
/// the second of a wide character.
pub fn reduce(buffer: &mut Buffer) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let symbol = buffer[(x, y)].symbol();
            if symbol.is_ascii() {
                continue;
            }
            let (letter, wide) = (ascii(symbol), symbol.width() > 1);
            buffer[(x, y)].set_symbol(letter);
            if wide && x + 1 < area.right() {
                buffer[(x + 1, y)].set_symbol(" ");
            }
        }
    }
}
