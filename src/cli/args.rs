//! What can be said on the command line; `-h` is short, `--help` has examples.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::checkpoint::CheckpointLimits;
use crate::tui::look::Look;
use crate::tui::theme::Choice;

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

#[derive(Debug, Parser)]
#[command(
    name = "afterrun",
    version,
    about = "Read what a sandboxed coding agent's run left behind after its container is gone",
    after_help = "Without a command, the interface opens on the configured database.",
    after_long_help = "Examples:\n  \
        afterrun demo\n  \
        afterrun --db agno.sqlite --store checkpoints\n  \
        afterrun runs --db agno.sqlite --agent engineer --status error --since 7d\n  \
        afterrun diff RUN --db agno.sqlite --store checkpoints --base pin\n  \
        afterrun restore engineer@latest ./restored --as engineer\n\n\
        RUN is a run's id, a unique prefix of 8 characters or more, sha256:DIGEST, or AGENT@latest.\n\n\
        Exit codes: 0 done, 1 failed, 2 usage, 3 refused by the gate, 4 object missing,\n\
        5 verification or archive validation failed, 6 would overwrite or conflicts, 130 interrupted."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that stand anywhere.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options everywhere")]
pub(super) struct Global {
    /// The database: a SQLite path or sqlite:///path
    #[arg(
        long,
        value_name = "URL",
        env = "AFTERRUN_DB",
        hide_env_values = true,
        global = true
    )]
    pub db: Option<String>,
    /// The checkpoint store: a directory, file:///dir or s3://bucket/prefix?region=…
    #[arg(
        long,
        value_name = "URL",
        env = "AFTERRUN_STORE",
        hide_env_values = true,
        global = true
    )]
    pub store: Option<String>,
    /// Open runs as this agent; without it each run is opened as its own agent
    #[arg(long = "as", value_name = "AGENT", global = true)]
    pub opening_as: Option<String>,
    /// The schema of Agno's tables in Postgres
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ai",
        global = true,
        hide_short_help = true
    )]
    pub schema: String,
    /// The sessions table
    #[arg(
        long,
        value_name = "NAME",
        default_value = "agno_sessions",
        global = true,
        hide_short_help = true
    )]
    pub sessions_table: String,
    /// The runs table
    #[arg(
        long,
        value_name = "NAME",
        default_value = "agno_runs",
        global = true,
        hide_short_help = true
    )]
    pub runs_table: String,
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
    theme: Option<Choice>,
    /// Draw with ASCII alone
    #[arg(long, global = true, hide_short_help = true)]
    ascii: bool,
    /// Draw on the terminal's main screen
    #[arg(long, global = true, hide_short_help = true)]
    no_alt_screen: bool,
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
}

