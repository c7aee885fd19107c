//! A look at what changed in the database, and what it saw.

use std::time::Duration;

use crate::checkpoint::CheckpointRef;
use crate::runs::{Cursor, RunPage};

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct LookFor {
    /// The version that was seen last: where it is still that, only `unread` is read.
    pub known: Option<u64>,
    /// Runs made from this epoch second on are new; all are where there was none.
    pub since: Option<i64>,
    /// Where reading them goes on.
    pub after: Option<Cursor>,
    /// Whether to look for runs, too, that were made earlier and came in late.
    pub late: bool,
    /// Runs to read by their ids.
    pub rows: Vec<String>,
    /// Those of them that were not read at the known version.
    pub unread: Vec<String>,
    /// The open run's object, where the store is to be asked for it.
    pub object: Option<CheckpointRef>,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Look {
    /// The version, asked before anything was read.
    pub version: Option<u64>,
    /// How long it took.
    pub took: Duration,
    /// Whether anything may have been written since the last one.
    pub written: bool,
    /// The runs that were asked for.
    pub asked: Vec<String>,
    /// What they are now.
    pub rows: RunPage,
    /// What was made since, oldest first; `next` where there is more of it.
    pub new: RunPage,
    /// What came in late.
    pub late: RunPage,
    /// Whether the store has the open run's object no more.
    pub object_gone: bool,
}
