//! What a database answers when it is asked for nothing but itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Server;
use crate::error::{Error, ErrorKind, Result};

/// A database that has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ping {
    /// The server's version, in its own words.
    pub version: String,
    /// How long one question and its answer took, on a connection that stood.
    pub round_trip: Duration,
    /// `TLS 1.3`, `TLS 1.2`; none when the connection is not encrypted.
    pub encryption: Option<&'static str>,
    /// The role whose rights count.
    pub user: String,
    /// The database's name.
    pub database: String,
    /// It is a standby, which nobody can write to.
    pub standby: bool,
    /// Transactions are read-only there unless they ask to write.
    pub read_only: bool,
}

const ASK: &str = "SELECT pg_catalog.current_setting('server_version'), current_user::text, \
                   pg_catalog.current_database()::text, pg_catalog.pg_is_in_recovery(), \
                   pg_catalog.current_setting('default_transaction_read_only') = 'on'";

impl Server {
    /// Connects when nothing is connected yet, and asks the database for itself.
    ///
    /// # Errors
    /// Why it cannot be reached, as everything else that is asked of it answers.
    pub async fn ping(self: &Arc<Self>) -> Result<Ping> {
        let transaction = self.read().await?;
        let begun = Instant::now();
        let row = transaction.row(ASK, &[]).await?;
        let round_trip = begun.elapsed();
        let encryption = transaction.session()?.encryption;
        let row = row.ok_or_else(|| {
            let what = format!("{}: the server answers nothing", self.describe());
            Error::new(ErrorKind::Database, what)
        })?;
        let failed = |error| self.failed(error);
        let answer = Ping {
            version: row.try_get(0).map_err(failed)?,
            round_trip,
            encryption,
            user: row.try_get(1).map_err(failed)?,
            database: row.try_get(2).map_err(failed)?,
            standby: row.try_get(3).map_err(failed)?,
            read_only: row.try_get(4).map_err(failed)?,
        };
        transaction.end().await?;
        Ok(answer)
    }
}
