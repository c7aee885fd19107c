//! Opening the interface: on the configured database, at a place in it, or on the demo.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use super::args::{Demo, OpenArgs, ViewArg};
use super::context::Context;
use super::target;
use crate::config::Settings;
use crate::config::file::ConfigFile;
use crate::demo;
use crate::error::{Error, ErrorKind, Result};
use crate::private::PrivateFolder;
use crate::review::BaseChoice;
use crate::text::visible_path;
use crate::tui;
use crate::tui::state::{Destination, View};
use crate::tui::theme::Choice;

/// `afterrun` without a command.
pub(super) async fn configured(context: &Context) -> Result<()> {
    let config = context.config()?;
    context.settings().open_database()?;
    need_terminal("`afterrun runs` lists the runs")?;
    let start = Start {
        config,
        ..Start::default()
    };
    open(context, context.settings(), start).await
}

/// `afterrun open`: the interface at a run, a file, a line.
pub(super) async fn at(context: &Context, args: OpenArgs) -> Result<()> {
    let config = context.config()?;
    context.settings().open_database()?;
    need_terminal(
        "`afterrun show RUN`, `afterrun diff RUN PATH` and `afterrun cat RUN PATH` print",
    )?;
    let runs = context.settings().open()?;
    let run = target::run_id(&runs, &args.run).await?;
    let base = match args.base.base.parse().unwrap_or_default() {
        BaseChoice::Run(word) => BaseChoice::Run(target::run_id(&runs, &word).await?),
        base => base,
    };
    let start = Start {
        config,
        profile: None,
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
    let config = match args.no_tui {
        true => ConfigFile::default(),
        false => context.config()?,
    };
    if !args.no_tui {
        need_terminal("`afterrun demo --no-tui` builds the world and says where it is")?;
    }
    let own = match &args.dir {
        Some(_) => None,
        None => Some(PrivateFolder::new()?),
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
        ..Settings::default()
    };
    let start = Start {
        config,
        profile: Some("demo"),
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
    config: ConfigFile,
    profile: Option<&'static str>,
    run: Option<String>,
    place: Option<Destination>,
    base: BaseChoice,
}

async fn open(context: &Context, settings: &Settings, start: Start) -> Result<()> {
    let runs = settings.open()?;
    let notices = runs.store_notice().into_iter().collect();
    let mut look = context.look();
    let configured = start.config.theme_as(&Choice::ALL.map(|(name, _)| name))?;
    look.theme = look.theme.or(configured);
    tui::run(tui::Options {
        runs,
        database: settings.database_label(),
        store: settings.store_label(),
        tables: settings.tables.clone(),
        profile: start.profile.map(str::to_owned),
        opening_as: context.agent().map(str::to_owned),
        open: start.run,
        place: start.place,
        base: start.base,
        notices,
        mouse: start.config.mouse.unwrap_or(true),
        keymap: start.config.keymap,
        editor: start.config.editor,
        refresh: Some(tui::state::EVERY),
        look,
    })
    .await
}
