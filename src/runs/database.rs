//! What a database of runs answers, whichever it is.

use async_trait::async_trait;

use super::model::{AgentSummary, Cursor, RunFilter, RunPage, RunRow};
use crate::error::Result;

/// The names of Agno's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// `agno_sessions` unless configured otherwise.
    pub sessions: String,
    /// `agno_runs` unless configured otherwise.
    pub runs: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            sessions: "agno_sessions".into(),
            runs: "agno_runs".into(),
        }
    }
}

/// Agents, sessions and runs, read-only.
#[async_trait]
pub trait RunsDatabase: Send + Sync + std::fmt::Debug {
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

    /// Whether a durable queue worker is at work: a job is `running` and its lock is fresh.
    async fn queue_worker_active(&self) -> Result<bool>;

    /// What it is, for titles and messages; never with a password.
    fn describe(&self) -> String;
}
