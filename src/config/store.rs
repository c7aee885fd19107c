//! Which store is meant: a directory, tables of a PostgreSQL database, or a bucket.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Settings, s3};
use crate::checkpoint::{FileCheckpointStore, PostgresCheckpointStore, SharedStore};
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::is_named_by;

/// The word for tables of the database that the runs are in.
const BESIDE_THE_RUNS: &str = "postgres";

impl Settings {
    /// Opens the store that is named, for reading.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when none is; what the store answers.
    pub fn open_store(&self) -> Result<SharedStore> {
        self.store_by(FileCheckpointStore::open)
    }

    /// Opens the store that is named, for writing: a directory is made when it is not there.
    ///
    /// # Errors
    /// As [`Settings::open_store`].
    pub fn create_store(&self) -> Result<SharedStore> {
        self.store_by(FileCheckpointStore::create)
    }

    fn store_by(
        &self,
        directory: impl FnOnce(PathBuf) -> Result<FileCheckpointStore>,
    ) -> Result<SharedStore> {
        let Some(url) = self.store.as_deref().filter(|url| !url.is_empty()) else {
            return Err(Error::new(ErrorKind::Usage, "No checkpoint store is named")
                .hint("name a directory with --store DIR or AFTERRUN_STORE"));
        };
        let store: SharedStore = if url == BESIDE_THE_RUNS || is_named_by(url) {
            Arc::new(self.postgres_store(url)?)
        } else if let Some(bucket) = s3::store(self)? {
            Arc::new(bucket)
        } else {
            let path = url.strip_prefix("file://").unwrap_or(url);
            Arc::new(directory(PathBuf::from(path))?)
        };
        tracing::info!("the store is {}", store.describe());
        Ok(store)
    }

    fn postgres_store(&self, url: &str) -> Result<PostgresCheckpointStore> {
        let named = if url == BESIDE_THE_RUNS {
            Named {
                server: self.database_of_runs()?.to_owned(),
                ..Named::default()
            }
        } else {
            Named::in_url(url)?
        };
        let schema = named.schema.unwrap_or_else(|| self.tables.schema.clone());
        let table = named
            .table
            .unwrap_or_else(|| PostgresCheckpointStore::DEFAULT_TABLE.into());
        let store = PostgresCheckpointStore::new(self.server(&named.server)?, schema, table)?;
        Ok(store.with_scratch(self.scratch()?))
    }

    fn database_of_runs(&self) -> Result<&str> {
        let url = self.database.as_deref().unwrap_or_default();
        if is_named_by(url) {
            return Ok(url);
        }
        Err(Error::new(
            ErrorKind::Usage,
            format!(
                "--store postgres means the database of the runs, and {} is not PostgreSQL",
                self.database_label()
            ),
        )
        .hint("name the store's own database: --store 'postgresql://…?schema=SCHEMA&table=TABLE'"))
    }
}

/// What a store's URL names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    /// The URL without what is ours.
    server: String,
    schema: Option<String>,
    table: Option<String>,
}

impl Named {
    /// Takes `schema` and `table` off the query of `url`; the rest is the server's.
    fn in_url(url: &str) -> Result<Self> {
        let Some((server, query)) = url.split_once('?') else {
            return Ok(Self {
                server: url.to_owned(),
                ..Self::default()
            });
        };
        let (mut this, mut rest) = (Self::default(), Vec::new());
        for item in query.split('&').filter(|item| !item.is_empty()) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let name = match key {
                "schema" => &mut this.schema,
                "table" => &mut this.table,
                _ => {
                    rest.push(item);
                    continue;
                }
            };
            if name.replace(decoded(key, value)?).is_some() {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("The store's URL names {key} twice"),
                ));
            }
        }
        this.server = match rest.is_empty() {
            true => server.to_owned(),
            false => format!("{server}?{}", rest.join("&")),
        };
        Ok(this)
    }
}

/// `value` without its percent signs.
fn decoded(key: &str, value: &str) -> Result<String> {
    let wrong = || {
        let message = format!("The store's URL has a {key} that is no percent-encoded text");
        Error::new(ErrorKind::Usage, message)
    };
    let (mut bytes, mut rest) = (Vec::new(), value.as_bytes());
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let digits = digits.filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.ok_or_else(wrong)?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(database: Option<&str>, store: &str) -> Result<String> {
        let settings = Settings {
            database: database.map(str::to_owned),
            store: Some(store.to_owned()),
            ..Settings::default()
        };
        settings.open_store().map(|store| store.describe())
    }

    #[test]
    fn schema_and_table_are_taken_off_the_url() {
        let named = |url| Named::in_url(url).expect("a URL");
        let both = named("postgresql://app@db/agno?sslmode=require&schema=ai%20b&table=t&x=1");
        assert_eq!(both.server, "postgresql://app@db/agno?sslmode=require&x=1");
        assert_eq!(both.schema.as_deref(), Some("ai b"));
        assert_eq!(both.table.as_deref(), Some("t"));
        let alone = named("postgresql://db/agno?table=%C3%A9");
        assert_eq!(alone.server, "postgresql://db/agno");
        assert_eq!(
            (alone.schema, alone.table.as_deref()),
            (None, Some("\u{e9}"))
        );
        for wrong in [
            "schema=%",
            "schema=%4",
            "schema=%+1",
            "table=%ff",
            "table=%é",
            "table=a&table=b",
        ] {
            let answer = Named::in_url(&format!("postgresql://db/agno?{wrong}"));
            let error = answer.expect_err(wrong);
            assert_eq!(error.kind(), ErrorKind::Usage, "{wrong}");
        }
    }

    #[test]
    fn a_store_in_a_database_says_its_table() {
        let database = "postgresql://app:hunter2@db/agno";
        for (url, table) in [
            ("postgres", "ai.agno_sandbox_checkpoints"),
            (
                "postgresql+psycopg://app:hunter2@db/agno",
                "ai.agno_sandbox_checkpoints",
            ),
            ("postgresql://app@db/agno?schema=s&table=t", "s.t"),
        ] {
            let said = store(Some(database), url).expect(url);
            assert!(said.starts_with("postgresql"), "{said}");
            assert!(said.ends_with(&format!(", table {table}")), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        for other in [None, Some("/a/b.sqlite")] {
            let error = store(other, "postgres").expect_err("no PostgreSQL");
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.message().ends_with(" is not PostgreSQL"), "{error}");
        }
    }
}
