//! Text made to fit: clipped, wrapped and cut by columns of the terminal, not by characters.

use unicode_width::UnicodeWidthChar;

pub use crate::text::columns;

/// The start of `text` in at most `width` columns, `…` where something is missing.
#[must_use]
pub fn clip(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut shown = take(text, width.saturating_sub(1)).to_owned();
    if width > 0 {
        shown.push('…');
    }
    shown
}

/// [`clip`], but cut after a whole word where there is one.
#[must_use]
pub fn clip_words(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let cut = take(text, width.saturating_sub(1));
    let next = text[cut.len()..].starts_with(' ');
    match cut.rfind(' ').filter(|at| *at > 0 && !next) {
        Some(at) => format!("{}…", cut[..at].trim_end_matches([' ', ',', ';', '('])),
        None => clip(text, width),
    }
}

/// The first of `forms`, longest first, that `width` columns hold; nothing where none does.
#[must_use]
pub fn first_form(forms: impl IntoIterator<Item = String>, width: usize) -> String {
    let mut forms = forms.into_iter();
    forms
        .find(|form| columns(form) <= width)
        .unwrap_or_default()
}

/// The end of `text` in at most `width` columns: of a path, that is the telling part.
#[must_use]
pub fn clip_start(text: &str, width: usize) -> String {
    let all = columns(text);
    if all <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    format!("…{}", skip(text, all - (width - 1)))
}

/// As much of `text` as `width` columns hold.
#[must_use]
pub fn take(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// `text` without its first `width` columns; a wide character cut in half is left out.
#[must_use]
pub fn skip(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        if used >= width {
            return &text[at..];
        }
        used += letter.width().unwrap_or(0);
    }
    ""
}

/// `text` filled up with spaces to `width` columns, or clipped to them.
#[must_use]
pub fn pad(text: &str, width: usize) -> String {
    let mut shown = clip(text, width);
    let missing = width.saturating_sub(columns(&shown));
    shown.extend(std::iter::repeat_n(' ', missing));
    shown
}

/// `text` in lines of at most `width` columns, broken at spaces where there are any.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_around(text, width, "")
}

/// [`wrap`], but words that hold `id` are broken where the line ends: an id is long, and whole on a
/// line of its own it would leave most of the line before it empty.
#[must_use]
pub fn wrap_around(text: &str, width: usize, id: &str) -> Vec<String> {
    /// Fewer columns of a broken word say nothing.
    const PIECE: usize = 4;
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        let room = width.saturating_sub(columns(&line) + gap);
        let mut rest = word;
        if columns(word) > room {
            let breaks = columns(word) > width || (!id.is_empty() && word.contains(id));
            if gap == 1 && breaks && room >= PIECE {
                let head = take(rest, room);
                line.push(' ');
                line.push_str(head);
                rest = &rest[head.len()..];
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
        } else if gap == 1 {
            line.push(' ');
        }
        // Not by the columns of all that is left: a hostile word is megabytes long.
        loop {
            let head = take(rest, width);
            if head.len() == rest.len() {
                break;
            }
            // A character wider than the line still has to go somewhere.
            let cut = if head.is_empty() {
                rest.chars().next().map_or(rest.len(), char::len_utf8)
            } else {
                head.len()
            };
            lines.push(rest[..cut].to_owned());
            rest = &rest[cut..];
        }
        line.push_str(rest);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// [`wrap`], but at most `limit` lines, the last one ending in `…` when there were more.
#[must_use]
pub fn wrap_at_most(text: &str, width: usize, limit: usize) -> Vec<String> {
    at_most(wrap(text, width), width, limit)
}

/// The first `limit` of `lines`, the last one ending in `…` when there were more.
#[must_use]
pub fn at_most(mut lines: Vec<String>, width: usize, limit: usize) -> Vec<String> {
    if lines.len() > limit {
        lines.truncate(limit);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", take(last, width.saturating_sub(1)));
        }
    }
    lines
}

/// How long ago, in at most four columns.
#[must_use]
pub fn age(now: i64, then: Option<i64>) -> String {
    let Some(then) = then else {
        return "?".into();
    };
    let seconds = now.saturating_sub(then);
    match seconds {
        ..0 => "soon".into(),
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..31_536_000 => format!("{}d", seconds / 86_400),
        _ => format!("{}y", (seconds / 31_536_000).min(999)),
    }
}

/// `1 run`, `2 runs`.
#[must_use]
pub fn count(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", crate::text::grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_columns() {
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip_start("/home/me/agno.sqlite", 12), "…agno.sqlite");
        assert_eq!(skip("日本", 1), "本");
        assert_eq!(pad("ab", 4), "ab  ");
        assert_eq!(wrap("aa bb ccccccc d", 5), ["aa bb", "ccccc", "cc d"]);
        assert_eq!(wrap_at_most("aa bb cc", 2, 2), ["aa", "b…"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(clip_words("one two three", 9), "one two…");
        assert_eq!(clip_words("one two three", 7), "one…");
        assert_eq!(clip_words("onetwothree", 7), "onetwo…");
        assert_eq!(age(100, Some(40)), "1m");
    }

    #[test]
    fn breaks_ids_and_leaves_words_whole() {
        let (text, id) = ("Run 3f0c-11aa-99 is RUNNING, not COMPLETED", "3f0c-11aa-99");
        assert_eq!(
            wrap_around(text, 14, id),
            ["Run 3f0c-11aa-", "99 is RUNNING,", "not COMPLETED"]
        );
        assert_eq!(wrap(text, 14)[..2], ["Run", "3f0c-11aa-99"]);
        assert_eq!(wrap(&"x".repeat(4_000_000), 100).len(), 40_000);
        // A word that no line holds fills the line that it begins on.
        assert_eq!(wrap("a 0123456789", 8), ["a 012345", "6789"]);
    }
}
