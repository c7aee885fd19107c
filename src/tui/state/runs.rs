//! The list of runs: what was read, and the rows it makes. Rows are made when something changes, not
//! on each frame; folds, filters and the place of the cursor are kept by name across that.

use std::collections::{HashMap, HashSet};

use super::Failure;
use crate::runs::{AgentSummary, Cursor, RunFilter, RunRow, SessionInfo};
use crate::text::visible;
use crate::tui::fit;

/// Agno's statuses.
const KNOWN: [&str; 7] = [
    "COMPLETED",
    "ERROR",
    "RUNNING",
    "PENDING",
    "PAUSED",
    "CANCELLED",
    "REGENERATED",
];

/// What a row stands for, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// An agent; `None` for teams and workflows.
    Agent(Option<String>),
    /// A session of an agent.
    Session(Option<String>, String),
    /// A run.
    Run(String),
    /// The end of what is loaded.
    More,
}

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An agent: its id, and whether it is folded.
    Agent(Option<String>, bool),
    /// A session: agent, id, and whether it is folded.
    Session(Option<String>, String, bool),
    /// A run: index in [`RunsPane::runs`].
    Run(usize),
    /// More can be read.
    More,
    /// A line below a run, which the cursor passes over.
    Note(String),
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How deep in the tree.
    pub depth: usize,
    /// What it shows.
    pub item: Item,
}

/// A refusal to be shown below its run.
#[derive(Clone, Copy, Debug)]
pub struct Inline<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The message.
    pub message: &'a str,
}

/// The pane.
#[derive(Debug, Default)]
pub struct RunsPane {
    /// What was read, newest first.
    pub runs: Vec<RunRow>,
    /// The sessions they belong to.
    pub sessions: HashMap<String, SessionInfo>,
    /// Every agent with its counts; `None` until they are there.
    pub agents: Option<Vec<AgentSummary>>,
    /// Where reading goes on.
    pub next: Option<Cursor>,
    /// Whether a first page has come.
    pub loaded: bool,
    /// Why the list cannot be read.
    pub failure: Option<Failure>,
    /// What to know about how it was read.
    pub notices: Vec<String>,
    /// Only runs that hold this text.
    pub text: String,
    /// Only runs of this status.
    pub status: Option<String>,
    /// Newest first, without agents and sessions above them.
    pub flat: bool,
    /// What is folded.
    pub folded: HashSet<Node>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The row under the cursor.
    pub cursor: usize,
    /// The first row on the screen.
    pub top: usize,
    /// Whether the rows are to be made anew.
    pub stale: bool,
    /// Whether the next list begins at its top: another filter made it.
    pub anew: bool,
    /// Whether the cursor was put on a first run.
    settled: bool,
    /// What the cursor was on before the runs changed under the rows.
    kept: Option<Node>,
    /// The width and the refusal that the rows were made for.
    made_for: (usize, Option<(String, String)>),
}

impl RunsPane {
    /// Makes the list these runs.
    pub fn replace(&mut self, runs: Vec<RunRow>) {
        self.kept = self.node(self.cursor);
        self.stale = true;
        if std::mem::take(&mut self.anew) {
            self.settled = false;
            self.rows.clear();
            self.kept = None;
        }
        self.runs = runs;
    }

    /// The filter, for the database.
    #[must_use]
    pub fn filter(&self) -> RunFilter {
        RunFilter {
            statuses: self.status.iter().cloned().collect(),
            text: (!self.text.is_empty()).then(|| self.text.clone()),
            ..RunFilter::default()
        }
    }

