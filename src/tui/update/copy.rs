//! `y`: a command line that shows a colleague what is shown here.

use super::place::content_line;
use super::request;
use crate::review::BaseChoice;
use crate::runs::Tables;
use crate::text::visible;
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Failure, Labels, Pane, State, View, split_line};
use crate::tui::theme::Tone;

/// Copies the command, or says why it would not work.
pub(super) fn copy(state: &mut State, out: &mut Vec<Effect>) {
    match command(state) {
        Ok(Some(command)) => {
            // A label never holds a password, so the command asks for it.
            let masked = if command.contains(":***@") || command.contains("=***") {
                " (put the password in for ***)"
            } else {
                ""
            };
            state.say(
                Tone::Good,
                format!("sent to the clipboard{masked}: {command}"),
            );
            out.push(Effect::Copy(command));
        }
        Ok(None) => {}
        Err(what) => state.say(
            Tone::Warn,
            format!("not copied: {what} holds characters that a shell would not take as they look"),
        ),
    }
}

/// What the terminal does not take goes to a file, and the bottom line says where.
pub(super) fn to_file(state: &mut State, out: &mut Vec<Effect>, text: String, why: &Failure) {
    state.say(Tone::Warn, format!("{}; writing it to a file", why.message));
    request(state, out, Request::Keep { text });
}

/// The file is there, or not.
pub(super) fn kept(state: &mut State, done: Result<String, Failure>) {
    match done {
        Ok(path) => state.report(
            Tone::Good,
            format!("the clipboard is out of reach; the copy is in {path}"),
        ),
        Err(failure) => state.report(Tone::Bad, format!("✖ not copied: {}", failure.message)),
    }
}

/// `afterrun open RUN PATH:LINE …` with the flags that this interface was started with; what cannot
/// be written in a command, else.
fn command(state: &State) -> Result<Option<String>, &'static str> {
    let Some(run_id) = run_id(state) else {
        return Ok(None);
    };
    let mut words = vec![plain(run_id, "the run's id")?.to_owned()];
    let mut flags = Vec::new();
    if let Some(shown) = shown(state, run_id) {
        let path = std::str::from_utf8(shown.path).map_err(|_| "the path")?;
        let path = plain(path, "the path")?;
        match shown.line {
            None => words.push(path.to_owned()),
            Some(line) if shown.apart => {
                words.push(path.to_owned());
                flags.push(flag("line", &line.to_string()));
            }
            Some(line) => words.push(format!("{path}:{line}")),
        }
        flags.extend(shown.view.map(|view| flag("view", view)));
    }
    if is_shown(state, run_id) {
        let base = match &state.content.base {
            BaseChoice::Default => None,
            BaseChoice::Pin => Some("pin"),
            BaseChoice::Head => Some("head"),
            BaseChoice::Previous => Some("previous"),
            BaseChoice::Run(run) => Some(plain(run, "the base")?),
            BaseChoice::Empty => Some("empty"),
        };
        flags.extend(base.map(|base| flag("base", base)));
    }
    let Labels {
        database,
        store,
        tables,
        ..
    } = &state.labels;
    flags.push(flag("db", label(database, "the database's name")?));
    if !state.labels.default_store {
        flags.push(flag("store", label(store, "the store's name")?));
    }
    let usual = Tables::default();
    for (name, table, usual) in [
        ("sessions-table", &tables.sessions, usual.sessions),
        ("runs-table", &tables.runs, usual.runs),
    ] {
        if *table != usual {
            flags.push(flag(name, plain(table, "a table's name")?));
        }
    }
    if let Some(agent) = &state.opening_as {
        flags.push(flag("as", plain(agent, "the agent's name")?));
    }
    let dashed = words.iter().any(|word| word.starts_with('-'));
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let (words, flags) = (words.join(" "), flags.join(" "));
    Ok(Some(if dashed {
        format!("afterrun open {flags} -- {words}")
    } else {
        format!("afterrun open {words} {flags}")
    }))
}

/// Whether the panes at the right are about `run_id`.
fn is_shown(state: &State, run_id: &str) -> bool {
    let opened = state.opened.as_ref();
    state.focus != Pane::Runs
        && state.refusal.is_none()
        && opened.is_some_and(|run| run.row.run_id == run_id)
}

/// What of a run is shown.
struct Shown<'a> {
    path: &'a [u8],
    line: Option<u32>,
    /// The line cannot stand at the path's end: it would be taken for a part of it, or the path's own
    /// end for the line.
    apart: bool,
    /// Where it is not the view that the command would choose itself.
    view: Option<&'static str>,
}

fn shown<'a>(state: &'a State, run_id: &str) -> Option<Shown<'a>> {
    if !is_shown(state, run_id) {
        return None;
    }
    let tree = state.tree()?;
    let node = &tree.nodes[state.files.selected()?];
    let line = content_line(state);
    let apart = line.is_some_and(|line| {
        let whole = [&node.path[..], format!(":{line}").as_bytes()].concat();
        split_line(&node.path).is_some() || tree.find(&whole).is_some()
    });
    let view = match (state.content.view, node.change.is_some()) {
        (View::File, true) => Some("file"),
        (View::Info, _) => Some("info"),
        _ => None,
    };
    Some(Shown {
        path: &node.path,
        line,
        apart,
        view,
    })
}

/// The run that is meant: the one under the cursor of the list, else the one that the panes show.
pub(super) fn run_id(state: &State) -> Option<&str> {
    let chosen = || state.runs.selected().map(|run| run.run_id.as_str());
    let shown = || {
        let opened = state.opened.as_ref().map(|run| run.row.run_id.as_str());
        state.current.as_deref().or(opened)
    };
    match state.focus {
        Pane::Runs => chosen().or_else(shown),
        Pane::Files | Pane::Content => shown().or_else(chosen),
    }
}

/// `text`, unless it holds what would not be seen.
fn plain<'a>(text: &'a str, what: &'static str) -> Result<&'a str, &'static str> {
    if visible(text) == text {
        Ok(text)
    } else {
        Err(what)
    }
}

/// A label, unless something in it was written out to be seen.
fn label<'a>(text: &'a str, what: &'static str) -> Result<&'a str, &'static str> {
    if text.contains('\\') {
        return Err(what);
    }
    plain(text, what)
}

fn flag(name: &str, value: &str) -> String {
    let gap = if value.starts_with('-') { '=' } else { ' ' };
    format!("--{name}{gap}{}", quoted(value))
}

/// One word for a POSIX shell.
fn quoted(word: &str) -> String {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@/+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("src/a-b_c.rs"), "src/a-b_c.rs");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted("!x"), "'!x'");
        assert_eq!(quoted(""), "''");
        assert_eq!(flag("as", "-x y"), "--as='-x y'");
    }
}
