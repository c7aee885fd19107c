//! A filter by text: the list is gone through from its beginning, a window at a time, and each window's
//! sessions are looked at once. A common text is found at once, and a rare one stops when its time is up.

use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::Read;
use super::key::Keys;
use super::value::{Values, column};
use crate::error::{Error, ErrorKind, Result};

/// Keys of the first window and of the largest.
const WINDOWS: (i64, i64) = (1_000, 16_000);
/// How long all windows of one page may take.
const LONGEST: Duration = Duration::from_secs(30);

/// What helps against a search that takes too long.
pub(super) const NARROWER: &str =
    "narrow it down by agent, session, status or time: --agent, --session, --status, --since";

/// What is looked for.
pub(super) struct Search {
    text: String,
    /// Agents whose names hold it.
    agents: Vec<String>,
    window: i64,
}

impl Search {
    pub(super) fn new(text: &str, agents: Vec<String>) -> Self {
        Self {
            text: text.to_owned(),
            agents,
            window: WINDOWS.0,
        }
    }

    /// At most `want` ids of the next window; fewer or none when they are further on.
    pub(super) async fn next(
        &mut self,
        read: &Read,
        keys: &mut Keys<'_>,
        want: usize,
        begun: Instant,
    ) -> Result<Vec<String>> {
        if begun.elapsed() > LONGEST {
            return Err(Error::new(
                ErrorKind::Timeout,
                format!(
                    "Looking for \"{}\" took longer than {} s",
                    crate::text::visible(&self.text),
                    LONGEST.as_secs()
                ),
            )
            .hint(NARROWER));
        }
        let mut values = Values::default();
        let sql = self.sql(read, keys, &mut values);
        let rows = read.transaction.rows(&sql, &values.all()).await?;
        let seen: i64 = rows.last().map_or(Ok(0), |row| column(row, 3))?;
        let mut ids = Vec::new();
        for row in &rows {
            if !column::<bool>(row, 2)? {
                continue;
            }
            ids.push(column(row, 0)?);
            if ids.len() == want {
                // The rest of the window is the next page's.
                keys.pass(Some(row))?;
                return Ok(ids);
            }
        }
        keys.pass(rows.last())?;
        keys.exhausted = seen < self.window;
        self.window = (self.window * 4).min(WINDOWS.1);
        Ok(ids)
    }

    /// The window's keys that fit, and its last one; whether each fits, and its place in the window.
    fn sql(&self, read: &Read, keys: &Keys<'_>, values: &mut Values) -> String {
        let condition = keys.condition(values);
        let window = values.add(self.window, Type::INT8);
        let needle = values.text(&self.text);
        let agents = values.add(self.agents.clone(), Type::TEXT_ARRAY);
        // Not LIKE: no character of the text means anything else than itself.
        let holds = |what: &str| format!("position(lower({needle}) IN lower({what})) > 0");
        let within = |data: &str, path: &str, key: &str| {
            let value = format!("({data}::jsonb{path}->>'{key}')");
            format!(
                "jsonb_typeof({data}::jsonb) = 'object' AND {}",
                holds(&value)
            )
        };
        let mut titles = Vec::new();
        if read.standing.has_sessions() {
            titles.push(format!(
                "EXISTS (SELECT 1 FROM {} AS t WHERE t.session_id = s.session_id AND {})",
                read.named.sessions,
                within("t.session_data", "", "session_name")
            ));
        }
        titles.push(format!(
            "EXISTS (SELECT 1 FROM {} AS f WHERE f.session_id = s.session_id AND f.run_index = 0 AND {})",
            read.named.runs,
            within("f.run_data", "->'input'", "input_content")
        ));
        format!(
            "WITH k AS MATERIALIZED (SELECT w.*, row_number() OVER (ORDER BY {order}) AS n FROM \
               (SELECT r.run_id, r.session_id, r.agent_id, r.created_at FROM {runs} AS r \
                WHERE {condition} ORDER BY {inner} LIMIT {window}) AS w), \
             m AS MATERIALIZED (SELECT s.session_id FROM (SELECT DISTINCT k.session_id FROM k) AS s \
               WHERE {titles}), \
             q AS (SELECT k.run_id::text AS id, k.created_at::bigint AS at, k.n, \
               coalesce({by_id} OR {by_session} OR {by_agent} OR k.agent_id = ANY({agents}), false) \
               OR k.session_id IN (SELECT m.session_id FROM m) AS fits FROM k) \
             SELECT q.id, q.at, coalesce(q.fits, false), q.n FROM q \
             WHERE q.fits OR q.n = (SELECT max(k.n) FROM k) ORDER BY q.n",
            order = keys.order("w"),
            inner = keys.order("r"),
            runs = read.named.runs,
            titles = titles.join(" OR "),
            by_id = holds("k.run_id"),
            by_session = holds("k.session_id"),
            by_agent = holds("coalesce(k.agent_id, '')"),
        )
    }
}
