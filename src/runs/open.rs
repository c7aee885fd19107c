//! From a run's id to its verified archive: row, gate, store, archive, in that order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::database::{CHECKPOINTS, RunsDatabase};
use super::gate::{Opening, gate, no_run};
use super::model::{Previous, RunRow};
use crate::archive::Archive;
use crate::checkpoint::{
    CheckpointLimits, CheckpointRef, DEFAULT_CHECKPOINTS, FileCheckpointStore, Lease, SharedStore,
    block_on,
};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Stage, Watch};
use crate::scratch::Scratch;
use crate::text::{visible, visible_path};

/// A database of runs and the store of their checkpoints (what Agno's agents carry as `db` and
/// `checkpoints=`).
#[derive(Clone, Debug)]
pub struct Runs {
    database: Arc<dyn RunsDatabase>,
    store: Option<SharedStore>,
    home: Option<PathBuf>,
    durable_queue: bool,
    limits: CheckpointLimits,
    scratch: Scratch,
}

/// A run whose checkpoint passed the gate, the store and the archive rules.
#[derive(Clone, Debug)]
pub struct OpenedRun {
    /// Its row.
    pub row: RunRow,
    /// What the row commits to.
    pub reference: CheckpointRef,
    /// The verified archive.
    pub archive: Arc<Archive>,
}

impl Runs {
    /// Runs in `database` with checkpoints in `store`; without one, Agno's default store below
    /// `home` is used, by Agno's rule ([`Runs::checkpoint_store`]).
    #[must_use]
    pub fn new(
        database: Arc<dyn RunsDatabase>,
        store: Option<SharedStore>,
        home: Option<PathBuf>,
    ) -> Self {
        Self {
            database,
            store,
            home,
            durable_queue: false,
            limits: CheckpointLimits::default(),
            scratch: Scratch::default(),
        }
    }

    /// Puts the private files of opened runs into `scratch`, not into the system's folder for
    /// temporary ones.
    #[must_use]
    pub fn with_scratch(mut self, scratch: Scratch) -> Self {
        self.scratch = scratch;
        self
    }

