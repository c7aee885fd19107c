//! The configuration file: what it may say, and where it says what it may not. Nothing in it is
//! ignored in silence: a name that is not known is an error with its line and what may have been
//! meant.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::near::nearest;
use crate::text::{visible, visible_path};
use crate::tui::keymap::Keymap;

/// A configuration is a page of text, not more.
const AT_MOST: u64 = 1 << 20;
/// What may stand at its top.
const NAMES: [&str; 4] = ["theme", "editor", "mouse", "keys"];

/// What a configuration file says.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    /// Where it was read; `None` where there is none.
    pub path: Option<PathBuf>,
    /// The theme's name, and the line it stands on.
    pub theme: Option<(String, usize)>,
    /// The editor, in words.
    pub editor: Option<Vec<String>>,
    /// Whether the mouse is reported from the start.
    pub mouse: Option<bool>,
    /// Which keys do what.
    pub keymap: Keymap,
}

/// Where the configuration is: `named`, else the user's own place for it, which may be empty.
#[must_use]
pub fn place(
    named: Option<PathBuf>,
    config_home: Option<OsString>,
    home: Option<&Path>,
) -> Option<(PathBuf, bool)> {
    if let Some(named) = named {
        return Some((named, true));
    }
    // As the XDG rules have it, a path that is not absolute is not taken.
    let config_home = config_home
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let folder = config_home.or_else(|| Some(home?.join(".config")))?;
    Some((folder.join("afterrun/config.toml"), false))
}

/// Whether there is no such file, and no folder that could hold it.
fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

impl ConfigFile {
    /// Reads the file at `path`; one that is not there is empty, unless it `must_exist`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it cannot be read or says what is not known.
    pub fn read(path: &Path, must_exist: bool) -> Result<Self> {
        let shown = visible_path(path);
        let failed = |why: &str| {
            Error::new(ErrorKind::Usage, format!("{shown} cannot be read: {why}"))
                .hint("it is the configuration; name another with --config FILE")
        };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if !must_exist && is_missing(&error) => return Ok(Self::default()),
            Err(error) => return Err(failed(&reason(&error))),
        };
        let mut bytes = Vec::new();
        let read = file.take(AT_MOST + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed(&reason(&error)))?;
        if bytes.len() as u64 > AT_MOST {
            return Err(failed("it is over 1 MiB, which no configuration is"));
        }
        let text = String::from_utf8(bytes).map_err(|_| failed("it is no UTF-8 text"))?;
        let mut config = Self::parse(&text, &shown)?;
        config.path = Some(path.to_path_buf());
        Ok(config)
    }

    /// The theme that is named, as one of `names` that `T` knows.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it is none of them.
    pub fn theme_as<T: FromStr>(&self, names: &[&str]) -> Result<Option<T>> {
        let Some((theme, line)) = &self.theme else {
            return Ok(None);
        };
        if let Ok(known) = theme.parse() {
            return Ok(Some(known));
        }
        let place = self.path.as_deref().map(visible_path).unwrap_or_default();
        let shown = visible(theme);
        let error = Error::new(
            ErrorKind::Usage,
            format!("{place}, line {line}: there is no theme `{shown}`"),
        );
        Err(match nearest(theme, names.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("there are: {}", names.join(", "))),
        })
    }

    /// Reads `text`, which `name` names in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it says what is not known.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let page = Page { text, name };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            page.wrong(at, &visible(error.message().trim()))
        })?;
        let mut config = Self::default();
        for (key, value) in table.get_ref() {
            let at = key.span().start;
            match key.get_ref().as_ref() {
                "theme" => {
                    let theme = page.text_of(value, "theme", "\"dark\"")?;
                    config.theme = Some((theme.to_owned(), page.line(at)));
                }
                "editor" => config.editor = Some(page.words(value)?),
                "mouse" => match value.get_ref() {
                    DeValue::Boolean(on) => config.mouse = Some(*on),
                    _ => return Err(page.wrong(at, "`mouse` is true or false")),
                },
                "keys" => config.keymap = keys::keymap(&page, value)?,
                other => return Err(page.unknown(at, "key or section", other, NAMES)),
            }
        }
        Ok(config)
    }
}

/// The text that is read, for saying where something is wrong.
pub(super) struct Page<'a> {
    text: &'a str,
    name: &'a str,
}

impl<'a> Page<'a> {
    /// The line of the byte at `at`, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    pub(super) fn wrong(&self, at: usize, what: &str) -> Error {
        self.wrong_at(self.line(at), what)
    }

    pub(super) fn wrong_at(&self, line: usize, what: &str) -> Error {
        // One line, whatever the parser says.
        let what = what.replace("\\n", ", ");
        Error::new(
            ErrorKind::Usage,
            format!("{}, line {line}: {what}", self.name),
        )
    }

    /// `word` is not among `names`, of which one may have been meant.
    pub(super) fn unknown<'b>(
        &self,
        at: usize,
        what: &str,
        word: &str,
        names: impl IntoIterator<Item = &'b str> + Clone,
    ) -> Error {
        let error = self.wrong(at, &format!("there is no {what} `{}`", visible(word)));
        match nearest(word, names.clone()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => {
                let names: Vec<&str> = names.into_iter().collect();
                error.hint(format!("there are: {}", names.join(", ")))
            }
        }
    }

    fn text_of<'v>(
        &self,
        value: &'v Spanned<DeValue<'a>>,
        key: &str,
        example: &str,
    ) -> Result<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            _ => Err(self.wrong(
                value.span().start,
                &format!("`{key}` is text, such as {key} = {example}"),
            )),
        }
    }

    /// A command in words, as a shell would part them; no shell ever sees it.
    fn words(&self, value: &Spanned<DeValue<'a>>) -> Result<Vec<String>> {
        let at = value.span().start;
        let text = self.text_of(value, "editor", "\"hx\"")?;
        match shell_words::split(text) {
            Ok(words) if !words.is_empty() => Ok(words),
            Ok(_) => Err(self.wrong(at, "`editor` is empty")),
            Err(_) => Err(self.wrong(at, "`editor` has a quote that is not closed")),
        }
    }
}
