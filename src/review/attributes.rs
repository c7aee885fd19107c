//! What attributes say of a file's bytes: line endings and `$Id$` are normalised before a file is
//! called modified, as git's `clean` does. Filters, encodings and drivers are only named, never run.

use std::collections::HashMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::ignore::git_glob;
use super::tree::{WorkTree, join};
use crate::error::Result;

const MAX_RULES: u64 = 1 << 20;
const MAX_LINES: usize = 20_000;

/// The attributes that matter here, of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    text: Setting,
    eol: Option<bool>,
    crlf: Setting,
    ident: bool,
    /// `diff` is unset: git would show no text.
    pub hides_text: bool,
    pub filter: Option<String>,
    pub encoding: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Setting {
    #[default]
    Unspecified,
    Set,
    Unset,
    Auto,
}

/// One rule's words, in order.
type Words = Vec<String>;
/// What a path's attributes are given; nothing where they are made unspecified.
type Found<'a> = HashMap<&'a str, Option<&'a str>>;

struct RuleFile {
    folder: Vec<u8>,
    globs: GlobSet,
    words: Vec<Words>,
}

/// The attribute rules of a tree; files are read as their folders are asked about.
pub(crate) struct AttributeRules {
    files: HashMap<Vec<u8>, Option<RuleFile>>,
    info: Option<RuleFile>,
    macros: HashMap<String, Words>,
    /// Rule files that were too large or held too many rules.
    pub skipped: Vec<Vec<u8>>,
}

impl AttributeRules {
    /// The rules of `info/attributes` below `git_dir`; the folders' follow when they are needed.
    pub(crate) fn new(tree: &WorkTree, git_dir: Option<&[u8]>) -> Result<Self> {
        let mut this = Self {
            files: HashMap::new(),
            info: None,
            macros: HashMap::from([(
                "binary".to_owned(),
                ["-diff", "-merge", "-text"].map(str::to_owned).to_vec(),
            )]),
            skipped: Vec::new(),
        };
        if let Some(git_dir) = git_dir {
            let path = join(git_dir, b"info/attributes");
            this.info = this.read(tree, &path, b"", true)?;
        }
        this.load(tree, b"")?;
        Ok(this)
    }

    /// Whether `info/attributes`, which no diff shows, holds rules.
    pub(crate) fn has_info(&self) -> bool {
        self.info.is_some()
    }

    fn load(&mut self, tree: &WorkTree, folder: &[u8]) -> Result<()> {
        if !self.files.contains_key(folder) {
            let path = join(folder, b".gitattributes");
            let file = self.read(tree, &path, folder, folder.is_empty())?;
            self.files.insert(folder.to_vec(), file);
        }
        Ok(())
    }

    fn read(
        &mut self,
        tree: &WorkTree,
        path: &[u8],
        folder: &[u8],
        may_define: bool,
    ) -> Result<Option<RuleFile>> {
        let Some(text) = tree.file(path, MAX_RULES)? else {
            if tree
                .entry(path)
                .is_some_and(|entry| entry.size() > MAX_RULES)
            {
                self.skipped.push(path.to_vec());
            }
            return Ok(None);
        };
        let (mut globs, mut words) = (GlobSetBuilder::new(), Vec::new());
        let text = String::from_utf8_lossy(&text);
        for (count, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            if count >= MAX_LINES {
                self.skipped.push(path.to_vec());
                return Ok(None);
            }
            let line = line.trim_start_matches([' ', '\t']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (pattern, rest) = split_pattern(line);
            let rest: Words = rest
                .split([' ', '\t', '\r'])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            if let Some(name) = pattern.strip_prefix("[attr]") {
                if may_define {
                    self.macros.insert(name.to_owned(), rest);
                }
                continue;
            }
            if pattern.starts_with('!') || pattern.ends_with('/') {
                continue;
            }
            let glob = git_glob(&pattern);
            let glob = match glob.strip_prefix('/') {
                Some(anchored) => anchored.to_owned(),
                None if glob.contains('/') => glob,
                None => format!("**/{glob}"),
            };
            let glob = GlobBuilder::new(&glob)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            if let Ok(glob) = glob {
                globs.add(glob);
                words.push(rest);
            }
        }
        match globs.build() {
            Ok(globs) if !words.is_empty() => Ok(Some(RuleFile {
                folder: folder.to_vec(),
                globs,
                words,
            })),
            Ok(_) => Ok(None),
            Err(_) => {
                self.skipped.push(path.to_vec());
                Ok(None)
            }
        }
    }

    /// The attributes of the file at `path`.
    pub(crate) fn of(&mut self, tree: &WorkTree, path: &[u8]) -> Result<Attributes> {
        let folders: Vec<&[u8]> = std::iter::once(&b""[..])
            .chain(
                path.iter()
                    .enumerate()
                    .filter(|(_, b)| **b == b'/')
                    .map(|(at, _)| &path[..at]),
            )
            .collect();
        for folder in &folders {
            self.load(tree, folder)?;
        }
        let mut found = Found::default();
        let files = folders
            .iter()
            .filter_map(|folder| self.files.get(*folder)?.as_ref());
        // Later rules win, so they come first.
        let files: Vec<&RuleFile> = files.chain(self.info.as_ref()).collect();
        for file in files.into_iter().rev() {
            let inside = match file.folder.len() {
                0 => path,
                length => &path[length + 1..],
            };
            let path: &std::path::Path = {
                use std::os::unix::ffi::OsStrExt;
                std::path::Path::new(std::ffi::OsStr::from_bytes(inside))
            };
            for rule in file.globs.matches(path).into_iter().rev() {
                self.assign(&file.words[rule], &mut found);
            }
        }
        Ok(collect(&found))
    }

    /// Takes one rule's words (`name`, `-name`, `!name`, `name=value`), the last first, each with
    /// what its macro stands for. As in git, what an attribute is given first stands, and so no macro
    /// is looked into twice, however macros name each other.
    fn assign<'a>(&'a self, words: &'a [String], found: &mut Found<'a>) {
        let mut pending: Vec<&str> = words.iter().map(String::as_str).collect();
        while let Some(word) = pending.pop() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None if word.starts_with('-') => (&word[1..], Some("\0unset")),
                None if word.starts_with('!') => (&word[1..], None),
                None => (word, Some("\0set")),
            };
            if found.contains_key(name) {
                continue;
            }
            found.insert(name, value);
            if value == Some("\0set")
                && let Some(words) = self.macros.get(name)
            {
                pending.extend(words.iter().map(String::as_str));
            }
        }
    }
}

