//! Runs from PostgreSQL. Every read is one short transaction, its statements go by the indexes that
//! Agno creates, and the database answers no more of `run_data` than is shown.

mod agents;
mod key;
mod page;
mod retention;
mod row;
mod search;
mod sessions;
mod standing;
mod tables;
mod value;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use tokio_postgres::types::Type;

use self::agents::Names;
use self::standing::{Optional, Standing};
use self::tables::Named;
use super::binding::Binding;
use super::database::{LOCK_GRACE, RunsDatabase, Tables};
use super::model::{AgentSummary, Cursor, RunFilter, RunPage, RunRow};
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::{Server, Transaction};
use crate::text::visible;

/// Entries of the key's index that are looked at for ids that begin alike.
const PREFIX_WINDOW: i64 = 1_000;
/// Runs of one session that are read; of a part of them, none could be told to be the one before.
const SESSION: usize = 10_000;

/// The runs in one schema of a PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresRuns {
    server: Arc<Server>,
    tables: Tables,
    names: Arc<Names>,
}

/// One read: a transaction, and the tables as it finds them.
struct Read {
    transaction: Transaction,
    standing: Standing,
    named: Named,
}

impl PostgresRuns {
    /// The runs in `tables` of `server`; nothing is asked for until the first read, and every read
    /// looks at the tables first.
    #[must_use]
    pub fn new(server: Arc<Server>, tables: Tables) -> Self {
        Self {
            server,
            tables,
            names: Arc::default(),
        }
    }

    /// The names of the tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Begins a read of Agno's tables as they stand.
    ///
    /// # Errors
    /// [`ErrorKind::Database`]: not reached, or other tables, columns or rights than are needed.
    async fn begin(&self) -> Result<Read> {
        let transaction = self.server.read().await?;
        let standing = Standing::of(&transaction, &self.tables).await?;
        if !standing.is_enough() {
            return Err(standing
                .refusal(&transaction, &self.tables, self.server.describe())
                .await?);
        }
        Ok(Read {
            transaction,
            standing,
            named: Named::of(&self.tables),
        })
    }

    /// The same failure, or where the database gave the statement up for time, that `what` was too
    /// much for it. A line that is silent, or a lock, has nothing to do with how much was asked for.
    fn or_too_much(&self, error: Error, what: &str, hint: &str) -> Error {
        use tokio_postgres::error::SqlState;
        let given_up = std::error::Error::source(&error)
            .and_then(|source| source.downcast_ref::<tokio_postgres::Error>())
            .and_then(tokio_postgres::Error::code)
            .is_some_and(|code| *code == SqlState::QUERY_CANCELED);
        if given_up && error.kind() == ErrorKind::Timeout {
            return Error::new(
                ErrorKind::Timeout,
                format!("{what} took longer than {} allows", self.server.describe()),
            )
            .hint(hint)
            .source(error);
        }
        error
    }
}

/// Whether the database cannot hold this text anywhere: PostgreSQL's has no NUL.
fn cannot_be(text: &str) -> bool {
    text.contains('\0')
}

#[async_trait]
impl RunsDatabase for PostgresRuns {
    async fn check(&self) -> Result<()> {
        self.begin().await?.end().await
    }

    async fn agents(&self) -> Result<Vec<AgentSummary>> {
        self.count_agents().await.map_err(|error| {
            self.or_too_much(
                error,
                "Counting every run",
                "the lists of runs work without it: `afterrun runs`",
            )
        })
    }

    async fn page(&self, filter: &RunFilter, limit: u32, after: Option<Cursor>) -> Result<RunPage> {
        let begun = Instant::now();
        let page = self.read_page(filter, limit, after).await?;
        tracing::debug!(
            "a page of {} runs of at most {limit} was read in {:?}; {} below it",
            page.runs.len(),
            begun.elapsed(),
            if page.next.is_some() {
                "more is"
            } else {
                "nothing is"
            }
        );
        Ok(page)
    }

    async fn run(&self, run_id: &str) -> Result<Option<RunRow>> {
        if cannot_be(run_id) {
            return Ok(None);
        }
        let read = self.begin().await?;
        let run = read.run(run_id).await?;
        read.end().await?;
        Ok(run)
    }

