//! The two tables: their names, how they are made, and what they are asked.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSqlOwned, Type};

use crate::error::{Error, ErrorKind, Result, fail};
use crate::postgres::{Transaction, Value};
use crate::text::visible;

pub(super) const DEFAULT_TABLE: &str = "agno_sandbox_checkpoints";
const CHUNK_SUFFIX: &str = "_chunks";
/// PostgreSQL cuts names past this many bytes.
const MAX_IDENTIFIER: usize = 63;

/// Both tables' names, and every statement on them.
#[derive(Debug)]
pub(super) struct Tables {
    pub schema: String,
    pub table: String,
    /// The size of `$1`.
    pub head: String,
    /// Which chunks of `$1` there are from number `$2` on, `$3` at most, and how long each is.
    pub plan: String,
    /// Of `$1`, chunk `$2`: `$4` bytes from position `$3`, counted from 1.
    pub part: String,
    /// Of `$1`, chunks `$2` to `$3` one after another, `$4` bytes at most.
    pub several: String,
    /// A header of `$1` with size `$2`, made at `$3`; no row when there is one already.
    pub claim: String,
    /// Of `$1`, chunk `$2` with the bytes `$3`.
    pub insert: String,
    /// Removes `$1`.
    pub delete: String,
}

impl Tables {
    /// # Errors
    /// [`ErrorKind::Usage`].
    pub(super) fn new(schema: String, table: String) -> Result<Self> {
        check_names(&schema, &table)?;
        let objects = qualified(&schema, &table);
        let chunks = qualified(&schema, &format!("{table}{CHUNK_SUFFIX}"));
        Ok(Self {
            head: format!("SELECT size::int8 FROM {objects} WHERE sha256 = $1 LIMIT 1"),
            // The length of a value that is stored apart is known without reading it.
            plan: format!(
                "SELECT seq::int8, pg_catalog.octet_length(data)::int8 FROM {chunks} \
                 WHERE sha256 = $1 AND seq >= $2 ORDER BY seq LIMIT $3"
            ),
            part: format!(
                "SELECT pg_catalog.substr(data, $3, $4) FROM {chunks} \
                 WHERE sha256 = $1 AND seq = $2 LIMIT 1"
            ),
            several: format!(
                "SELECT pg_catalog.substr(pg_catalog.string_agg(data, ''::bytea ORDER BY seq), 1, $4) \
                 FROM {chunks} WHERE sha256 = $1 AND seq BETWEEN $2 AND $3"
            ),
            claim: format!(
                "INSERT INTO {objects} (sha256, size, created_at) VALUES ($1, $2, $3) \
                 ON CONFLICT (sha256) DO NOTHING RETURNING sha256"
            ),
            insert: format!("INSERT INTO {chunks} (sha256, seq, data) VALUES ($1, $2, $3)"),
            delete: format!("DELETE FROM {objects} WHERE sha256 = $1"),
            schema,
            table,
        })
    }

    fn chunk_table(&self) -> String {
        format!("{}{CHUNK_SUFFIX}", self.table)
    }

    /// Both names with their schema, for messages.
    pub(super) fn shown(&self) -> [String; 2] {
        [&self.table, &self.chunk_table()]
            .map(|table| format!("{}.{}", visible(&self.schema), visible(table)))
    }

