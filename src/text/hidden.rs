//! Characters of a file's text that nobody sees, or that show a line in another order than it is read
//! in: worth a notice, unless they stand where a script or an emoji needs them.

use super::wary::is_treacherous;

/// Whether `c` is invisible or turns text around, wherever it stands.
#[must_use]
pub(crate) fn is_hidden(c: char) -> bool {
    // Controls are another matter: files have had them always.
    is_treacherous(c) && !c.is_control() && !is_noncharacter(c)
}

fn is_noncharacter(c: char) -> bool {
    (c as u32) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// What `c` is called in a notice.
#[must_use]
pub(crate) fn name_of_hidden(c: char) -> &'static str {
    match c {
        '\u{202a}' | '\u{202b}' => "a bidi embedding",
        '\u{202d}' | '\u{202e}' => "a bidi override",
        '\u{202c}' | '\u{2069}' => "the end of a bidi run",
        '\u{2066}'..='\u{2068}' => "a bidi isolate",
        '\u{61c}' | '\u{200e}' | '\u{200f}' => "a bidi mark",
        '\u{2028}' | '\u{2029}' => "a line or paragraph separator",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180f}' => {
            "a variation selector"
        }
        '\u{e0000}'..='\u{e007f}' => "a tag",
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => "a blank filler",
        '\u{ad}' => "a soft hyphen",
        _ => "a zero-width character",
    }
}

/// The first character of a line that hides something; a byte order mark begins a first line.
#[must_use]
pub(crate) fn hidden_in_line(line: &[u8], is_first: bool) -> Option<char> {
    if line.is_ascii() {
        return None;
    }
    let line = match is_first {
        true => line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line),
        false => line,
    };
    let mut around = Around::default();
    // Asked of the whole line once, however many marks are in it.
    let mut turned = None;
    let mut is_turned = || *turned.get_or_insert_with(|| has_right_to_left(line));
    for chunk in line.utf8_chunks() {
        let mut letters = chunk.valid().chars().peekable();
        while let Some(c) = letters.next() {
            if is_hidden(c) && !around.needs(c, letters.peek().copied(), &mut is_turned) {
                return Some(c);
            }
            around.passed(c);
        }
        if !chunk.invalid().is_empty() {
            around = Around::default();
        }
    }
    None
}

/// What stands before a character.
#[derive(Default)]
struct Around {
    /// The last character that is seen.
    seen: Option<char>,
    /// The last one of all.
    last: Option<char>,
    /// Tags since a black flag, which makes the flag of England of them.
    flag: Option<usize>,
}

impl Around {
    fn passed(&mut self, c: char) {
        self.flag = match (c, self.flag) {
            ('\u{1f3f4}', _) => Some(0),
            ('\u{e0020}'..='\u{e007e}', Some(tags)) => Some(tags + 1),
            _ => None,
        };
        if !is_hidden(c) {
            self.seen = Some(c);
        }
        self.last = Some(c);
    }

    /// Whether `c` is how its script or an emoji is written.
    fn needs(&self, c: char, next: Option<char>, is_turned: &mut impl FnMut() -> bool) -> bool {
        let seen = self.seen;
        // Several in a row are no spelling, but for a selector before what joins.
        let lone = seen == self.last || matches!(self.last, Some('\u{fe0e}' | '\u{fe0f}'));
        match c {
            '\u{200c}' | '\u{200d}' if lone => {
                seen.is_some_and(joins)
                    || (c == '\u{200d}' && seen.is_some_and(is_emoji) && next.is_some_and(is_emoji))
            }
            '\u{200b}' if lone => {
                seen.is_some_and(is_written_without_spaces)
                    || next.is_some_and(is_written_without_spaces)
            }
            '\u{61c}' | '\u{200e}' | '\u{200f}' => is_turned(),
            '\u{fe0e}' | '\u{fe0f}' => {
                self.last == seen
                    && seen.is_some_and(|c| is_emoji(c) || matches!(c, '#' | '*' | '0'..='9'))
            }
            '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => {
                self.last == seen && seen.is_some_and(is_ideograph)
            }
            '\u{180b}'..='\u{180f}' => {
                self.last == seen && matches!(seen, Some('\u{1800}'..='\u{18af}'))
            }
            '\u{e0020}'..='\u{e007f}' => self.flag.is_some_and(|tags| tags < 7),
            _ => false,
        }
    }
}

