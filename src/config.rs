//! What is configured: which database and which store, and how they are opened. `config/` puts it
//! together from the configuration file, the environment and options.

pub mod file;
pub mod in_force;
pub mod key;
mod keys;
pub mod layer;
mod masked;
mod open;
mod page;
mod private;
mod s3;
mod server;
mod store;

pub use masked::{holds_secret, masked};
pub use private::Private;
pub use server::Servers;

use std::path::PathBuf;
use std::sync::Arc;

use crate::checkpoint::AwsEnvironment;
use crate::error::{Error, ErrorKind, Result};
use crate::near::nearest;
use crate::postgres::Surroundings;
use crate::runs::{Runs, RunsDatabase, Tables};
use crate::text::visible;

/// Names of a database, a store and tables, as given.
#[derive(Clone, Default)]
pub struct Settings {
    /// A SQLite path or URL, or a PostgreSQL URL.
    pub database: Option<String>,
    /// A directory, a `file://` or an `s3://` URL; `postgres` for the database's own tables, or a
    /// PostgreSQL URL with `schema` and `table` among its parameters.
    pub store: Option<String>,
    /// The tables' names.
    pub tables: Tables,
    /// The home directory, for Agno's default store.
    pub home: Option<PathBuf>,
    /// Whether a durable queue serves the agents.
    pub durable_queue: bool,
    /// The folder for private files, else the system's for temporary ones.
    pub spool: Option<PathBuf>,
    /// The most bytes in it at a time.
    pub spool_size: Option<u64>,
    /// The folder for private files, once it was looked at.
    pub private: Private,
    /// The folder where downloaded objects are kept.
    pub cache: Option<PathBuf>,
    /// The most bytes in it.
    pub cache_size: Option<u64>,
    /// What libpq looks at beside a URL: home, account and `PG*` variables.
    pub surroundings: Surroundings,
    /// The PostgreSQL databases that are named.
    pub servers: Servers,
    /// Where a bucket's credentials and endpoint are looked for.
    pub aws: AwsEnvironment,
}

/// Without the passwords that URLs may hold.
impl std::fmt::Debug for Settings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Settings")
            .field("database", &self.database_label())
            .field("store", &self.store_label())
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// Opens what is named.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when no database is named; what database and store answer.
    pub fn open(&self) -> Result<Runs> {
        let database = self.open_database()?;
        let store = match &self.store {
            Some(_) => Some(self.open_store()?),
            None => None,
        };
        Ok(Runs::new(database, store, self.home.clone())
            .with_durable_queue(self.durable_queue)
            .with_scratch(self.scratch()?))
    }

    /// Opens the database alone.
    ///
    /// # Errors
    /// As [`Settings::open`].
    pub fn open_database(&self) -> Result<Arc<dyn RunsDatabase>> {
        let Some(url) = self.database.as_deref().filter(|url| !url.is_empty()) else {
            return Err(
                Error::new(ErrorKind::Usage, "No database is configured").hint(
                    "name one with --db or AFTERRUN_DB, a SQLite file or postgresql://…, or look at an example: afterrun demo",
                ),
            );
        };
        let database = open::database(self, url)?;
        tracing::info!(
            "the database {} will be read, and read only; its tables are {} and {}",
            masked(url),
            visible(&self.tables.sessions),
            visible(&self.tables.runs)
        );
        Ok(database)
    }

    /// The database for titles, its password masked.
    #[must_use]
    pub fn database_label(&self) -> String {
        masked(self.database.as_deref().unwrap_or("no database"))
    }

    /// The store for titles, its password masked.
    #[must_use]
    pub fn store_label(&self) -> String {
        masked(self.store.as_deref().unwrap_or("Agno's default store"))
    }
}

/// A SQLite path out of a path or an SQLAlchemy URL (`sqlite:///relative`, `sqlite:////absolute`).
fn sqlite_path(url: &str) -> Result<PathBuf> {
    let unknown = |scheme: &str| {
        let message = format!(
            "{} is no database that is known: a SQLite path, sqlite:///path or postgresql://…",
            masked(url)
        );
        let error = Error::new(ErrorKind::Usage, message);
        let scheme = scheme.split('+').next().unwrap_or(scheme);
        match nearest(scheme, ["postgresql", "postgres", "sqlite"]) {
            Some(near) => error.hint(format!("did you mean {near}://?")),
            None => error,
        }
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        let path = PathBuf::from(url);
        // Nearly a URL: a message about the file would show the password.
        if holds_secret(url) && !path.exists() {
            return Err(unknown(url.split(':').next().unwrap_or_default()));
        }
        return Ok(path);
    };
    if scheme != "sqlite" && !scheme.starts_with("sqlite+") {
        return Err(unknown(scheme));
    }
    let path = rest.split('?').next().unwrap_or(rest);
    let relative = PathBuf::from(path.strip_prefix('/').unwrap_or(path));
    // Three slashes mean a relative path; people write them for absolute ones too.
    let absolute = PathBuf::from(path);
    Ok(
        if relative.is_absolute() || relative.exists() || !absolute.exists() {
            relative
        } else {
            absolute
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_urls_are_sqlalchemys() {
        assert_eq!(
            sqlite_path("sqlite:////a/b.sqlite").expect("a path"),
            PathBuf::from("/a/b.sqlite")
        );
        assert_eq!(
            sqlite_path("sqlite:///b.sqlite").expect("a path"),
            PathBuf::from("b.sqlite")
        );
        assert_eq!(
            sqlite_path("b.sqlite").expect("a path"),
            PathBuf::from("b.sqlite")
        );
        assert!(sqlite_path("mysql://x").is_err());
        for nearly in ["postgressql://u:hunter2@h/x", "postgresql:u:hunter2@h/x"] {
            let error = sqlite_path(nearly).expect_err(nearly);
            assert!(!error.message().contains("hunter2"), "{error}");
            assert_eq!(error.next_step(), Some("did you mean postgresql://?"));
        }
    }
}
