//! Text from outside, made safe to show: nothing from a row, an archive, a repository or a
//! transcript reaches a terminal as it came.

mod emoji;
mod hidden;
mod wary;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use unicode_width::UnicodeWidthChar as _;

pub(crate) use hidden::{hidden_in_line, is_hidden, name_of_hidden};
pub(crate) use wary::Wary;
use wary::is_treacherous;

/// Columns between two stops of a tab.
const TAB: usize = 4;

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

/// Columns that `text`, once it is safe to show, takes in a terminal: the sum of its characters'. What
/// other ways of counting would make of it is written out by then.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// `text` with everything treacherous written out, e.g. `\x1b` or `\u{202e}`, and what is more than
/// a heap of marks on one letter.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    // Nearly all there is, and told at once: a filter asks this of every id.
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut wary = Wary::default();
    if !text.chars().any(|c| wary.writes_out(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = Shown::default();
    text.chars().for_each(|c| shown.push(c));
    Cow::Owned(shown.text)
}

/// `bytes` as text: UTF-8 where it is that, `\xNN` for every byte that is not, and [`visible`].
#[must_use]
pub fn visible_bytes(bytes: &[u8]) -> String {
    Shown::default().with(bytes)
}

/// Text that is read and names nothing, such as a title or a message: as [`visible`], but how an emoji looks
/// is left out: one variation selector or skin tone right behind a character that takes it (`⚠\u{fe0f}` is
/// `⚠`). Names are for [`visible`], which tells two of them apart.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Shown::text().with(text.as_bytes()))
}

/// One line of a file: as [`visible_text`] for bytes, but a tab goes to the next stop of 4 columns.
#[must_use]
pub fn visible_line(bytes: &[u8]) -> String {
    Shown::line().with(bytes)
}

/// Text while it is being made safe, for whoever has to know where each character of it went.
#[derive(Default)]
pub(crate) struct Shown {
    text: String,
    wary: Wary,
    /// Whether how an emoji looks is left out, and the last character when it is shown and nothing of its
    /// looks was left out yet.
    plain_emoji: bool,
    before: Option<char>,
    /// Whether tabs go to the next stop, and how much of the text is counted in columns.
    tabs: bool,
    counted: usize,
    columns: usize,
}

impl Shown {
    /// Of text that is read and names nothing.
    fn text() -> Self {
        Self {
            plain_emoji: true,
            ..Self::default()
        }
    }

    /// Of one line of such text, in which tabs go to their stops.
    pub(crate) fn line() -> Self {
        Self {
            tabs: true,
            ..Self::text()
        }
    }

    /// Adds a character, written out where it has to be.
    pub(crate) fn push(&mut self, c: char) {
        let before = self.before.take().filter(|_| self.plain_emoji);
        if before.is_some_and(|before| emoji::is_mere_look(before, c)) {
            return;
        }
        if c == '\t' && self.tabs {
            // Each part of the text is counted once, however many tabs there are.
            self.columns += columns(&self.text[self.counted..]);
            let gap = TAB - self.columns % TAB;
            self.text.extend(std::iter::repeat_n(' ', gap));
            self.columns += gap;
            self.counted = self.text.len();
            self.wary = Wary::default();
        } else if self.wary.writes_out(c) {
            escape(c, &mut self.text);
        } else {
            self.text.push(c);
            self.before = Some(c);
        }
    }

    /// Adds a byte that is no UTF-8.
    pub(crate) fn push_invalid(&mut self, byte: u8) {
        let _ = write!(self.text, "\\x{byte:02x}");
        self.before = None;
        self.wary = Wary::default();
        self.wary.writes_out('}');
    }

    /// Bytes so far.
    #[cfg(feature = "app")]
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    fn with(mut self, bytes: &[u8]) -> String {
        self.text.reserve(bytes.len());
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid();
            if is_plain(valid.as_bytes()) {
                self.text.push_str(valid);
                self.wary = Wary::default();
                valid.chars().next_back().map(|c| self.wary.writes_out(c));
            } else {
                valid.chars().for_each(|c| self.push(c));
            }
            chunk
                .invalid()
                .iter()
                .for_each(|byte| self.push_invalid(*byte));
        }
        self.text
    }
}

/// The start of `line` in at most `most` bytes, between two characters where it is UTF-8.
pub(crate) fn cut_line(line: &[u8], most: usize) -> &[u8] {
    let Some(next) = line.get(most) else {
        return line;
    };
    let is_inside = |byte: u8| byte & 0xc0 == 0x80;
    let mut end = most;
    while is_inside(*next) && most - end < 3 && end > 0 {
        end -= 1;
        if !is_inside(line[end]) {
            return &line[..end];
        }
    }
    &line[..most]
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
        || !(is_treacherous(c) && !is_mark_or_letter(c)
            || c.is_whitespace()
            || matches!(c as u32,
                0x600..=0x605 | 0x6dd | 0x70f | 0x8e2 | 0xe000..=0xf8ff | 0xfff0..=0xfffb
                | 0xfffe..=0xffff | 0xf_0000..=0x10_ffff))
}