    /// Whether some runs are left out on request.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        self.status.is_some() || !self.text.is_empty()
    }

    /// All runs there are, once the agents are counted and unless the list is filtered by text.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        if !self.text.is_empty() {
            return None;
        }
        let count = |agent: &AgentSummary| match &self.status {
            Some(status) => agent.runs.get(status).copied().unwrap_or(0),
            None => agent.runs.values().sum(),
        };
        self.agents
            .as_ref()
            .map(|agents| agents.iter().map(count).sum())
    }

    /// Every status there is, in order.
    #[must_use]
    pub fn statuses(&self) -> Vec<String> {
        let mut found: Vec<String> = match &self.agents {
            Some(agents) => agents
                .iter()
                .flat_map(|agent| agent.runs.keys().cloned())
                .collect(),
            None => self.runs.iter().map(RunRow::effective_status).collect(),
        };
        found.retain(|status| !status.is_empty());
        // Agno's own come first, in the order in which they are mostly wanted.
        let rank = |status: &String| KNOWN.iter().position(|known| known == status);
        found.sort_by(|a, b| {
            let order = |status| rank(status).unwrap_or(KNOWN.len());
            order(a).cmp(&order(b)).then_with(|| a.cmp(b))
        });
        found.dedup();
        found
    }

    /// The loaded run with this id.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<&RunRow> {
        self.runs.iter().find(|run| run.run_id == run_id)
    }

    /// The name of the row at `index`; a note has none.
    #[must_use]
    pub fn node(&self, index: usize) -> Option<Node> {
        Some(match &self.rows.get(index)?.item {
            Item::Agent(agent, _) => Node::Agent(agent.clone()),
            Item::Session(agent, session, _) => Node::Session(agent.clone(), session.clone()),
            Item::Run(run) => Node::Run(self.runs.get(*run)?.run_id.clone()),
            Item::More => Node::More,
            Item::Note(_) => return None,
        })
    }

    /// The run under the cursor.
    #[must_use]
    pub fn selected(&self) -> Option<&RunRow> {
        match self.rows.get(self.cursor)?.item {
            Item::Run(run) => self.runs.get(run),
            _ => None,
        }
    }

    /// Puts runs where they belong, newest first, unless they are there already.
    pub fn merge(&mut self, runs: Vec<RunRow>) {
        self.kept = self.node(self.cursor);
        self.stale = true;
        let mut known: HashSet<String> = self.runs.iter().map(|run| run.run_id.clone()).collect();
        for run in runs {
            if known.insert(run.run_id.clone()) {
                let made = run.created_at;
                let at = self.runs.partition_point(|other| other.created_at >= made);
                self.runs.insert(at, run);
            }
        }
    }

    /// Adds runs at the end, unless they are there already.
    pub fn append(&mut self, runs: Vec<RunRow>) {
        self.kept = self.node(self.cursor);
        self.stale = true;
        let mut known: HashSet<String> = self.runs.iter().map(|run| run.run_id.clone()).collect();
        self.runs.extend(
            runs.into_iter()
                .filter(|run| known.insert(run.run_id.clone())),
        );
    }

    /// Makes the rows anew where something changed: the runs, the folds, the width, the refusal.
    pub fn refresh(&mut self, width: usize, inline: Option<Inline<'_>>) {
        let key = inline.map(|inline| (inline.run_id.to_owned(), inline.message.to_owned()));
        let made_for = (width, key);
        if self.stale || made_for != self.made_for {
            self.rebuild(width, inline);
            self.stale = false;
            self.made_for = made_for;
        }
    }

    /// Makes the rows anew for a pane of `width` columns, with `inline` below its run, and keeps the
    /// cursor on what it was on.
    fn rebuild(&mut self, width: usize, inline: Option<Inline<'_>>) {
        let before = self.kept.take().or_else(|| self.node(self.cursor));
        // Before its first page the list may show agents already.
        let first = !self.settled;
        self.settled = !self.runs.is_empty();
        self.rows.clear();
        if self.flat {
            self.rows.extend((0..self.runs.len()).map(|run| Row {
                depth: 0,
                item: Item::Run(run),
            }));
        } else {
            self.grow();
        }
        if self.next.is_some() {
            self.rows.push(Row {
                depth: 0,
                item: Item::More,
            });
        }
        if let Some(inline) = inline {
            self.place(inline, width);
        }
        self.cursor = match before.filter(|node| !first || matches!(node, Node::Run(_))) {
            Some(node) => self.place_of(&node),
            None => None,
        }
        .unwrap_or_else(|| {
            let first_run = self
                .rows
                .iter()
                .position(|row| matches!(row.item, Item::Run(_)));
            let kept = self.cursor.min(self.rows.len().saturating_sub(1));
            if first {
                first_run.unwrap_or(kept)
            } else {
                kept
            }
        });
        self.off_notes(false);
    }

    /// The tree: agents as their newest runs come, sessions likewise, runs newest first.
    fn grow(&mut self) {
        type Sessions<'a> = Vec<(&'a str, Vec<usize>)>;
        let mut agents: Vec<(Option<&str>, Sessions<'_>)> = Vec::new();
        let mut agent_at: HashMap<Option<&str>, usize> = HashMap::new();
        let mut session_at: HashMap<(Option<&str>, &str), usize> = HashMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            let agent = run.agent_id.as_deref();
            let at = *agent_at.entry(agent).or_insert_with(|| {
                agents.push((agent, Vec::new()));
                agents.len() - 1
            });
            let sessions = &mut agents[at].1;
            let session = run.session_id.as_str();
            let at = *session_at.entry((agent, session)).or_insert_with(|| {
                sessions.push((session, Vec::new()));
                sessions.len() - 1
            });
            sessions[at].1.push(index);
        }
        if !self.is_filtered() {
            for agent in self.agents.iter().flatten() {
                let agent = agent.agent_id.as_deref();
                if !agent_at.contains_key(&agent) {
                    agents.push((agent, Vec::new()));
                }
            }
        }
        let mut rows = Vec::new();
        for (agent, sessions) in agents {
            let agent = agent.map(str::to_owned);
            // An agent of which nothing is read yet stands folded: unfolding it reads.
            let folded = sessions.is_empty() || self.folded.contains(&Node::Agent(agent.clone()));
            rows.push(Row {
                depth: 0,
                item: Item::Agent(agent.clone(), folded),
            });
            for (session, runs) in sessions.into_iter().filter(|_| !folded) {
                let node = Node::Session(agent.clone(), session.to_owned());
                let folded = self.folded.contains(&node);
                rows.push(Row {
                    depth: 1,
                    item: Item::Session(agent.clone(), session.to_owned(), folded),
                });
                rows.extend(runs.into_iter().filter(|_| !folded).map(|run| Row {
                    depth: 2,
                    item: Item::Run(run),
                }));
            }
        }
        self.rows = rows;
    }

    /// Puts a refusal below its run; above everything when its run is not in the list.
    fn place(&mut self, inline: Inline<'_>, width: usize) {
        let node = Node::Run(inline.run_id.to_owned());
        let (at, depth) = match self.place_of(&node) {
            Some(run) => (run + 1, self.rows[run].depth),
            None => (0, 0),
        };
        let room = width.saturating_sub(depth * 2 + 4).max(8);
        let id = visible(inline.run_id);
        let lines = fit::wrap_around(&visible(inline.message), room, &id);
        let lines = fit::at_most(lines, room, 6);
        let notes = lines.into_iter().enumerate().map(|(index, line)| Row {
            depth,
            item: Item::Note(format!("  {} {line}", if index == 0 { "└" } else { " " })),
        });
        self.rows.splice(at..at, notes);
    }

    /// Where the row of `node` stands.
    #[must_use]
    pub fn place_of(&self, node: &Node) -> Option<usize> {
        (0..self.rows.len()).find(|index| match (&self.rows[*index].item, node) {
            (Item::Agent(agent, _), Node::Agent(wanted)) => agent == wanted,
            (Item::Session(agent, session, _), Node::Session(of, wanted)) => {
                agent == of && session == wanted
            }
            (Item::Run(run), Node::Run(wanted)) => {
                self.runs.get(*run).is_some_and(|run| run.run_id == *wanted)
            }
            (Item::More, Node::More) => true,
            _ => false,
        })
    }

    /// Unfolds what hides a run and puts the cursor on it when the rows are made.
    pub fn reveal(&mut self, run_id: &str) {
        if let Some(run) = self.run(run_id) {
            let agent = run.agent_id.clone();
            let session = Node::Session(agent.clone(), run.session_id.clone());
            self.folded.remove(&session);
            self.folded.remove(&Node::Agent(agent));
            self.kept = Some(Node::Run(run_id.to_owned()));
            self.stale = true;
        }
    }

    /// Moves the cursor off a note, backwards or forwards.
    pub fn off_notes(&mut self, backwards: bool) {
        let is_note = |index: usize| matches!(self.rows[index].item, Item::Note(_));
        if self.rows.is_empty() || !is_note(self.cursor) {
            return;
        }
        let before = (0..self.cursor).rev().find(|index| !is_note(*index));
        let after = (self.cursor..self.rows.len()).find(|index| !is_note(*index));
        let (first, second) = if backwards {
            (before, after)
        } else {
            (after, before)
        };
        self.cursor = first.or(second).unwrap_or(0);
    }

    /// The last row that belongs to the cursor's: its notes stay in view with it.
    #[must_use]
    pub fn cursor_end(&self) -> usize {
        let notes = self.rows.iter().skip(self.cursor + 1);
        self.cursor
            + notes
                .take_while(|row| matches!(row.item, Item::Note(_)))
                .count()
    }
}
