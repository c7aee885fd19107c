//! Searching what the content pane shows: every match with its place, found once and not per frame. A
//! search with a capital letter in it takes case as it is, any other takes all.

use std::ops::Range;

use super::View;
use super::shown::Lines;

/// Matches that are counted and marked.
const MOST: usize = 100_000;

/// One match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Its line.
    pub line: u32,
    /// 0 in the only text of a line or the old side's, 1 in the new side's.
    pub side: u8,
    /// Where it begins in the text.
    pub start: u32,
    /// And ends.
    pub end: u32,
}

/// What was looked at: another view, other lines, or another width asks for another look.
pub type Stamp = (View, u64, usize, usize, bool);

/// A search in the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What is looked for.
    pub needle: String,
    /// Matches, from the top on.
    pub hits: Vec<Hit>,
    /// Which of them was gone to.
    pub at: usize,
    /// Whether there are more than are counted.
    pub more: bool,
    /// What they were found in.
    pub stamp: Option<Stamp>,
}

impl Search {
    /// Looks for `needle` in every line.
    #[must_use]
    pub fn made(needle: &str, shown: &Lines<'_>, stamp: Stamp) -> Self {
        let mut search = Self {
            needle: needle.to_owned(),
            stamp: Some(stamp),
            ..Self::default()
        };
        let finder = Finder::new(needle);
        let mut made = String::new();
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        'all: for line in 0..shown.len() {
            let texts = shown.texts(line, &mut made);
            for (side, text) in texts.into_iter().enumerate() {
                let Some(text) = text else { continue };
                let mut from = 0;
                while let Some(found) = finder.find(text, from) {
                    from = found.end;
                    if search.hits.len() == MOST {
                        search.more = true;
                        break 'all;
                    }
                    search.hits.push(Hit {
                        line: number(line),
                        side: u8::from(side == 1),
                        start: number(found.start),
                        end: number(found.end),
                    });
                }
            }
        }
        search
    }

    /// The first match at or below a line and offset, else the first of all.
    #[must_use]
    pub fn from(&self, line: usize, offset: usize) -> usize {
        let before = |hit: &Hit| (hit.line as usize, hit.start as usize) < (line, offset);
        let at = self.hits.partition_point(before);
        if at < self.hits.len() { at } else { 0 }
    }

    /// The match gone to.
    #[must_use]
    pub fn current(&self) -> Option<Hit> {
        self.hits.get(self.at).copied()
    }

    /// The matches of one side of a line that lie between two offsets.
    #[must_use]
    pub fn within(&self, line: usize, side: u8, range: Range<usize>) -> &[Hit] {
        let key = |hit: &Hit| (hit.line as usize, hit.side);
        let from = self.hits.partition_point(|hit| {
            key(hit) < (line, side) || (key(hit) == (line, side) && hit.end as usize <= range.start)
        });
        let rest = &self.hits[from..];
        let to = rest
            .partition_point(|hit| key(hit) == (line, side) && (hit.start as usize) < range.end);
        &rest[..to]
    }

    /// `3/17`.
    #[must_use]
    pub fn count(&self) -> String {
        match self.hits.len() {
            0 => "no match".into(),
            all => {
                let more = if self.more { "+" } else { "" };
                format!("{}/{all}{more}", self.at + 1)
            }
        }
    }
}

/// Finds a text; without a capital letter in it, in whatever case.
struct Finder<'n> {
    needle: &'n str,
    /// Its characters in lower case, when case does not count.
    folded: Option<Vec<char>>,
}

impl<'n> Finder<'n> {
    fn new(needle: &'n str) -> Self {
        let capital = needle.chars().any(char::is_uppercase);
        Self {
            needle,
            folded: (!capital).then(|| needle.chars().map(fold).collect()),
        }
    }

    /// The first match from `from` on.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let Some(folded) = &self.folded else {
            let at = text.get(from..)?.find(self.needle)? + from;
            return Some(at..at + self.needle.len());
        };
        let (first, rest) = folded.split_first()?;
        let bytes = text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            // Most bytes begin no match, and are passed over as bytes.
            if first.is_ascii() && bytes[at].is_ascii() {
                if char::from(bytes[at].to_ascii_lowercase()) != *first {
                    at += 1;
                    continue;
                }
            } else if !text.is_char_boundary(at) {
                at += 1;
                continue;
            }
            let mut letters = text[at..].char_indices();
            let (_, letter) = letters.next()?;
            let mut end = at + letter.len_utf8();
            let same = fold(letter) == *first
                && rest.iter().all(|wanted| match letters.next() {
                    Some((index, letter)) if fold(letter) == *wanted => {
                        end = at + index + letter.len_utf8();
                        true
                    }
                    _ => false,
                });
            if same {
                return Some(at..end);
            }
            at += letter.len_utf8();
        }
        None
    }
}

/// A character in lower case, where that is one character.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(needle: &str, text: &str) -> Vec<Range<usize>> {
        let finder = Finder::new(needle);
        let mut from = 0;
        std::iter::from_fn(|| {
            let found = finder.find(text, from)?;
            from = found.end;
            Some(found)
        })
        .collect()
    }

    #[test]
    fn case_counts_when_a_capital_asks_for_it() {
        assert_eq!(found("todo", "TODO todo ToDo"), [0..4, 5..9, 10..14]);
        assert_eq!(found("Todo", "TODO Todo Todo"), [5..9, 10..14]);
        assert_eq!(found("żółw", "ŻÓŁW i żółw"), [0..7, 10..17]);
        assert_eq!(found("aa", "aaaaa"), [0..2, 2..4]);
        assert_eq!(found("é", "e\u{301} É é"), [4..6, 7..9]);
        assert_eq!(found("x", "日本x語X"), [6..7, 10..11]);
        assert!(found("abc", "ab").is_empty());
    }
}
