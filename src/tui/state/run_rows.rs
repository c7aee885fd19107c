//! The rows that the list of runs makes. They are made when something changes, not on each frame;
//! folds, filters and the place of the cursor are kept by name across that.

use std::collections::HashMap;

use super::runs::RunsPane;
use super::wishes::Searched;
use crate::text::visible;
use crate::tui::fit;

/// Digits of a turn's number that have room in a row.
const TURN_DIGITS: usize = 6;

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
    /// A run: its index for [`RunsPane::at`].
    Run(usize),
    /// More can be read.
    More,
    /// This is all, after reading on.
    End,
    /// A line below a run.
    Note(String),
}

impl Item {
    /// Whether the cursor passes over it.
    #[must_use]
    pub fn is_passed_over(&self) -> bool {
        matches!(self, Self::Note(_) | Self::End)
    }
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

impl RunsPane {
    /// The name of the row at `index`; a note has none.
    #[must_use]
    pub fn node(&self, index: usize) -> Option<Node> {
        Some(match &self.rows.get(index)?.item {
            Item::Agent(agent, _) => Node::Agent(agent.clone()),
            Item::Session(agent, session, _) => Node::Session(agent.clone(), session.clone()),
            Item::Run(run) => Node::Run(self.at(*run)?.run_id.clone()),
            Item::More => Node::More,
            Item::End | Item::Note(_) => return None,
        })
    }

    /// Makes the rows anew where something changed: the runs, the folds, the width, the refusal.
    pub fn refresh(&mut self, width: usize, inline: Option<Inline<'_>>) {
        let (for_width, for_refusal) = &self.made_for;
        let for_refusal = for_refusal.as_ref();
        let key = inline.map(|inline| (inline.run_id, inline.message));
        let same = *for_width == width
            && for_refusal.map(|(run_id, message)| (run_id.as_str(), message.as_str())) == key;
        if self.stale || !same {
            self.rebuild(width, inline);
            self.stale = false;
            let key = key.map(|(run_id, message)| (run_id.to_owned(), message.to_owned()));
            self.made_for = (width, key);
        }
    }

    /// Makes the rows anew for a pane of `width` columns, with `inline` below its run, and keeps the
    /// cursor on what it was on.
    fn rebuild(&mut self, width: usize, inline: Option<Inline<'_>>) {
        let before = self.kept.take().or_else(|| self.node(self.cursor));
        // Before its first page the list may show agents already.
        let first = !self.settled;
        self.settled = !self.runs.is_empty();
        let to_first = first || std::mem::take(&mut self.first_else);
        let shown = self.sift();
        self.shown = shown.len();
        let loaded = self.runs.len();
        self.shown_beyond = shown.iter().filter(|index| **index >= loaded).count();
        self.turn_digits = self.widest_turn(&shown);
        self.rows = if self.flat {
            let run = |run| Row {
                depth: 0,
                item: Item::Run(run),
            };
            shown.into_iter().map(run).collect()
        } else {
            self.grow(&shown)
        };
        self.rows.extend(self.end());
        if let Some(inline) = inline {
            self.place(inline, width);
        }
        let wanted = before
            .clone()
            .filter(|node| !first || matches!(node, Node::Run(_)));
        self.cursor = wanted
            .and_then(|node| self.place_of(&node))
            .unwrap_or_else(|| {
                let is_run = |row: &Row| matches!(row.item, Item::Run(_));
                let kept = self.cursor.min(self.rows.len().saturating_sub(1));
                match self.rows.iter().position(is_run) {
                    Some(run) if to_first => run,
                    _ => kept,
                }
            });
        self.off_notes(false);
        if self.has_text() {
            let now = self.node(self.cursor);
            if now != before {
                self.search.put_on = now;
            }
        }
    }

    fn widest_turn(&self, shown: &[usize]) -> usize {
        let turns = shown.iter().filter_map(|index| self.at(*index)?.turn());
        let widest = turns.max().unwrap_or(0);
        widest.to_string().len().clamp(2, TURN_DIGITS)
    }

    /// The row at the end, where there is anything to say.
    fn end(&self) -> Option<Row> {
        let goes_on = match self.has_text() {
            true => matches!(self.search.state, Searched::More(_) | Searched::Failed(_)),
            false => self.next.is_some(),
        };
        let item = match goes_on {
            true => Item::More,
            false if self.paged && !self.has_text() => Item::End,
            false => return None,
        };
        Some(Row { depth: 0, item })
    }

    /// The tree: agents as their first runs come, sessions likewise.
    fn grow(&mut self, shown: &[usize]) -> Vec<Row> {
        type Sessions<'a> = Vec<(&'a str, Vec<usize>)>;
        let mut agents: Vec<(Option<&str>, Sessions<'_>)> = Vec::new();
        let mut agent_at: HashMap<Option<&str>, usize> = HashMap::new();
        let mut session_at: HashMap<(Option<&str>, &str), usize> = HashMap::new();
        // Runs that follow each other mostly share both.
        let mut last: Option<(Option<&str>, &str, usize, usize)> = None;
        for index in shown {
            let Some(run) = self.at(*index) else { continue };
            let agent = run.agent_id.as_deref();
            if let Some((same, also, agent_at, session_at)) = last
                && same == agent
                && also == run.session_id
            {
                agents[agent_at].1[session_at].1.push(*index);
                continue;
            }
            let of = *agent_at.entry(agent).or_insert_with(|| {
                agents.push((agent, Vec::new()));
                agents.len() - 1
            });
            let sessions = &mut agents[of].1;
            let session = run.session_id.as_str();
            let at = *session_at.entry((agent, session)).or_insert_with(|| {
                sessions.push((session, Vec::new()));
                sessions.len() - 1
            });
            sessions[at].1.push(*index);
            last = Some((agent, session, of, at));
        }
        if !self.is_filtered() {
            for agent in self.agents.iter().flatten() {
                let agent = agent.agent_id.as_deref();
                if !agent_at.contains_key(&agent) {
                    agents.push((agent, Vec::new()));
                }
            }
        }
        let folds = if self.has_text() {
            &self.search.folded
        } else {
            &self.folded
        };
        let mut rows = Vec::new();
        for (agent, sessions) in agents {
            let agent = agent.map(str::to_owned);
            // An agent of which nothing is read yet stands folded: unfolding it reads.
            let is_folded = |node: &dyn Fn() -> Node| !folds.is_empty() && folds.contains(&node());
            let folded = sessions.is_empty() || is_folded(&|| Node::Agent(agent.clone()));
            rows.push(Row {
                depth: 0,
                item: Item::Agent(agent.clone(), folded),
            });
            for (session, runs) in sessions.into_iter().filter(|_| !folded) {
                let node = || Node::Session(agent.clone(), session.to_owned());
                let folded = is_folded(&node);
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
        rows
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
                self.at(*run).is_some_and(|run| run.run_id == *wanted)
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
            let agent = Node::Agent(agent);
            for folds in [&mut self.folded, &mut self.search.folded] {
                folds.remove(&session);
                folds.remove(&agent);
            }
            self.kept = Some(Node::Run(run_id.to_owned()));
            self.stale = true;
        }
    }

    /// Moves the cursor off a note, backwards or forwards.
    pub fn off_notes(&mut self, backwards: bool) {
        let is_note = |index: usize| self.rows[index].item.is_passed_over();
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
        self.cursor + notes.take_while(|row| row.item.is_passed_over()).count()
    }
}
