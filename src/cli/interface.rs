//! Opening the interface: on the configured database, at a place in it, or on the demo.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use super::args::{Demo, OpenArgs, ViewArg};
use super::context::Context;
use super::target;
use crate::config::Settings;
use crate::config::key::Key;
use crate::demo;
use crate::error::{Error, ErrorKind, Result};
use crate::private::PrivateFolder;
use crate::progress::Watch;
use crate::review::BaseChoice;
use crate::text::visible_path;
use crate::tui;
use crate::tui::state::{Destination, View};

/// `afterrun` without a command.
pub(super) async fn configured(context: &Context) -> Result<()> {
    context.settings().open_database()?.check().await?;
    need_terminal("`afterrun runs` lists the runs")?;
    let start = Start {
        profile: profile(context),
        ..Start::default()
    };
    open(context, context.settings(), start).await
}

/// The profile's name, for the title.
fn profile(context: &Context) -> Option<String> {
    let profile = context.in_force().profile.as_ref();
    profile.map(|(name, _)| name.clone())
}

/// `afterrun open`: the interface at a run, a file, a line.
pub(super) async fn at(context: &Context, args: OpenArgs) -> Result<()> {
    context.settings().open_database()?.check().await?;
    need_terminal(
        "`afterrun show RUN`, `afterrun diff RUN PATH` and `afterrun cat RUN PATH` print",
    )?;
    let runs = context.settings().open()?;
    // Nothing is made before the interface is: a signal may end it as it ends any program.
    let watch = Watch::default();
    let run = target::run_id(&runs, &args.run, &watch).await?;
    let base = match args.base.base.parse().unwrap_or_default() {
        BaseChoice::Run(word) => BaseChoice::Run(target::run_id(&runs, &word, &watch).await?),
        base => base,
    };
    let start = Start {
        profile: profile(context),
        run: Some(run),
        place: Some(Destination {
            path: args.path.map(OsStringExt::into_vec),
            line: args.line,
            view: args.view.map(|view| match view {
                ViewArg::Diff => View::Diff,
                ViewArg::File => View::File,
                ViewArg::Info => View::Info,
            }),
        }),
        base,
    };
    open(context, context.settings(), start).await
}

/// `afterrun demo`.
pub(super) async fn demo(context: &Context, args: Demo) -> Result<()> {
    if !args.no_tui {
        need_terminal("`afterrun demo --no-tui` builds the world and says where it is")?;
    }
    let own = match &args.dir {
        Some(_) => None,
        None => Some(PrivateFolder::new(&context.settings().scratch()?)?),
    };
    let dir = match (&args.dir, &own) {
        (Some(dir), _) => dir.clone(),
        (None, Some(own)) => own.path().join("demo"),
        (None, None) => return Ok(()),
    };
    let world = crate::checkpoint::blocking(move || demo::build(&dir)).await?;
    if args.no_tui {
        // Whoever asked for the world alone wants to keep it.
        if let Some(own) = own {
            own.keep();
        }
        let output = context.output();
        if output.json {
            return output.document(&json!({
                "database": world.database.to_string_lossy(),
                "store": world.store.to_string_lossy(),
                "run_id": world.story,
            }));
        }
        return output.line(&format!(
            "afterrun --db {} --store {}",
            visible_path(&world.database),
            visible_path(&world.store)
        ));
    }
    let settings = Settings {
        database: Some(world.database.to_string_lossy().into_owned()),
        store: Some(world.store.to_string_lossy().into_owned()),
        spool: context.settings().spool.clone(),
        spool_size: context.settings().spool_size,
        private: context.settings().private.clone(),
        ..Settings::default()
    };
    let start = Start {
        profile: Some("demo".into()),
        run: Some(world.story),
        ..Start::default()
    };
    open(context, &settings, start).await
}

fn need_terminal(instead: &str) -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Usage,
        "The interface needs a terminal on stdin and stdout",
    )
    .hint(instead))
}

/// Where the interface begins.
#[derive(Default)]
struct Start {
    profile: Option<String>,
    run: Option<String>,
    place: Option<Destination>,
    base: BaseChoice,
}

async fn open(context: &Context, settings: &Settings, start: Start) -> Result<()> {
    let runs = settings.open()?;
    let notices = runs.store_notice().await.into_iter().collect();
    let in_force = context.in_force();
    tui::run(tui::Options {
        runs,
        database: settings.database_label(),
        store: settings.store_label(),
        tables: settings.tables.clone(),
        profile: start.profile,
        opening_as: context.agent().map(str::to_owned),
        open: start.run,
        place: start.place,
        base: start.base,
        notices,
        mouse: in_force.values.truth(Key::Mouse),
        keymap: in_force.keymap.clone(),
        editor: in_force.values.words(Key::Editor).map(<[String]>::to_vec),
        refresh: Some(in_force.values.time(Key::Refresh)),
        look: context.look(),
    })
    .await
}
