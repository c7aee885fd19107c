//! What sessions are bound to, and what retention does next to those of a page. A table of bindings
//! that is absent or odd says nothing.

use std::collections::HashMap;

use tokio_postgres::types::Type;

use super::Read;
use super::value::column;
use crate::checkpoint::CheckpointRef;
use crate::error::Result;
use crate::json::Json;
use crate::runs::binding::Binding;
use crate::runs::database::Tables;
use crate::runs::gate::{Opening, gate};
use crate::runs::model::{RunPage, RunRow};
use crate::runs::retention::{Kept, LOOKED_AT, Retention, next, wanted};

/// Namespaces that are looked into; Agno's default is one.
const NAMESPACES: usize = 16;
/// Bytes of one binding's record.
const RECORD: usize = 1 << 20;
/// Bytes of what a list asks of it.
const LISTED: usize = 64 << 10;

/// A session's newest completed runs, as far as they were looked for.
struct Looked {
    session: String,
    wanted: usize,
    /// Those that may have completed, newest first, and how many of them were looked at.
    candidates: Vec<String>,
    seen: usize,
    found: Vec<(String, CheckpointRef)>,
}

impl Looked {
    fn is_done(&self) -> bool {
        self.found.len() == self.wanted || self.seen == self.candidates.len()
    }
}

impl Read {
    /// What retention does next, by session.
    pub(super) async fn retention_of(
        &self,
        page: &RunPage,
        tables: &Tables,
    ) -> Result<HashMap<String, Retention>> {
        let several = page.sessions.iter().filter(|(_, info)| info.runs > 1);
        let several: Vec<(&String, u64)> = several.map(|(id, info)| (id, info.runs)).collect();
        if several.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
        let kept = self.kept(&ids, tables).await?;
        let looked: Vec<(String, usize)> = several
            .into_iter()
            .filter_map(|(id, runs)| Some((id.clone(), wanted(kept.get(id), runs)?)))
            .collect();
        let looked = self.newest_completed(looked, &page.runs).await?;
        let found = looked.into_iter().filter_map(|one| {
            let retention = next(kept.get(&one.session), &one.found)?;
            Some((one.session, retention))
        });
        Ok(found.collect())
    }

    /// SQL for the binding `b` of each session of `$1`: its own namespace's, else any other's.
    fn bindings(&self, columns: &str) -> String {
        // The key begins with the namespace: its index is gone through in steps.
        format!(
            "WITH RECURSIVE s AS ((SELECT min(b.namespace) AS namespace FROM {table} AS b) \
             UNION ALL SELECT (SELECT min(b.namespace) FROM {table} AS b \
               WHERE b.namespace > s.namespace) FROM s WHERE s.namespace IS NOT NULL), \
             n AS MATERIALIZED (SELECT s.namespace FROM s WHERE s.namespace IS NOT NULL LIMIT {NAMESPACES}) \
             SELECT i.id, {columns} FROM unnest($1::text[]) AS i(id) \
             CROSS JOIN LATERAL (SELECT b.* FROM n CROSS JOIN LATERAL (SELECT b.* FROM {table} AS b \
               WHERE b.namespace = n.namespace AND b.session_id = i.id OFFSET 0) AS b \
               ORDER BY b.namespace = $2 DESC, b.namespace LIMIT 1) AS b",
            table = self.named.bindings
        )
    }

    async fn kept(&self, ids: &[&str], tables: &Tables) -> Result<HashMap<String, Kept>> {
        if !self.standing.has_bindings() {
            return Ok(HashMap::new());
        }
        let sql = self.bindings(&format!(
            "CASE WHEN octet_length(b.record::text) <= {LISTED} THEN b.record::text END"
        ));
        let namespace = namespace(tables);
        let values = [(&ids as _, Type::TEXT_ARRAY), (&namespace as _, Type::TEXT)];
        let rows = self.transaction.rows(&sql, &values).await?;
        let mut kept = HashMap::with_capacity(rows.len());
        for row in &rows {
            let record = column::<Option<&str>>(row, 1)?.and_then(record);
            if let Some(found) = record.as_ref().and_then(Kept::of) {
                kept.insert(column(row, 0)?, found);
            }
        }
        Ok(kept)
    }

