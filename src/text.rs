//! Text from outside, made safe to show: nothing from a row, an archive, a repository or a
//! transcript reaches a terminal as it came.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use unicode_width::UnicodeWidthChar as _;

/// Whether a terminal could take `c` for more than a glyph: controls, bidi overrides and isolates,
/// zero-width and other invisible marks, line separators, tags.
fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if (c as u32) < 0x100 => {
            let _ = write!(out, "\\x{:02x}", c as u32);
        }
        c => {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
    }
}

/// Marks that may stand on one letter: no script needs more, and what stands in one cell is sent to
/// the terminal with every frame.
const MARKS: usize = 8;

/// Tells, character by character, what has to be written out.
#[derive(Default)]
struct Wary {
    /// Characters without a width since the last one that has one.
    marks: usize,
}

impl Wary {
    fn writes_out(&mut self, c: char) -> bool {
        if is_treacherous(c) {
            self.marks = 0;
            return true;
        }
        let mark = !c.is_ascii() && c.width() == Some(0);
        self.marks = if mark { self.marks + 1 } else { 0 };
        if self.marks > MARKS {
            // Written out it has a width, and the next one stands on it.
            self.marks = MARKS;
            return true;
        }
        false
    }
}

/// `text` with everything treacherous written out, e.g. `\x1b` or `\u{202e}`, and what is more than
/// a heap of marks on one letter.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    // Nearly all there is, and told at once: a filter asks this of every id.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut wary = Wary::default();
    if !text.chars().any(|c| wary.writes_out(c)) {
        return Cow::Borrowed(text);
    }
    let mut wary = Wary::default();
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if wary.writes_out(c) {
            escape(c, &mut shown);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// `bytes` as text: UTF-8 where it is that, `\xNN` for every byte that is not, and [`visible`].
#[must_use]
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&visible(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// One line of a file: as [`visible_bytes`], but a tab goes to the next stop of 4.
#[must_use]
pub fn visible_line(bytes: &[u8]) -> String {
    let line = visible_bytes(bytes);
    if !line.contains("\\t") || !bytes.contains(&b'\t') {
        return line;
    }
    let mut shown = String::with_capacity(bytes.len() + 16);
    let mut parts = bytes.split(|byte| *byte == b'\t').peekable();
    while let Some(part) = parts.next() {
        shown.push_str(&visible_bytes(part));
        if parts.peek().is_some() {
            let stop = 4 - shown.chars().count() % 4;
            shown.extend(std::iter::repeat_n(' ', stop));
        }
    }
    shown
}

/// A path for messages.
#[must_use]
pub fn visible_path(path: &Path) -> String {
    visible_bytes(path.as_os_str().as_bytes())
}

/// A name as Python's `repr` quotes it, surrogate escapes included: Agno's messages do.
#[must_use]
pub fn python_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        '"'
    } else {
        '\''
    };
    let mut shown = String::with_capacity(bytes.len() + 2);
    shown.push(quote);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                c if c == quote => {
                    shown.push('\\');
                    shown.push(c);
                }
                '\n' | '\r' | '\t' => escape(c, &mut shown),
                c if python_prints(c) => shown.push(c),
                c if (c as u32) < 0x100 => {
                    let _ = write!(shown, "\\x{:02x}", c as u32);
                }
                c if (c as u32) < 0x1_0000 => {
                    let _ = write!(shown, "\\u{:04x}", c as u32);
                }
                c => {
                    let _ = write!(shown, "\\U{:08x}", c as u32);
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\udc{byte:02x}");
        }
    }
    shown.push(quote);
    shown
}

/// Python's `str.isprintable` for one character, near enough: no controls, format characters,
/// separators but the space, private use or noncharacters.
fn python_prints(c: char) -> bool {
    c == ' '
        || !(is_treacherous(c)
            || c.is_whitespace()
            || matches!(c as u32,
                0x600..=0x605 | 0x6dd | 0x70f | 0x8e2 | 0xe000..=0xf8ff | 0xfff0..=0xfffb
                | 0xfffe..=0xffff | 0xf_0000..=0x10_ffff))
}

/// A size as `12.1 kB`, in the thousands that file managers use.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit < UNITS.len() - 1 {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A count with its thousands apart: `12,156`.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_what_a_terminal_would_obey() {
        assert_eq!(visible("a\x1b[31m\u{202e}b"), "a\\x1b[31m\\u{202e}b");
        assert_eq!(visible("plain żółw 🧾"), "plain żółw 🧾");
        assert_eq!(visible_bytes(b"caf\xe9\n"), "caf\\xe9\\n");
        assert_eq!(visible_line(b"a\tb"), "a   b");
    }

    #[test]
    fn marks_stay_on_their_letters_up_to_a_heap() {
        for ordinary in [
            "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t",
            "בְּרֵאשִׁ֖ית בָּרָ֣א",
            "👍🏽 ✈\u{fe0f} 👩🏾 🇵🇱",
            "ที่นี่ དཔལ་ལྡན",
        ] {
            assert_eq!(visible(ordinary), ordinary);
        }
        let heap = format!("e{}x", "\u{301}".repeat(500_000));
        let shown = visible(&heap);
        assert!(shown.starts_with(&format!("e{}\\u{{301}}\\u{{301}}", "\u{301}".repeat(MARKS))));
        assert!(shown.ends_with("\\u{301}x"));
        assert_eq!(longest_heap(&shown), MARKS);
        assert_eq!(longest_heap(&visible_line(heap.as_bytes())), MARKS);
    }

    /// The most characters without a width in a row.
    fn longest_heap(text: &str) -> usize {
        let heaps = text.split(|c: char| c.width() != Some(0));
        heaps.map(|heap| heap.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn quotes_as_python_does() {
        assert_eq!(python_repr(b"it's \xe9\n"), "\"it's \\udce9\\n\"");
        assert_eq!(python_repr(b"../../'\xe9\"\t"), "'../../\\'\\udce9\"\\t'");
        assert_eq!(python_repr("żółw\u{a0}".as_bytes()), "'żółw\\xa0'");
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(human_bytes(999), "999 B");
        assert_eq!(human_bytes(12_156), "12.2 kB");
        assert_eq!(human_bytes(999_960), "1.0 MB");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
    }

    proptest! {
        #[test]
        fn nothing_treacherous_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!visible_bytes(&bytes).chars().any(is_treacherous));
            prop_assert!(!visible_line(&bytes).chars().any(is_treacherous));
        }

        #[test]
        fn no_heap_of_marks_is_left(
            pieces in proptest::collection::vec(
                proptest::sample::select(&["e", "\u{301}", "\u{20dd}", "\u{e0101}", "\t", "\u{200d}", "日"][..]),
                0..200,
            ),
            bytes in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut text = pieces.concat().into_bytes();
            text.extend(bytes);
            prop_assert!(longest_heap(&visible_bytes(&text)) <= MARKS);
            prop_assert!(longest_heap(&visible_line(&text)) <= MARKS);
        }
    }
}
