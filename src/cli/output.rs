//! The only place that prints. What goes to a terminal is made safe; what goes to a pipe is what
//! was asked for, byte for byte.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::document;
use super::global::When;
use crate::archive::Ambiguity;
use crate::error::{Error, Result};
use crate::text::{cut_line, human_bytes, visible, visible_bytes, visible_line};

/// Bytes of one line that a terminal is sent: nobody reads further, and it would scroll for minutes.
const LINE: usize = 64 << 10;

/// Standard output and error, and how to write to them.
pub(super) struct Output {
    pub json: bool,
    color: bool,
    terminal: bool,
    out: RefCell<BufWriter<Stdout<io::Stdout>>>,
}

/// What a piece of text means; the colour follows.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Plain,
    Added,
    Deleted,
    Hunk,
    Strong,
    Dim,
    Good,
    Bad,
}

impl Output {
    pub(super) fn new(json: bool, when: When) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = std::env::var_os("CLICOLOR_FORCE")
            .is_some_and(|value| !value.is_empty() && value != "0");
        let color = match when {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") => false,
            When::Auto => {
                forced || terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self {
            json,
            color,
            terminal,
            out: RefCell::new(BufWriter::new(Stdout(io::stdout()))),
        }
    }

    pub(super) fn flush(&self) -> Result<()> {
        self.out.borrow_mut().flush().map_err(failed)
    }

    /// One JSON document.
    pub(super) fn document(&self, value: &Value) -> Result<()> {
        document::write(&mut *self.out.borrow_mut(), value).map_err(failed)
    }

    /// One line of text that may hold anything.
    pub(super) fn line(&self, text: &str) -> Result<()> {
        self.styled(&[(Style::Plain, text)])
    }

    /// One line of styled pieces, each made safe.
    pub(super) fn styled(&self, pieces: &[(Style, &str)]) -> Result<()> {
        let mut out = self.out.borrow_mut();
        for (style, text) in pieces {
            write!(out, "{}", self.paint(*style, &visible(text))).map_err(failed)?;
        }
        writeln!(out).map_err(failed)
    }

    /// A word, a tab, and the rest, for scripts that cut at tabs.
    pub(super) fn tabbed(&self, style: Style, word: &str, rest: &str) -> Result<()> {
        let (word, rest) = (self.paint(style, &visible(word)), visible(rest));
        writeln!(self.out.borrow_mut(), "{word}\t{rest}").map_err(failed)
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => "",
            Style::Added | Style::Good => "32",
            Style::Deleted | Style::Bad => "31",
            Style::Hunk => "36",
            Style::Strong => "1",
            Style::Dim => "2",
        };
        if self.color && !code.is_empty() && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Bytes as they are, unless they go to a terminal: there each line is made safe.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Result<()> {
        if !self.terminal {
            return self.out.borrow_mut().write_all(bytes).map_err(failed);
        }
        let mut out = self.out.borrow_mut();
        let mut cut = false;
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let (line, end) = match line.strip_suffix(b"\n") {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            write!(out, "{}{end}", self.shown(line, &mut cut)).map_err(failed)?;
        }
        drop(out);
        self.say_cut(cut)
    }

    /// A line of a file made safe; to a terminal only its beginning, and `cut` is set.
    fn shown(&self, line: &[u8], cut: &mut bool) -> String {
        let start = match self.terminal {
            true => cut_line(line, LINE),
            false => line,
        };
        let mut shown = visible_line(start);
        if start.len() < line.len() {
            let _ = write!(
                shown,
                "… {} more",
                human_bytes((line.len() - start.len()) as u64)
            );
            *cut = true;
        }
        shown
    }

    fn say_cut(&self, cut: bool) -> Result<()> {
        if cut {
            self.flush()?;
            let most = human_bytes(LINE as u64);
            self.note(&format!(
                "lines over {most} are cut; pipe it to see them whole"
            ));
        }
        Ok(())
    }

    /// A patch: bytes as they are to a pipe, safe and coloured lines to a terminal.
    pub(super) fn patch(&self, patch: &[u8]) -> Result<()> {
        if !self.terminal && !self.color {
            return self.bytes(patch);
        }
        let mut out = self.out.borrow_mut();
        let mut cut = false;
        for line in patch.split_inclusive(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let style = match line {
                [b'd', b'i', b'f', b'f', ..]
                | [b'+', b'+', b'+', b' ', ..]
                | [b'-', b'-', b'-', b' ', ..] => Style::Strong,
                [b'@', b'@', ..] => Style::Hunk,
                [b'+', ..] => Style::Added,
                [b'-', ..] => Style::Deleted,
                _ => Style::Plain,
            };
            let line = self.shown(line, &mut cut);
            writeln!(out, "{}", self.paint(style, &line)).map_err(failed)?;
        }
        drop(out);
        self.say_cut(cut)
    }

    /// Standard output for content that is copied piece by piece; raw only when that is no
    /// terminal.
    pub(super) fn raw(&self) -> Option<std::cell::RefMut<'_, impl Write + use<>>> {
        (!self.terminal).then(|| self.out.borrow_mut())
    }

