//! Agents with their sessions and runs counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::value::column;
use super::{PostgresRuns, Read};
use crate::error::Result;
use crate::runs::model::{AgentSummary, RunRow};

/// Agents whose names a filter by text knows.
const NAMED: usize = 1_000;
/// Runs of one agent that are looked at for its name, newest first.
const READABLE: usize = 5;
/// Rows whose status is looked for one by one.
const APART: usize = 10_000;
/// How long names are taken to stay what they are: every letter of a filter asks for them.
const FRESH: Duration = Duration::from_secs(60);

/// Agent ids with their names, and when they were read.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<Option<(Instant, HashMap<String, String>)>>);

impl Names {
    fn keep(&self, names: &HashMap<String, String>) {
        let kept = Some((Instant::now(), names.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    fn fresh(&self) -> Option<HashMap<String, String>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, names) = kept.as_ref()?;
        (read.elapsed() < FRESH).then(|| names.clone())
    }
}

impl PostgresRuns {
    /// The agents whose names hold `text`, whatever the case.
    pub(super) async fn agents_called(&self, text: &str) -> Result<Vec<String>> {
        let names = match self.names.fresh() {
            Some(names) => names,
            None => {
                let read = self.begin().await?;
                let agents = read.agent_ids().await?;
                let newest = agents.into_iter().map(|id| (id, i64::MAX)).collect();
                let names = read.agent_names(newest).await?;
                read.end().await?;
                self.names.keep(&names);
                names
            }
        };
        let lower = text.to_lowercase();
        let called = names
            .into_iter()
            .filter(|(_, name)| name.to_lowercase().contains(&lower));
        Ok(called.map(|(id, _)| id).collect())
    }

    pub(super) async fn count_agents(&self) -> Result<Vec<AgentSummary>> {
        let read = self.begin().await?;
        let mut agents = read.counts().await?;
        let newest = agents.values().filter_map(|agent| {
            let id = agent.agent_id.clone()?;
            Some((id, agent.last_run_at.unwrap_or(i64::MAX)))
        });
        let names = read.agent_names(newest.collect()).await?;
        read.end().await?;
        self.names.keep(&names);
        for agent in agents.values_mut() {
            agent.name = agent
                .agent_id
                .as_ref()
                .and_then(|id| names.get(id))
                .cloned();
        }
        let mut agents: Vec<AgentSummary> = agents.into_values().collect();
        agents.sort_by_key(|agent| {
            (
                agent.agent_id.is_none(),
                std::cmp::Reverse(agent.last_run_at),
            )
        });
        Ok(agents)
    }
}

impl Read {
    /// The runs of each agent, counted in one pass over the columns; `run_data` is asked only where
    /// the status column says nothing.
    async fn counts(&self) -> Result<BTreeMap<Option<String>, AgentSummary>> {
        let sql = format!(
            "WITH g AS MATERIALIZED (SELECT r.agent_id, r.session_id, NULLIF(r.status, '') AS status, \
               CASE WHEN NULLIF(r.status, '') IS NULL THEN CASE \
                 WHEN jsonb_typeof(r.run_data::jsonb) <> 'object' \
                   OR jsonb_typeof(r.run_data::jsonb->'status') <> 'string' THEN '' \
                 ELSE left(r.run_data::jsonb->>'status', 1000) END END AS said, \
               count(*) AS n, max(r.created_at) AS last FROM {} AS r GROUP BY 1, 2, 3, 4) \
             SELECT g.agent_id::text, g.status::text, g.said, sum(g.n)::bigint, max(g.last)::bigint, \
               NULL::bigint FROM g GROUP BY 1, 2, 3 \
             UNION ALL SELECT g.agent_id::text, NULL, NULL, 0, NULL, \
               count(DISTINCT g.session_id) FROM g GROUP BY 1",
            self.named.runs
        );
        let mut agents: BTreeMap<Option<String>, AgentSummary> = BTreeMap::new();
        let mut apart = false;
        for row in self.transaction.rows(&sql, &[]).await? {
            let agent = summary(&mut agents, column(&row, 0)?);
            if let Some(sessions) = column::<Option<i64>>(&row, 5)? {
                agent.sessions = u64::try_from(sessions).unwrap_or(0);
                continue;
            }
            agent.last_run_at = agent.last_run_at.max(column(&row, 4)?);
            let count = u64::try_from(column::<i64>(&row, 3)?).unwrap_or(0);
            let status: Option<String> = column(&row, 1)?;
            let said: Option<String> = column(&row, 2)?;
            match status.or(said).filter(|status| !status.is_empty()) {
                Some(status) => add(agent, &status.to_uppercase(), count),
                None => {
                    apart = true;
                    add(agent, "", count);
                }
            }
        }
        if apart {
            self.look_closer(&mut agents).await?;
        }
        for agent in agents.values_mut() {
            if let Some(count) = agent.runs.remove("") {
                add(agent, "unknown", count);
            }
        }
        Ok(agents)
    }

