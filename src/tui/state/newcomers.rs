//! What a look at the database changes in the list: runs that are other than they were, that are
//! gone, that came in; and the agents' counts, which follow.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::runs::RunsPane;
use super::wishes::Order;
use crate::runs::{AgentSummary, RunPage, RunRow, SessionInfo};

/// A run that is other than it was.
#[derive(Clone, Debug)]
pub struct Change {
    /// As it was.
    pub before: RunRow,
    /// As it is.
    pub now: RunRow,
}

impl RunsPane {
    /// Takes in what sessions are now; whether one is other than it was.
    pub fn renew_sessions(&mut self, page: &mut RunPage) -> bool {
        let mut changed = false;
        for (session, info) in page.sessions.drain() {
            let retention = page.retention.remove(&session);
            changed |= retention.as_ref() != self.retention.get(&session);
            match retention {
                Some(retention) => self.retention.insert(session.clone(), retention),
                None => self.retention.remove(&session),
            };
            if self.sessions.get(&session) != Some(&info) {
                changed = true;
                self.sessions.insert(session, info);
            }
        }
        // A title may be what the filter looks for.
        self.stale |= changed && self.has_text();
        changed
    }

    /// Takes in what listed runs are now, `asked` being all that were asked for: what changed, and
    /// what is gone. Rows are made anew only where something did.
    pub fn renew(&mut self, rows: Vec<RunRow>, asked: &[String]) -> (Vec<Change>, Vec<RunRow>) {
        let mut now: HashMap<String, RunRow> = rows
            .into_iter()
            .map(|run| (run.run_id.clone(), run))
            .collect();
        let asked: HashSet<&str> = asked.iter().map(String::as_str).collect();
        let (mut changes, mut gone) = (Vec::new(), HashSet::new());
        for run in self.runs.iter_mut().chain(&mut self.search.found) {
            match now.remove(&run.run_id) {
                Some(new) if new != *run => changes.push(Change {
                    before: std::mem::replace(run, new.clone()),
                    now: new,
                }),
                Some(_) => {}
                None if asked.contains(run.run_id.as_str()) => {
                    gone.insert(run.run_id.clone());
                }
                None => {}
            }
        }
        if changes.is_empty() && gone.is_empty() {
            return (changes, Vec::new());
        }
        self.hold_place();
        let mut out = Vec::new();
        if !gone.is_empty() {
            for list in [&mut self.runs, &mut self.search.found] {
                out.extend(list.extract_if(.., |run| gone.contains(&run.run_id)));
            }
            self.search.ids.retain(|id| !gone.contains(id));
            self.marks.retain(|mark| !gone.contains(&mark.run_id));
        }
        (changes, out)
    }

    /// The ids of `candidates` that are listed.
    #[must_use]
    pub fn listed(&self, candidates: &[RunRow]) -> HashSet<String> {
        let wanted: HashSet<&str> = candidates.iter().map(|run| run.run_id.as_str()).collect();
        let all = self.runs.iter().chain(&self.search.found);
        all.filter(|run| wanted.contains(run.run_id.as_str()))
            .map(|run| run.run_id.clone())
            .collect()
    }

    /// Whether the filter of the database would list it.
    #[must_use]
    pub fn lets_through(&self, run: &RunRow) -> bool {
        let status = self.status.as_ref();
        status.is_none_or(|status| run.effective_status() == *status)
            && (self.since.as_ref()).is_none_or(|since| run.created_at >= Some(since.at))
    }

    /// Whether a run made then stands beyond the end of what is loaded.
    #[must_use]
    pub fn is_beyond(&self, made: Option<i64>) -> bool {
        let last = self.runs.last().map(|run| run.created_at);
        self.next.is_some()
            && match self.order {
                // What is as old as the last one may stand on either side of it: reading on tells.
                Order::Oldest => last.is_none_or(|last| made >= last),
                Order::Newest | Order::Largest => last.is_none_or(|last| made <= last),
            }
    }

    /// Whether each of the newest runs of the database is listed.
    #[must_use]
    pub fn lists_the_newest(&self) -> bool {
        let oldest = self.order == Order::Oldest;
        self.status.is_none() && self.since.is_none() && !(oldest && self.next.is_some())
    }

    /// Puts runs that came in, none of them listed, where they belong.
    pub fn came_in(&mut self, runs: Vec<RunRow>) {
        if !runs.is_empty() {
            self.hold_place();
            self.put_in(runs, true);
        }
    }

    /// Has the next rows stand where they stood on the screen.
    fn hold_place(&mut self) {
        self.keep_place();
        self.holds = true;
    }

    /// Counts a run that came in: its session is new where that is all it holds.
    pub fn count_new(&mut self, run: &RunRow, sessions: &HashMap<String, SessionInfo>) {
        let Some(agents) = &mut self.agents else {
            return;
        };
        let at = agents.iter().position(|one| one.agent_id == run.agent_id);
        let at = at.unwrap_or_else(|| {
            agents.push(AgentSummary {
                agent_id: run.agent_id.clone(),
                name: run.agent_name().map(str::to_owned),
                sessions: 0,
                runs: BTreeMap::new(),
                last_run_at: None,
            });
            agents.len() - 1
        });
        let agent = &mut agents[at];
        *agent.runs.entry(counted_status(run)).or_default() += 1;
        agent.last_run_at = agent.last_run_at.max(run.created_at);
        let first = sessions.get(&run.session_id);
        agent.sessions += u64::from(first.is_some_and(|session| session.runs == 1));
    }

    /// What of `rows` is counted otherwise than as it is listed.
    #[must_use]
    pub fn differing(&self, rows: &[RunRow]) -> Vec<Change> {
        let now: HashMap<&str, &RunRow> =
            rows.iter().map(|run| (run.run_id.as_str(), run)).collect();
        let all = self.runs.iter().chain(&self.search.found);
        all.filter_map(|before| {
            let now = now.get(before.run_id.as_str())?;
            (!counts_alike(before, now)).then(|| Change {
                before: before.clone(),
                now: (*now).clone(),
            })
        })
        .collect()
    }

    /// Counts a run anew that is other than it was, or that is gone. An agent without runs is none.
    pub fn count_change(&mut self, before: &RunRow, now: Option<&RunRow>) {
        let Some(agents) = &mut self.agents else {
            return;
        };
        let mut of = |run: &RunRow, change: fn(u64) -> u64| {
            if let Some(agent) = agents.iter_mut().find(|one| one.agent_id == run.agent_id) {
                let count = agent.runs.entry(counted_status(run)).or_default();
                *count = change(*count);
                agent.runs.retain(|_, count| *count > 0);
            }
        };
        if let Some(now) = now {
            of(now, |count| count + 1);
        }
        of(before, |count| count.saturating_sub(1));
        agents.retain(|agent| !agent.runs.is_empty());
    }
}

/// Whether two readings of a run are counted in the same place.
#[must_use]
pub fn counts_alike(before: &RunRow, now: &RunRow) -> bool {
    now.agent_id == before.agent_id && counted_status(now) == counted_status(before)
}

fn counted_status(run: &RunRow) -> String {
    match run.effective_status() {
        status if status.is_empty() => "unknown".into(),
        status => status,
    }
}
