//! Finds the password of a database before anything is read of it, where the URL, the environment and
//! the password file have none.

use std::sync::Arc;

use super::args::{ArchiveArgs, Command};
use super::context::Context;
use super::password;
use crate::config::key::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::{Password, Server};
use crate::text::visible_path;

/// Whether `command` reads database and store.
pub(super) fn is_needed(command: Option<&Command>) -> bool {
    let reads = |archive: &ArchiveArgs| archive.archive.is_none();
    match command {
        None | Some(Command::Open(_) | Command::Agents | Command::Runs(_) | Command::Show(_)) => {
            true
        }
        Some(Command::Fetch(_) | Command::Capture(_)) => true,
        Some(Command::Verify(args)) => reads(&args.archive),
        Some(Command::Tree(args) | Command::Cat(args)) => reads(&args.archive),
        Some(Command::Diff(args)) => reads(&args.archive),
        Some(Command::Patch(args)) => reads(&args.archive),
        Some(Command::Restore(args)) => reads(&args.archive),
        // Doctor signs in by itself, and tells what comes of it.
        Some(Command::Doctor | Command::Config(_) | Command::Demo(_)) => false,
        Some(Command::Completions { .. } | Command::Man) => false,
    }
}

/// Supplies the passwords of the databases that are named.
///
/// # Errors
/// What the command of the configuration answers; [`ErrorKind::Cancelled`] when none is given.
pub(super) async fn sign_in(context: &Context) -> Result<()> {
    let settings = context.settings();
    if let Some(server) = settings.database_server()? {
        // The command is for this database alone: another one would be told the password.
        if server.needs_password()
            && let Some(password) = printed(context).await?
        {
            server.supply(password);
        }
        ask(&server).await?;
    }
    match settings.store_server()? {
        Some(server) => ask(&server).await,
        None => Ok(()),
    }
}

/// What the configuration's command prints, where it names one.
async fn printed(context: &Context) -> Result<Option<Password>> {
    let in_force = context.in_force();
    let Some(words) = in_force.values.words(Key::PasswordCommand) else {
        return Ok(None);
    };
    if in_force.written_by_others {
        let file = context.file_place().map(visible_path).unwrap_or_default();
        let message = format!("password_command is not run: others can write {file}");
        return Err(Error::new(ErrorKind::Usage, message)
            .hint(format!("chown it to yourself, and chmod go-w {file}")));
    }
    Ok(Password::new(password::printed(words).await?))
}

/// Asks for a password that the server wants and nobody has told, when somebody is there.
async fn ask(server: &Arc<Server>) -> Result<()> {
    if !server.needs_password() || !password::can_ask() {
        return Ok(());
    }
    match server.ping().await {
        Err(error) if error.wants_password() => {}
        // Certificates and sockets need none; what else is wrong is told by whoever reads.
        _ => return Ok(()),
    }
    let asked = password::asked(server.describe()).await?;
    if let Some(password) = Password::new(asked) {
        server.supply(password);
    }
    Ok(())
}