    /// Makes what is missing of schema and tables, as Agno does. One lock for each pair of tables,
    /// the same as Agno's, lets first uses wait for each other.
    pub(super) async fn create(&self, transaction: &Transaction) -> Result<()> {
        let lock = format!("agno.sandbox.checkpoints:{}.{}", self.schema, self.table);
        let taken = "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext($1))";
        transaction.rows(taken, &[(&lock, Type::TEXT)]).await?;
        // Making a schema needs a right on the database even where the schema is there.
        if !self.schema_is_there(transaction).await? {
            let make = format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(&self.schema));
            transaction.execute(&make, &[]).await?;
        }
        let objects = qualified(&self.schema, &self.table);
        if !self.is_there(transaction, &self.table).await? {
            let make = format!(
                "CREATE TABLE {objects} (sha256 VARCHAR(64) NOT NULL, size BIGINT NOT NULL, \
                 created_at BIGINT NOT NULL, PRIMARY KEY (sha256))"
            );
            transaction.execute(&make, &[]).await?;
        }
        let chunk_table = self.chunk_table();
        if !self.is_there(transaction, &chunk_table).await? {
            let chunks = qualified(&self.schema, &chunk_table);
            let make = format!(
                "CREATE TABLE {chunks} (sha256 VARCHAR(64) NOT NULL, seq INTEGER NOT NULL, \
                 data BYTEA NOT NULL, PRIMARY KEY (sha256, seq), \
                 FOREIGN KEY(sha256) REFERENCES {objects} (sha256) ON DELETE CASCADE)"
            );
            transaction.execute(&make, &[]).await?;
            // Archives are compressed already; EXTERNAL is also what makes slices cheap.
            let apart = format!("ALTER TABLE {chunks} ALTER COLUMN data SET STORAGE EXTERNAL");
            transaction.execute(&apart, &[]).await?;
        }
        Ok(())
    }

    async fn schema_is_there(&self, transaction: &Transaction) -> Result<bool> {
        let asked = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
        let row = transaction
            .row(asked, &[(&self.schema, Type::TEXT)])
            .await?;
        Ok(row.is_some())
    }

    async fn is_there(&self, transaction: &Transaction, table: &str) -> Result<bool> {
        let asked = "SELECT 1 FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace \
                     ON pg_namespace.oid = relnamespace \
                     WHERE nspname = $1 AND relname = $2 AND relkind IN ('r', 'p', 'f', 'v', 'm')";
        let names: [Value<'_>; 2] = [(&self.schema, Type::TEXT), (&table, Type::TEXT)];
        Ok(transaction.row(asked, &names).await?.is_some())
    }
}

/// A column of a row of the store's; `None` for NULL.
///
/// # Errors
/// [`ErrorKind::Store`] when it holds something else, which a view in place of a table may.
pub(super) fn column<T: FromSqlOwned>(row: &Row, at: usize) -> Result<Option<T>> {
    row.try_get(at).map_err(|error| {
        Error::new(
            ErrorKind::Store,
            "The checkpoint tables hold other types than Agno's",
        )
        .source(error)
    })
}

fn check_names(schema: &str, table: &str) -> Result<()> {
    if table.is_empty() || table.contains('\0') {
        return fail(
            ErrorKind::Usage,
            "Checkpoint table name must be a nonempty string",
        );
    }
    if table.len() + CHUNK_SUFFIX.len() > MAX_IDENTIFIER {
        return fail(
            ErrorKind::Usage,
            format!(
                "Checkpoint table name must leave room for '{CHUNK_SUFFIX}' within {MAX_IDENTIFIER} bytes"
            ),
        );
    }
    if schema.is_empty() || schema.contains('\0') || schema.len() > MAX_IDENTIFIER {
        return fail(
            ErrorKind::Usage,
            format!("Checkpoint schema name must be 1 to {MAX_IDENTIFIER} bytes"),
        );
    }
    Ok(())
}

fn qualified(schema: &str, table: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(table))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(schema: &str, table: &str) -> String {
        match Tables::new(schema.into(), table.into()) {
            Err(error) if error.kind() == ErrorKind::Usage => error.message().into(),
            other => panic!("{schema} {table}: {other:?}"),
        }
    }

    #[test]
    fn names_are_those_that_agno_takes() {
        assert!(Tables::new("ai".into(), "a".repeat(56)).is_ok());
        let long = "Checkpoint table name must leave room for '_chunks' within 63 bytes";
        assert_eq!(refused("ai", &"a".repeat(57)), long);
        assert_eq!(refused("ai", &"é".repeat(29)), long);
        for empty in ["", "a\0b"] {
            let said = "Checkpoint table name must be a nonempty string";
            assert_eq!(refused("ai", empty), said);
        }
        for schema in ["", "\0", &"s".repeat(64)] {
            let said = "Checkpoint schema name must be 1 to 63 bytes";
            assert_eq!(refused(schema, "t"), said);
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        let tables = Tables::new("a\"b".into(), "x\"; DROP TABLE y; --".into()).expect("names");
        assert!(
            tables
                .head
                .contains(r#"FROM "a""b"."x""; DROP TABLE y; --" WHERE"#)
        );
        assert!(
            tables
                .part
                .contains(r#"FROM "a""b"."x""; DROP TABLE y; --_chunks" WHERE"#)
        );
    }
}
