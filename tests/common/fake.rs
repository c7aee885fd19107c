//! A database and a store in memory, with the demo world in them, that fail and hold back when a
//! test says so.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore, Lease, StoredObject};
use afterrun::progress::Watch;
use afterrun::runs::{
    AgentSummary, Binding, Cursor, RunFilter, RunOrder, RunPage, RunRow, Runs, RunsDatabase,
    SqliteRuns, Tables,
};
use afterrun::{Error, ErrorKind, Result};

use super::world;

/// Rows in memory.
#[derive(Debug)]
pub struct FakeDatabase {
    rows: Mutex<RunPage>,
    agents: Vec<AgentSummary>,
    failing: AtomicBool,
    /// Moved on by each change.
    version: AtomicU64,
    bindings: Mutex<HashMap<String, Binding>>,
    /// Reads of rows and pages so far.
    pub reads: AtomicU32,
}

impl FakeDatabase {
    /// Everything in the demo world's.
    pub async fn of_the_demo() -> Self {
        let real = SqliteRuns::open(&world().database, Tables::default()).expect("a database");
        let rows = real.page(&RunFilter::default(), 1_000, None).await;
        Self {
            rows: Mutex::new(rows.expect("rows")),
            agents: real.agents().await.expect("agents"),
            failing: AtomicBool::new(false),
            version: AtomicU64::new(1),
            bindings: Mutex::default(),
            reads: AtomicU32::new(0),
        }
    }

    /// From now on every read fails, or does not any more.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Changes the rows.
    pub fn change(&self, change: impl FnOnce(&mut Vec<RunRow>)) {
        change(&mut self.rows.lock().expect("whole").runs);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Binds a session.
    pub fn bind(&self, session: &str, binding: Binding) {
        let mut bindings = self.bindings.lock().expect("whole");
        bindings.insert(session.to_owned(), binding);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    fn answer<T>(&self, answer: impl FnOnce(&RunPage) -> T) -> Result<T> {
        if self.failing.load(Ordering::SeqCst) {
            let error = Error::new(ErrorKind::Database, "The database does not answer");
            return Err(error.hint("look whether it runs"));
        }
        Ok(answer(&self.rows.lock().expect("whole")))
    }
}

#[async_trait::async_trait]
impl RunsDatabase for FakeDatabase {
    async fn agents(&self) -> Result<Vec<AgentSummary>> {
        self.answer(|all| counted(&all.runs, &self.agents))
    }

    async fn page(
        &self,
        filter: &RunFilter,
        _limit: u32,
        _after: Option<Cursor>,
    ) -> Result<RunPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.answer(|all| {
            let mut page = all.clone();
            if filter.order == RunOrder::OldestFirst {
                page.runs.reverse();
            }
            let statuses = &filter.statuses;
            let agent = filter.agent.as_ref();
            let text = filter.text.as_deref().unwrap_or("").to_lowercase();
            page.runs.retain(|run| {
                let title = all.sessions.get(&run.session_id);
                let title = title.map_or("", |session| session.title.as_str());
                (statuses.is_empty() || statuses.contains(&run.effective_status()))
                    && (agent.is_none() || run.agent_id.as_ref() == agent)
                    && filter
                        .since
                        .is_none_or(|since| run.created_at >= Some(since))
                    && [run.run_id.as_str(), title]
                        .iter()
                        .any(|part| part.to_lowercase().contains(&text))
            });
            page
        })
    }

    async fn run(&self, run_id: &str) -> Result<Option<RunRow>> {
        self.answer(|all| all.runs.iter().find(|run| run.run_id == run_id).cloned())
    }

    async fn session(&self, session_id: &str) -> Result<Vec<RunRow>> {
        self.answer(|all| {
            let of = |run: &&RunRow| run.session_id == session_id;
            let mut runs: Vec<_> = all.runs.iter().filter(of).cloned().collect();
            runs.sort_by_key(|run| run.run_index);
            runs
        })
    }

    async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>> {
        self.answer(|all| {
            let ids = all.runs.iter().map(|run| run.run_id.clone());
            ids.filter(|id| id.starts_with(prefix))
                .take(limit as usize)
                .collect()
        })
    }

    async fn rows(&self, run_ids: &[String]) -> Result<RunPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.answer(|all| {
            let mut page = RunPage {
                sessions: all.sessions.clone(),
                ..RunPage::default()
            };
            let wanted = all.runs.iter().filter(|run| run_ids.contains(&run.run_id));
            page.runs = wanted.cloned().collect();
            page
        })
    }

    async fn version(&self) -> Result<Option<u64>> {
        self.answer(|_| Some(self.version.load(Ordering::SeqCst)))
    }

    async fn binding(&self, session_id: &str) -> Result<Option<Binding>> {
        let bindings = self.bindings.lock().expect("whole");
        self.answer(|_| bindings.get(session_id).cloned())
    }

    async fn checkpoints_table(&self) -> Result<Option<String>> {
        self.answer(|_| None)
    }

