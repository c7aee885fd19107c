//! The text of a configuration while it is read: what is wrong with it is said with its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result};
use crate::near::nearest;
use crate::text::visible;

/// The text that is read, for saying where something is wrong.
pub(super) struct Page<'a> {
    pub text: &'a str,
    pub name: &'a str,
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
        error.hint(meant(word, names))
    }

    /// The lines of the section called `name`.
    pub(super) fn table<'v>(
        &self,
        value: &'v Spanned<DeValue<'a>>,
        name: &str,
        holds: &str,
    ) -> Result<&'v DeTable<'a>> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(value.span().start, &format!("`{name}` {holds}"))),
        }
    }
}

/// Which of `names` was meant by `word`, else all of them, as a hint.
pub(super) fn meant<'b>(word: &str, names: impl IntoIterator<Item = &'b str> + Clone) -> String {
    match nearest(word, names.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let names: Vec<_> = names.into_iter().map(visible).collect();
            format!("there are: {}", names.join(", "))
        }
    }
}
