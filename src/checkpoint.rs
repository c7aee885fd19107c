//! ② the reference on a run's row and ③ the stores that hold what it names.

mod copy;
mod file;
mod lease;
mod postgres;
mod pump;
mod reference;
pub(crate) mod s3;
mod store;

pub(crate) use crate::threads::blocking;
pub use file::{DEFAULT_CHECKPOINTS, FileCheckpointStore};
pub(crate) use file::{hex, open_regular};
pub use lease::Lease;
pub use postgres::PostgresCheckpointStore;
pub(crate) use reference::is_digest;
pub use reference::{CheckpointLimits, CheckpointRef};
#[cfg(feature = "app")]
pub(crate) use s3::may_be_missing;
pub use s3::{AwsEnvironment, S3CheckpointStore, S3Settings};
pub use store::{CheckpointStore, SharedStore, StoredObject};
pub(crate) use store::{block_on, fill, some};
