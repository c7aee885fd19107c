//! Agents with their sessions and runs counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;
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
    /// The runs of each agent, counted by three statements that each group few values: in one, the
    /// sessions make so many groups that the database sorts every row on disk.
    async fn counts(&self) -> Result<BTreeMap<Option<String>, AgentSummary>> {
        // Bare columns: of these the database knows how few values there are.
        let sql = format!(
            "SELECT r.agent_id::text, r.status::text, count(*), max(r.created_at)::bigint \
             FROM {} AS r GROUP BY r.agent_id, r.status",
            self.named.runs
        );
        let mut agents: BTreeMap<Option<String>, AgentSummary> = BTreeMap::new();
        let mut unsaid = false;
        for row in self.transaction.rows(&sql, &[]).await? {
            let agent = summary(&mut agents, column(&row, 0)?);
            agent.last_run_at = agent.last_run_at.max(column(&row, 3)?);
            let status: Option<String> = column(&row, 1)?;
            match status.filter(|status| !status.is_empty()) {
                Some(status) => add(agent, &status.to_uppercase(), count(&row, 2)?),
                None => unsaid = true,
            }
        }
        if unsaid {
            self.count_unsaid(&mut agents).await?;
        }
        self.count_sessions(&mut agents).await?;
        Ok(agents)
    }

    /// Counts the runs whose status column says nothing, which `run_data` is asked for: of these
    /// alone, by the column's index.
    async fn count_unsaid(
        &self,
        agents: &mut BTreeMap<Option<String>, AgentSummary>,
    ) -> Result<()> {
        let sql = format!(
            "SELECT r.agent_id::text, CASE WHEN jsonb_typeof(r.run_data::jsonb) <> 'object' \
                 OR jsonb_typeof(r.run_data::jsonb->'status') <> 'string' THEN '' \
               ELSE left(r.run_data::jsonb->>'status', 1000) END, count(*) \
             FROM {} AS r WHERE r.status IS NULL OR r.status = '' GROUP BY 1, 2",
            self.named.runs
        );
        let mut apart = false;
        for row in self.transaction.rows(&sql, &[]).await? {
            let agent = summary(agents, column(&row, 0)?);
            let said: Option<String> = column(&row, 1)?;
            let said = said.unwrap_or_default().to_uppercase();
            apart |= said.is_empty();
            add(agent, &said, count(&row, 2)?);
        }
        if apart {
            self.look_closer(agents).await?;
        }
        for agent in agents.values_mut() {
            if let Some(count) = agent.runs.remove("") {
                add(agent, "unknown", count);
            }
        }
        Ok(())
    }

    /// Counts the sessions of each agent.
    async fn count_sessions(
        &self,
        agents: &mut BTreeMap<Option<String>, AgentSummary>,
    ) -> Result<()> {
        // By hash: `count(DISTINCT …)` sorts.
        let sql = format!(
            "SELECT s.agent_id::text, count(*) FROM (SELECT r.agent_id, r.session_id FROM {} AS r \
               GROUP BY r.agent_id, r.session_id) AS s GROUP BY s.agent_id",
            self.named.runs
        );
        for row in self.transaction.rows(&sql, &[]).await? {
            // One that came in between the two statements is counted the next time.
            if let Some(agent) = agents.get_mut(&column::<Option<String>>(&row, 0)?) {
                agent.sessions = count(&row, 1)?;
            }
        }
        Ok(())
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

fn count(row: &Row, at: usize) -> Result<u64> {
    Ok(u64::try_from(column::<i64>(row, at)?).unwrap_or(0))
}

fn add(agent: &mut AgentSummary, status: &str, count: u64) {
    *agent.runs.entry(status.to_owned()).or_default() += count;
}
