//! One PostgreSQL database: how it is reached, and the transactions that everything in it is read
//! and written by.
//!
//! A database is named as libpq or SQLAlchemy name one, and what a name leaves open is found where
//! libpq finds it: service files, `PG*` variables, the password file. A transaction is a connection
//! of its own, taken from those that are idle. Statements have no names and nothing is set for longer
//! than a transaction, so a pooler in transaction mode may stand between.
//!
//! What a server says is held to bounds: 72 MiB for a row, 256 MiB for an answer, 256 KiB until it is
//! ready, 16 MiB of notices between two answers; 30 s for a statement that reads and 120 s for one
//! that writes, 10 s for an address to answer, 4 connections in all.

mod dial;
mod encryption;
mod failure;
mod given;
mod hosts;
pub(crate) mod keywords;
mod parameter;
mod passfile;
mod password;
mod ping;
mod service;
mod session;
mod surroundings;
mod target;
#[cfg(test)]
mod tests;
mod transaction;
pub(crate) mod url;
mod verifier;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub use password::Password;
pub use ping::Ping;
pub use surroundings::Surroundings;
pub(crate) use transaction::{Transaction, Value};

use crate::error::{Error, ErrorKind, Result};
use encryption::Mode;
use failure::Statement;
use session::{Keys, Session};
use target::Target;
use transaction::Purpose;

/// Connections to one database, at work or idle.
const CONNECTIONS: usize = 4;
/// How long a transaction waits for one of them.
const QUEUED: Duration = Duration::from_secs(60);
/// How long transactions that were given up are waited for.
const SETTLING: Duration = Duration::from_secs(6);

/// A password that came later than the database's name.
#[derive(Clone)]
struct Supplied {
    password: Password,
    /// It goes before what was found.
    instead: bool,
}

/// A database that is connected to when it is first asked for something.
pub struct Server {
    target: Arc<Target>,
    supplied: Mutex<Option<Supplied>>,
    /// A server has refused the password that it was told.
    refused: AtomicBool,
    client: Mutex<Option<Arc<ClientConfig>>>,
    idle: Mutex<Vec<Session>>,
    permits: Arc<Semaphore>,
    /// Transactions that were given up, and that the server has not heard of yet.
    ending: watch::Sender<usize>,
}

impl Server {
    /// The database that `url` names by itself; nothing is connected yet. Neither the home directory
    /// nor the environment is looked at: see [`Server::with_surroundings`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when the URL cannot be understood; no message quotes what may be a password.
    pub fn new(url: &str) -> Result<Arc<Self>> {
        Self::with_surroundings(url, &Surroundings::default())
    }