impl LookArgs {
    pub(super) fn look(&self, color: When) -> Look {
        let plain = (color == When::Never).then_some(Choice::None);
        Look {
            theme: self.theme.or(plain),
            ascii: self.ascii,
            main_screen: self.no_alt_screen,
            linear: self.linear,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Build a small world and open it
    #[command(after_long_help = "Examples:\n  afterrun demo\n  afterrun demo --dir world --no-tui")]
    Demo(Demo),
    /// Open the interface at a run, a file, a line
    #[command(
        after_long_help = "Examples:\n  afterrun open RUN\n  afterrun open engineer@latest src/main.rs:12\n  afterrun open RUN workspace/repository/README.md --base head --view diff\n\n\
            PATH is in the restored layout, or below the checkout. What ends in a colon and digits is taken\n\
            for a path where there is one of that name; --line says the line of such a path."
    )]
    Open(OpenArgs),
    /// List agents with their sessions and runs, counted by status
    #[command(after_long_help = "Example:\n  afterrun agents --db agno.sqlite")]
    Agents,
    /// List runs, newest first
    #[command(
        after_long_help = "Examples:\n  afterrun runs --status error --since 7d\n  afterrun runs --search refunds --limit 20 --json"
    )]
    Runs(RunsArgs),
    /// Show one run's row, proof chain and gate answer
    #[command(after_long_help = "Example:\n  afterrun show RUN --as engineer")]
    Show(RunArg),
    /// Check gate, store and archive; nothing is written
    #[command(
        after_long_help = "Examples:\n  afterrun verify RUN1 RUN2 --json\n  afterrun verify --archive checkpoint.tar.gz"
    )]
    Verify(VerifyArgs),
    /// List an archive's entries
    #[command(
        after_long_help = "Examples:\n  afterrun tree RUN\n  afterrun tree RUN workspace/repository --json"
    )]
    Tree(ReadArgs),
    /// Print one file's bytes
    #[command(
        after_long_help = "Examples:\n  afterrun cat RUN workspace/repository/README.md\n  afterrun cat --archive checkpoint.tar.gz native/history.db > history.db"
    )]
    Cat(ReadArgs),
    /// Show how a run's files differ from where they started
    #[command(
        after_long_help = "Examples:\n  afterrun diff RUN\n  afterrun diff RUN --base previous --stat\n  afterrun diff RUN --base head src/"
    )]
    Diff(DiffArgs),
    /// Write a patch that `git apply --binary` accepts
    #[command(after_long_help = "Example:\n  afterrun patch RUN --base pin -o work.patch")]
    Patch(PatchArgs),
    /// Restore a run's files into a new directory
    #[command(
        after_long_help = "Examples:\n  afterrun restore RUN ./restored\n  afterrun restore RUN ./src-only --only workspace/repository/src\n  afterrun restore RUN ./restored --dry-run --json"
    )]
    Restore(RestoreArgs),
    /// Keep a run's verified stored bytes, before retention takes them
    #[command(after_long_help = "Example:\n  afterrun fetch RUN checkpoint.tar.gz")]
    Fetch(FetchArgs),
    /// Capture two directories into the store and print the reference
    #[command(
        after_long_help = "Example:\n  afterrun capture --workspace work --native home --store checkpoints --state '{\"run_id\":\"x\"}'"
    )]
    Capture(CaptureArgs),
    /// Say what is configured, reachable and readable, and what to do if not
    Doctor,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Build it here (new or empty) and keep it; else it is made anew each time
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Build it and print where it is, without opening it
    #[arg(long)]
    pub no_tui: bool,
}

/// What a run is compared with.
#[derive(Clone, Debug, Args)]
pub(super) struct BaseArg {
    /// Compare with: pin, head, previous, empty, or another run
    #[arg(
        long,
        value_name = "BASE",
        default_value = "default",
        hide_default_value = true
    )]
    pub base: String,
}

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The file or folder to stand on, and the line of the file
    #[arg(value_name = "PATH[:LINE]")]
    pub path: Option<OsString>,
    /// The line, for a PATH that itself ends in a colon and digits
    #[arg(long, value_name = "N", requires = "path", value_parser = clap::value_parser!(u32).range(1..))]
    pub line: Option<u32>,
    #[command(flatten)]
    pub base: BaseArg,
    /// What to show: the diff of a changed file, else the file, unless this says otherwise
    #[arg(long, value_name = "VIEW", value_enum)]
    pub view: Option<ViewArg>,
}

/// A view of the content pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ViewArg {
    /// What changed.
    Diff,
    /// The file as the run left it.
    File,
    /// Row, proof chain, commits, notices.
    Info,
}

