//! Options that stand anywhere, with the variables that say the same, and what of both belongs to the
//! configuration.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, ValueEnum};

use super::args::Arguments;
use crate::config::in_force::Said;
use crate::config::key::Key;
use crate::config::layer::{Layer, Source};
use crate::text::visible_bytes;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal, unless NO_COLOR is set; always with CLICOLOR_FORCE.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options that stand anywhere.
/// Values of the configuration are told apart by where they come from, see [`Arguments::read`].
#[derive(Clone, Args)]
#[command(next_help_heading = "Options everywhere")]
pub(super) struct Global {
    /// The database: a SQLite path, sqlite:///path or postgresql://…
    #[arg(
        long,
        value_name = "URL",
        env = "AFTERRUN_DB",
        hide_env_values = true,
        global = true
    )]
    db: Option<String>,
    /// The checkpoint store: a directory, file:///dir, postgres, postgresql://… or s3://bucket/prefix
    #[arg(
        long,
        value_name = "URL",
        env = "AFTERRUN_STORE",
        hide_env_values = true,
        global = true
    )]
    store: Option<String>,
    /// Open runs as this agent; without it each run is opened as its own agent
    #[arg(
        id = "as",
        long = "as",
        value_name = "AGENT",
        env = "AFTERRUN_AS",
        hide_env_values = true,
        global = true
    )]
    opening_as: Option<String>,
    /// The profile of the configuration; an empty name is none
    #[arg(
        long,
        value_name = "NAME",
        env = "AFTERRUN_PROFILE",
        hide_env_values = true,
        global = true
    )]
    profile: Option<String>,
    /// The schema of Agno's tables in Postgres, ai unless configured otherwise
    #[arg(
        long,
        value_name = "NAME",
        env = "AFTERRUN_SCHEMA",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    schema: Option<String>,
    /// The sessions table, agno_sessions unless configured otherwise
    #[arg(
        long,
        value_name = "NAME",
        env = "AFTERRUN_SESSIONS_TABLE",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    sessions_table: Option<String>,
    /// The runs table, agno_runs unless configured otherwise
    #[arg(
        long,
        value_name = "NAME",
        env = "AFTERRUN_RUNS_TABLE",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    runs_table: Option<String>,
    /// Where private files go, else the system's folder for temporary ones
    #[arg(
        long,
        value_name = "DIR",
        env = "AFTERRUN_SPOOL",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    spool: Option<String>,
    /// The most that may lie there at a time, such as 2GiB; 0 is no limit
    #[arg(
        long,
        value_name = "SIZE",
        env = "AFTERRUN_SPOOL_SIZE",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    spool_size: Option<String>,
    /// The configuration file, else afterrun/config.toml in $XDG_CONFIG_HOME or ~/.config
    #[arg(
        long,
        value_name = "FILE",
        env = "AFTERRUN_CONFIG",
        hide_env_values = true,
        global = true
    )]
    pub config: Option<PathBuf>,
    /// One JSON document on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        global = true
    )]
    pub color: When,
    /// Log more to stderr; repeat for more
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
}

/// How the interface looks.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of the interface")]
pub(super) struct LookArgs {
    /// Its colours: auto, dark, light, 16 or none
    #[arg(
        long,
        value_name = "THEME",
        env = "AFTERRUN_THEME",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    theme: Option<String>,
    /// Draw with ASCII alone
    #[arg(
        long,
        env = "AFTERRUN_ASCII",
        hide_env_values = true,
        global = true,
        hide_short_help = true,
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    ascii: bool,
    /// Draw on the terminal's main screen
    #[arg(long, global = true, hide_short_help = true)]
    pub no_alt_screen: bool,
    /// For a screen reader: one pane, no frame, words for signs
    #[arg(
        long,
        env = "AFTERRUN_LINEAR",
        hide_env_values = true,
        global = true,
        hide_short_help = true,
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    linear: bool,
    /// Seconds between two looks at the database while the list is open; 0 is never
    #[arg(
        long,
        value_name = "SECONDS",
        env = "AFTERRUN_REFRESH",
        hide_env_values = true,
        global = true,
        hide_short_help = true
    )]
    refresh: Option<String>,
}

impl Arguments {
    /// What the command line says, and what of it and the environment belongs to the configuration.
    pub(super) fn read() -> Result<(Self, Said), Refusal> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let read = Self::read_from(&words);
        let Err(Refusal::Clap(error)) = &read else {
            return read;
        };
        // clap drops escapes from what it quotes. Written out before, they are quoted as they are.
        let shown = words.iter().map(|word| visible_bytes(word.as_bytes()));
        match Self::read_from(shown) {
            Err(Refusal::Clap(shown)) if shown.kind() == error.kind() => Err(shown.into()),
            _ => read,
        }
    }

    pub(super) fn read_from<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<(Self, Said), Refusal> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        let arguments =
            Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        let said = arguments.said(&matches)?;
        Ok((arguments, said))
    }

    fn said(&self, matches: &ArgMatches) -> crate::Result<Said> {
        let is_empty = |id: &str| {
            let mut raw = matches.get_raw(id).into_iter().flatten();
            raw.all(|value| value.is_empty())
        };
        let source = |id: &str, environment, flag| match matches.value_source(id)? {
            ValueSource::CommandLine => Some(Source::Flag(flag)),
            // An empty variable is as one that is not set.
            ValueSource::EnvVariable if is_empty(id) => None,
            ValueSource::EnvVariable => Some(Source::Environment(environment)),
            _ => None,
        };
        let (global, look) = (&self.global, &self.look);
        let mut layer = Layer::default();
        let truth = |truth: bool| if truth { "true" } else { "false" };
        for (key, text) in [
            (Key::Db, global.db.as_deref()),
            (Key::Store, global.store.as_deref()),
            (Key::As, global.opening_as.as_deref()),
            (Key::Schema, global.schema.as_deref()),
            (Key::SessionsTable, global.sessions_table.as_deref()),
            (Key::RunsTable, global.runs_table.as_deref()),
            (Key::Spool, global.spool.as_deref()),
            (Key::SpoolSize, global.spool_size.as_deref()),
            (Key::Refresh, look.refresh.as_deref()),
            (Key::Theme, look.theme.as_deref()),
            (Key::Ascii, Some(truth(look.ascii))),
            (Key::Linear, Some(truth(look.linear))),
        ] {
            let entry = key.entry();
            let names = entry.environment.zip(entry.flag);
            let source = names.and_then(|(name, flag)| source(entry.name, name, flag));
            if let (Some(text), Some(source)) = (text, source) {
                layer.say(key, text, source)?;
            }
        }
        let profile = global.profile.clone();
        let profile = profile.zip(source("profile", "AFTERRUN_PROFILE", "--profile"));
        Ok(Said { layer, profile })
    }
}

/// Why there is nothing to run: what clap answers, help among it, or what a value means.
pub(super) enum Refusal {
    Clap(clap::Error),
    Value(crate::Error),
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

impl From<crate::Error> for Refusal {
    fn from(error: crate::Error) -> Self {
        Self::Value(error)
    }
}