    /// The database that `url` names, in libpq's form (`postgresql://…` or `host=… dbname=…`) or
    /// SQLAlchemy's (`postgresql+psycopg://…`), and that `surroundings` fill up as libpq does: what the
    /// URL leaves open is said by the service file, else by `PG*` variables; the password also by the
    /// password file. Nothing is connected yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an unknown parameter or a wrong value, named with what was meant;
    /// [`ErrorKind::Unsupported`] for one that demands what is not done here; [`ErrorKind::Io`] for a
    /// file that is named and cannot be read.
    pub fn with_surroundings(url: &str, surroundings: &Surroundings) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            target: Arc::new(Target::new(url, surroundings)?),
            supplied: Mutex::default(),
            refused: AtomicBool::new(false),
            client: Mutex::default(),
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
            ending: watch::Sender::new(0),
        }))
    }

    /// What it is, for titles and messages: `postgresql://app@db:5432/agno`, hosts and ports only where
    /// they are named; never with a password.
    #[must_use]
    pub fn describe(&self) -> &str {
        &self.target.shown
    }

    /// No password is known for a host of it, by any way. Whether the server asks for one is its own
    /// matter: certificates and sockets often need none, and an error that
    /// [wants one](Error::wants_password) says so.
    #[must_use]
    pub fn needs_password(&self) -> bool {
        locked(&self.supplied).is_none() && self.target.passwords.contains(&None)
    }

    /// Uses `password` from the next connection on, for the hosts that none was found for: what was
    /// found is theirs, and another host would be told a password that is not for it. Once a server
    /// has refused what it was told, `password` goes before that, too.
    pub fn supply(&self, password: Password) {
        let instead = self.refused.load(Ordering::Acquire);
        *locked(&self.supplied) = Some(Supplied { password, instead });
    }

    /// A transaction that reads, and sees each statement's own moment.
    pub(crate) async fn read(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, Purpose::Read).await
    }

    /// A transaction that reads one moment throughout.
    pub(crate) async fn snapshot(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, Purpose::Snapshot).await
    }

    /// A transaction that may write.
    pub(crate) async fn write(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, Purpose::Write).await
    }

    /// What the server or the way to it answered, in one line.
    pub(crate) fn failed(&self, error: tokio_postgres::Error) -> Error {
        failure::statement(&self.target, Statement::default(), error)
    }

    /// The right to one more connection.
    async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(QUEUED, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::new(
                ErrorKind::Timeout,
                format!(
                    "{}: all {CONNECTIONS} connections have been at work for {} s",
                    self.describe(),
                    QUEUED.as_secs()
                ),
            )
            .hint("wait for what is under way, or cancel it")),
        }
    }

    /// Waits until the server has heard of the transactions that were given up, for a few seconds at
    /// most: where the process ends before, they go on there.
    pub(crate) async fn settled(&self) {
        let mut ending = self.ending.subscribe();
        let settled = tokio::time::timeout(SETTLING, ending.wait_for(|count| *count == 0));
        if settled.await.is_err() {
            tracing::debug!("{}: a transaction is not given up in time", self.describe());
        }
    }

    fn take_idle(&self) -> Option<Session> {
        let mut idle = locked(&self.idle);
        idle.retain(|session| !session.is_closed());
        idle.pop()
    }

    /// What was idle as long as one that is found dead is likely dead, too.
    fn forget_idle(&self) {
        locked(&self.idle).clear();
    }

    fn give_back(&self, session: Session) {
        let mut idle = locked(&self.idle);
        if !session.is_closed() && idle.len() < CONNECTIONS {
            idle.push(session);
        }
    }

    async fn connect(&self) -> Result<Session> {
        let client = self.client()?;
        let supplied = locked(&self.supplied).clone();
        let keys = Keys {
            password: supplied.as_ref().map(|supplied| &supplied.password),
            instead: supplied.as_ref().is_some_and(|supplied| supplied.instead),
            client: client.as_ref(),
        };
        let session = Session::open(&self.target, &keys).await;
        if matches!(&session, Err(error) if error.wants_password()) {
            self.refused.store(true, Ordering::Release);
        }
        session
    }

    /// How encryption is done; none when none is wanted. Certificates are read when they are first
    /// needed, so that a database is described before.
    fn client(&self) -> Result<Option<Arc<ClientConfig>>> {
        let is_socket = |host: &hosts::Host| matches!(host.place, hosts::Place::Folder(_));
        if self.target.encryption.mode == Mode::Disable || self.target.hosts.iter().all(is_socket) {
            return Ok(None);
        }
        let mut client = locked(&self.client);
        if client.is_none() {
            *client = Some(self.target.encryption.client()?);
        }
        Ok(client.clone())
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Server").field(&self.describe()).finish()
    }
}

/// Whether `text` names a PostgreSQL database, by its form alone: a URL, or libpq's keywords.
#[must_use]
pub fn is_named_by(text: &str) -> bool {
    url::is_url(text) || keywords::is_keywords(text)
}

/// `host=… password=…` with its secrets replaced, for titles and messages; nothing when it is no
/// keyword string.
#[must_use]
pub fn masked_keywords(text: &str) -> Option<String> {
    keywords::is_keywords(text).then(|| keywords::masked(text))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
