//! When `run_data` is not read, and how that is said, whichever the database.

use super::model::RunData;
use crate::json::JsonError;
use crate::text::human_bytes;

/// `run_data` past this is not read: no list stalls on one row.
pub(super) const MAX_RUN_DATA: usize = 64 << 20;

/// Data of `bytes`, more than is read.
pub(super) fn too_large(bytes: u64) -> RunData {
    RunData::Unreadable(format!(
        "its run_data is {}, over the {} that are read",
        human_bytes(bytes),
        human_bytes(MAX_RUN_DATA as u64)
    ))
}

/// Data that is no JSON.
pub(super) fn no_json(error: &JsonError) -> RunData {
    RunData::Unreadable(format!("its run_data is no JSON ({error})"))
}
