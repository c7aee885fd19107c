//! What a row says, as it stands and as far as it can be read.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::retention::Retention;
use crate::json::Json;

/// `run_data` of one row, decoded as far as Agno decodes it.
#[derive(Clone, Debug, PartialEq)]
pub enum RunData {
    /// A value; an object when all is well.
    Value(Json),
    /// Text that is no JSON, or too much of it: why, in one line.
    Unreadable(String),
}

/// One row of the runs table.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Any string, empty or long.
    pub run_id: String,
    /// The session it belongs to.
    pub session_id: String,
    /// The column; teams and workflows have none.
    pub agent_id: Option<String>,
    /// The user it ran for.
    pub user_id: Option<String>,
    /// `agent`, `team` or `workflow`.
    pub run_type: Option<String>,
    /// The status column as it stands.
    pub status: Option<String>,
    /// Position in the session, from 0.
    pub run_index: Option<i64>,
    /// Epoch seconds.
    pub created_at: Option<i64>,
    /// Epoch seconds.
    pub updated_at: Option<i64>,
    /// What the run left besides the columns.
    pub data: RunData,
}

/// The repository a session started from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Repository {
    /// Where it was cloned from.
    pub url: String,
    /// The branch that was asked for.
    pub branch: Option<String>,
    /// The commit the session is pinned to, as written.
    pub commit: String,
}

impl Repository {
    /// Out of `{"url", "branch", "commit"}`, on the row or in `native/repository.json`.
    #[must_use]
    pub fn from_json(value: &Json) -> Option<Self> {
        let text = |key| value.get(key).and_then(Json::as_str).map(str::to_owned);
        Some(Self {
            url: text("url").unwrap_or_default(),
            branch: text("branch"),
            commit: text("commit")?,
        })
    }
}

impl RunRow {
    /// `run_data` where it is an object.
    #[must_use]
    pub fn object(&self) -> Option<&Json> {
        match &self.data {
            RunData::Value(value @ Json::Object(_)) => Some(value),
            _ => None,
        }
    }

    fn sandbox(&self) -> Option<&Json> {
        self.object()?.get("metadata")?.get("sandbox")
    }

    /// `metadata.sandbox.checkpoint`, unchecked.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&Json> {
        self.sandbox()?.get("checkpoint")
    }

    /// The pin, where the row has one.
    #[must_use]
    pub fn repository(&self) -> Option<Repository> {
        Repository::from_json(self.sandbox()?.get("repository")?)
    }

    /// The agent's name as the run recorded it.
    #[must_use]
    pub fn agent_name(&self) -> Option<&str> {
        self.object()?.get("agent_name")?.as_str()
    }

    /// What the run was asked.
    #[must_use]
    pub fn input(&self) -> Option<&str> {
        self.object()?.get("input")?.get("input_content")?.as_str()
    }

    /// The status that counts: the column's, else `run_data`'s, in upper case as Python's
    /// `str.upper` makes it; empty when there is none.
    #[must_use]
    pub fn effective_status(&self) -> String {
        if let Some(status) = self.status.as_deref().filter(|status| !status.is_empty()) {
            return status.to_uppercase();
        }
        status_in(self.object())
    }

    /// The turn's number in its session, from 1.
    #[must_use]
    pub fn turn(&self) -> Option<i64> {
        self.run_index.map(|index| index.saturating_add(1))
    }
}

/// The status that `run_data` says, in upper case; empty when it says none.
pub(super) fn status_in(data: Option<&Json>) -> String {
    let status = data.and_then(|data| data.get("status"));
    match status.filter(|status| !status.is_falsy()) {
        None => String::new(),
        Some(Json::Text(text)) => text.to_uppercase(),
        Some(other) => other.to_python().unwrap_or_default().to_uppercase(),
    }
}

/// Characters of a session's title.
pub(super) const MAX_TITLE: usize = 300;

/// What a session is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// `session_data.session_name`, else the first input, else the id.
    pub title: String,
    /// Runs in the session, on this page or not.
    pub runs: u64,
}

/// One agent with its runs counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSummary {
    /// The column; `None` for runs of teams and workflows.
    pub agent_id: Option<String>,
    /// The name its newest readable run recorded.
    pub name: Option<String>,
    /// Sessions with runs of this agent.
    pub sessions: u64,
    /// Runs by status.
    pub runs: BTreeMap<String, u64>,
    /// Epoch seconds of the newest run.
    pub last_run_at: Option<i64>,
}

/// In which order runs are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// By the time they were made, newest first.
    #[default]
    NewestFirst,
    /// By the time they were made, oldest first.
    OldestFirst,
}

/// A place in the list: what comes after it is older, or newer where the oldest come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `created_at` of the last run seen.
    pub created_at: i64,
    /// What tells runs of one second apart: its row number in SQLite, its id in Postgres.
    pub row: String,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.created_at, self.row)
    }
}

impl Cursor {
    /// That `text` is none of this database's cursors.
    pub(crate) fn refused(text: &str) -> crate::Error {
        crate::Error::new(
            crate::ErrorKind::Usage,
            format!("{} is no cursor", crate::text::python_repr(text.as_bytes())),
        )
        .hint("pass the \"next\" of a former `afterrun runs --json`")
    }
}

impl std::str::FromStr for Cursor {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('.').and_then(|(created_at, row)| {
            Some(Self {
                created_at: created_at.parse().ok()?,
                row: row.to_owned(),
            })
        });
        parts.ok_or_else(|| Self::refused(text))
    }
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only this agent's.
    pub agent: Option<String>,
    /// Only this session's.
    pub session: Option<String>,
    /// Only these statuses, upper case; empty for all.
    pub statuses: Vec<String>,
    /// Only runs made at or after this epoch second.
    pub since: Option<i64>,
    /// Only runs whose id, agent, session or title holds this, whatever the case.
    pub text: Option<String>,
    /// Which come first.
    pub order: RunOrder,
}

/// One page of runs.
#[derive(Clone, Debug, Default)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunRow>,
    /// The sessions they belong to, by id.
    pub sessions: HashMap<String, SessionInfo>,
    /// What retention does to their checkpoints next, by session, where it is known to do anything.
    pub retention: HashMap<String, Retention>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<Cursor>,
    /// What to know about how this was read (e.g. a read-only file system).
    pub notices: Vec<String>,
}

/// The run that an earlier turn's comparison starts from, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Previous {
    /// The session's last completed run before this one whose object is still there.
    Run(Box<RunRow>),
    /// None, and why.
    None(String),
}
