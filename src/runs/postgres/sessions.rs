//! The sessions on a page: what they are called and how many runs they have.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::types::Type;

use super::Read;
use super::value::column;
use crate::error::Result;
use crate::json::Json;
use crate::runs::model::{MAX_TITLE, RunRow, SessionInfo};

/// Bytes of a session's data, where that is a text of JSON.
const TEXT: usize = 64 << 10;
/// Characters of a name that are asked for: more than a title has, since it may begin with space.
const NAME: usize = 2_000;

/// What is known of a session before any run's input is.
struct Known {
    id: String,
    name: Option<String>,
    first: Option<String>,
    runs: u64,
}

impl Read {
    /// Titles and sizes of the sessions that `runs` belong to.
    pub(super) async fn sessions_of(
        &self,
        runs: &[RunRow],
    ) -> Result<HashMap<String, SessionInfo>> {
        let ids: BTreeSet<&str> = runs.iter().map(|run| run.session_id.as_str()).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let known = self.known(&ids).await?;
        let mut inputs: HashMap<String, String> = HashMap::new();
        let input = |run: &RunRow| run.input().map(str::to_owned);
        let here: HashMap<&str, &RunRow> =
            runs.iter().map(|run| (run.run_id.as_str(), run)).collect();
        let mut missing = Vec::new();
        for first in known.iter().filter(|one| one.name.is_none()) {
            let Some(id) = &first.first else { continue };
            match here.get(id.as_str()) {
                Some(run) => inputs.extend(input(run).map(|input| (id.clone(), input))),
                None => missing.push(id.clone()),
            }
        }
        if !missing.is_empty() {
            for run in self.listed(&missing).await? {
                inputs.extend(input(&run).map(|input| (run.run_id, input)));
            }
        }
        let titled = known.into_iter().map(|one| {
            let input = one.first.as_ref().and_then(|first| inputs.get(first));
            let title = one
                .name
                .as_ref()
                .or(input.filter(|input| !input.trim().is_empty()))
                .unwrap_or(&one.id);
            let info = SessionInfo {
                title: title.chars().take(MAX_TITLE).collect(),
                runs: one.runs,
            };
            (one.id, info)
        });
        Ok(titled.collect())
    }

    async fn known(&self, ids: &[&str]) -> Result<Vec<Known>> {
        let named = match self.standing.has_sessions() {
            true => format!(
                "LEFT JOIN LATERAL (SELECT \
                   CASE WHEN jsonb_typeof(t.data->'session_name') = 'string' \
                     THEN left(t.data->>'session_name', {NAME}) END AS name, \
                   CASE WHEN jsonb_typeof(t.data) = 'string' AND octet_length(t.data #>> '{{}}') <= {TEXT} \
                     THEN t.data #>> '{{}}' END AS text \
                   FROM (SELECT s.session_data::jsonb AS data FROM {} AS s \
                     WHERE s.session_id = i.id LIMIT 1) AS t OFFSET 0) AS n ON true",
                self.named.sessions
            ),
            false => "CROSS JOIN (SELECT NULL::text AS name, NULL::text AS text) AS n".into(),
        };
        let sql = format!(
            "SELECT i.id, n.name, n.text, f.run_id::text, c.runs \
             FROM unnest($1::text[]) AS i(id) {named} \
             LEFT JOIN LATERAL (SELECT r.run_id FROM {runs} AS r WHERE r.session_id = i.id \
               ORDER BY r.run_index, r.created_at, r.run_id COLLATE \"C\" LIMIT 1) AS f ON true \
             CROSS JOIN LATERAL (SELECT count(*) AS runs FROM {runs} AS r \
               WHERE r.session_id = i.id OFFSET 0) AS c",
            runs = self.named.runs
        );
        let values = [(&ids as _, Type::TEXT_ARRAY)];
        let known = self.transaction.rows(&sql, &values).await?;
        let known = known.iter().map(|row| {
            let name: Option<String> = column(row, 1)?;
            let within = column::<Option<&str>>(row, 2)?.and_then(|text| {
                let data = Json::parse(text).ok()?;
                data.get("session_name")?.as_str().map(str::to_owned)
            });
            Ok(Known {
                id: column(row, 0)?,
                name: name.or(within).filter(|name| !name.trim().is_empty()),
                first: column(row, 3)?,
                runs: u64::try_from(column::<i64>(row, 4)?).unwrap_or(0),
            })
        });
        known.collect()
    }
}
