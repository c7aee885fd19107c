//! Which store is meant: a directory, tables of a PostgreSQL database, or a bucket.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Settings, holds_secret, masked, s3};
use crate::checkpoint::{FileCheckpointStore, PostgresCheckpointStore, SharedStore};
use crate::error::{Error, ErrorKind, Result};
use crate::near::nearest;
use crate::postgres::is_named_by;
use crate::text::visible;

/// The word for tables of the database that the runs are in.
const BESIDE_THE_RUNS: &str = "postgres";

/// How a store's URL may begin.
const SCHEMES: [&str; 4] = ["postgresql", "postgres", "s3", "file"];

/// What a store's URL names beside its database.
const PARAMETERS: [&str; 2] = ["schema", "table"];

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
                .hint(
                    "name one with --store or AFTERRUN_STORE: a directory, s3://BUCKET/PREFIX, or postgresql://…",
                ));
        };
        understood(url)?;
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

/// Refuses what is a URL, or nearly one, of nothing that is a store: as a directory's name it would be
/// made, and shown with the password in it.
fn understood(url: &str) -> Result<()> {
    if url == BESIDE_THE_RUNS || is_named_by(url) || url.starts_with("s3://") {
        return Ok(());
    }
    let lower = url.to_lowercase();
    let scheme = lower.split_once(':').map(|(scheme, _)| scheme);
    let near = match scheme {
        Some("s3a" | "s3n" | "s3") => Some("s3"),
        Some("http" | "https") => {
            return Err(unknown(url).hint(
                "a bucket of another service is named s3://BUCKET/PREFIX?endpoint_url=https://HOST",
            ));
        }
        Some("file") if url.starts_with("file://") && !holds_secret(url) => return Ok(()),
        Some(scheme) if lower.contains("://") || holds_secret(url) => {
            nearest(scheme.split('+').next().unwrap_or(scheme), SCHEMES)
        }
        Some(scheme) if SCHEMES.contains(&scheme) => nearest(scheme, SCHEMES),
        Some(_) => return Ok(()),
        None if lower == BESIDE_THE_RUNS => {
            return Err(unknown(url).hint("did you mean --store postgres?"));
        }
        None => return Ok(()),
    };
    Err(unknown(url).hint(match near {
        Some(near) => format!("did you mean {near}://?"),
        None => "name a directory, s3://BUCKET/PREFIX, postgres, or postgresql://…".into(),
    }))
}

fn unknown(url: &str) -> Error {
    let message = format!("{} is no store that is known", masked(url));
    Error::new(ErrorKind::Usage, message)
}

/// What a store's URL names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The URL without what is ours.
    pub(super) server: String,
    schema: Option<String>,
    table: Option<String>,
}

impl Named {
    /// Takes `schema` and `table` off the query of `url`; the rest is the server's.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for what is misspelt, named twice, or no text.
    pub(super) fn in_url(url: &str) -> Result<Self> {
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
                    if let Some(near) = nearest(key, PARAMETERS) {
                        let message = format!("The store's URL has no parameter {}", visible(key));
                        return Err(Error::new(ErrorKind::Usage, message)
                            .hint(format!("did you mean {near}?")));
                    }
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
    fn what_is_no_store_is_told_without_its_password() {
        for (url, shown, hint) in [
            ("ftp://u:hunter2@x/y", "ftp://u:***@x/y", "name a directory"),
            ("s3a://k:hunter2@b", "s3a://k:***@b", "did you mean s3://?"),
            ("S3://b/p", "S3://b/p", "did you mean s3://?"),
            ("s3:b", "s3:b", "did you mean s3://?"),
            (
                "https://u:hunter2@h/b",
                "https://u:***@h/b",
                "a bucket of another service",
            ),
            (
                "postgressql://u:hunter2@h/db",
                "postgressql://u:***@h/db",
                "did you mean postgresql://?",
            ),
            (
                "postgresql:/u:hunter2@h/db",
                "postgresql:***@h/db",
                "did you mean postgresql://?",
            ),
            (
                "file://u:hunter2@h/x",
                "file://u:***@h/x",
                "did you mean file://?",
            ),
            ("u:hunter2@h/db", "u:***@h/db", "name a directory"),
            ("POSTGRES", "POSTGRES", "did you mean --store postgres?"),
        ] {
            let error = store(None, url).expect_err(url);
            assert_eq!(error.kind(), ErrorKind::Usage, "{url}");
            assert_eq!(
                error.message(),
                format!("{shown} is no store that is known")
            );
            let next = error.next_step().unwrap_or_default();
            assert!(next.starts_with(hint), "{url}: {next}");
        }
        let error = store(None, "postgresql://db/agno?shema=ai").expect_err("a slip");
        assert_eq!(error.message(), "The store's URL has no parameter shema");
        assert_eq!(error.next_step(), Some("did you mean schema?"));
        for directory in ["/no/such:thing", "no:such", "/no/a:b@c"] {
            let error = store(None, directory).expect_err("nothing there");
            assert_eq!(error.kind(), ErrorKind::Store, "{directory}");
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
