//! What every command needs: settings, output, a runtime, and a way to be interrupted.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::Arguments;
use super::descriptors;
use super::global::When;
use super::output::Output;
use super::progress;
use super::signals;
use super::surroundings::surroundings;
use crate::archive;
use crate::checkpoint::AwsEnvironment;
use crate::config::Settings;
use crate::config::file::{self, ConfigFile};
use crate::config::in_force::{InForce, Said};
use crate::config::key::Key;
use crate::config::layer::Source;
use crate::error::{Error, Result};
use crate::private;
use crate::progress::{CancellationToken, Watch};
use crate::runs::{Opening, Runs};
use crate::threads;
use crate::tui::look::Look;
use crate::tui::theme::Choice;

/// How long threads that nobody waits for any more may take to end.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The command's surroundings.
pub(super) struct Context {
    settings: Settings,
    in_force: InForce,
    /// The configuration file as it was read, or why it cannot be used.
    file: Result<ConfigFile>,
    /// Where it is, or would be.
    file_place: Option<PathBuf>,
    look: Look,
    output: Output,
    runtime: tokio::runtime::Runtime,
    cancel: CancellationToken,
}

impl Context {
    pub(super) fn new(
        arguments: &Arguments,
        said: Said,
        output: Output,
    ) -> std::result::Result<Self, Box<(Error, Output)>> {
        if let Err(error) = descriptors::check() {
            return Err(Box::new((error, output)));
        }
        let runtime = match threads::runtime(2) {
            Ok(runtime) => runtime,
            Err(error) => return Err(Box::new((error, output))),
        };
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let config_home = std::env::var_os("XDG_CONFIG_HOME");
        let place = file::place(
            arguments.global.config.clone(),
            config_home,
            home.as_deref(),
        );
        let read = match &place {
            Some((path, named)) => ConfigFile::read(path, *named),
            None => Ok(ConfigFile::default()),
        };
        let in_force = |file: &ConfigFile, said: &Said| InForce::new(file, said, home.as_deref());
        let (file, in_force) = match read.and_then(|file| Ok((in_force(&file, &said)?, file))) {
            Ok((in_force, file)) => (Ok(file), in_force),
            // What options and environment say alone, for commands that go on without the file.
            Err(error) => {
                let layer = said.layer;
                let said = Said {
                    layer,
                    profile: None,
                };
                (
                    Err(error),
                    in_force(&ConfigFile::default(), &said).unwrap_or_default(),
                )
            }
        };
        Ok(Self {
            settings: Settings {
                surroundings: surroundings(home.clone()),
                aws: AwsEnvironment::new(variables(), home.clone()),
                ..in_force.settings(home)
            },
            look: look(&in_force, arguments),
            in_force,
            file,
            file_place: place.map(|(path, _)| path),
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
        threads::rest(LAST_WAIT);
        self.runtime.shutdown_timeout(LAST_WAIT);
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// The configuration in force, with a remark where it is not as safe as it should be.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub(super) fn configured(&self) -> Result<()> {
        self.file()?;
        if !self.output.json {
            let warnings = self.in_force.warnings.iter();
            warnings.for_each(|warning| self.output.note(warning));
        }
        Ok(())
    }

    /// The configuration file.
    pub(super) fn file(&self) -> Result<&ConfigFile> {
        self.file.as_ref().map_err(Error::copy)
    }

    /// Where the configuration file is, or would be.
    pub(super) fn file_place(&self) -> Option<&Path> {
        self.file_place.as_deref()
    }

    /// The configuration in force; without the file where that cannot be used.
    pub(super) fn in_force(&self) -> &InForce {
        &self.in_force
    }

    /// How the interface looks.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// The agent of `--as`.
    pub(super) fn agent(&self) -> Option<&str> {
        self.in_force.values.text(Key::As)
    }

    /// On whose behalf runs are opened.
    pub(super) fn opening(&self) -> Opening<'_> {
        self.agent().map_or(Opening::Own, Opening::As)
    }

    /// Opens database and store, with a remark when the store is Agno's default.
    pub(super) async fn runs(&self) -> Result<Runs> {
        let runs = self.settings.open()?;
        if !self.output.json {
            let notice = async { Ok(runs.store_notice().await) };
            let watch = Watch::new(self.cancel.clone());
            if let Some(notice) = watch.unless_cancelled(notice).await? {
                self.output.note(&notice);
            }
        }
        Ok(runs)
    }

    /// Waits until a signal stops what is at work.
    pub(super) async fn stopped(&self) {
        self.cancel.cancelled().await;
    }

    /// Removes private files that a killed process left, beside whatever else is done.
    pub(super) fn sweep(&self) {
        // A folder that is no place for them is refused where one is made.
        if let Ok(scratch) = self.settings.scratch() {
            threads::beside(move || private::sweep(&scratch, Some(archive::sweep_left)));
        }
    }

    /// A watch that Ctrl-C, SIGTERM and SIGHUP cancel.
    pub(super) fn watch(&self) -> Watch {
        signals::cancels(&self.runtime, self.cancel.clone());
        progress::watch(self.cancel.clone())
    }
}

/// How the interface looks. `--color never` wins over a theme that only the file names.
fn look(in_force: &InForce, arguments: &Arguments) -> Look {
    let values = &in_force.values;
    let named = values.text(Key::Theme).and_then(|name| name.parse().ok());
    let theme = match values.source(Key::Theme) {
        Source::Default | Source::File(_) if arguments.global.color == When::Never => {
            Some(Choice::None)
        }
        _ => named,
    };
    Look {
        theme,
        ascii: values.truth(Key::Ascii),
        main_screen: arguments.look.no_alt_screen,
        linear: values.truth(Key::Linear),
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

    use super::*;

    #[test]
    fn what_never_comes_back_holds_nobody_up() {
        let Ok((arguments, said)) = Arguments::read_from(["afterrun"]) else {
            panic!("no arguments");
        };
        let output = Output::new(false, When::Never);
        let Ok(context) = Context::new(&arguments, said, output) else {
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
