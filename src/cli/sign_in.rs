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

/// What a command reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Database,
    Store,
    Both,
}

impl Needs {
    /// What `command` needs.
    pub(super) fn of(command: Option<&Command>) -> Self {
        let unless = |archive: &ArchiveArgs| match archive.archive {
            Some(_) => Self::Nothing,
            None => Self::Both,
        };
        match command {
            Some(Command::Agents | Command::Runs(_)) => Self::Database,
            Some(Command::Capture(_)) => Self::Store,
            None | Some(Command::Open(_) | Command::Show(_) | Command::Fetch(_)) => Self::Both,
            Some(Command::Verify(args)) => unless(&args.archive),
            Some(Command::Tree(args) | Command::Cat(args)) => unless(&args.archive),
            Some(Command::Diff(args)) => unless(&args.archive),
            Some(Command::Patch(args)) => unless(&args.archive),
            Some(Command::Restore(args)) => unless(&args.archive),
            // Doctor signs in by itself, and tells what comes of it.
            Some(Command::Doctor | Command::Config(_) | Command::Demo(_)) => Self::Nothing,
            Some(Command::Completions { .. } | Command::Man) => Self::Nothing,
        }
    }
}

/// Supplies the passwords of the databases that are needed.
///
/// # Errors
/// What the command of the configuration answers; why the database cannot be reached;
/// [`ErrorKind::Cancelled`] when no password is given.
pub(super) async fn sign_in(context: &Context, needs: Needs) -> Result<()> {
    let settings = context.settings();
    let beside_the_runs = settings.store.as_deref() == Some("postgres");
    let database =
        matches!(needs, Needs::Database | Needs::Both) || needs == Needs::Store && beside_the_runs;
    if database && let Some(server) = settings.database_server()? {
        // The command is for this database alone: another one would be told the password.
        if server.needs_password()
            && let Some(password) = printed(context).await?
        {
            server.supply(password);
        }
        ask(&server).await?;
    }
    if matches!(needs, Needs::Store | Needs::Both)
        && let Some(server) = settings.store_server()?
    {
        return match ask(&server).await {
            // Much can be seen without its store.
            Err(error) if error.kind() != ErrorKind::Cancelled => Ok(()),
            asked => asked,
        };
    }
    Ok(())
}

/// What the configuration's command prints, where it names one.
async fn printed(context: &Context) -> Result<Option<Password>> {
    let in_force = context.in_force();
    let Some(words) = in_force.values.words(Key::PasswordCommand) else {
        return Ok(None);
    };
    if !in_force.command_is_of_database {
        if !context.output().json {
            context.output().note(
                "password_command is not run: it is for the database that is named beside it in the \
                 configuration, and another one would be told the password",
            );
        }
        return Ok(None);
    }
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
    // Certificates and sockets need none.
    match server.ping().await {
        Err(error) if error.wants_password() => {}
        reached => return reached.map(drop),
    }
    let asked = password::asked(server.describe()).await?;
    if let Some(password) = Password::new(asked) {
        server.supply(password);
    }
    Ok(())
}
