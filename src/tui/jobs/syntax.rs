//! Colours for a file's text: what each piece of a line is, as tones, so that they are those of the
//! terminal. Files come from agents and grammars backtrack, so that everything here has an end.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::progress::Watch;
use crate::text::Shown;
use crate::tui::state::Runs;
use crate::tui::theme::Tone;

/// Bytes of a file that are looked at.
const MOST: usize = 256 << 10;
/// Longer lines stay plain.
const LINE: usize = 2_000;
/// What a whole file may take; the rest of it stays plain.
const TIME: Duration = Duration::from_millis(300);
/// Scopes of a piece that are looked at, from the innermost on: brackets nest without end.
const DEEP: usize = 12;

/// What scopes mean, the special before the general.
const MEANINGS: &[(&str, Tone)] = &[
    ("comment", Tone::Comment),
    ("constant", Tone::Constant),
    ("string", Tone::Quoted),
    ("keyword.operator", Tone::Plain),
    ("keyword", Tone::Keyword),
    ("storage", Tone::Keyword),
    ("variable.language", Tone::Keyword),
    ("variable.function", Tone::Function),
    ("entity.name.function", Tone::Function),
    ("entity.other.attribute-name", Tone::Function),
    ("support.function", Tone::Function),
    ("support.macro", Tone::Function),
    ("entity.name", Tone::Type),
    ("entity.other.inherited-class", Tone::Type),
    ("support.type", Tone::Type),
    ("support.class", Tone::Type),
    ("markup.heading", Tone::Type),
    ("markup.bold", Tone::Strong),
    ("markup.raw", Tone::Quoted),
    ("markup.underline.link", Tone::Function),
    ("markup.inserted", Tone::Added),
    ("markup.deleted", Tone::Removed),
    ("meta.diff.range", Tone::Hunk),
    ("meta.interpolation", Tone::Plain),
    ("meta.template.expression", Tone::Plain),
];

/// Loaded once, by the first job that needs it.
fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(two_face::syntax::extra_newlines)
}

fn meanings() -> &'static [(Scope, Tone)] {
    static SCOPES: OnceLock<Vec<(Scope, Tone)>> = OnceLock::new();
    SCOPES.get_or_init(|| {
        let scopes = MEANINGS.iter();
        scopes
            .filter_map(|(name, tone)| Some((Scope::new(name).ok()?, *tone)))
            .collect()
    })
}

/// The grammar for a file: by its name, its ending, or its first line.
fn grammar(path: &[u8], first_line: &[u8]) -> Option<&'static SyntaxReference> {
    let set = syntaxes();
    let path = String::from_utf8_lossy(path);
    let path = Path::new(&*path);
    let named = |part: Option<&std::ffi::OsStr>| {
        let part = part?.to_str()?;
        set.find_syntax_by_extension(part)
    };
    let first_line = &first_line[..first_line.len().min(200)];
    let found = named(path.file_name())
        .or_else(|| named(path.extension()))
        .or_else(|| set.find_syntax_by_first_line(&String::from_utf8_lossy(first_line)));
    found.filter(|syntax| syntax.name != "Plain Text")
}

/// The tones of the first lines of `text`, which are those of [`crate::text::visible_line`]; as many
/// lines as there is time for.
pub(super) fn colours(path: &[u8], text: &[u8], watch: &Watch) -> Vec<Runs> {
    within(path, text, watch, TIME)
}

fn within(path: &[u8], text: &[u8], watch: &Watch, time: Duration) -> Vec<Runs> {
    let lines = text.split(|byte| *byte == b'\n');
    let Some(grammar) = grammar(path, lines.clone().next().unwrap_or_default()) else {
        return Vec::new();
    };
    let began = Instant::now();
    let mut state = ParseState::new(grammar);
    let mut stack = ScopeStack::new();
    let (mut out, mut read, mut line) = (Vec::new(), 0, String::new());
    for bytes in lines {
        read += bytes.len() + 1;
        if read > MOST || began.elapsed() > time || watch.check().is_err() {
            break;
        }
        if bytes.len() > LINE {
            out.push(Runs::default());
            continue;
        }
        line.clear();
        line.push_str(&String::from_utf8_lossy(bytes));
        line.push('\n');
        let Ok(ops) = state.parse_line(&line, syntaxes()) else {
            break;
        };
        line.pop();
        let mut pieces = Vec::with_capacity(ops.len() + 1);
        for (at, op) in ops {
            pieces.push((at.min(line.len()), tone(&stack)));
            if stack.apply(&op).is_err() {
                return out;
            }
        }
        pieces.push((line.len(), tone(&stack)));
        out.push(made_visible(bytes, &pieces));
    }
    out
}

/// What the innermost scope that means something means.
fn tone(stack: &ScopeStack) -> Tone {
    let scopes = stack.as_slice().iter().rev().take(DEEP);
    let mut means = scopes.filter_map(|scope| {
        let meaning = meanings().iter();
        meaning
            .clone()
            .find(|(prefix, _)| prefix.is_prefix_of(*scope))
    });
    means.next().map_or(Tone::Plain, |(_, tone)| *tone)
}

