//! What is read: configuration, database, tables, rights, store, and one object.

use std::sync::Arc;

use tokio_postgres::types::Type;

use super::{Checks, Found, told_above};
use crate::checkpoint::{CheckpointRef, SharedStore};
use crate::cli::context::Context;
use crate::cli::sign_in::{Needs, sign_in};
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::postgres::{Ping, Server};
use crate::runs::{Opening, RunFilter, Runs, RunsDatabase, Tables, gate};
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
    checks.look("database", reached(settings, &database)).await;
    checks.look("tables", tables(settings, &database)).await;
    checks.look("rights", rights(settings, &database)).await;
    let store = match &database {
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
    checks.look("store", stored(settings, &store)).await;
    checks
        .look("object", object(context, &database, &store))
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

type Database = Result<Arc<dyn RunsDatabase>>;

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
        Err(error) => return Found::skipped(told_above(error)),
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

/// A read of everything that is read is what shows that the rights are enough.
async fn rights(settings: &Settings, database: &Database) -> Result<Found> {
    let database = match database {
        Ok(database) => database,
        Err(error) => return Found::skipped(told_above(error)),
    };
    let page = database.page(&RunFilter::default(), 1, None).await?;
    if let Some(run) = page.runs.first() {
        database.run(&run.run_id).await?;
        database.binding(&run.session_id).await?;
    }
    database.queue_worker_active().await?;
    let mut notes = Vec::new();
    if let Some(server) = settings.database_server()?
        && may_write(&server, &settings.tables).await?
    {
        notes.push("the role may write, too; a role with SELECT alone is enough".into());
    }
    let what = "enough to read runs, sessions, bindings and the queue; nothing is ever written";
    Ok(Found::Well(what.into(), notes))
}

/// Whether the role could change Agno's tables.
async fn may_write(server: &Arc<Server>, tables: &Tables) -> Result<bool> {
    const ASK: &str = "SELECT pg_catalog.has_table_privilege($1, 'INSERT, UPDATE, DELETE')";
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let transaction = server.read().await?;
    let mut may = false;
    for table in [&tables.sessions, &tables.runs] {
        let name = format!("{}.{}", quoted(&tables.schema), quoted(table));
        let row = transaction.row(ASK, &[(&name, Type::TEXT)]).await?;
        may |= row.is_some_and(|row| row.try_get(0).unwrap_or(false));
    }
    transaction.end().await?;
    Ok(may)
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

async fn stored(settings: &Settings, store: &Result<Option<SharedStore>>) -> Result<Found> {
    match store {
        Ok(Some(store)) if settings.store.is_some() => Found::well(store.describe()),
        Ok(Some(store)) => Found::well(format!(
            "{} (Agno's default, since none is named)",
            store.describe()
        )),
        Ok(None) => Found::skipped(
            "not looked at: none is named, and Agno's default is asked of the database",
        ),
        Err(error) => Err(error.copy()),
    }
}

/// Verifies the newest object that a run committed, every byte of it.
async fn object(
    context: &Context,
    database: &Database,
    store: &Result<Option<SharedStore>>,
) -> Result<Found> {
    let (database, store) = match (database, store) {
        (Ok(database), Ok(Some(store))) => (database, store),
        (Err(error), _) | (_, Err(error)) => return Found::skipped(told_above(error)),
        (_, Ok(None)) => return Found::skipped("not looked at: there is no store"),
    };
    let Some((run, reference)) = newest(database.as_ref()).await? else {
        return Found::skipped("no run of the newest committed a checkpoint");
    };
    let watch = context.watch();
    store.verify(&reference, &watch).await?;
    Found::well(format!(
        "{} of run {}, sha256 {}…: size and digest are right",
        human_bytes(reference.size()),
        visible(&run),
        &reference.sha256()[..12]
    ))
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
