//! Words that are typed to narrow a list: each must be found in some field of a row. Letters may be
//! left out, but those that are there must stand close enough to tell something: in a long title any
//! three letters are found somewhere.

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::tui::fuzzy::haystack;

/// Words that count, and letters of each.
const WORDS: usize = 16;
/// Letters of a word that count.
const LETTERS: usize = 128;
/// Characters of a field that are looked at: what comes from a row may be megabytes.
const FIELD: usize = 300;
/// Characters from the start in which letters may be left out: what a row can show.
const SHOWN: usize = 100;
/// Points per letter from which a match tells something; letters side by side have 16.
const TELLING: usize = 15;
/// Characters per letter over which a match may be strewn.
const STREWN: usize = 5;

/// What kind of text a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// An id, in which any few hex digits are found somewhere in order.
    Id,
    /// Words.
    Words,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Needle {
    words: Vec<Word>,
}

#[derive(Clone, Debug)]
struct Word {
    loose: Atom,
    strict: Atom,
    letters: usize,
    /// Its letters, where all are ASCII and none means another.
    ascii: Option<Vec<u8>>,
    hex: bool,
}

/// The memory that matching needs; made once for many rows.
#[must_use]
pub fn matcher() -> Matcher {
    Matcher::new(Config::DEFAULT)
}

/// The part of `text` that is looked at.
#[must_use]
pub fn looked_at(text: &str) -> &str {
    if text.len() <= FIELD {
        return text;
    }
    text.char_indices()
        .nth(FIELD)
        .map_or(text, |(end, _)| &text[..end])
}

impl Word {
    fn new(word: &str) -> Self {
        let word: String = word.chars().take(LETTERS).collect();
        let atom = |kind| {
            let (case, normal) = (CaseMatching::Smart, Normalization::Smart);
            Atom::new(&word, case, normal, kind, false)
        };
        Self {
            loose: atom(AtomKind::Fuzzy),
            strict: atom(AtomKind::Substring),
            letters: word.chars().count(),
            ascii: (word.is_ascii() && !word.contains('\\')).then(|| word.clone().into_bytes()),
            hex: word
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-'),
        }
    }

    /// Whether its letters stand in `text` in order, whatever their case; told at once, and mostly
    /// they do not. Of what is not ASCII this says nothing.
    fn may_be_in(&self, text: Utf32Str<'_>) -> bool {
        let (Some(letters), Utf32Str::Ascii(text)) = (&self.ascii, text) else {
            return true;
        };
        let mut rest = text.iter();
        letters
            .iter()
            .all(|letter| rest.any(|byte| byte.eq_ignore_ascii_case(letter)))
    }

    /// Whether it is in `text`, and on request where.
    fn find(
        &self,
        matcher: &mut Matcher,
        field: Field,
        text: Utf32Str<'_>,
        mut at: Option<&mut Vec<u32>>,
    ) -> bool {
        if !self.may_be_in(text) {
            return false;
        }
        // What stands there letter by letter is found at once, and is what is meant.
        let strict = match &mut at {
            Some(at) => self.strict.indices(text, matcher, at),
            None => self.strict.score(text, matcher),
        };
        if strict.is_some() || (field == Field::Id && self.hex) {
            return strict.is_some();
        }
        let start = text.slice(..text.len().min(SHOWN));
        let score = self.loose.score(start, matcher);
        if score.is_none_or(|score| usize::from(score) < TELLING * self.letters) {
            return false;
        }
        let mut places = Vec::with_capacity(self.letters);
        self.loose.indices(start, matcher, &mut places);
        let (first, last) = (places.iter().min(), places.iter().max());
        let span = first.zip(last).map_or(0, |(first, last)| last - first + 1);
        let tells = span as usize <= STREWN * self.letters;
        if let (Some(at), true) = (at, tells) {
            at.append(&mut places);
        }
        tells
    }
}

impl Needle {
    /// The words of `text`; `None` where there are none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<Word> = text.split_whitespace().take(WORDS).map(Word::new).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// Every word, as [`Needle::hits`] says them.
    #[must_use]
    pub fn all(&self) -> u32 {
        (1 << self.words.len()) - 1
    }

    /// Which of the words are in `text`, one bit each.
    #[must_use]
    pub fn hits(&self, matcher: &mut Matcher, field: Field, text: &str) -> u32 {
        self.more_hits(0, matcher, field, text)
    }

    /// The words that were found elsewhere, and those of the others that are in `text`.
    #[must_use]
    pub fn more_hits(&self, found: u32, matcher: &mut Matcher, field: Field, text: &str) -> u32 {
        let mut buffer = Vec::new();
        let text = haystack(looked_at(text), &mut buffer);
        let mut hits = found;
        for (bit, word) in self.words.iter().enumerate() {
            if hits & (1 << bit) == 0 {
                hits |= u32::from(word.find(matcher, field, text, None)) << bit;
            }
        }
        hits
    }

    /// Which characters of `text` the words are made of there, in order.
    #[must_use]
    pub fn letters(&self, matcher: &mut Matcher, field: Field, text: &str) -> Vec<u32> {
        let mut buffer = Vec::new();
        let text = haystack(looked_at(text), &mut buffer);
        let mut found = Vec::new();
        for word in &self.words {
            word.find(matcher, field, text, Some(&mut found));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, field: Field, hay: &str) -> bool {
        let needle = Needle::new(text).expect("words");
        needle.hits(&mut matcher(), field, hay) == needle.all()
    }

    #[test]
    fn letters_may_be_left_out_but_not_strewn() {
        assert!(found("rfnds", Field::Words, "Fix refunds"));
        assert!(found("fr", Field::Words, "Fix refunds"));
        assert!(found("REFUNDS", Field::Words, "FIX REFUNDS"));
        assert!(
            !found("REF", Field::Words, "Fix refunds"),
            "capitals are meant"
        );
        assert!(!found("lrt", Field::Words, "Look around in the repository"));
        assert!(found("cafe", Field::Words, "Le Café"));
        assert!(!found(
            "xyz",
            Field::Words,
            "a maxim, then much later a tyre, and at the end a fuzz"
        ));
        let id = "bee43833-e29e-40ba-ae85-59abd5f626b3";
        assert!(found("e29e", Field::Id, id));
        assert!(
            !found("b9b3", Field::Id, id),
            "hex digits are found anywhere"
        );
        assert!(found("rr4", Field::Id, "run-refunds-4"));
        assert!(found("fix unds", Field::Words, "Fix refunds"));
        assert!(!found("fix bill", Field::Words, "Fix refunds"));
    }

    #[test]
    fn marks_what_it_found() {
        let letters = |text: &str, hay: &str| {
            let needle = Needle::new(text).expect("words");
            needle.letters(&mut matcher(), Field::Words, hay)
        };
        assert_eq!(letters("rfn", "Fix refunds"), [4, 6, 8]);
        assert_eq!(letters("fix und", "Fix refunds"), [0, 1, 2, 7, 8, 9]);
        assert_eq!(letters("本", "日本語"), [1]);
        assert!(letters("q", "Fix refunds").is_empty());
        assert!(Needle::new("  ").is_none());
    }
}