    /// What `session` is bound to.
    pub(super) async fn binding(&self, session: &str, tables: &Tables) -> Result<Option<Binding>> {
        if !self.standing.has_bindings() {
            return Ok(None);
        }
        let sql = self.bindings(&format!(
            "CASE WHEN octet_length(b.record::text) <= {RECORD} THEN b.record::text END, \
             b.agent_id::text, b.run_id::text, \
             CASE WHEN isfinite(b.expires_at) THEN floor(extract(epoch FROM b.expires_at))::bigint END"
        ));
        let namespace = namespace(tables);
        let sessions = vec![session];
        let values = [
            (&sessions as _, Type::TEXT_ARRAY),
            (&namespace as _, Type::TEXT),
        ];
        let Some(row) = self.transaction.row(&sql, &values).await? else {
            return Ok(None);
        };
        let Some(record) = column::<Option<&str>>(&row, 1)?.and_then(record) else {
            return Ok(None);
        };
        let binding = Binding::of(&record, column(&row, 3)?, column(&row, 4)?);
        Ok(Some(binding.of_agent(column(&row, 2)?)))
    }

    /// The newest completed runs of each session with their references. Rows that stand on the page
    /// are not read again, and the others of all sessions together.
    async fn newest_completed(
        &self,
        sessions: Vec<(String, usize)>,
        page: &[RunRow],
    ) -> Result<Vec<Looked>> {
        let here: HashMap<&str, &RunRow> =
            page.iter().map(|run| (run.run_id.as_str(), run)).collect();
        let mut all = self.candidates(sessions).await?;
        let mut read: HashMap<String, RunRow> = HashMap::new();
        loop {
            let mut unread = Vec::new();
            for one in &mut all {
                while !one.is_done() {
                    let run_id = &one.candidates[one.seen];
                    let Some(run) = here.get(run_id.as_str()).copied().or(read.get(run_id)) else {
                        // As many as are missing: most sessions need no second look.
                        let missing = one.wanted - one.found.len();
                        let ahead = one.candidates[one.seen..].iter().take(missing);
                        unread.extend(ahead.filter(|id| !here.contains_key(id.as_str())).cloned());
                        break;
                    };
                    let reference = gate(run_id, Some(run), &Opening::Own).ok();
                    one.found
                        .extend(reference.map(|reference| (run_id.clone(), reference)));
                    one.seen += 1;
                }
            }
            if unread.is_empty() {
                return Ok(all);
            }
            let rows = self.listed(&unread).await?;
            read = rows
                .into_iter()
                .map(|run| (run.run_id.clone(), run))
                .collect();
            for one in &mut all {
                // One that was deleted meanwhile is not waited for.
                let gone = |id: &String| unread.contains(id) && !read.contains_key(id);
                let (seen, rest) = one.candidates.split_at(one.seen);
                let rest = rest.iter().filter(|id| !gone(id)).cloned();
                one.candidates = seen.iter().cloned().chain(rest).collect();
            }
        }
    }

    async fn candidates(&self, sessions: Vec<(String, usize)>) -> Result<Vec<Looked>> {
        let sql = format!(
            "SELECT i.id, r.run_id::text FROM unnest($1::text[]) AS i(id) \
             CROSS JOIN LATERAL (SELECT r.run_id, r.status, row_number() OVER () AS n FROM \
               (SELECT r.run_id, r.status FROM {} AS r WHERE r.session_id = i.id \
                ORDER BY r.run_index DESC, r.created_at DESC, r.run_id COLLATE \"C\" DESC \
                LIMIT {LOOKED_AT}) AS r) AS r \
             WHERE r.status IS NULL OR r.status = '' OR upper(r.status) = 'COMPLETED' \
             ORDER BY i.id, r.n",
            self.named.runs
        );
        let ids: Vec<&str> = sessions.iter().map(|(id, _)| id.as_str()).collect();
        let values = [(&ids as _, Type::TEXT_ARRAY)];
        let rows = self.transaction.rows(&sql, &values).await?;
        let mut candidates: HashMap<String, Vec<String>> = HashMap::new();
        for row in rows {
            let of = candidates.entry(column(&row, 0)?).or_default();
            of.push(column(&row, 1)?);
        }
        let looked = sessions.into_iter().map(|(session, wanted)| Looked {
            candidates: candidates.remove(&session).unwrap_or_default(),
            session,
            wanted,
            seen: 0,
            found: Vec::new(),
        });
        Ok(looked.collect())
    }
}

/// The namespace in which Agno binds the sessions of these tables.
fn namespace(tables: &Tables) -> String {
    format!("{}.{}", tables.schema, tables.sessions)
}

/// A record, which may be a text of JSON.
fn record(text: &str) -> Option<Json> {
    match Json::parse(text).ok()? {
        Json::Text(text) => Json::parse(&text).ok(),
        record => Some(record),
    }
}
