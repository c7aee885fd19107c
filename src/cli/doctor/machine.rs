//! What it is read on: the terminal, the review worker, and room for private files.

use std::io::IsTerminal;

use super::{Checks, Found};
use crate::cli::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::scratch::Scratch;
use crate::text::{human_bytes, visible_path};
use crate::tui::look::{Between, Manner};
use crate::tui::theme::Depth;

/// What one archive may expand to.
const ONE_ARCHIVE: u64 = 1 << 30;

pub(super) async fn look(context: &Context, checks: &mut Checks) {
    checks.look("terminal", terminal(context)).await;
    let scratch = context.settings().scratch();
    checks.look("private files", private_files(&scratch)).await;
    checks.look("review worker", worker(&scratch)).await;
}

async fn terminal(context: &Context) -> Result<Found> {
    if !std::io::stdout().is_terminal() {
        return Found::skipped("stdout is no terminal");
    }
    let manner = Manner::of(&context.look(), |name| std::env::var(name).ok());
    let (columns, rows) = crossterm::terminal::size()
        .map_err(|error| Error::io("ask", "the terminal for its size".as_ref(), error))?;
    let colours = match manner.theme.depth {
        Depth::None => "no colours",
        Depth::Sixteen => "16 colours",
        Depth::Many => "256 colours",
        Depth::True => "all colours",
    };
    let letters = if manner.ascii { "ASCII alone" } else { "UTF-8" };
    let clipboard = match (manner.commands, manner.between) {
        (false, _) => "no clipboard: copies go to a file",
        (true, Between::Nothing) => "clipboard by OSC 52",
        (true, Between::Tmux) => "clipboard by OSC 52 through tmux (set -g set-clipboard on)",
        (true, Between::Screen) => "clipboard by OSC 52 through GNU screen",
    };
    let name = std::env::var("TERM").unwrap_or_else(|_| "without a name".into());
    Found::well(format!(
        "{name}: {columns}×{rows}, {colours}, {letters}, {clipboard}"
    ))
}

async fn private_files(scratch: &Result<Scratch>) -> Result<Found> {
    let scratch = scratch.as_ref().map_err(Error::copy)?;
    let hint =
        "name a folder with room for an expanded archive (1 GiB at most) with --spool or TMPDIR";
    let file = scratch.file();
    let file = file.map_err(|error| error.hint(hint))?;
    let space = rustix::fs::fstatvfs(&file)
        .map_err(|error| Error::io("ask for the space in", scratch.folder(), error.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let mut what = format!(
        "{}: {} free",
        visible_path(scratch.folder()),
        human_bytes(free)
    );
    if let Some(limit) = scratch.limit() {
        what.push_str(&format!(", of which {} may be used", human_bytes(limit)));
    }
    let mut notes = Vec::new();
    if free.min(scratch.limit().unwrap_or(free)) < ONE_ARCHIVE {
        notes.push("an archive may expand to 1 GiB, which does not fit".into());
    }
    Ok(Found::Well(what, notes))
}

async fn worker(scratch: &Result<Scratch>) -> Result<Found> {
    let scratch = match scratch {
        Ok(scratch) => scratch.clone(),
        Err(_) => return Found::skipped(super::told_above("the private files")),
    };
    let check = crate::checkpoint::blocking(move || crate::review::check_worker(&scratch)).await?;
    let held = match check.limits.as_slice() {
        [] => "this system does not say which limits hold".into(),
        limits => format!("held to {}", limits.join(", ")),
    };
    let what = format!("starts and answers; {held}");
    let could: Vec<String> = check.escapes.iter().map(ToString::to_string).collect();
    let note = match (check.confinement.missing(), could.join(", ")) {
        (None, could) if could.is_empty() => {
            "confined by Landlock and seccomp: tried from inside, it could not open a file or a socket, or \
             start a program"
                .to_owned()
        }
        (None, could) => {
            return Err(Error::new(
                ErrorKind::UnsafeContent,
                format!("The review worker says it is confined, but it could {could}"),
            ));
        }
        (Some(missing), could) if could.is_empty() => missing,
        (Some(missing), could) => format!("{missing}: it could {could}"),
    };
    Ok(Found::Well(what, vec![note]))
}
