//! What is configured: which database and which store, from flags or environment, and what the
//! configuration file says.

pub mod file;
mod keys;
mod s3;

use std::path::PathBuf;
use std::sync::Arc;

use crate::checkpoint::{AwsEnvironment, FileCheckpointStore, SharedStore};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::runs::{Runs, RunsDatabase, SqliteRuns, Tables};
use crate::text::visible;

/// Names of a database, a store and tables, as given.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// A SQLite path or URL.
    pub database: Option<String>,
    /// A directory, `file://` or `s3://` URL.
    pub store: Option<String>,
    /// The tables' names.
    pub tables: Tables,
    /// The home directory, for Agno's default store.
    pub home: Option<PathBuf>,
    /// Where a bucket's credentials and endpoint are looked for.
    pub aws: AwsEnvironment,
}

impl Settings {
    /// Opens what is named.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when no database is named; what database and store answer.
    pub fn open(&self) -> Result<Runs> {
        let database: Arc<dyn RunsDatabase> = Arc::new(self.open_database()?);
        let store = match &self.store {
            Some(_) => Some(self.open_store()?),
            None => None,
        };
        Ok(Runs::new(database, store, self.home.clone()))
    }

    /// Opens the database alone.
    ///
    /// # Errors
    /// As [`Settings::open`].
    pub fn open_database(&self) -> Result<SqliteRuns> {
        let Some(url) = self.database.as_deref().filter(|url| !url.is_empty()) else {
            return Err(
                Error::new(ErrorKind::Usage, "No database is configured").hint(
                    "name one with --db FILE or AFTERRUN_DB, or look at an example: afterrun demo",
                ),
            );
        };
        if is_postgres(url) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{} cannot be read yet: only SQLite is", masked(url)),
            )
            .hint("name a SQLite file with --db FILE"));
        }
        let database = SqliteRuns::open(sqlite_path(url)?, self.tables.clone())?;
        tracing::info!(
            "the database {} is open, to be read only; its tables are {} and {}",
            masked(url),
            visible(&self.tables.sessions),
            visible(&self.tables.runs)
        );
        Ok(database)
    }

    /// Opens the store that is named.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when none is; what the store answers.
    pub fn open_store(&self) -> Result<SharedStore> {
        if let Some(store) = s3::store(self)? {
            return Ok(Arc::new(store));
        }
        let store = FileCheckpointStore::open(self.store_path()?)?;
        tracing::info!("the store {} is open, a directory", self.store_label());
        Ok(Arc::new(store))
    }

    /// Opens the store that is named for writing: a directory is made when it is not there.
    ///
    /// # Errors
    /// As [`Settings::open_store`].
    pub fn create_store(&self) -> Result<SharedStore> {
        match s3::store(self)? {
            Some(store) => Ok(Arc::new(store)),
            None => Ok(Arc::new(FileCheckpointStore::create(self.store_path()?)?)),
        }
    }

    /// The directory that is named as the store.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when none is, [`ErrorKind::Unsupported`] for other stores.
    pub fn store_path(&self) -> Result<PathBuf> {
        let Some(url) = self.store.as_deref().filter(|url| !url.is_empty()) else {
            return Err(Error::new(ErrorKind::Usage, "No checkpoint store is named")
                .hint("name a directory with --store DIR or AFTERRUN_STORE"));
        };
        if url == "postgres" || is_postgres(url) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "The store {} cannot be read yet: only a directory or a bucket can",
                    masked(url)
                ),
            )
            .hint("name a directory with --store DIR"));
        }
        Ok(PathBuf::from(url.strip_prefix("file://").unwrap_or(url)))
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

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://")
        || url.starts_with("postgresql://")
        || url.starts_with("postgresql+")
}

/// A SQLite path out of a path or an SQLAlchemy URL (`sqlite:///relative`, `sqlite:////absolute`).
fn sqlite_path(url: &str) -> Result<PathBuf> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(PathBuf::from(url));
    };
    if scheme != "sqlite" && !scheme.starts_with("sqlite+") {
        return fail(
            ErrorKind::Usage,
            format!(
                "{} is no database that is known: a SQLite path, sqlite:///path or postgresql://…",
                masked(url)
            ),
        );
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

/// `url` with a password in it replaced, and made safe to show.
#[must_use]
pub fn masked(url: &str) -> String {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = match rest.find(['/', '?']) {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            let authority = match authority.rsplit_once('@') {
                Some((who, host)) => match who.split_once(':') {
                    Some((user, _)) => format!("{user}:***@{host}"),
                    None => format!("{who}@{host}"),
                },
                None => authority.to_owned(),
            };
            let path = match path.split_once('?') {
                Some((path, query)) => {
                    let query: Vec<String> = query
                        .split('&')
                        .map(|item| match item.split_once('=') {
                            Some((key, _)) if is_secret(key) => format!("{key}=***"),
                            _ => item.to_owned(),
                        })
                        .collect();
                    format!("{path}?{}", query.join("&"))
                }
                None => path.to_owned(),
            };
            format!("{scheme}://{authority}{path}")
        }
        None => url.to_owned(),
    };
    visible(&shown).into_owned()
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["password", "secret", "token", "sslkey"]
        .iter()
        .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked() {
        assert_eq!(
            masked("postgresql://app:hunter2@db/agno?sslmode=require"),
            "postgresql://app:***@db/agno?sslmode=require"
        );
        assert_eq!(
            masked("postgresql://app:p@ss:w@db:5432/agno"),
            "postgresql://app:***@db:5432/agno"
        );
        assert_eq!(
            masked("postgresql://db/agno?user=a&password=b"),
            "postgresql://db/agno?user=a&password=***"
        );
        assert_eq!(masked("/plain/path"), "/plain/path");
    }

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
    }
}