    async fn session(&self, session_id: &str) -> Result<Vec<RunRow>> {
        if cannot_be(session_id) {
            return Ok(Vec::new());
        }
        let read = self.begin().await?;
        // The order in which Agno itself reads a session's runs.
        let sql = format!(
            "SELECT r.run_id::text FROM {} AS r WHERE r.session_id = $1 \
             ORDER BY r.run_index, r.created_at, r.run_id COLLATE \"C\" LIMIT {}",
            read.named.runs,
            SESSION + 1
        );
        let ids = read.ids(&sql, &[(&session_id, Type::TEXT)]).await?;
        if ids.len() > SESSION {
            read.end().await?;
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "Session {} has more than the {SESSION} runs that are read of one",
                    visible(session_id)
                ),
            )
            .hint("a page of them at a time is listed: afterrun runs --session"));
        }
        let runs = read.listed(&ids).await?;
        read.end().await?;
        Ok(runs)
    }

    async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>> {
        if cannot_be(prefix) {
            return Ok(Vec::new());
        }
        let read = self.begin().await?;
        // Whatever order the database's language gives ids, those that begin with the prefix come
        // soon after it: a window of the key's index is looked at, not all of it.
        let sql = format!(
            "SELECT w.run_id::text FROM (SELECT r.run_id FROM {} AS r WHERE r.run_id >= $1 \
             ORDER BY r.run_id LIMIT $2) AS w WHERE starts_with(w.run_id, $1) \
             ORDER BY w.run_id COLLATE \"C\" LIMIT $3",
            read.named.runs
        );
        let ids = read
            .ids(
                &sql,
                &[
                    (&prefix, Type::TEXT),
                    (&PREFIX_WINDOW, Type::INT8),
                    (&i64::from(limit), Type::INT8),
                ],
            )
            .await?;
        read.end().await?;
        Ok(ids)
    }

    async fn rows(&self, run_ids: &[String]) -> Result<RunPage> {
        let run_ids: Vec<String> = run_ids
            .iter()
            .filter(|id| !cannot_be(id))
            .cloned()
            .collect();
        let read = self.begin().await?;
        let mut page = RunPage {
            runs: read.listed(&run_ids).await?,
            ..RunPage::default()
        };
        page.sessions = read.sessions_of(&page.runs).await?;
        page.retention = read.retention_of(&page, &self.tables).await?;
        read.end().await?;
        Ok(page)
    }

    async fn version(&self) -> Result<Option<u64>> {
        // What PostgreSQL could tell changes with every transaction of the whole cluster and costs
        // as many trips as asking for the newest rows itself.
        Ok(None)
    }

    async fn binding(&self, session_id: &str) -> Result<Option<Binding>> {
        if cannot_be(session_id) {
            return Ok(None);
        }
        let read = self.begin().await?;
        let binding = read.binding(session_id, &self.tables).await?;
        read.end().await?;
        Ok(binding)
    }

    async fn checkpoints_table(&self) -> Result<Option<String>> {
        let read = self.begin().await?;
        let table = read.checkpoints_table(&self.tables).await?;
        read.end().await?;
        Ok(table)
    }

    async fn queue_worker_active(&self) -> Result<bool> {
        let read = self.begin().await?;
        match read.standing.jobs() {
            Optional::Readable => {}
            Optional::Absent => {
                read.end().await?;
                return Ok(false);
            }
            // A worker that cannot be seen may be at work all the same. It is the default store
            // that this refuses: the database is well.
            Optional::Hidden => {
                let jobs = visible(&read.named.jobs).into_owned();
                read.end().await?;
                return Err(Error::new(
                    ErrorKind::Store,
                    format!(
                        "{} does not let this user read {jobs}, which says whether a queue worker is active",
                        self.describe()
                    ),
                )
                .hint(format!(
                    "its owner can: GRANT SELECT ON {jobs} TO the user; a store that is named with --store needs it not"
                )));
            }
        }
        // By the database's clock, as Agno's workers lock by it.
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM {} AS j WHERE j.status = 'running' \
             AND j.locked_at > floor(extract(epoch FROM clock_timestamp()))::bigint - {LOCK_GRACE})",
            read.named.jobs
        );
        let row = read.transaction.row(&sql, &[]).await?;
        let active = match row {
            Some(row) => read.get(&row, 0)?,
            None => false,
        };
        read.end().await?;
        Ok(active)
    }

    fn describe(&self) -> String {
        self.server.describe().to_owned()
    }
}

impl Read {
    async fn end(self) -> Result<()> {
        self.transaction.end().await
    }
}
