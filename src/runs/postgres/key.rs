//! The keys of a list, in its order and by its filter, a piece at a time.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::value::{Values, column};
use super::{Read, cannot_be};
use crate::error::Result;
use crate::runs::model::{Cursor, RunFilter, RunOrder};

/// Status columns that are told apart by the index; with more of them, rows are looked at one by one.
const STATUSES: i64 = 200;

/// Where a list stands, and what it is a list of.
pub(super) struct Keys<'a> {
    pub(super) filter: &'a RunFilter,
    /// The values of the status column that the filter may mean; `None` for any.
    statuses: Option<Vec<String>>,
    /// The last key seen.
    pub(super) last: Option<Cursor>,
    /// Whether nothing is left.
    pub(super) exhausted: bool,
}

impl<'a> Keys<'a> {
    pub(super) async fn of(
        read: &Read,
        filter: &'a RunFilter,
        after: Option<Cursor>,
    ) -> Result<Self> {
        let texts = [&filter.agent, &filter.session, &filter.text];
        let nowhere = texts.into_iter().flatten().any(|text| cannot_be(text))
            || after.as_ref().is_some_and(|after| cannot_be(&after.row));
        Ok(Self {
            filter,
            statuses: match filter.statuses.is_empty() {
                true => None,
                false => read.statuses(&filter.statuses).await?,
            },
            last: after,
            exhausted: nowhere,
        })
    }

    /// The filter without its text, and the place in the list, as conditions on `r`.
    pub(super) fn condition(&self, values: &mut Values) -> String {
        let mut parts = vec!["r.created_at IS NOT NULL".to_owned()];
        if let Some(agent) = &self.filter.agent {
            parts.push(format!("r.agent_id = {}", values.text(agent)));
        }
        if let Some(session) = &self.filter.session {
            parts.push(format!("r.session_id = {}", values.text(session)));
        }
        if let Some(since) = self.filter.since {
            parts.push(format!("r.created_at >= {}", values.add(since, Type::INT8)));
        }
        if let Some(statuses) = &self.statuses {
            // The column decides where it says anything; the rest is looked at one by one.
            parts.push(format!(
                "(r.status IS NULL OR r.status = '' OR r.status = ANY({}))",
                values.add(statuses.clone(), Type::TEXT_ARRAY)
            ));
        }
        if let Some(last) = &self.last {
            let beyond = match self.filter.order {
                RunOrder::NewestFirst => "<",
                RunOrder::OldestFirst => ">",
            };
            let (at, id) = (
                values.add(last.created_at, Type::INT8),
                values.text(&last.row),
            );
            // The first half is what an index on the time alone can use.
            parts.push(format!(
                "r.created_at {beyond}= {at} \
                 AND (r.created_at, r.run_id COLLATE \"C\") {beyond} ({at}, {id} COLLATE \"C\")"
            ));
        }
        parts.join(" AND ")
    }

    /// The list's order, for `table`.
    pub(super) fn order(&self, table: &str) -> String {
        let direction = match self.filter.order {
            RunOrder::NewestFirst => "DESC",
            RunOrder::OldestFirst => "ASC",
        };
        format!("{table}.created_at {direction}, {table}.run_id COLLATE \"C\" {direction}")
    }

    /// The next keys, about `want` of them, without regard to the filter's text.
    pub(super) async fn next(&mut self, read: &Read, want: i64) -> Result<Vec<String>> {
        let mut values = Values::default();
        let condition = self.condition(&mut values);
        let sql = format!(
            "SELECT r.run_id::text, r.created_at::bigint FROM {} AS r WHERE {condition} \
             ORDER BY {} LIMIT {}",
            read.named.runs,
            self.order("r"),
            values.add(want, Type::INT8)
        );
        let rows = read.transaction.rows(&sql, &values.all()).await?;
        self.exhausted = (rows.len() as u64) < want.unsigned_abs();
        self.pass(rows.last())?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Goes on after `row`, which begins with a key.
    pub(super) fn pass(&mut self, row: Option<&Row>) -> Result<()> {
        if let Some(row) = row {
            self.last = Some(Cursor {
                row: column(row, 0)?,
                created_at: column(row, 1)?,
            });
        }
        Ok(())
    }
}

impl Read {
    /// What stands in the status column that is one of `wanted` in upper case, by steps through the
    /// column's index; `None` where too much stands there.
    async fn statuses(&self, wanted: &[String]) -> Result<Option<Vec<String>>> {
        let sql = format!(
            "WITH RECURSIVE s AS ((SELECT r.status FROM {runs} AS r WHERE r.status IS NOT NULL \
               ORDER BY r.status LIMIT 1) \
             UNION ALL SELECT (SELECT r.status FROM {runs} AS r WHERE r.status > s.status \
               ORDER BY r.status LIMIT 1) FROM s WHERE s.status IS NOT NULL) \
             SELECT s.status::text FROM s WHERE s.status IS NOT NULL LIMIT {}",
            STATUSES + 1,
            runs = self.named.runs
        );
        let all = self.ids(&sql, &[]).await?;
        if all.len() as u64 > STATUSES.unsigned_abs() {
            return Ok(None);
        }
        Ok(Some(
            all.into_iter()
                .filter(|status| wanted.contains(&status.to_uppercase()))
                .collect(),
        ))
    }
}
