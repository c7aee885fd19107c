//! Values of a statement that is put together, and columns of what it answers.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::Read;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::Value;

/// The values of a statement, numbered as they come.
#[derive(Default)]
pub(super) struct Values(Vec<(Box<dyn ToSql + Sync + Send>, Type)>);

impl Values {
    /// Adds one and answers what stands for it in the statement.
    pub(super) fn add(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.0.push((Box::new(value), kind));
        format!("${}", self.0.len())
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.add(text.to_owned(), Type::TEXT)
    }

    /// As a statement takes them.
    pub(super) fn all(&self) -> Vec<Value<'_>> {
        self.0
            .iter()
            .map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone()))
            .collect()
    }
}

/// Column `at` of `row`.
pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| {
        Error::new(
            ErrorKind::Database,
            format!(
                "The database answered something else than was asked for: {}",
                crate::text::visible(&error.to_string())
            ),
        )
        .source(error)
    })
}

impl Read {
    /// Column `at` of `row`.
    pub(super) fn get<'a, T: FromSql<'a>>(&self, row: &'a Row, at: usize) -> Result<T> {
        column(row, at)
    }

    /// The first column of what `sql` answers.
    pub(super) async fn ids(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<String>> {
        let rows = self.transaction.rows(sql, values).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }
}
