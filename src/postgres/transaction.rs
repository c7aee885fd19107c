//! A transaction on a connection of its own; one that is dropped before its end is given up, at the
//! server too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::Server;
use super::failure::Statement;
use super::session::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::text::human_bytes;

/// How long one statement may take: one that reads, and one that writes.
const READING: Duration = Duration::from_secs(30);
const WRITING: Duration = Duration::from_secs(120);
/// A server that is silent for so much longer than a statement may take is not there any more.
const GRACE: Duration = Duration::from_secs(10);
/// How long a connection that was idle may take to begin anew.
const BEGIN: Duration = Duration::from_secs(10);
/// What one statement may answer, in all.
const ANSWER: u64 = 256 << 20;

/// What a row keeps in memory for each of its columns: where it begins and ends.
const COLUMN: usize = size_of::<Option<std::ops::Range<usize>>>();

/// A value of a statement, and its type: without it the server had to be asked for one.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Snapshot,
    Write,
}

impl Purpose {
    /// All that begins a transaction, in one message and so in one round trip. A pooler may give every
    /// transaction another session: what holds is said in each, and ends with it. With that search path
    /// no function or operator of a schema that others may write to is called for one of ours.
    fn begin(self) -> String {
        let begin = match self {
            Self::Read => "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
            Self::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        };
        format!(
            "{begin}; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = {}; \
             SET LOCAL lock_timeout = 5000; SET LOCAL idle_in_transaction_session_timeout = 60000",
            self.most().as_millis()
        )
    }

    fn most(self) -> Duration {
        match self {
            Self::Read | Self::Snapshot => READING,
            Self::Write => WRITING,
        }
    }
}

/// One transaction.
pub(crate) struct Transaction {
    server: Arc<Server>,
    session: Option<Session>,
    purpose: Purpose,
    /// How long one statement may take at the server.
    most: Duration,
    /// Statements whose answers have not been read to the end.
    under_way: AtomicUsize,
    permit: Option<OwnedSemaphorePermit>,
}

impl Transaction {
    pub(super) async fn begin(server: &Arc<Server>, purpose: Purpose) -> Result<Self> {
        let permit = server.permit().await?;
        let mut this = Self {
            server: Arc::clone(server),
            session: None,
            purpose,
            most: purpose.most(),
            under_way: AtomicUsize::new(0),
            permit: Some(permit),
        };
        // A server that was restarted, or a pooler, may have closed what was idle. Nothing has been
        // asked for yet, so that a new connection is as good.
        if let Some(idle) = server.take_idle() {
            this.session = Some(idle);
            match this.begun(BEGIN).await {
                Err(error) if error.is_lost() => {
                    tracing::debug!("an idle connection is replaced: {error}");
                    server.forget_idle();
                }
                other => return other.map(|()| this),
            }
        }
        this.session = Some(server.connect().await?);
        this.under_way = AtomicUsize::new(0);
        this.begun(purpose.most() + GRACE).await?;
        Ok(this)
    }

    async fn begun(&self, most: Duration) -> Result<()> {
        let session = self.session()?;
        let sql = self.purpose.begin();
        self.answered("", most, session.client.batch_execute(&sql))
            .await
    }

    /// The connection that it is on.
    pub(super) fn session(&self) -> Result<&Session> {
        self.session.as_ref().ok_or_else(Error::cancelled)
    }