    /// Says that a durable queue serves these agents, which refuses the default store.
    #[must_use]
    pub fn with_durable_queue(mut self, durable_queue: bool) -> Self {
        self.durable_queue = durable_queue;
        self
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<dyn RunsDatabase> {
        &self.database
    }

    /// Whether the store is Agno's default, since none was named.
    #[must_use]
    pub fn uses_default_store(&self) -> bool {
        self.store.is_none()
    }

    /// What the default store's use is worth saying; `None` when a store was named.
    pub async fn store_notice(&self) -> Option<String> {
        if self.store.is_some() {
            return None;
        }
        let root = self.default_root().ok()?;
        let root = visible_path(&root);
        Some(match self.database.checkpoints_table().await {
            Ok(Some(table)) => format!(
                "Sandbox checkpoints default to {root}, but this database has a table of them, {}; {}",
                visible(&table),
                from_table(&table)
            ),
            // What is wrong with a database is for those to say who read of it.
            _ => format!(
                "Sandbox checkpoints default to {root}; name the store with --store before running more than one host"
            ),
        })
    }

    /// What to do instead of using the default store.
    async fn other_store(&self) -> String {
        match self.database.checkpoints_table().await {
            Ok(Some(table)) => from_table(&table),
            _ => "name the store that the sandbox writes to with --store".into(),
        }
    }

    fn default_root(&self) -> Result<PathBuf> {
        let home = self.home.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Store,
                "No checkpoint store is named and there is no home directory",
            )
            .hint("name the store with --store")
        })?;
        Ok(home.join(DEFAULT_CHECKPOINTS))
    }

    /// The store that is read: the one named, else Agno's default directory, which is refused
    /// while a durable queue worker is active, since other replicas cannot read this host's disk, and
    /// where the queue may not be read.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] in Agno's words; what the database and the default directory answer.
    pub async fn checkpoint_store(&self) -> Result<SharedStore> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }
        let root = self.default_root()?;
        if self.durable_queue || self.database.queue_worker_active().await? {
            return Err(Error::new(
                ErrorKind::Store,
                format!(
                    "Sandbox checkpoints default to {}, which other queue replicas cannot read and \
                     which does not survive losing this host; pass checkpoints= to the sandbox",
                    visible_path(&root)
                ),
            )
            .hint(self.other_store().await));
        }
        let store = match FileCheckpointStore::open(&root) {
            Ok(store) => store,
            Err(error) => match self.database.checkpoints_table().await {
                Ok(Some(table)) => return Err(error.hint(from_table(&table))),
                _ => return Err(error),
            },
        };
        tracing::info!(
            "no store is named: Agno's default {} is open",
            visible_path(&root)
        );
        Ok(Arc::new(store))
    }

    /// Blocking [`Runs::checkpoint_store`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_checkpoint_store(&self) -> Result<SharedStore> {
        block_on(self.checkpoint_store())?
    }

    /// The gate's answer for `run_id`, asking neither store nor archive.
    ///
    /// # Errors
    /// The gate's refusals; [`ErrorKind::Database`].
    pub async fn pass_gate(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
    ) -> Result<(RunRow, CheckpointRef)> {
        let row = self.database.run(run_id).await?;
        let reference = gate(run_id, row.as_ref(), opening).inspect_err(told)?;
        match row {
            Some(row) => Ok((row, reference)),
            None => Err(no_run(run_id)),
        }
    }

    /// Blocking [`Runs::pass_gate`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_pass_gate(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
    ) -> Result<(RunRow, CheckpointRef)> {
        block_on(self.pass_gate(run_id, opening))?
    }

    /// Opens the checkpoint that a completed run committed and returns a hold on its verified
    /// stored bytes (Agno's `open_run_checkpoint`).
    ///
    /// # Errors
    /// The default store's refusal, then the gate's, then the store's.
    pub async fn open_run_checkpoint(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        watch: &Watch,
    ) -> Result<Lease> {
        let store = watch.unless_cancelled(self.checkpoint_store()).await?;
        let passing = self.pass_gate(run_id, opening);
        let (_, reference) = watch.unless_cancelled(passing).await?;
        store.open_archive(&reference, watch).await
    }

    /// Blocking [`Runs::open_run_checkpoint`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_open_run_checkpoint(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        watch: &Watch,
    ) -> Result<Lease> {
        block_on(self.open_run_checkpoint(run_id, opening, watch))?
    }

    /// Opens a run all the way: its stored bytes are read once, verified, and validated as an
    /// archive, with every step of the proof chain reported to `watch`.
    ///
    /// # Errors
    /// As [`Runs::open_run_checkpoint`], then [`ErrorKind::InvalidArchive`].
    pub async fn open_run(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        watch: &Watch,
    ) -> Result<OpenedRun> {
        let store = watch.unless_cancelled(self.checkpoint_store()).await?;
        let (row, reference) = self.pass_gate_watched(run_id, opening, watch).await?;
        let archive = self.open_reference(&store, &reference, watch).await?;
        Ok(OpenedRun {
            row,
            reference,
            archive: Arc::new(archive),
        })
    }

    /// [`Runs::pass_gate`], the first half of [`Runs::open_run`]: both steps are reported to `watch`.
    pub(crate) async fn pass_gate_watched(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        watch: &Watch,
    ) -> Result<(RunRow, CheckpointRef)> {
        let begun = Instant::now();
        let row = watch.unless_cancelled(self.database.run(run_id)).await?;
        if row.is_some() {
            watch.passed(Stage::Row, 1);
        }
        let shown = visible(run_id);
        tracing::debug!("run {shown}: its row was read in {:?}", begun.elapsed());
        let reference = gate(run_id, row.as_ref(), opening).inspect_err(told)?;
        watch.passed(Stage::Gate, 1);
        tracing::info!(
            "run {shown}: the gate lets it pass, as {}; the row names {} B, sha256 {}",
            match opening {
                Opening::As(agent) => visible(agent),
                Opening::Own => "its own agent".into(),
            },
            reference.size(),
            reference.sha256()
        );
        let row = row.ok_or_else(|| no_run(run_id))?;
        Ok((row, reference))
    }

    /// Blocking [`Runs::open_run`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_open_run(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        watch: &Watch,
    ) -> Result<OpenedRun> {
        block_on(self.open_run(run_id, opening, watch))?
    }

    /// The second half of [`Runs::open_run`]: what fails here is the store's, the archive's, or ours.
    pub(crate) async fn open_reference(
        &self,
        store: &SharedStore,
        reference: &CheckpointRef,
        watch: &Watch,
    ) -> Result<Archive> {
        let begun = Instant::now();
        let object = store.fetch(reference, watch).await?;
        tracing::debug!(
            "object {}: there in {}, found in {:?}",
            reference.sha256(),
            visible(&store.describe()),
            begun.elapsed()
        );
        Archive::read_in(object, &self.limits, &self.scratch, watch).await
    }

    /// Blocking [`Runs::previous`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_previous(&self, row: &RunRow) -> Result<Previous> {
        block_on(self.previous(row))?
    }

    /// The session's last completed run before `row` whose object is still there.
    ///
    /// # Errors
    /// What database and store answer.
    pub async fn previous(&self, row: &RunRow) -> Result<Previous> {
        let store = self.checkpoint_store().await?;
        let runs = self.database.session(&row.session_id).await?;
        let before: Vec<RunRow> = runs
            .into_iter()
            .take_while(|run| run.run_id != row.run_id)
            .collect();
        if before.is_empty() {
            return Ok(Previous::None("this is the session's first turn".into()));
        }
        let (mut completed, mut gone) = (0, 0);
        for run in before.into_iter().rev() {
            let Ok(reference) = gate(&run.run_id, Some(&run), &Opening::Own) else {
                continue;
            };
            completed += 1;
            if store.contains(&reference).await? {
                return Ok(Previous::Run(Box::new(run)));
            }
            gone += 1;
        }
        Ok(Previous::None(if completed == 0 {
            "no turn before this one completed with a checkpoint".into()
        } else if gone == 1 {
            "the checkpoint of the completed turn before this one is gone: retention deletes it"
                .into()
        } else {
            format!(
                "the checkpoints of the {gone} completed turns before this one are gone: retention deletes them"
            )
        }))
    }
}

/// How the store is named that is the database's own `table`.
fn from_table(table: &str) -> String {
    if table == CHECKPOINTS {
        return "read from it with --store postgres".into();
    }
    format!(
        "read from its table {} with --store 'postgresql://…?table={}'",
        visible(table),
        visible(table)
    )
}

/// Logs the gate's refusal.
fn told(refusal: &Error) {
    tracing::info!("the gate refuses: {}", visible(&refusal.to_string()));
}