/// Scripts in which a joiner or non-joiner is a matter of spelling: Arabic and its kin, Mongolian, those
/// of India, Tibetan, Burmese, Khmer.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{18af}' | '\u{1cd0}'..='\u{1cff}' | '\u{a8e0}'..='\u{a8ff}'
        | '\u{fb50}'..='\u{fdcf}' | '\u{fe70}'..='\u{fefc}' | '\u{10d00}'..='\u{10eff}'
        | '\u{11000}'..='\u{11fff}')
}

/// Scripts that part words, where a line may break, by nothing that is seen.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1950}'..='\u{19ff}' | '\u{1a20}'..='\u{1aaf}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Near enough: the blocks that emoji are in.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

fn has_right_to_left(line: &[u8]) -> bool {
    let letter = |c: char| {
        matches!(c, '\u{5d0}'..='\u{5f4}' | '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{6d5}'
            | '\u{700}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdcf}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    };
    line.utf8_chunks()
        .any(|chunk| chunk.valid().chars().any(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<char> {
        hidden_in_line(line.as_bytes(), false)
    }

    #[test]
    fn what_scripts_and_emoji_need_is_ordinary() {
        for line in [
            "plain żółw 日本語",
            "می\u{200c}خواهم",
            "क्\u{200d}ष and क्\u{200c}ष",
            "👩\u{200d}🔬 🏳\u{fe0f}\u{200d}🌈 👨🏽\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "ភាសា\u{200b}ខ្មែរ",
            "שלום!\u{200f} (abc\u{200e})",
            "葛\u{e0100}",
            "\x1b[31m is another matter",
        ] {
            assert_eq!(found(line), None, "{line:?}");
        }
        assert_eq!(hidden_in_line("\u{feff}a = 1".as_bytes(), true), None);
    }

    #[test]
    fn many_marks_cost_one_look_at_their_line() {
        // Were the line looked at for each, this would take an hour.
        let line = "\u{200e}".repeat(1 << 20) + "א";
        assert_eq!(found(&line), None);
    }

    #[test]
    fn what_hides_or_turns_text_is_found() {
        for (line, hidden) in [
            (
                "if access != \"user\u{202e} \u{2066}// admin\u{2069}\"",
                '\u{202e}',
            ),
            ("ab\u{200b}cd", '\u{200b}'),
            ("ad\u{200d}min", '\u{200d}'),
            ("می\u{200c}\u{200c}خ", '\u{200c}'),
            ("x\u{200f} = 1", '\u{200f}'),
            ("a\u{feff}b", '\u{feff}'),
            ("x\u{fe00}", '\u{fe00}'),
            ("😀\u{fe0f}\u{fe01}\u{fe02}", '\u{fe01}'),
            ("😀\u{e0100}\u{e0101}", '\u{e0100}'),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e0067}\u{e0067}\u{e0067}",
                '\u{e0067}',
            ),
            ("a\u{e0041}", '\u{e0041}'),
            ("const \u{3164} = 1", '\u{3164}'),
            ("a\u{ad}b", '\u{ad}'),
            ("a\u{2028}b", '\u{2028}'),
        ] {
            assert_eq!(found(line), Some(hidden), "{line:?}");
        }
        assert_eq!(
            hidden_in_line("\u{feff}\u{feff}".as_bytes(), true),
            Some('\u{feff}')
        );
        assert_eq!(
            hidden_in_line("\u{feff}a".as_bytes(), false),
            Some('\u{feff}')
        );
        assert_eq!(hidden_in_line(b"\xff\xe2\x80\xae", false), Some('\u{202e}'));
    }
}
