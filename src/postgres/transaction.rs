//! A transaction on a connection of its own; one that is dropped before its end is given up, at the
//! server too.

use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};

use super::Server;
use crate::error::{Error, Result};

/// How long one statement may take, and how long it may wait for a lock.
const TIMEOUTS: &str = "SET LOCAL statement_timeout = '30s'; SET LOCAL lock_timeout = '5s'; \
                        SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// A value of a statement, and its type: without it the server had to be asked for one.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// One transaction.
pub(crate) struct Transaction {
    server: Arc<Server>,
    client: Option<Client>,
}

impl Transaction {
    pub(super) async fn begin(server: &Arc<Server>, begin: &str) -> Result<Self> {
        let this = Self {
            server: Arc::clone(server),
            client: Some(server.take().await?),
        };
        let begin = format!("{begin}; {TIMEOUTS}");
        let begun = this.client()?.batch_execute(&begin).await;
        begun.map_err(|error| server.failed(error))?;
        Ok(this)
    }

    fn client(&self) -> Result<&Client> {
        self.client.as_ref().ok_or_else(Error::cancelled)
    }

    /// The rows that `sql` answers.
    pub(crate) async fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let answer = self.client()?.query_typed(sql, values).await;
        answer.map_err(|error| self.server.failed(error))
    }

    /// The only row that `sql` answers, or none; of several the first.
    pub(crate) async fn row(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// How many rows `sql` changed.
    pub(crate) async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64> {
        let answer = self.client()?.execute_typed(sql, values).await;
        answer.map_err(|error| self.server.failed(error))
    }

    /// Ends the transaction; what was written counts from here on.
    pub(crate) async fn end(mut self) -> Result<()> {
        let ended = self.client()?.batch_execute("COMMIT").await;
        ended.map_err(|error| self.server.failed(error))?;
        if let Some(client) = self.client.take() {
            self.server.give_back(client);
        }
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        // What is under way at the server is worth nothing to anybody any more.
        let cancel = client.cancel_token();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = cancel.cancel_query(NoTls).await;
                drop(client);
            });
        }
    }
}
