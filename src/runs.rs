//! ① the rows of agents, sessions and runs, and the gate that a run passes before anything of its
//! checkpoint is touched.

mod database;
mod gate;
mod keep;
mod model;
mod named;
mod open;
mod sqlite;

pub use database::{RunsDatabase, Tables};
pub use gate::{Opening, gate};
pub use model::{
    AgentSummary, Cursor, Previous, Repository, RunData, RunFilter, RunPage, RunRow, SessionInfo,
};
pub use named::{Named, SHORTEST_PREFIX};
pub(crate) use open::block_on;
pub use open::{OpenedRun, Runs};
pub use sqlite::SqliteRuns;