    async fn queue_worker_active(&self) -> Result<bool> {
        self.answer(|_| false)
    }

    fn describe(&self) -> String {
        "rows in memory".into()
    }
}

/// Agents as the rows are by now, called as they were.
fn counted(runs: &[RunRow], named: &[AgentSummary]) -> Vec<AgentSummary> {
    let mut agents: Vec<AgentSummary> = Vec::new();
    let mut sessions: HashSet<(Option<&str>, &str)> = HashSet::new();
    for run in runs {
        let is = |agent: &AgentSummary| agent.agent_id == run.agent_id;
        let at = agents.iter().position(is).unwrap_or_else(|| {
            agents.push(AgentSummary {
                agent_id: run.agent_id.clone(),
                name: named
                    .iter()
                    .find(|one| is(one))
                    .and_then(|one| one.name.clone()),
                sessions: 0,
                runs: BTreeMap::new(),
                last_run_at: None,
            });
            agents.len() - 1
        });
        let agent = &mut agents[at];
        *agent.runs.entry(run.effective_status()).or_default() += 1;
        agent.sessions += u64::from(sessions.insert((run.agent_id.as_deref(), &run.session_id)));
        agent.last_run_at = agent.last_run_at.max(run.created_at);
    }
    agents
}

/// Objects in memory.
#[derive(Debug, Default)]
pub struct FakeStore {
    objects: Mutex<HashMap<String, Arc<Vec<u8>>>>,
    /// Whether readers wait in the middle of an object.
    held: Arc<(Mutex<bool>, Condvar)>,
    /// Objects fetched so far.
    pub fetched: AtomicU32,
}

impl FakeStore {
    /// Everything in the demo world's.
    pub fn of_the_demo() -> Self {
        let store = Self::default();
        let mut objects = store.objects.lock().expect("whole");
        for entry in std::fs::read_dir(&world().store).expect("listed") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_file() {
                let name = entry.file_name().into_string().expect("UTF-8");
                objects.insert(name, Arc::new(std::fs::read(entry.path()).expect("read")));
            }
        }
        drop(objects);
        store
    }

    /// From now on readers stop in the middle of an object, or go on.
    pub fn hold(&self, hold: bool) {
        *self.held.0.lock().expect("whole") = hold;
        self.held.1.notify_all();
    }

    /// Retention takes everything.
    pub fn empty(&self) {
        self.objects.lock().expect("whole").clear();
    }
}

/// Half of an object at once, the rest when it is let go.
struct HeldBack {
    bytes: Arc<Vec<u8>>,
    at: usize,
    held: Arc<(Mutex<bool>, Condvar)>,
}

impl Read for HeldBack {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let half = self.bytes.len() / 2;
        if self.at >= half {
            let (held, changed) = &*self.held;
            let held = held.lock().expect("whole");
            drop(changed.wait_while(held, |held| *held).expect("whole"));
        }
        let end = if self.at < half {
            half
        } else {
            self.bytes.len()
        };
        let count = (&self.bytes[self.at..end]).read(into)?;
        self.at += count;
        Ok(count)
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::ObjectMissing, "Checkpoint object is missing")
}

fn only_read<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "Only read here"))
}

#[async_trait::async_trait]
impl CheckpointStore for FakeStore {
    async fn put(&self, _source: &Path) -> Result<CheckpointRef> {
        only_read()
    }

    async fn verify(&self, _reference: &CheckpointRef, _watch: &Watch) -> Result<()> {
        only_read()
    }

    async fn open_archive(&self, _reference: &CheckpointRef, _watch: &Watch) -> Result<Lease> {
        only_read()
    }

    async fn fetch(&self, reference: &CheckpointRef, _watch: &Watch) -> Result<StoredObject> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        let objects = self.objects.lock().expect("whole");
        let bytes = objects.get(reference.sha256()).cloned();
        Ok(StoredObject {
            reference: reference.clone(),
            bytes: Box::new(HeldBack {
                bytes: bytes.ok_or_else(missing)?,
                at: 0,
                held: Arc::clone(&self.held),
            }),
        })
    }

    async fn contains(&self, reference: &CheckpointRef) -> Result<bool> {
        let objects = self.objects.lock().expect("whole");
        Ok(objects.contains_key(reference.sha256()))
    }

    async fn delete(&self, _reference: &CheckpointRef) -> Result<()> {
        only_read()
    }

    fn describe(&self) -> String {
        "objects in memory".into()
    }
}

/// Both, and the runs that they make.
pub struct Fake {
    pub database: Arc<FakeDatabase>,
    pub store: Arc<FakeStore>,
}

impl Fake {
    pub async fn of_the_demo() -> Self {
        Self {
            database: Arc::new(FakeDatabase::of_the_demo().await),
            store: Arc::new(FakeStore::of_the_demo()),
        }
    }

    pub fn runs(&self) -> Runs {
        let store: Arc<dyn CheckpointStore> = self.store.clone();
        Runs::new(self.database.clone(), Some(store), None)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.store.hold(false);
    }
}
