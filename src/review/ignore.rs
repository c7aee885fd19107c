//! Ignore rules, matched by a linear-time library: they are the agent's words, and a pattern that
//! makes a backtracking matcher hang must not hang us.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::Path;

use super::tree::{WorkTree, join};
use crate::error::Result;

/// A larger rule file is not read.
const MAX_RULES: u64 = 1 << 20;
/// Nor are more rules of one file.
const MAX_LINES: usize = 20_000;

/// The rule that Agno itself writes.
const AGNOS: &str = "/.agno/";

/// Whose rules leave a path out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ignored {
    ByAgno,
    /// Those of this file, by its number in [`IgnoreStack::files`].
    By(usize),
}

/// The rules of one file, and where it lies.
struct Rules {
    folder: Vec<u8>,
    rules: Gitignore,
    /// Its number in [`IgnoreStack::files`].
    file: usize,
}

/// The rules in force while a tree is walked from its root: push on entering a folder, pop on
/// leaving it.
pub(crate) struct IgnoreStack {
    exclude: Option<Rules>,
    stack: Vec<Rules>,
    /// Files whose rules were in force.
    pub files: Vec<Vec<u8>>,
    /// Rule files that were too large or held too many rules, so that what they name is shown.
    pub skipped: Vec<Vec<u8>>,
    /// Rules of `info/exclude` other than Agno's own.
    pub exclude_rules: usize,
}

impl IgnoreStack {
    /// The rules of `info/exclude` below `git_dir`.
    pub(crate) fn new(tree: &WorkTree, git_dir: Option<&[u8]>) -> Result<Self> {
        let mut this = Self {
            exclude: None,
            stack: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            exclude_rules: 0,
        };
        if let Some(git_dir) = git_dir {
            let path = join(git_dir, b"info/exclude");
            if let Some(text) = this.text(tree, &path)? {
                this.exclude_rules = rules_besides_agnos(&text);
                this.exclude = this.build(b"", &path, &text);
            }
        }
        Ok(this)
    }

    /// Reads the rules of `folder`.
    pub(crate) fn enter(&mut self, tree: &WorkTree, folder: &[u8]) -> Result<()> {
        let path = join(folder, b".gitignore");
        if let Some(text) = self.text(tree, &path)?
            && let Some(rules) = self.build(folder, &path, &text)
        {
            self.stack.push(rules);
        }
        Ok(())
    }

    /// Forgets the rules of `folder`.
    pub(crate) fn leave(&mut self, folder: &[u8]) {
        if self
            .stack
            .last()
            .is_some_and(|rules| rules.folder == folder)
        {
            self.stack.pop();
        }
    }

    /// Which rules leave out `path`, whose parents they do not leave out, when any do.
    pub(crate) fn ignores(&self, path: &[u8], is_folder: bool) -> Option<Ignored> {
        use std::os::unix::ffi::OsStrExt;
        for rules in self.stack.iter().rev().chain(&self.exclude) {
            let inside = match rules.folder.len() {
                0 => path,
                length => &path[length + 1..],
            };
            let inside = Path::new(std::ffi::OsStr::from_bytes(inside));
            match rules.rules.matched(inside, is_folder) {
                Match::None => {}
                Match::Whitelist(_) => return None,
                Match::Ignore(rule) if rule.original() == AGNOS => return Some(Ignored::ByAgno),
                Match::Ignore(_) => return Some(Ignored::By(rules.file)),
            }
        }
        None
    }

    /// A rule file's text: a regular file, as git does not follow links here.
    fn text(&mut self, tree: &WorkTree, path: &[u8]) -> Result<Option<Vec<u8>>> {
        let text = tree.file(path, MAX_RULES)?;
        if text.is_none()
            && tree
                .entry(path)
                .is_some_and(|entry| entry.size() > MAX_RULES)
        {
            self.skipped.push(path.to_vec());
        }
        Ok(text)
    }

