//! `y`: a command line that shows a colleague what is shown here.

use super::request;
use crate::review::BaseChoice;
use crate::text::visible;
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Failure, Labels, Pane, State};
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
            state.say(Tone::Good, format!("copied{masked}: {command}"));
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

/// `afterrun diff RUN PATH …` on a changed file, else `afterrun show RUN …`, with the flags that this
/// interface was started with; what cannot be written in a command, else.
fn command(state: &State) -> Result<Option<String>, &'static str> {
    let Some(run_id) = run_id(state) else {
        return Ok(None);
    };
    let path = changed_path(state, run_id).transpose()?;
    let mut words = vec![plain(run_id, "the run's id")?];
    let mut flags = Vec::new();
    let mut name = "show";
    if let Some(path) = &path {
        name = "diff";
        words.push(plain(path, "the path")?);
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
        database, store, ..
    } = &state.labels;
    flags.push(flag("db", label(database, "the database's name")?));
    if !state.labels.default_store {
        flags.push(flag("store", label(store, "the store's name")?));
    }
    if let Some(agent) = &state.opening_as {
        flags.push(flag("as", plain(agent, "the agent's name")?));
    }
    let dashed = words.iter().any(|word| word.starts_with('-'));
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    let (words, flags) = (words.join(" "), flags.join(" "));
    Ok(Some(if dashed {
        format!("afterrun {name} {flags} -- {words}")
    } else {
        format!("afterrun {name} {words} {flags}")
    }))
}

/// The run that is meant: the one under the cursor of the list, else the one that the panes show.
fn run_id(state: &State) -> Option<&str> {
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

/// The changed file under the Files cursor, as `afterrun diff` takes it; nothing where another run,
/// or no change, is meant.
fn changed_path(state: &State, run_id: &str) -> Option<Result<String, &'static str>> {
    let opened = state.opened.as_ref()?;
    if state.focus == Pane::Runs || opened.row.run_id != run_id {
        return None;
    }
    let compared = opened.comparison.done.as_ref()?;
    let node = &state.tree()?.nodes[state.files.selected()?];
    let file = compared.files.get(node.change?)?;
    let mut path = file.path.clone();
    if path.starts_with(&[&compared.root[..], b"/"].concat()) {
        // It would be taken for a path in the archive.
        path = node.path.clone();
    }
    Some(String::from_utf8(path).map_err(|_| "the path"))
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
