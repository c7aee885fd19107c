//! Which characters are not shown as they came: what a terminal could take for more than a glyph, what
//! nobody sees, and what terminals count in columns in different ways.

use unicode_width::UnicodeWidthChar as _;

/// Whether a terminal could take `c` for more than a glyph, or for none: controls, bidi overrides and
/// isolates, line separators, and everything that Unicode lets be ignored (zero-width characters, fillers,
/// variation selectors, tags). Terminals disagree about the columns of an emoji with a variation selector
/// or of several joined, so that no count would be right; written out, each part has its own.
pub(crate) fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || (c as u32) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// Whether terminals that count characters and those that count what belongs together come to different
/// columns: skin tones, signs that put the next letter below the last, and what has no width though it
/// stands on nothing. Ambiguous widths are one column, as everywhere but in terminals that are told else.
fn is_counted_in_two_ways(c: char) -> bool {
    matches!(c,
        '\u{605}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{d4e}' | '\u{17d2}'
        | '\u{10ecb}'..='\u{10ecf}' | '\u{10ef0}'..='\u{10ef9}' | '\u{111c2}'..='\u{111c3}' | '\u{113d1}'
        | '\u{1193f}' | '\u{11941}' | '\u{11a84}'..='\u{11a89}' | '\u{11d46}' | '\u{11df0}'..='\u{11df1}'
        | '\u{11f02}' | '\u{16d67}' | '\u{1d127}'..='\u{1d128}' | '\u{1d250}'..='\u{1d252}'
        | '\u{1d25b}'..='\u{1d25c}' | '\u{1d25f}' | '\u{1d280}'..='\u{1d281}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{5c8}'..='\u{5c9}' | '\u{b53}'..='\u{b54}' | '\u{1ade}'..='\u{1adf}' | '\u{1aec}'..='\u{1af0}'
        | '\u{a8fa}' | '\u{ff9e}'..='\u{ff9f}')
}

/// Hangul vowels and final consonants: without a width, and part of the syllable that they stand in.
fn ends_syllable(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}')
}

/// Marks that may stand on one letter: no script needs more, and what stands in one cell is sent to
/// the terminal with every frame.
pub(super) const MARKS: usize = 8;

/// Tells, character by character, what has to be written out.
#[derive(Default)]
pub(crate) struct Wary {
    /// What the last character with a width was, and how many without one came since.
    stands_on: Option<char>,
    marks: usize,
}

impl Wary {
    pub(crate) fn writes_out(&mut self, c: char) -> bool {
        if c.is_ascii() && !c.is_ascii_control() {
            (self.stands_on, self.marks) = (Some(c), 0);
            return false;
        }
        if is_treacherous(c) || is_counted_in_two_ways(c) {
            // Written out it has a width.
            (self.stands_on, self.marks) = (Some('}'), 0);
            return true;
        }
        if c.width() != Some(0) {
            (self.stands_on, self.marks) = (Some(c), 0);
            return false;
        }
        self.marks += 1;
        let alone = match self.stands_on {
            None => true,
            Some(before) => ends_syllable(c) && !is_hangul(before),
        };
        if alone {
            (self.stands_on, self.marks) = (Some('}'), 0);
        } else if self.marks > MARKS {
            // The next one stands on it.
            self.marks = MARKS;
        } else {
            return false;
        }
        true
    }
}