    fn build(&mut self, folder: &[u8], path: &[u8], text: &[u8]) -> Option<Rules> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (count, line) in text.split(|b| *b == b'\n').enumerate() {
            if count >= MAX_LINES {
                self.skipped.push(path.to_vec());
                return None;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A rule that is no text or no pattern matches nothing, as in git.
            if let Ok(line) = std::str::from_utf8(line) {
                let _ = builder.add_line(None, &git_glob(line));
            }
        }
        match builder.build() {
            Ok(rules) => {
                self.files.push(path.to_vec());
                Some(Rules {
                    folder: folder.to_vec(),
                    rules,
                    file: self.files.len() - 1,
                })
            }
            Err(_) => {
                self.skipped.push(path.to_vec());
                None
            }
        }
    }
}

/// Rules other than comments and Agno's `/.agno/`.
fn rules_besides_agnos(text: &[u8]) -> usize {
    text.split(|b| *b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#") && *line != AGNOS.as_bytes())
        .count()
}

/// A git pattern in the library's dialect: braces mean themselves in git, and classes have names.
pub(crate) fn git_glob(pattern: &str) -> String {
    let mut glob = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                glob.push(c);
                glob.extend(rest.next());
            }
            '[' if in_class && rest.peek() == Some(&':') => {
                let name: String = rest.by_ref().skip(1).take_while(|c| *c != ':').collect();
                // The closing bracket of the name.
                rest.next_if_eq(&']');
                glob.push_str(class(&name));
            }
            '[' if !in_class => {
                in_class = true;
                glob.push(c);
                if let Some(not) = rest.next_if(|c| matches!(c, '!' | '^')) {
                    glob.push(not);
                }
                // A bracket that comes first stands for itself.
                glob.extend(rest.next_if_eq(&']'));
            }
            ']' if in_class => {
                in_class = false;
                glob.push(c);
            }
            '{' | '}' if !in_class => {
                glob.push('\\');
                glob.push(c);
            }
            c => glob.push(c),
        }
    }
    glob
}

fn class(name: &str) -> &'static str {
    match name {
        "alnum" => "a-zA-Z0-9",
        "alpha" => "a-zA-Z",
        "blank" => " \t",
        "digit" => "0-9",
        "lower" => "a-z",
        "space" => " \t\n\r\u{b}\u{c}",
        "upper" => "A-Z",
        "xdigit" => "0-9a-fA-F",
        "punct" => "!-/:-@[-`{-~",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(rules: &str, path: &str, is_folder: bool) -> bool {
        let mut stack = IgnoreStack {
            exclude: None,
            stack: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            exclude_rules: 0,
        };
        let rules = stack.build(b"", b".gitignore", rules.as_bytes());
        stack.stack.push(rules.expect("rules"));
        stack.ignores(path.as_bytes(), is_folder).is_some()
    }

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        for (rules, path, is_folder, expected) in [
            ("*.log", "deep/down/x.log", false, true),
            ("/x", "x", false, true),
            ("/x", "a/x", false, false),
            ("build/", "build", true, true),
            ("build/", "build", false, false),
            ("a/*.c", "a/x.c", false, true),
            ("a/*.c", "a/b/x.c", false, false),
            ("a/**/x", "a/b/c/x", false, true),
            ("**/x", "x", false, true),
            ("*.{a,b}", "x.a", false, false),
            ("*.{a,b}", "x.{a,b}", false, true),
            ("[[:digit:]]x", "7x", false, true),
            ("[!a]x", "bx", false, true),
            ("[ab", "a", false, false),
            ("\\#x", "#x", false, true),
            ("*\n!keep", "keep", false, false),
            ("x\r", "x", false, true),
            ("\u{feff}x", "x", false, true),
            ("trail  ", "trail", false, true),
        ] {
            assert_eq!(
                ignored(rules, path, is_folder),
                expected,
                "{rules:?} on {path}"
            );
        }
    }

    #[test]
    fn pathological_patterns_end() {
        let rules = "*a".repeat(60) + "b";
        assert!(!ignored(&rules, &"a".repeat(4000), false));
    }

    #[test]
    fn agnos_own_rule_is_no_surprise() {
        assert_eq!(rules_besides_agnos(b"# git ls-files\n/.agno/\n\n"), 0);
        assert_eq!(rules_besides_agnos(b"/.agno/\n/scratch/\n"), 1);
    }
}
