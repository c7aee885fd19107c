//! ① the rows of agents, sessions and runs, and the gate that a run passes before anything of its
//! checkpoint is touched.

mod binding;
mod data;
mod database;
mod gate;
mod keep;
mod listed;
mod model;
mod named;
mod open;
mod postgres;
pub(crate) mod retention;
#[cfg(feature = "app")]
mod since;
mod sqlite;
#[cfg(feature = "app")]
mod told;

pub(crate) use crate::checkpoint::block_on;
pub use binding::Binding;
pub use database::{RunsDatabase, Tables};
pub use gate::{Opening, gate};
pub use model::{
    AgentSummary, Cursor, Previous, Repository, RunData, RunFilter, RunOrder, RunPage, RunRow,
    SessionInfo,
};
pub use named::{Named, SHORTEST_PREFIX};
pub use open::{OpenedRun, Runs};
pub use postgres::PostgresRuns;
pub use retention::{DEFAULT_RETAINED, Retention};
#[cfg(feature = "app")]
pub use since::since;
pub use sqlite::SqliteRuns;
#[cfg(feature = "app")]
pub use told::told;