/// Whether `c`, though nothing of it is seen, is a mark or a letter to Unicode, and so to Python.
fn is_mark_or_letter(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180d}'
        | '\u{180f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        | '\u{e0100}'..='\u{e01ef}')
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
    use super::wary::MARKS;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_what_a_terminal_would_obey() {
        assert_eq!(visible("a\x1b[31m\u{202e}b"), "a\\x1b[31m\\u{202e}b");
        assert_eq!(visible("plain żółw 🧾"), "plain żółw 🧾");
        assert_eq!(visible_bytes(b"caf\xe9\n"), "caf\\xe9\\n");
        assert_eq!(visible_line(b"a\tb"), "a   b");
        assert_eq!(
            visible_line("日\tb\t\u{301}".as_bytes()),
            "日  b   \\u{301}"
        );
    }

    #[test]
    fn marks_stay_on_their_letters_up_to_a_heap() {
        for ordinary in [
            "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t",
            "בְּרֵאשִׁ֖ית בָּרָ֣א",
            "👍 ✈ 👩 🇵🇱",
            "한국어 \u{1112}\u{1161}\u{11ab}",
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
    fn what_terminals_count_in_two_ways_is_written_out() {
        for (text, shown) in [
            ("✈\u{fe0f}", "✈\\u{fe0f}"),
            ("👍🏽", "👍\\u{1f3fd}"),
            ("👩\u{200d}🔬", "👩\\u{200d}🔬"),
            ("a\u{e0041}", "a\\u{e0041}"),
            ("\u{3164}", "\\u{3164}"),
            ("x\u{1161}", "x\\u{1161}"),
            ("\u{301}e", "\\u{301}e"),
            ("ក្ក", "ក\\u{17d2}ក"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(columns("日本 لا"), 7);
    }

    #[test]
    fn how_an_emoji_looks_is_left_out_of_text_but_not_of_names() {
        for (text, shown) in [
            ("⚠\u{fe0f} ✔\u{fe0e} ❤\u{fe0f} ©\u{fe0f}x", "⚠ ✔ ❤ ©x"),
            ("👍🏽 ✌🏿 👍", "👍 ✌ 👍"),
            (
                "👨🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈",
                "👨\\u{200d}💻 🏳\\u{200d}🌈",
            ),
            // A second one, one that stands on nothing that takes it, and other selectors.
            ("⚠\u{fe0f}\u{fe0f}", "⚠\\u{fe0f}"),
            ("⚠\u{fe0f}\u{fe0e}\u{fe0f}", "⚠\\u{fe0e}\\u{fe0f}"),
            ("👍🏽🏽", "👍\\u{1f3fd}"),
            ("☝🏽\u{fe0f}", "☝\\u{fe0f}"),
            (
                "\u{fe0f}⚠ a\u{fe0f} 日\u{fe0f} 🏽",
                "\\u{fe0f}⚠ a\\u{fe0f} 日\\u{fe0f} \\u{1f3fd}",
            ),
            (
                "1\u{fe0f}\u{20e3} #\u{fe0f}",
                "1\\u{fe0f}\u{20e3} #\\u{fe0f}",
            ),
            (
                "⚠\u{301}\u{fe0f} ⚠🏽 😀🏽 🚀\u{fe0f}",
                "⚠\u{301}\\u{fe0f} ⚠\\u{1f3fd} 😀\\u{1f3fd} 🚀\\u{fe0f}",
            ),
            (
                "⚠\u{fe00} ⚠\u{e0100} ⚠\u{200b}",
                "⚠\\u{fe00} ⚠\\u{e0100} ⚠\\u{200b}",
            ),
        ] {
            assert_eq!(visible_text(text), shown);
            assert_eq!(visible_line(text.as_bytes()), shown);
        }
        assert_eq!(
            visible_line("⚠\u{fe0f}\t\u{fe0f}".as_bytes()),
            "⚠   \\u{fe0f}"
        );
        assert_eq!(
            visible_line(b"\xe2\x9a\xa0\xff\xef\xb8\x8f"),
            "⚠\\xff\\u{fe0f}"
        );
        let name = "⚠\u{fe0f} 👍🏽";
        assert_eq!(visible_bytes(name.as_bytes()), "⚠\\u{fe0f} 👍\\u{1f3fd}");
        assert_eq!(visible_path(Path::new(name)), visible(name));
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        let line = "aé日".as_bytes();
        let cut = |most| std::str::from_utf8(cut_line(line, most)).expect("whole characters");
        let cuts: Vec<_> = (0..8).map(cut).collect();
        assert_eq!(cuts, ["", "a", "a", "aé", "aé", "aé", "aé日", "aé日"]);
        assert_eq!(cut_line(&[0x80; 9], 5).len(), 5, "no UTF-8");
    }

    #[test]
    fn many_tabs_cost_no_more_than_as_many_letters() {
        // Were all that came before counted for each, this would take minutes.
        let line = visible_line(&b"\t".repeat(1 << 20));
        assert_eq!(line.len(), 4 << 20);
    }

    #[test]
    fn quotes_as_python_does() {
        assert_eq!(python_repr(b"it's \xe9\n"), "\"it's \\udce9\\n\"");
        assert_eq!(python_repr(b"../../'\xe9\"\t"), "'../../\\'\\udce9\"\\t'");
        assert_eq!(python_repr("żółw\u{a0}".as_bytes()), "'żółw\\xa0'");
        assert_eq!(
            python_repr("✈\u{fe0f}\u{200d}".as_bytes()),
            "'✈\u{fe0f}\\u200d'"
        );
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