    /// The rows that `sql` answers, 256 MiB of them at most.
    pub(crate) async fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let session = self.session()?;
        let most = self.most + GRACE;
        let begun = Instant::now();
        let (mut rows, mut bytes) = (Vec::new(), 0_u64);
        let under_way = UnderWay::new(&self.under_way);
        let asked = session.client.query_typed_raw(sql, values.iter().cloned());
        let failed = |error| {
            under_way.over();
            self.failed(sql, begun, error)
        };
        let mut stream = Box::pin(self.in_time(most, asked).await?.map_err(failed)?);
        loop {
            let next = std::future::poll_fn(|context| stream.as_mut().poll_next(context));
            let Some(row) = self.in_time(most, next).await? else {
                break;
            };
            let row = row.map_err(failed)?;
            // Of rows with little in them it is the rows themselves that fill the memory.
            bytes += (row.raw_size_bytes() + size_of::<Row>() + row.len() * COLUMN) as u64;
            if bytes > ANSWER {
                return Err(self.too_much());
            }
            rows.push(row);
        }
        under_way.over();
        Ok(rows)
    }

    /// The only row that `sql` answers, or none; of several the first.
    pub(crate) async fn row(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// How many rows `sql` changed.
    pub(crate) async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64> {
        let asked = self.session()?.client.execute_typed(sql, values);
        self.answered(sql, self.most + GRACE, asked).await
    }

    /// Lets each statement from here on take `most`, here and at the server, and wait as long for a lock.
    pub(crate) async fn allow(&mut self, most: Duration) -> Result<()> {
        let thousandths = most.as_millis();
        let sql = format!(
            "SET LOCAL statement_timeout = {thousandths}; SET LOCAL lock_timeout = {thousandths}"
        );
        let asked = self.session()?.client.batch_execute(&sql);
        self.answered(&sql, self.most + GRACE, asked).await?;
        self.most = most;
        Ok(())
    }

    /// Ends the transaction; what was written counts from here on.
    pub(crate) async fn end(mut self) -> Result<()> {
        let ended = self.session()?.client.batch_execute("COMMIT");
        self.answered("", self.most + GRACE, ended).await?;
        if let Some(session) = self.session.take() {
            self.server.give_back(session);
        }
        Ok(())
    }

    async fn answered<T>(
        &self,
        sql: &str,
        most: Duration,
        asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let (begun, under_way) = (Instant::now(), UnderWay::new(&self.under_way));
        let answer = self.in_time(most, asked).await?;
        under_way.over();
        answer.map_err(|error| self.failed(sql, begun, error))
    }

    async fn in_time<T>(&self, most: Duration, step: impl Future<Output = T>) -> Result<T> {
        tokio::time::timeout(most, step).await.map_err(|_| {
            Error::new(
                ErrorKind::Timeout,
                format!(
                    "{}: the server has sent nothing for {} s",
                    self.server.describe(),
                    most.as_secs()
                ),
            )
            .hint("look at the network between here and the server, then try again")
            .lost()
        })
    }

    fn failed(&self, sql: &str, begun: Instant, error: tokio_postgres::Error) -> Error {
        let statement = Statement {
            sql,
            writes: self.purpose == Purpose::Write,
            took: Some((begun.elapsed(), self.most)),
        };
        match &self.session {
            Some(session) => session.failed(statement, error),
            None => self.server.failed(error),
        }
    }

    fn too_much(&self) -> Error {
        Error::new(
            ErrorKind::Limit,
            format!(
                "{}: an answer is larger than the {} that are read of one",
                self.server.describe(),
                human_bytes(ANSWER)
            ),
        )
        .hint("ask for less at once")
    }
}

/// Counts a statement until its answer has been read; one that is dropped before stays counted.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }

    fn over(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts a transaction that is given up until the server has heard of it.
struct Ending(Arc<Server>);

impl Ending {
    fn new(server: &Arc<Server>) -> Self {
        server.ending.send_modify(|count| *count += 1);
        Self(Arc::clone(server))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ending.send_modify(|count| *count -= 1);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        let (server, permit) = (Arc::clone(&self.server), self.permit.take());
        let under_way = self.under_way.load(Ordering::SeqCst) > 0;
        let runtime = session.runtime.clone();
        let ending = Ending::new(&self.server);
        runtime.spawn(async move {
            let (_permit, _ending) = (permit, ending);
            if under_way {
                // What the server is doing is worth nothing to anybody any more.
                session.cancel().await;
                return;
            }
            let ended = tokio::time::timeout(BEGIN, session.client.batch_execute("ROLLBACK"));
            if matches!(ended.await, Ok(Ok(()))) {
                server.give_back(session);
            }
        });
    }
}