#[derive(Debug, Args)]
pub(super) struct RunsArgs {
    /// Only this agent's
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Only this session's
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only runs of this status; may be repeated
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<String>,
    /// Only runs made since: 90m, 12h, 7d, 2w, or a date like 2026-06-01
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only runs whose id, agent, session or title holds this
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// List the oldest first; a cursor goes on in the order it came from
    #[arg(long)]
    pub oldest_first: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Go on where a former list ended (its "next")
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct RunArg {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: String,
}

/// A bare archive in place of a run, and its limits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "A bare archive")]
pub(super) struct ArchiveArgs {
    /// A stored archive in place of RUN
    #[arg(long, value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// At most this many bytes, stored or expanded
    #[arg(long, value_name = "N", requires = "archive", hide_short_help = true)]
    max_bytes: Option<u64>,
    /// At most this many entries
    #[arg(long, value_name = "N", requires = "archive", hide_short_help = true)]
    max_entries: Option<u64>,
    /// At most this many bytes of manifest
    #[arg(long, value_name = "N", requires = "archive", hide_short_help = true)]
    max_manifest_bytes: Option<u64>,
}

impl ArchiveArgs {
    /// Limits are for bare archives: a run's are Agno's.
    pub(super) fn refuse_limits_without_archive(&self) -> crate::Result<()> {
        let limited = self
            .max_bytes
            .or(self.max_entries)
            .or(self.max_manifest_bytes);
        if self.archive.is_none() && limited.is_some() {
            return Err(crate::Error::new(
                crate::ErrorKind::Usage,
                "Limits go with --archive FILE, not with a RUN",
            ));
        }
        Ok(())
    }

    pub(super) fn limits(&self) -> crate::Result<CheckpointLimits> {
        let default = CheckpointLimits::default();
        CheckpointLimits {
            max_bytes: self.max_bytes.unwrap_or(default.max_bytes),
            max_entries: self.max_entries.unwrap_or(default.max_entries),
            max_manifest_bytes: self
                .max_manifest_bytes
                .unwrap_or(default.max_manifest_bytes),
        }
        .checked()
    }
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The runs
    #[arg(
        value_name = "RUN",
        required_unless_present = "archive",
        conflicts_with = "archive"
    )]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub archive: ArchiveArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "afterrun <COMMAND> [OPTIONS] <RUN|--archive FILE> [PATH]")]
pub(super) struct ReadArgs {
    /// The run (unless --archive), then a path such as workspace/repository/README.md
    #[arg(value_name = "RUN PATH", num_args = 0..=2)]
    pub words: Vec<OsString>,
    #[command(flatten)]
    pub archive: ArchiveArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "afterrun diff [OPTIONS] <RUN|--archive FILE> [PATH]...")]
pub(super) struct DiffArgs {
    /// The run (unless --archive), then paths to show
    #[arg(value_name = "RUN PATH")]
    pub words: Vec<OsString>,
    #[command(flatten)]
    pub base: BaseArg,
    /// Lines added and deleted per file
    #[arg(long, conflicts_with = "name_status")]
    pub stat: bool,
    /// A letter and a name per file
    #[arg(long)]
    pub name_status: bool,
    #[command(flatten)]
    pub archive: ArchiveArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "afterrun patch [OPTIONS] <RUN|--archive FILE>")]
pub(super) struct PatchArgs {
    /// The run (unless --archive)
    #[arg(value_name = "RUN", num_args = 0..=1)]
    pub words: Vec<OsString>,
    #[command(flatten)]
    pub base: BaseArg,
    /// Write it here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub archive: ArchiveArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "afterrun restore [OPTIONS] <RUN|--archive FILE> <DEST>")]
pub(super) struct RestoreArgs {
    /// The run (unless --archive), then the new directory
    #[arg(value_name = "RUN DEST", num_args = 1..=2)]
    pub words: Vec<OsString>,
    /// Only this path and what is below it; may be repeated
    #[arg(long, value_name = "PATH")]
    pub only: Vec<OsString>,
    /// Say what would be written
    #[arg(long)]
    pub dry_run: bool,
    /// Recreate links to absolute paths, which lead to this machine's own files
    #[arg(long)]
    pub absolute_links: bool,
    #[command(flatten)]
    pub archive: ArchiveArgs,
}

#[derive(Debug, Args)]
pub(super) struct FetchArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: String,
    /// A new file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// The agent's working directory
    #[arg(long, value_name = "DIR")]
    pub workspace: PathBuf,
    /// The harness home
    #[arg(long, value_name = "DIR")]
    pub native: PathBuf,
    /// The state to keep with it, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub state: String,
    /// Leave this path out, e.g. native/cache; may be repeated. Credential files always are
    #[arg(long, value_name = "PATH")]
    pub exclude: Vec<OsString>,
    /// Store it uncompressed
    #[arg(long)]
    pub plain: bool,
}
