//! Opening the interface: on the configured database, or on the demo.

use std::io::IsTerminal;

use serde_json::json;

use super::args::Demo;
use super::context::Context;
use crate::config::Settings;
use crate::demo;
use crate::error::{Error, ErrorKind, Result};
use crate::private::PrivateFolder;
use crate::text::visible_path;
use crate::tui;

/// `afterrun` without a command.
pub(super) async fn configured(context: &Context) -> Result<()> {
    context.settings().open_database()?;
    need_terminal("`afterrun runs` lists the runs")?;
    open(context, context.settings(), None, None).await
}

/// `afterrun demo`.
pub(super) async fn demo(context: &Context, args: Demo) -> Result<()> {
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
    open(context, &settings, Some("demo"), Some(world.story)).await
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

async fn open(
    context: &Context,
    settings: &Settings,
    profile: Option<&str>,
    run: Option<String>,
) -> Result<()> {
    let runs = settings.open()?;
    let notices = runs.store_notice().into_iter().collect();
    tui::run(tui::Options {
        runs,
        database: settings.database_label(),
        store: settings.store_label(),
        profile: profile.map(str::to_owned),
        opening_as: context.agent().map(str::to_owned),
        open: run,
        notices,
        mouse: true,
        look: context.look(),
    })
    .await
}