fn collect(found: &Found<'_>) -> Attributes {
    let value = |name: &str| found.get(name).copied().flatten();
    let setting = |name: &str| match value(name) {
        Some("\0set") => Setting::Set,
        Some("\0unset") => Setting::Unset,
        Some("auto") => Setting::Auto,
        // `crlf=input` is the old spelling of text with line feeds.
        Some("input") => Setting::Set,
        _ => Setting::Unspecified,
    };
    let word = |name: &str| {
        value(name)
            .filter(|value| !value.starts_with('\0'))
            .map(str::to_owned)
    };
    Attributes {
        text: setting("text"),
        eol: match value("eol") {
            Some("lf") => Some(false),
            Some("crlf") => Some(true),
            _ => None,
        },
        crlf: setting("crlf"),
        ident: value("ident") == Some("\0set"),
        hides_text: value("diff") == Some("\0unset"),
        filter: word("filter"),
        encoding: word("working-tree-encoding"),
    }
}

/// The pattern at the line's start, which may be quoted as in C.
fn split_pattern(line: &str) -> (String, &str) {
    if let Some(quoted) = line.strip_prefix('"') {
        let mut pattern = String::new();
        let mut rest = quoted.char_indices();
        while let Some((at, c)) = rest.next() {
            match c {
                '"' => return (pattern, &quoted[at + 1..]),
                '\\' => match rest.next() {
                    Some((_, 'n')) => pattern.push('\n'),
                    Some((_, 't')) => pattern.push('\t'),
                    Some((_, c)) => pattern.push(c),
                    None => break,
                },
                c => pattern.push(c),
            }
        }
    }
    match line.find([' ', '\t']) {
        Some(at) => (line[..at].to_owned(), &line[at..]),
        None => (line.to_owned(), ""),
    }
}

impl Attributes {
    /// Whether the bytes may need to be normalised.
    pub(crate) fn normalises(&self) -> bool {
        self.ident || self.converts()
    }

    /// Whether line endings are converted, without a look at the content.
    fn converts(&self) -> bool {
        match self.effective() {
            Setting::Set | Setting::Auto => true,
            Setting::Unset => false,
            Setting::Unspecified => self.eol.is_some(),
        }
    }

    fn effective(&self) -> Setting {
        if self.text == Setting::Unspecified {
            self.crlf
        } else {
            self.text
        }
    }

    /// Whether the old content decides: `text=auto` leaves a file alone whose base has CR LF.
    pub(crate) fn asks_the_base(&self) -> bool {
        self.effective() == Setting::Auto
    }

    /// The bytes that git would store, when they differ. `base_has_crlf` is only asked for
    /// `text=auto`.
    pub(crate) fn normalised(&self, bytes: &[u8], base_has_crlf: bool) -> Option<Vec<u8>> {
        let mut changed = None;
        if self.converts() && bytes.contains(&b'\r') {
            let auto = self.asks_the_base();
            let leave = auto && (base_has_crlf || looks_binary(bytes));
            if !leave {
                changed = Some(without_cr(bytes));
            }
        }
        if self.ident
            && let Some(plain) = without_ident(changed.as_deref().unwrap_or(bytes))
        {
            changed = Some(plain);
        }
        changed.filter(|changed| changed != bytes)
    }
}

