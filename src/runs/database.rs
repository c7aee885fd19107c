//! What a database of runs answers, whichever it is.

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::binding::Binding;
use super::model::{AgentSummary, Cursor, RunFilter, RunPage, RunRow};
use crate::checkpoint::hex;
use crate::error::Result;

/// Agno's table of checkpoints, unless it is told otherwise.
pub(crate) const CHECKPOINTS: &str = "agno_sandbox_checkpoints";

/// A running job whose lock is older than this is abandoned (Agno's lock grace), in seconds.
pub(super) const LOCK_GRACE: i64 = 60;

/// The names of Agno's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The schema they are in, `ai` unless configured otherwise; SQLite has none.
    pub schema: String,
    /// `agno_sessions` unless configured otherwise.
    pub sessions: String,
    /// `agno_runs` unless configured otherwise.
    pub runs: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            schema: "ai".into(),
            sessions: "agno_sessions".into(),
            runs: "agno_runs".into(),
        }
    }
}

impl Tables {
    /// The table of sandboxed sessions' bindings, as Agno names it after the sessions table: within
    /// PostgreSQL's 63 bytes, a digest keeping long names apart.
    #[must_use]
    pub fn bindings(&self) -> String {
        const SUFFIX: &str = "_sandbox_bindings";
        const LONGEST: usize = 63;
        let name = format!("{}{SUFFIX}", self.sessions);
        if name.len() <= LONGEST {
            return name;
        }
        let digest = hex(&Sha256::digest(self.sessions.as_bytes()));
        let digest = format!("_{}", &digest[..8]);
        let mut end = LONGEST - SUFFIX.len() - digest.len();
        while !self.sessions.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}{digest}{SUFFIX}", &self.sessions[..end])
    }
}

/// Agents, sessions and runs, read-only.
///
/// A read whose future is dropped stops at the database, too.
#[async_trait]
pub trait RunsDatabase: Send + Sync + std::fmt::Debug {
    /// Looks whether it is reached and has Agno's tables, where opening it did not: every read does
    /// so, too, and this one alone.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Every agent with its sessions and runs counted.
    async fn agents(&self) -> Result<Vec<AgentSummary>>;

    /// One page of at most `limit` runs after `after`, in the filter's order.
    async fn page(&self, filter: &RunFilter, limit: u32, after: Option<Cursor>) -> Result<RunPage>;

    /// The run with exactly this id.
    async fn run(&self, run_id: &str) -> Result<Option<RunRow>>;

    /// All runs of one session in their order.
    async fn session(&self, session_id: &str) -> Result<Vec<RunRow>>;

    /// Ids that begin with `prefix`, at most `limit`.
    async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>>;

    /// The runs with these ids that are there, as a page without an order: what they and their
    /// sessions are now.
    async fn rows(&self, run_ids: &[String]) -> Result<RunPage>;

    /// A number that changes when something was written, where the database can tell at no cost.
    async fn version(&self) -> Result<Option<u64>>;

    /// What the session is bound to; `None` where it is bound to nothing or the database has no
    /// bindings.
    async fn binding(&self, session_id: &str) -> Result<Option<Binding>>;

    /// The name of Agno's table of checkpoints in this database, where it has one.
    async fn checkpoints_table(&self) -> Result<Option<String>>;

    /// Whether a durable queue worker is at work: a job is `running` and its lock is fresh. Without
    /// a queue there is none; a queue that may not be read is a failure.
    async fn queue_worker_active(&self) -> Result<bool>;

    /// What it is, for titles and messages; never with a password.
    fn describe(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_named_after_the_sessions_table() {
        let of = |sessions: &str| {
            Tables {
                sessions: sessions.into(),
                ..Tables::default()
            }
            .bindings()
        };
        assert_eq!(of("agno_sessions"), "agno_sessions_sandbox_bindings");
        // What Agno 3.1.10's default_sandbox_table_name answers.
        assert_eq!(of(&"s".repeat(46)).len(), 63);
        assert_eq!(
            of(&"s".repeat(50)),
            "sssssssssssssssssssssssssssssssssssss_089f8352_sandbox_bindings"
        );
        assert_eq!(
            of(&"\u{e9}".repeat(30)),
            "éééééééééééééééééé_f96161c7_sandbox_bindings"
        );
    }
}
