//! `manifest.json`: the version, and the state that the runtime captured with the files.

use crate::error::{ErrorKind, Result, fail};
use crate::json::Json;

/// The captured state out of the manifest's bytes, by Agno's checks.
pub(crate) fn read_state(bytes: &[u8]) -> Result<Json> {
    let Ok(manifest) = Json::parse_bytes(bytes) else {
        return fail(ErrorKind::InvalidArchive, "Invalid checkpoint manifest");
    };
    // Python's `version == 1` is true of 1, 1.0 and True.
    let version = match manifest.get("version") {
        Some(Json::Int(digits)) => digits == "1",
        Some(Json::Float(number)) => *number == 1.0,
        Some(Json::Bool(value)) => *value,
        _ => false,
    };
    match manifest.get("state") {
        Some(state @ Json::Object(_)) if version => Ok(state.clone()),
        _ => fail(ErrorKind::InvalidArchive, "Unsupported checkpoint manifest"),
    }
}