    /// A remark on stderr.
    pub(super) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "note: {}", visible(text));
    }

    /// That another program may see other files in an archive than those that were read.
    pub(super) fn ambiguities(&self, ambiguities: &[Ambiguity]) {
        if let [first, rest @ ..] = ambiguities {
            let path = match &first.path[..] {
                b"" => String::new(),
                path => format!("{}: ", visible_bytes(path)),
            };
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            self.note(&format!(
                "other programs may read this archive otherwise than Agno: {path}{}{more}",
                first.why
            ));
        }
    }

    /// One line for the error, one for what to do; a document with `--json`.
    pub(super) fn error(&self, error: &Error) {
        if self.json {
            let _ = self.document(&json!({"error": error_json(error)}));
            let _ = self.flush();
        }
        let _ = self.out.borrow_mut().flush();
        let mut err = io::stderr().lock();
        let _ = writeln!(err, "afterrun: {}", visible(error.message()));
        if let Some(hint) = error.next_step() {
            let _ = writeln!(err, "hint: {}", visible(hint));
        }
    }
}

/// An error in JSON.
pub(super) fn error_json(error: &Error) -> Value {
    json!({"kind": error.kind().as_str(), "message": error.message()})
}

/// Sets `key`, and `key_b64` too when the bytes are not UTF-8.
pub(super) fn put_bytes(object: &mut serde_json::Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_owned(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        object.insert(format!("{key}_b64"), base64(bytes).into());
    }
}

/// Sets `ambiguous` when another program may see other files in an archive.
pub(super) fn put_ambiguities(
    object: &mut serde_json::Map<String, Value>,
    ambiguities: &[Ambiguity],
) {
    let told = ambiguities.iter().map(|ambiguity| {
        let mut told = serde_json::Map::new();
        put_bytes(&mut told, "path", &ambiguity.path);
        told.insert("why".into(), ambiguity.why.into());
        Value::Object(told)
    });
    let told: Vec<Value> = told.collect();
    if !told.is_empty() {
        object.insert("ambiguous".into(), Value::Array(told));
    }
}

/// Bytes in base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn failed(error: io::Error) -> Error {
    Error::io("write", Path::new("standard output"), error)
}

/// Standard output, whose reader's going is told from any other broken pipe.
struct Stdout<W>(W);

/// Whoever reads our output has gone.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads it")]
struct ReaderGone;

fn marked(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone),
        _ => error,
    }
}

impl<W: Write> Write for Stdout<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(marked)
    }
}

/// Whether the reader of our output has gone. A pipe to anybody else that breaks, our own worker's for
/// one, is a failure like any other.
pub(super) fn is_broken_pipe(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<io::Error>())
        .and_then(io::Error::get_ref)
        .is_some_and(|inner| inner.is::<ReaderGone>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_readers_going_is_no_failure() {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let told = Stdout(&writer)
            .write_all(b"text")
            .expect_err("nobody reads");
        assert!(is_broken_pipe(&failed(told)));
        let told = (&writer).write_all(b"text").expect_err("nobody reads");
        assert_eq!(told.kind(), io::ErrorKind::BrokenPipe);
        let worker = Error::io("talk to", Path::new("the worker"), told);
        assert!(!is_broken_pipe(&worker));
    }
}
