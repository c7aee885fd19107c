//! Fuzzy matching as fingers know it from fzf: the letters in order, words in any order, and the
//! case counts as soon as one types an upper-case letter.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Characters of a text that are looked at: a hostile one is megabytes long.
const LOOKED_AT: usize = 1_024;

/// What is typed, ready to be held against texts.
pub struct Fuzzy {
    pattern: Pattern,
    matcher: Matcher,
    letters: Vec<char>,
}

impl Fuzzy {
    /// `typed`, for names and titles.
    #[must_use]
    pub fn text(typed: &str) -> Self {
        Self::new(typed, Config::DEFAULT)
    }

    /// `typed`, for paths: letters after a slash count for more.
    #[must_use]
    pub fn path(typed: &str) -> Self {
        Self::new(typed, Config::DEFAULT.match_paths())
    }

    fn new(typed: &str, config: Config) -> Self {
        Self {
            pattern: Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart),
            matcher: Matcher::new(config),
            letters: Vec::new(),
        }
    }

    /// How well `text` matches, more is better; `None` where it does not.
    pub fn score(&mut self, text: &str) -> Option<u32> {
        let text = Utf32Str::new(start(text), &mut self.letters);
        self.pattern.score(text, &mut self.matcher)
    }

    /// Which characters of `text` matched, in order; none where it does not match.
    pub fn letters(&mut self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let text = Utf32Str::new(start(text), &mut self.letters);
        if self
            .pattern
            .indices(text, &mut self.matcher, &mut found)
            .is_none()
        {
            return Vec::new();
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|at| at as usize).collect()
    }
}

fn start(text: &str) -> &str {
    match text.char_indices().nth(LOOKED_AT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_and_words_in_any() {
        let mut fuzzy = Fuzzy::text("rfnd");
        assert!(fuzzy.score("Fix refunds").is_some());
        assert!(fuzzy.score("Fix billing").is_none());
        assert_eq!(
            Fuzzy::text("bill fix").letters("Fix billing"),
            [0, 1, 2, 4, 5, 6, 7]
        );
        assert!(Fuzzy::text("Fix").score("fix").is_none());
        assert!(Fuzzy::path("src").score(&"x/".repeat(5_000_000)).is_none());
        let mut paths = Fuzzy::path("readme");
        assert!(paths.score("src/README.md") > paths.score("src/re_a_d_m_e"));
    }
}
