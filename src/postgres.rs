//! One PostgreSQL database: how it is reached, and the transactions that everything in it is read
//! and written by.
//!
//! A transaction is a connection of its own, taken from those that are idle. Statements have no
//! names, so a pooler in transaction mode may stand between.

mod password;
mod ping;
mod surroundings;
mod transaction;

use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::{Client, Config, NoTls};

pub use password::Password;
pub use ping::Ping;
pub use surroundings::Surroundings;
pub(crate) use transaction::{Transaction, Value};

use crate::error::{Error, ErrorKind, Result};

/// Idle connections that are kept for the next transaction.
const IDLE: usize = 4;

/// A database that is connected to when it is first asked for something.
pub struct Server {
    config: Config,
    shown: String,
    supplied: Mutex<Option<Password>>,
    idle: Mutex<Vec<Client>>,
}

impl Server {
    /// The database that `url` names, in libpq's form or SQLAlchemy's; nothing is connected yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when the URL cannot be understood.
    pub fn new(url: &str) -> Result<Arc<Self>> {
        Self::with_surroundings(url, &Surroundings::default())
    }

    /// The database that `url` names, and a password that `surroundings` may have for it.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn with_surroundings(url: &str, surroundings: &Surroundings) -> Result<Arc<Self>> {
        let plain = match url.split_once("://") {
            Some((scheme, rest)) => {
                format!("{}://{rest}", scheme.split('+').next().unwrap_or(scheme))
            }
            None => url.to_owned(),
        };
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            Error::new(
                ErrorKind::Usage,
                format!("The database URL is wrong: {error}"),
            )
        })?;
        config.application_name("afterrun");
        if let (None, Some(password)) = (config.get_password(), surroundings.variable("PGPASSWORD"))
        {
            config.password(password);
        }
        Ok(Arc::new(Self {
            config,
            shown: "postgresql".into(),
            supplied: Mutex::default(),
            idle: Mutex::default(),
        }))
    }

    /// What it is, for titles and messages; never with a password.
    #[must_use]
    pub fn describe(&self) -> &str {
        &self.shown
    }

    /// No password is known for it, by any way; whether the server asks for one is its own matter.
    #[must_use]
    pub fn needs_password(&self) -> bool {
        let supplied = self.supplied.lock().unwrap_or_else(PoisonError::into_inner);
        supplied.is_none() && self.config.get_password().is_none()
    }

    /// Uses `password` from the next connection on, whatever was found before.
    pub fn supply(&self, password: Password) {
        *self.supplied.lock().unwrap_or_else(PoisonError::into_inner) = Some(password);
    }

    /// A transaction that reads, and sees each statement's own moment.
    pub(crate) async fn read(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, "BEGIN READ ONLY").await
    }

    /// A transaction that reads one moment throughout.
    pub(crate) async fn snapshot(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// A transaction that may write.
    pub(crate) async fn write(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, "BEGIN READ WRITE").await
    }

    async fn take(&self) -> Result<Client> {
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            match idle {
                Some(client) if client.is_closed() => {}
                Some(client) => return Ok(client),
                None => return self.connect().await,
            }
        }
    }

    fn give_back(&self, client: Client) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !client.is_closed() && idle.len() < IDLE {
            idle.push(client);
        }
    }

    async fn connect(&self) -> Result<Client> {
        let mut config = self.config.clone();
        let supplied = self
            .supplied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(password) = &supplied {
            config.password(password.expose());
        }
        let (client, connection) = config
            .connect(NoTls)
            .await
            .map_err(|error| self.failed(error))?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// What the server or the way to it answered, in one line.
    pub(crate) fn failed(&self, error: tokio_postgres::Error) -> Error {
        let what = match error.as_db_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        };
        let what = crate::text::visible(&what).into_owned();
        // tokio-postgres has no kind for a password that is missing.
        let refused = error.code() == Some(&tokio_postgres::error::SqlState::INVALID_PASSWORD)
            || error.to_string().contains("password missing");
        let failure =
            Error::new(ErrorKind::Database, format!("{}: {what}", self.shown)).source(error);
        if refused {
            failure.refused_password()
        } else {
            failure
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Server").field(&self.shown).finish()
    }
}
