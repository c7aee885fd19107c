//! ⑥ the interface: three panes on what the library reads.
//!
//! State is plain data, `update` takes a message in and says what is to be done, the view is a
//! function of the state, and jobs run beside the event loop. The driver only moves things between
//! them: it never waits on a database, a disk or a worker.

pub mod action;
mod apart;
pub(crate) mod ascii;
pub(crate) mod crash;
pub mod driver;
pub(crate) mod editor;
pub(crate) mod fit;
pub(crate) mod footer;
pub(crate) mod fuzzy;
pub mod jobs;
pub(crate) mod key;
pub(crate) mod keyboard;
pub(crate) mod keymap;
pub(crate) mod layout;
mod lending;
pub(crate) mod linear;
pub(crate) mod look;
pub mod message;
pub(crate) mod overlays;
pub(crate) mod pace;
pub(crate) mod panes;
pub mod reference;
pub mod signs;
pub mod state;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
pub mod theme;
pub(crate) mod tree;
pub mod update;
pub mod view;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::review::BaseChoice;
use crate::runs::{Runs, Tables};
use crate::{Error, ErrorKind, Result};
use driver::{Asked, Outside, Surface as _};
use jobs::Jobs;
use keymap::Keymap;
use look::{Look, Manner};
use state::{Destination, Labels, State};
use terminal::Screen;
use theme::Tone;

/// What the interface starts with.
#[derive(Debug)]
pub struct Options {
    /// The database of runs and the store of their checkpoints.
    pub runs: Runs,
    /// The database's name, any password masked.
    pub database: String,
    /// The store's name, any secret masked.
    pub store: String,
    /// The tables' names.
    pub tables: Tables,
    /// The profile in use.
    pub profile: Option<String>,
    /// On whose behalf runs are opened; `None` for each run's own agent.
    pub opening_as: Option<String>,
    /// A run to open at once.
    pub open: Option<String>,
    /// Where in that run to go.
    pub place: Option<Destination>,
    /// What to compare with.
    pub base: BaseChoice,
    /// What to say at the start, e.g. that the default store is used.
    pub notices: Vec<String>,
    /// Whether the mouse is reported from the start.
    pub mouse: bool,
    /// Which keys do what.
    pub keymap: Keymap,
    /// The editor that is configured, in words.
    pub editor: Option<Vec<String>>,
    /// How often the list looks what changed in the database; never without.
    pub refresh: Option<Duration>,
    /// Colours, characters, and which screen.
    pub look: Look,
}

/// Runs the interface until it is left. The terminal is given back before this returns, whatever
/// the outcome. Call it from `block_on` on the main thread.
///
/// # Errors
/// When the terminal or the signals cannot be used.
pub async fn run(options: Options) -> Result<()> {
    let asked = signals()?;
    let (answers, mut answered) = unbounded_channel();
    let mut jobs = Jobs::new(options.runs.clone(), answers);
    let manner = Manner::of(&options.look, |name| std::env::var(name).ok());
    let linear = options.look.linear;
    let mouse = options.mouse && manner.reports && !linear;
    let mut screen = Screen::take(manner, mouse)?;
    let mut state = first_state(options, screen.size()?);
    state.mouse = mouse;
    state.linear = linear;
    let (keyboard, events) = keyboard::Keyboard::listen()?;
    let mut outside = Outside {
        events,
        asked,
        clock: driver::now_ms,
    };
    let left = surviving(driver::drive(
        &mut state,
        manner.theme,
        &mut screen,
        &mut jobs,
        &mut answered,
        &mut outside,
    ))
    .await;
    drop(keyboard);
    drop(screen);
    // What was begun is undone before the process goes: a half-written restore, a worker.
    drop(state);
    drop(answered);
    jobs.finish().await;
    left
}

/// What `driven` comes to; a panic in it becomes an error, so that everything is cleaned up as ever.
async fn surviving(driven: impl Future<Output = Result<()>>) -> Result<()> {
    let mut driven = std::pin::pin!(driven);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| driven.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(crash::error())))
    })
    .await
}

fn first_state(options: Options, size: (u16, u16)) -> State {
    let labels = Labels {
        default_store: options.runs.uses_default_store(),
        profile: options.profile,
        database: options.database,
        store: options.store,
        tables: options.tables,
    };
    let mut state = State::new(labels, options.opening_as, size, driver::now_ms());
    state.mouse = options.mouse;
    state.live.every = options.refresh.filter(|every| !every.is_zero());
    state.open_first = options.open;
    state.place = options.place;
    state.content.base = options.base;
    state.keymap = options.keymap;
    state.editor = editor::find(options.editor, |name| std::env::var_os(name));
    if !options.notices.is_empty() {
        let notices = options.notices.join(" · ");
        state.report(Tone::Warn, format!("! {}", crate::text::visible(&notices)));
    }
    state
}

/// Signals that end the interface, and the one after which it draws anew, for the loop.
fn signals() -> Result<UnboundedReceiver<Asked>> {
    let on = |kind| {
        signal(kind).map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot listen for signals: {error}")).source(error)
        })
    };
    let mut terminate = on(SignalKind::terminate())?;
    let mut hangup = on(SignalKind::hangup())?;
    // What ctrl-c and ctrl-\ send while a program has the terminal that is not in raw mode.
    let mut interrupt = on(SignalKind::interrupt())?;
    let mut quit = on(SignalKind::quit())?;
    // What `fg` sends; it has no name in tokio.
    let mut resumed = on(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
    // crossterm reports it too, unless a key comes at the same moment.
    let mut resized = on(SignalKind::window_change())?;
    let (sender, asked) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let what = tokio::select! {
                _ = terminate.recv() => Asked::Leave,
                _ = hangup.recv() => Asked::Leave,
                _ = interrupt.recv() => match keyboard::is_elsewhere() {
                    true => continue,
                    false => Asked::Leave,
                },
                _ = quit.recv() => match keyboard::is_elsewhere() {
                    true => continue,
                    false => Asked::Leave,
                },
                _ = resumed.recv() => Asked::Resume,
                _ = resized.recv() => Asked::Resize,
                () = sender.closed() => return,
            };
            if sender.send(what).is_err() {
                return;
            }
        }
    });
    Ok(asked)
}
