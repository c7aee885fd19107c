//! What libpq would find around this process: the library looks at neither home nor environment.

use std::path::PathBuf;

use crate::postgres::Surroundings;

/// The account's home and name, and its `PG*` variables.
pub(super) fn surroundings(home: Option<PathBuf>) -> Surroundings {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        // One that is not UTF-8 is none of ours, or a name that no server knows.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    });
    Surroundings::new(home, whoami::username().ok(), variables)
}