/// Every CR LF as LF.
fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if !(byte == b'\r' && rest.peek() == Some(&b'\n')) {
            plain.push(byte);
        }
    }
    plain
}

/// `$Id: whatever $` on one line as `$Id$`.
fn without_ident(bytes: &[u8]) -> Option<Vec<u8>> {
    const START: &[u8] = b"$Id:";
    let mut plain: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = bytes[at..]
        .windows(START.len())
        .position(|word| word == START)
    {
        let start = at + found;
        let body = &bytes[start + START.len()..];
        at = start + START.len();
        match body.iter().position(|b| matches!(b, b'$' | b'\n')) {
            Some(end) if body[end] == b'$' => {
                let out = plain.get_or_insert_default();
                out.extend_from_slice(&bytes[copied..start]);
                out.extend_from_slice(b"$Id$");
                at += end + 1;
                copied = at;
            }
            _ => {}
        }
    }
    plain.map(|mut out| {
        out.extend_from_slice(&bytes[copied..]);
        out
    })
}

/// Git's guess for `text=auto`: a NUL, a lone CR, or too many control bytes.
fn looks_binary(bytes: &[u8]) -> bool {
    let (mut printable, mut other) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            0 => return true,
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => return true,
            b'\r' | b'\n' => {}
            0x7f => other += 1,
            8 | 9 | 12 | 27 | 32.. => printable += 1,
            // A closing ^Z is an old end-of-file mark.
            26 if at + 1 == bytes.len() => {}
            _ => other += 1,
        }
    }
    printable >> 7 < other
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes(words: &[&str]) -> Attributes {
        let rules = AttributeRules {
            files: HashMap::new(),
            info: None,
            macros: HashMap::from([(
                "binary".to_owned(),
                vec!["-diff".to_owned(), "-text".to_owned()],
            )]),
            skipped: Vec::new(),
        };
        let words: Words = words.iter().map(|word| (*word).to_owned()).collect();
        let mut found = HashMap::new();
        rules.assign(&words, &mut found);
        collect(&found)
    }

    #[test]
    fn line_endings_follow_the_attributes() {
        let crlf = b"a\r\nb\r\n";
        for (words, base_has_crlf, expected) in [
            (&["text"][..], false, Some(&b"a\nb\n"[..])),
            (&["text=auto"], false, Some(b"a\nb\n")),
            (&["text=auto"], true, None),
            (&["text", "eol=crlf"], true, Some(b"a\nb\n")),
            (&["eol=lf"], false, Some(b"a\nb\n")),
            (&["-text"], false, None),
            (&["text", "binary"], false, None),
            (&[], false, None),
        ] {
            let normalised = attributes(words).normalised(crlf, base_has_crlf);
            assert_eq!(normalised.as_deref(), expected, "{words:?}");
        }
        assert_eq!(
            attributes(&["text=auto"]).normalised(b"a\r\n\0", false),
            None
        );
        assert!(attributes(&["binary"]).hides_text);
        assert_eq!(attributes(&["filter=lfs"]).filter.as_deref(), Some("lfs"));
    }

    #[test]
    fn macros_that_name_each_other_end() {
        let name = |n: usize| format!("m{n}");
        let mut macros: HashMap<String, Words> = (0..50)
            .map(|n| (name(n), (0..50).map(name).chain(["text".into()]).collect()))
            .collect();
        macros.insert("last".into(), vec![name(0), "-text".into()]);
        let rules = AttributeRules {
            files: HashMap::new(),
            info: None,
            macros,
            skipped: Vec::new(),
        };
        for (words, expected) in [
            (&["m1"][..], Setting::Set),
            (&["m1", "-text"], Setting::Unset),
            (&["-text", "m1"], Setting::Set),
            (&["last"], Setting::Unset),
            (&["last", "!text"], Setting::Unspecified),
        ] {
            let words: Words = words.iter().map(|word| (*word).to_owned()).collect();
            let mut found = HashMap::new();
            rules.assign(&words, &mut found);
            assert_eq!(collect(&found).text, expected, "{words:?}");
        }
    }

    #[test]
    fn ident_is_collapsed_within_a_line() {
        let ident = attributes(&["ident"]);
        assert_eq!(
            ident
                .normalised(b"x $Id: abc $ y\n$Id: cut\n$ $Id$", false)
                .as_deref(),
            Some(&b"x $Id$ y\n$Id: cut\n$ $Id$"[..])
        );
    }

    proptest! {
        #[test]
        fn normalising_twice_is_normalising_once(bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'$'), Just(b'I'), Just(b'd'), Just(b':'), any::<u8>()], 0..200)) {
            let all = attributes(&["text", "ident"]);
            let once = all.normalised(&bytes, false).unwrap_or(bytes);
            if !once.windows(2).any(|pair| pair == b"\r\n") {
                prop_assert!(all.normalised(&once, false).is_none());
            }
        }
    }
}
