//! What is read: configuration, database, tables, rights, store, and one object.

use std::sync::Arc;

use super::rights::rights;
use super::{Checks, Found, told_above};
use crate::checkpoint::{CheckpointRef, SharedStore, may_be_missing};
use crate::cli::context::Context;
use crate::cli::sign_in::{Needs, sign_in};
use crate::config::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::Ping;
use crate::progress::Watch;
use crate::runs::{Opening, RunFilter, Runs, RunsDatabase, gate};
use crate::text::{grouped, human_bytes, visible, visible_path};

/// How many runs are looked through for one that committed a checkpoint.
const LOOKED_THROUGH: u32 = 200;

pub(super) async fn look(context: &Context, checks: &mut Checks) {
    let settings = context.settings();
    checks.look("configuration", configuration(context)).await;
    let database = match sign_in(context, Needs::Both).await {
        Ok(()) => settings.open_database(),
        Err(error) => Err(error),
    };
    // The file that cannot be read may name what the options do not.
    let unread = context.file().is_err();
    let unknown = unread && settings.database.is_none();
    checks
        .look("database", async {
            match unknown {
                true => Found::skipped(told_above("the configuration")),
                false => reached(settings, &database).await,
            }
        })
        .await;
    let database = checks.failure().map_or(database, Err);
    checks.look("tables", tables(settings, &database)).await;
    checks.look("rights", rights(settings, &database)).await;
    let unnamed = unread && settings.store.is_none();
    let store = match &database {
        _ if unnamed => Ok(Open::Nothing),
        Ok(database) => runs(settings, Arc::clone(database)),
        // The store that is named does not need the database, Agno's default does.
        Err(_) => settings
            .store
            .as_ref()
            .map(|_| settings.open_store())
            .transpose()
            .map(Open::of),
    };
    let store = match store {
        Ok(open) => open.store().await,
        Err(error) => Err(error),
    };
    let watch = context.watch();
    checks
        .look("store", async {
            match unnamed {
                true => Found::skipped(told_above("the configuration")),
                false => stored(settings, &store, &watch).await,
            }
        })
        .await;
    let store = checks.failure().map_or(store, Err);
    checks
        .look("object", object(settings, &database, &store, &watch))
        .await;
}

async fn configuration(context: &Context) -> Result<Found> {
    let file = context.file()?;
    let in_force = context.in_force();
    let mut what = match (&file.path, context.file_place()) {
        (Some(path), _) => visible_path(path),
        (None, Some(path)) => format!("none: {} is not there", visible_path(path)),
        (None, None) => "none".into(),
    };
    if let Some((name, _)) = &in_force.profile {
        what.push_str(&format!(", profile {}", visible(name)));
    }
    Ok(Found::Well(what, in_force.warnings.clone()))
}

pub(super) type Database = Result<Arc<dyn RunsDatabase>>;

async fn reached(settings: &Settings, database: &Database) -> Result<Found> {
    let database = database.as_ref().map_err(Error::copy)?;
    match settings.database_server()? {
        Some(server) => answered(server.describe(), &server.ping().await?),
        None => {
            database.page(&RunFilter::default(), 1, None).await?;
            Found::well(database.describe())
        }
    }
}

fn answered(name: &str, ping: &Ping) -> Result<Found> {
    let mut notes = Vec::new();
    if ping.encryption.is_none() {
        notes.push("the connection is not encrypted".into());
    }
    if ping.standby {
        notes.push("it is a standby, which is enough to read".into());
    }
    Ok(Found::Well(
        format!(
            "{name}: PostgreSQL {} as {}, {}, {:.1} ms for a question",
            visible(&ping.version),
            visible(&ping.user),
            ping.encryption.unwrap_or("no encryption"),
            ping.round_trip.as_secs_f64() * 1000.0
        ),
        notes,
    ))
}

async fn tables(settings: &Settings, database: &Database) -> Result<Found> {
    let database = match database {
        Ok(database) => database,
        Err(_) => return Found::skipped(told_above("the database")),
    };
    let agents = database.agents().await?;
    let runs: u64 = agents.iter().flat_map(|agent| agent.runs.values()).sum();
    let named = agents.iter().filter(|agent| agent.agent_id.is_some());
    let tables = &settings.tables;
    let mut notes = Vec::new();
    if database.checkpoints_table().await?.is_some() {
        notes.push("the database holds checkpoints, too: --store postgres reads them".into());
    }
    Ok(Found::Well(
        format!(
            "{} and {}: {} agents, {} runs",
            visible(&tables.sessions),
            visible(&tables.runs),
            named.count(),
            grouped(runs)
        ),
        notes,
    ))
}