/// From pieces of the line as it was parsed, each with its end, to runs of the line as it is shown:
/// with what is treacherous written out, and tabs to stops of 4.
fn made_visible(bytes: &[u8], pieces: &[(usize, Tone)]) -> Runs {
    let mut pieces = pieces.iter().copied().peekable();
    let mut runs: Vec<(u32, Tone)> = Vec::new();
    let mut line = Shown::line();
    let mut parsed = 0;
    let mut step = |parsed: usize, length: usize, shown: usize| {
        while pieces.next_if(|(end, _)| *end < parsed + length).is_some() {}
        let Some((_, tone)) = pieces.peek() else {
            return;
        };
        let end = u32::try_from(shown).unwrap_or(u32::MAX);
        match runs.last_mut() {
            Some(last) if last.1 == *tone => last.0 = end,
            _ => runs.push((end, *tone)),
        }
    };
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            line.push(letter);
            step(parsed, letter.len_utf8(), line.len());
            parsed += letter.len_utf8();
        }
        // Each byte is written out; parsed, they were one mark.
        let invalid = chunk.invalid();
        if !invalid.is_empty() {
            invalid.iter().for_each(|byte| line.push_invalid(*byte));
            let mark = char::REPLACEMENT_CHARACTER.len_utf8();
            step(parsed, mark, line.len());
            parsed += mark;
        }
    }
    runs.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::progress::CancellationToken;
    use crate::text::visible_line;

    /// However long it takes.
    fn all(path: &[u8], text: &[u8]) -> Vec<Runs> {
        within(path, text, &Watch::default(), Duration::MAX)
    }

    /// Each line in pieces, `tone text`.
    fn painted(path: &str, text: &[u8]) -> Vec<Vec<(Tone, String)>> {
        let runs = all(path.as_bytes(), text);
        let lines = text.split(|byte| *byte == b'\n').map(visible_line);
        let mut out = Vec::new();
        for (line, runs) in lines.zip(&runs) {
            let mut at = 0;
            let mut pieces = Vec::new();
            for (end, tone) in runs {
                pieces.push((*tone, line[at..*end as usize].to_owned()));
                at = *end as usize;
            }
            assert_eq!(at, line.len(), "the runs of {line:?} end where it ends");
            out.push(pieces);
        }
        out
    }

    fn has(pieces: &[(Tone, String)], tone: Tone, text: &str) -> bool {
        pieces
            .iter()
            .any(|(at, piece)| *at == tone && piece.contains(text))
    }

    #[test]
    fn names_endings_and_first_lines_tell_the_language() {
        let rust = painted("src/main.rs", b"fn main() { // go\n    let x = \"a\";\n}");
        assert!(has(&rust[0], Tone::Keyword, "fn"), "{rust:?}");
        assert!(has(&rust[0], Tone::Function, "main"), "{rust:?}");
        assert!(has(&rust[0], Tone::Comment, "// go"), "{rust:?}");
        assert!(has(&rust[1], Tone::Quoted, "\"a\""), "{rust:?}");
        let python = painted("bin/run", b"#!/usr/bin/env python3\ndef f(): return 12");
        assert!(has(&python[1], Tone::Function, "f"), "{python:?}");
        assert!(has(&python[1], Tone::Constant, "12"), "{python:?}");
        let make = painted("Makefile", b"# all\nall:\n\techo x");
        assert!(has(&make[0], Tone::Comment, "all"), "{make:?}");
        assert!(painted("notes", b"hello").is_empty());
        assert!(painted("notes.txt", b"hello").is_empty());
    }

    #[test]
    fn what_is_written_out_keeps_its_colour() {
        let text = "\tx = \"\u{202e}ż\tó\u{1b}[0m\" # 日本\tend".as_bytes();
        let python = painted("a.py", text);
        assert!(has(&python[0], Tone::Quoted, "\\u{202e}ż"), "{python:?}");
        assert!(has(&python[0], Tone::Quoted, "\\x1b[0m\""), "{python:?}");
        assert!(has(&python[0], Tone::Comment, "# 日本"), "{python:?}");
        let broken = painted("a.py", b"x = \"caf\xe9\xff\" # c");
        assert!(has(&broken[0], Tone::Quoted, "caf\\xe9\\xff"), "{broken:?}");
        assert!(has(&broken[0], Tone::Comment, "# c"), "{broken:?}");
    }

    #[test]
    fn much_and_long_and_unwanted_text_stays_plain() {
        let long = [
            b"x = 1\n".to_vec(),
            vec![b'('; LINE + 1],
            b"\ny = 2".to_vec(),
        ]
        .concat();
        let runs = all(b"a.py", &long);
        assert_eq!(runs.len(), 3);
        assert!(runs[1].is_empty());
        let much = b"x\n".repeat(MOST);
        assert_eq!(all(b"a.txt.diff", &much).len(), MOST / 2);
        assert!(within(b"a.py", b"x = 1", &Watch::default(), Duration::ZERO).is_empty());
        let token = CancellationToken::new();
        token.cancel();
        assert!(colours(b"a.py", b"x = 1", &Watch::new(token)).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn runs_end_where_the_line_does(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            painted("a.rs", &bytes);
            painted("a.html", &bytes);
        }
    }
}