    /// Finds the statuses that only a row's odd data can tell: of a text that holds JSON, or no text.
    async fn look_closer(&self, agents: &mut BTreeMap<Option<String>, AgentSummary>) -> Result<()> {
        let sql = format!(
            "SELECT r.run_id::text FROM {} AS r WHERE (r.status IS NULL OR r.status = '') \
             AND (jsonb_typeof(r.run_data::jsonb) = 'string' \
               OR jsonb_typeof(r.run_data::jsonb->'status') NOT IN ('string', 'null')) LIMIT {APART}",
            self.named.runs
        );
        let ids = self.ids(&sql, &[]).await?;
        for ids in ids.chunks(100) {
            for run in self.listed(ids).await? {
                let status = RunRow::effective_status(&run);
                let agent = summary(agents, run.agent_id);
                if let (false, Some(count)) = (status.is_empty(), agent.runs.get_mut("")) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        agent.runs.remove("");
                    }
                    add(agent, &status, 1);
                }
            }
        }
        Ok(())
    }

    /// Every agent's id, by steps through the column's index.
    async fn agent_ids(&self) -> Result<Vec<String>> {
        let sql = format!(
            "WITH RECURSIVE s AS ((SELECT r.agent_id FROM {runs} AS r WHERE r.agent_id IS NOT NULL \
               ORDER BY r.agent_id LIMIT 1) \
             UNION ALL SELECT (SELECT r.agent_id FROM {runs} AS r WHERE r.agent_id > s.agent_id \
               ORDER BY r.agent_id LIMIT 1) FROM s WHERE s.agent_id IS NOT NULL) \
             SELECT s.agent_id::text FROM s WHERE s.agent_id IS NOT NULL LIMIT {NAMED}",
            runs = self.named.runs
        );
        self.ids(&sql, &[]).await
    }

    /// The names that the newest readable runs of these agents recorded; each with the time of its
    /// newest run, or a later one.
    async fn agent_names(&self, agents: Vec<(String, i64)>) -> Result<HashMap<String, String>> {
        let sql = format!(
            "SELECT n.run_id::text FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS a(id, last, n) \
             CROSS JOIN LATERAL (SELECT r.run_id, r.created_at FROM {} AS r \
               WHERE r.agent_id = a.id AND r.created_at <= a.last \
               ORDER BY r.created_at DESC, r.run_id COLLATE \"C\" DESC LIMIT {READABLE}) AS n \
             ORDER BY a.n, n.created_at DESC, n.run_id COLLATE \"C\" DESC",
            self.named.runs
        );
        let (ids, last): (Vec<String>, Vec<i64>) = agents.into_iter().unzip();
        let values = [
            (&ids as _, Type::TEXT_ARRAY),
            (&last as _, Type::INT8_ARRAY),
        ];
        let newest = self.ids(&sql, &values).await?;
        let mut names = HashMap::new();
        for ids in newest.chunks(100) {
            for run in self.listed(ids).await? {
                if let (Some(id), Some(name)) = (&run.agent_id, run.agent_name()) {
                    names.entry(id.clone()).or_insert_with(|| name.to_owned());
                }
            }
        }
        Ok(names)
    }
}

fn summary(
    agents: &mut BTreeMap<Option<String>, AgentSummary>,
    agent_id: Option<String>,
) -> &mut AgentSummary {
    agents
        .entry(agent_id.clone())
        .or_insert_with(|| AgentSummary {
            agent_id,
            name: None,
            sessions: 0,
            runs: BTreeMap::new(),
            last_run_at: None,
        })
}

fn add(agent: &mut AgentSummary, status: &str, count: u64) {
    *agent.runs.entry(status.to_owned()).or_default() += count;
}