/// The store that is to be opened, if one can be.
enum Open {
    Of(Runs),
    Named(SharedStore),
    Nothing,
}

impl Open {
    fn of(store: Option<SharedStore>) -> Self {
        store.map_or(Self::Nothing, Self::Named)
    }

    async fn store(self) -> Result<Option<SharedStore>> {
        match self {
            Self::Of(runs) => runs.checkpoint_store().await.map(Some),
            Self::Named(store) => Ok(Some(store)),
            Self::Nothing => Ok(None),
        }
    }
}

fn runs(settings: &Settings, database: Arc<dyn RunsDatabase>) -> Result<Open> {
    let store = settings.store.as_ref().map(|_| settings.open_store());
    let runs = Runs::new(database, store.transpose()?, settings.home.clone());
    Ok(Open::Of(runs.with_durable_queue(settings.durable_queue)))
}

async fn stored(
    settings: &Settings,
    store: &Result<Option<SharedStore>>,
    watch: &Watch,
) -> Result<Found> {
    let store = match store {
        Ok(Some(store)) => store,
        Ok(None) => {
            return Found::skipped(
                "not looked at: none is named, and Agno's default is asked of the database",
            );
        }
        Err(error) => return Err(error.copy()),
    };
    // Whether it answers at all: there is no object of this name.
    let nothing = CheckpointRef::new("0".repeat(64), 1)?;
    let mut what = store.describe();
    if settings.store.is_none() {
        what.push_str(" (Agno's default, since none is named)");
    }
    let mut notes = Vec::new();
    if let Err(error) = watch.unless_cancelled(store.contains(&nothing)).await {
        if !may_be_missing(&error) {
            return Err(error);
        }
        notes.push(
            "it is reached, and does not let these credentials list: what is missing answers 403"
                .into(),
        );
    }
    Ok(Found::Well(what, notes))
}

/// Reads the newest object that a run committed, every byte of it.
async fn object(
    settings: &Settings,
    database: &Database,
    store: &Result<Option<SharedStore>>,
    watch: &Watch,
) -> Result<Found> {
    let (database, store) = match (database, store) {
        (Ok(database), Ok(Some(store))) => (database, store),
        (Err(_), _) => return Found::skipped(told_above("the database")),
        (_, Err(_)) => return Found::skipped(told_above("the store")),
        (_, Ok(None)) => return Found::skipped("not looked at: there is no store"),
    };
    let newest = watch.unless_cancelled(newest(database.as_ref())).await?;
    let Some((run, reference)) = newest else {
        return Found::skipped("no run of the newest committed a checkpoint");
    };
    match store.open_archive(&reference, watch).await {
        Ok(lease) => drop(lease),
        Err(error) if error.kind() == ErrorKind::ObjectMissing => {
            return Err(error.hint(elsewhere(settings, database).await));
        }
        Err(error) => return Err(error),
    }
    Found::well(format!(
        "{} of run {}, sha256 {}…: size and digest are right",
        human_bytes(reference.size()),
        visible(&run),
        &reference.sha256()[..12]
    ))
}

/// Where an object may be that retention does not delete, since no run is newer.
async fn elsewhere(settings: &Settings, database: &Arc<dyn RunsDatabase>) -> String {
    let beside_the_runs = settings.store.as_deref() == Some("postgres");
    match database.checkpoints_table().await {
        Ok(Some(table)) if !beside_the_runs => format!(
            "another store may hold it: look at --store and its prefix; the database has a table of \
             checkpoints, {}, which --store postgres reads",
            visible(&table)
        ),
        _ => "another store may hold it: look at --store and its prefix".into(),
    }
}

/// The newest run that passes the gate, and what it committed.
async fn newest(database: &dyn RunsDatabase) -> Result<Option<(String, CheckpointRef)>> {
    let page = database
        .page(&RunFilter::default(), LOOKED_THROUGH, None)
        .await?;
    Ok(page.runs.iter().find_map(|run| {
        let reference = gate(&run.run_id, Some(run), &Opening::Own).ok()?;
        Some((run.run_id.clone(), reference))
    }))
}
