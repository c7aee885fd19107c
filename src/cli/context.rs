//! What every command needs: settings, output, a runtime, and a way to be interrupted.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use super::args::Global;
use super::output::Output;
use super::progress;
use crate::checkpoint::AwsEnvironment;
use crate::config::file::ConfigFile;
use crate::config::{self, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{CancellationToken, Watch};
use crate::runs::{Opening, Runs, Tables};
use crate::tui::look::Look;

/// How long threads that nobody waits for any more may take to end.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The command's surroundings.
pub(super) struct Context {
    settings: Settings,
    agent: Option<String>,
    config: Option<PathBuf>,
    look: Look,
    output: Output,
    runtime: tokio::runtime::Runtime,
    cancel: CancellationToken,
}

impl Context {
    pub(super) fn new(
        global: Global,
        look: Look,
        output: Output,
    ) -> std::result::Result<Self, Box<(Error, Output)>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                let message = format!("cannot start a runtime: {error}");
                return Err(Box::new((Error::new(ErrorKind::Io, message), output)));
            }
        };
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Ok(Self {
            settings: Settings {
                database: global.db,
                store: global.store,
                tables: Tables {
                    schema: global.schema,
                    sessions: global.sessions_table,
                    runs: global.runs_table,
                },
                aws: AwsEnvironment::new(variables(), home.clone()),
                home,
            },
            agent: global.opening_as,
            config: global.config,
            look,
            output,
            runtime,
            cancel: CancellationToken::new(),
        })
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> Result<F::Output> {
        Ok(self.runtime.block_on(future))
    }

    /// Ends what is still at work. What was begun has been waited for by now: a thread that is in a
    /// folder or a database that does not answer would hold us up for ever.
    pub(super) fn end(self) {
        self.runtime.shutdown_timeout(LAST_WAIT);
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// What the configuration file says.
    pub(super) fn config(&self) -> Result<ConfigFile> {
        let home = self.settings.home.as_deref();
        let place = config::file::place(
            self.config.clone(),
            std::env::var_os("XDG_CONFIG_HOME"),
            home,
        );
        match place {
            Some((path, named)) => ConfigFile::read(&path, named),
            None => Ok(ConfigFile::default()),
        }
    }

    /// Refuses a configuration that was named and is wrong, for commands that need nothing of it.
    pub(super) fn check_named_config(&self) -> Result<()> {
        match &self.config {
            Some(_) => self.config().map(drop),
            None => Ok(()),
        }
    }

    /// How the interface looks.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// The agent of `--as`.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// On whose behalf runs are opened.
    pub(super) fn opening(&self) -> Opening<'_> {
        self.agent.as_deref().map_or(Opening::Own, Opening::As)
    }

    /// Opens database and store, with a remark when the store is Agno's default.
    pub(super) fn runs(&self) -> Result<Runs> {
        let runs = self.settings.open()?;
        if let Some(notice) = runs.store_notice().filter(|_| !self.output.json) {
            self.output.note(&notice);
        }
        Ok(runs)
    }

    /// A watch that Ctrl-C and SIGTERM cancel, so that what was begun is removed before we go; a
    /// second one ends us at once.
    pub(super) fn watch(&self) -> Watch {
        use tokio::signal::unix::{SignalKind, signal};
        // Taken over here and now: a signal that came a moment later would end us without a trace.
        let runtime = self.runtime.enter();
        let signals = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        );
        drop(runtime);
        let cancel = self.cancel.clone();
        if let (Ok(mut interrupt), Ok(mut terminate)) = signals {
            self.runtime.spawn(async move {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    if cancel.is_cancelled() {
                        std::process::exit(130);
                    }
                    cancel.cancel();
                }
            });
        }
        progress::watch(self.cancel.clone())
    }
}

/// The environment, but for what is not UTF-8: nothing that we look for there is.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use clap::Parser as _;

    use super::super::args::{Arguments, When};
    use super::*;

    #[test]
    fn what_never_comes_back_holds_nobody_up() {
        let arguments = Arguments::try_parse_from(["afterrun"]).expect("arguments");
        let output = Output::new(false, When::Never);
        let look = arguments.look.look(When::Never);
        let Ok(context) = Context::new(arguments.global, look, output) else {
            panic!("no runtime");
        };
        let (begin, begun) = mpsc::channel();
        let (never, answered) = mpsc::channel::<()>();
        let stuck = context.runtime.spawn_blocking(move || {
            begin.send(()).expect("awaited");
            answered.recv()
        });
        begun.recv().expect("it has begun");
        // Would wait for ever, since it is let go only afterwards.
        context.end();
        assert!(!stuck.is_finished());
        drop(never);
    }
}
