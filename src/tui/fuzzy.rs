//! Fuzzy matching as fingers know it from fzf: the letters in order, words in any order, and the
//! case counts as soon as one types an upper-case letter. What narrows the runs is stricter about
//! how far letters may be strewn ([`Needle`](super::state::needle::Needle)).

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Characters of a text that are looked at: a hostile one is megabytes long.
const LOOKED_AT: usize = 1_024;

/// `text` character by character, not by graphemes: letters that are found are known by their place.
#[must_use]
pub fn haystack<'a>(text: &'a str, buffer: &'a mut Vec<char>) -> Utf32Str<'a> {
    if text.is_ascii() {
        return Utf32Str::Ascii(&text.as_bytes()[..text.len().min(LOOKED_AT)]);
    }
    buffer.clear();
    buffer.extend(text.chars().take(LOOKED_AT));
    Utf32Str::Unicode(buffer)
}

/// What is typed, ready to be held against texts.
pub struct Fuzzy {
    loose: Pattern,
    strict: Pattern,
    /// Whether a path is meant, and not just a name.
    path: bool,
    /// The words in ASCII without capitals, where that is what they are.
    plain: Option<Vec<Vec<u8>>>,
    matcher: Matcher,
    letters: Vec<char>,
}

impl Fuzzy {
    /// `typed`, for names and paths.
    #[must_use]
    pub fn new(typed: &str) -> Self {
        let pattern = |kind| Pattern::new(typed, CaseMatching::Smart, Normalization::Smart, kind);
        Self {
            loose: pattern(AtomKind::Fuzzy),
            strict: pattern(AtomKind::Substring),
            path: typed.contains('/'),
            plain: plain(typed),
            matcher: Matcher::new(Config::DEFAULT),
            letters: Vec::new(),
        }
    }

    /// How well `name` matches, more is better; `None` where it does not.
    pub fn score(&mut self, name: &str) -> Option<u32> {
        let name = haystack(name, &mut self.letters);
        self.loose.score(name, &mut self.matcher)
    }

    /// [`Fuzzy::is_in`], of a path as bytes. A tree has a hundred thousand of them, and each key asks
    /// about all: where neither side has anything but plain letters, bytes tell it.
    pub fn is_in_bytes(&mut self, path: &[u8]) -> bool {
        let Some(words) = &self.plain else {
            return self.is_in(&crate::text::visible_bytes(path));
        };
        let path = &path[..path.len().min(LOOKED_AT)];
        // What stands there is strewn there too, and that is told soonest.
        if !words.iter().all(|word| is_strewn_in(path, word)) {
            return false;
        }
        if !path.is_ascii() || path.iter().any(u8::is_ascii_control) {
            return self.is_in(&crate::text::visible_bytes(path));
        }
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let name = &path[cut.map_or(0, |cut| cut + 1)..];
        self.path
            || words.iter().all(|word| is_strewn_in(name, word))
            || words.iter().all(|word| stands_in(path, word))
    }

    /// Whether `path` matches: what is typed stands in it, or its name has the letters in order; with
    /// a slash typed, the whole path may. In a long path any few letters are found somewhere.
    pub fn is_in(&mut self, path: &str) -> bool {
        let whole = haystack(path, &mut self.letters);
        if self.strict.score(whole, &mut self.matcher).is_some() {
            return true;
        }
        self.score(if self.path { path } else { name(path) })
            .is_some()
    }

    /// Which characters of the name at the end of `path` matched, in order.
    pub fn letters_of_name(&mut self, path: &str) -> Vec<usize> {
        let (name, mut found) = (name(path), Vec::new());
        let before = path[..path.len() - name.len()].chars().count();
        for (text, skipped, pattern) in [
            (path, before, &self.strict),
            (name, 0, &self.loose),
            (path, before, &self.loose),
        ] {
            let text = haystack(text, &mut self.letters);
            if pattern
                .indices(text, &mut self.matcher, &mut found)
                .is_some()
            {
                found.sort_unstable();
                found.dedup();
                let found = found.into_iter().map(|at| at as usize);
                return found.filter_map(|at| at.checked_sub(skipped)).collect();
            }
        }
        Vec::new()
    }
}

/// The words of `typed`, where no capital, mark or pattern sign says more than its letters.
fn plain(typed: &str) -> Option<Vec<Vec<u8>>> {
    let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b'\\';
    let words = typed
        .split_whitespace()
        .map(|word| word.as_bytes().to_vec());
    typed.as_bytes().iter().all(plain).then(|| words.collect())
}

fn stands_in(text: &[u8], word: &[u8]) -> bool {
    word.is_empty()
        || text
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word))
}

/// Whether the letters of `word` are in `text` in order; what is no plain letter may stand for any.
fn is_strewn_in(text: &[u8], word: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_control();
    let mut rest = text.iter();
    word.iter()
        .all(|letter| rest.any(|byte| byte.eq_ignore_ascii_case(letter) || !plain(byte)))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_and_words_in_any() {
        assert!(Fuzzy::new("rfnd").score("Fix refunds").is_some());
        assert!(Fuzzy::new("rfnd").score("Fix billing").is_none());
        assert!(Fuzzy::new("bill fix").score("Fix billing").is_some());
        assert!(Fuzzy::new("Fix").score("fix").is_none());
    }

    #[test]
    fn a_path_is_meant_where_a_slash_is_typed() {
        assert!(Fuzzy::new("rdme").is_in("src/README.md"));
        assert!(Fuzzy::new("src").is_in("src/README.md"));
        assert!(!Fuzzy::new("scm").is_in("src/README.md"));
        assert!(Fuzzy::new("s/md").is_in("src/README.md"));
        assert!(!Fuzzy::new("src").is_in(&"x/".repeat(5_000_000)));
    }

    #[test]
    fn bytes_are_told_apart_as_their_text_is() {
        let paths: [&[u8]; 8] = [
            b"src/README.md",
            b"workspace/x/notes.txt",
            "docs/Größe.md".as_bytes(),
            b"a\xffb/c",
            b"",
            b"a/B/c",
            b"r/e/a/d",
            b"a\x1bb/re\tadme",
        ];
        for typed in [
            "r", "rdme", "src", "groe", "B", "b", "s/md", "md src", "a c", "\u{f6}",
        ] {
            for path in paths {
                let text = crate::text::visible_bytes(path);
                let mut fuzzy = Fuzzy::new(typed);
                let slow = fuzzy.is_in(&text);
                assert_eq!(fuzzy.is_in_bytes(path), slow, "{typed} in {text}");
            }
        }
    }

    #[test]
    fn the_letters_of_a_name_are_known_by_their_place() {
        assert_eq!(
            Fuzzy::new("rdme").letters_of_name("é\u{301}/README"),
            [0, 3, 4, 5]
        );
        assert_eq!(Fuzzy::new("src").letters_of_name("src/README"), [0; 0]);
        assert_eq!(Fuzzy::new("c/re").letters_of_name("src/README"), [0, 1]);
    }
}
