//! ⑥ the interface: three panes on what the library reads.
//!
//! State is plain data, `update` takes a message in and says what is to be done, the view is a
//! function of the state, and jobs run beside the event loop. The loop below only moves things
//! between them: it never waits on a database, a disk or a worker.

pub mod action;
pub mod fit;
pub mod footer;
pub mod jobs;
pub mod keymap;
pub mod layout;
pub mod message;
pub mod overlays;
pub mod panes;
pub mod state;
pub mod terminal;
#[cfg(test)]
mod tests;
pub mod theme;
pub mod tree;
pub mod update;
pub mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::Event;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::runs::Runs;
use crate::{Error, ErrorKind, Result};
use jobs::Jobs;
use message::{Effect, Message};
use state::{Labels, State};
use terminal::Screen;
use theme::{Theme, Tone};

/// How often a line that shows progress is drawn though nothing was reported.
const TICK: Duration = Duration::from_millis(250);
/// How long the keyboard is waited for before it is asked whether anybody still listens.
const LISTEN: Duration = Duration::from_millis(100);
/// Messages taken in before the next frame, so that a burst is one frame and not many.
const BURST: usize = 1024;

/// What the interface starts with.
#[derive(Debug)]
pub struct Options {
    /// The database of runs and the store of their checkpoints.
    pub runs: Runs,
    /// The database's name, any password masked.
    pub database: String,
    /// The store's name, any secret masked.
    pub store: String,
    /// The profile in use.
    pub profile: Option<String>,
    /// On whose behalf runs are opened; `None` for each run's own agent.
    pub opening_as: Option<String>,
    /// A run to open at once.
    pub open: Option<String>,
    /// What to say at the start, e.g. that the default store is used.
    pub notices: Vec<String>,
    /// Whether the mouse is reported from the start.
    pub mouse: bool,
}

/// Runs the interface until it is left. The terminal is given back before this returns, whatever
/// the outcome. Call it from `block_on` on the main thread.
///
/// # Errors
/// When the terminal or the signals cannot be used.
pub async fn run(options: Options) -> Result<()> {
    let mut signals = Signals::listen()?;
    let (answers, mut answered) = unbounded_channel();
    let mut jobs = Jobs::new(options.runs.clone(), answers);
    let theme = Theme {
        plain: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
    };
    let mut screen = Screen::take(options.mouse)?;
    let mut state = first_state(options, screen.size()?);
    let left = turn(
        &mut state,
        theme,
        &mut screen,
        &mut jobs,
        &mut answered,
        &mut signals,
    )
    .await;
    drop(screen);
    // What was begun is undone before the process goes: a half-written restore, a worker.
    drop(state);
    drop(answered);
    jobs.finish().await;
    left
}

fn first_state(options: Options, size: (u16, u16)) -> State {
    let labels = Labels {
        default_store: options.runs.uses_default_store(),
        profile: options.profile,
        database: options.database,
        store: options.store,
    };
    let mut state = State::new(labels, options.opening_as, size, now_ms());
    state.mouse = options.mouse;
    state.open_first = options.open;
    if !options.notices.is_empty() {
        let notices = options.notices.join(" · ");
        state.report(Tone::Warn, format!("! {}", crate::text::visible(&notices)));
    }
    state
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Signals that end the interface, and the one after which it draws anew.
struct Signals {
    terminate: Signal,
    hangup: Signal,
    resumed: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let on = |kind| {
            signal(kind).map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot listen for signals: {error}"))
                    .source(error)
            })
        };
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
            // What `fg` sends; it has no name in tokio.
            resumed: on(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }
}

/// The loop: wait for something, take in all there is, draw once.
async fn turn(
    state: &mut State,
    theme: Theme,
    screen: &mut Screen,
    jobs: &mut Jobs,
    answered: &mut UnboundedReceiver<Message>,
    signals: &mut Signals,
) -> Result<()> {
    let mut keyboard = Keyboard::listen();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut messages = vec![Message::Start];
    loop {
        for message in messages.drain(..) {
            state.now_ms = now_ms();
            for effect in update::update(state, message) {
                if !carry_out(effect, state, screen, jobs)? {
                    return Ok(());
                }
            }
        }
        screen.draw(state, theme)?;
        tokio::select! {
            biased;
            _ = signals.terminate.recv() => return Ok(()),
            _ = signals.hangup.recv() => return Ok(()),
            _ = signals.resumed.recv() => {
                screen.resume()?;
                let (width, height) = screen.size()?;
                messages.push(Message::Resize(width, height));
            }
            event = keyboard.events.recv() => {
                // The terminal is gone.
                let Some(event) = event else { return Ok(()) };
                messages.extend(taken(event));
                while messages.len() < BURST {
                    match keyboard.events.try_recv() {
                        Ok(event) => messages.extend(taken(event)),
                        Err(_) => break,
                    }
                }
            }
            first = answered.recv() => {
                messages.extend(first);
                while messages.len() < BURST {
                    match answered.try_recv() {
                        Ok(message) => messages.push(message),
                        Err(_) => break,
                    }
                }
            }
            _ = tick.tick(), if state.at_work() => messages.push(Message::Tick),
        }
    }
}

/// What the terminal sends, read on a thread of its own: crossterm never comes back from reading a
/// terminal that is gone, and the loop has to hear the signal that says so.
struct Keyboard {
    events: UnboundedReceiver<Event>,
    stop: Arc<AtomicBool>,
}

impl Keyboard {
    fn listen() -> Self {
        let (sender, events) = unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let event = match crossterm::event::poll(LISTEN) {
                    Ok(true) => crossterm::event::read(),
                    Ok(false) => continue,
                    Err(error) => Err(error),
                };
                let heard = event.is_ok_and(|event| sender.send(event).is_ok());
                if !heard {
                    break;
                }
            }
        });
        Self { events, stop }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Not waited for: on a terminal that is gone it would not come.
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn taken(event: Event) -> Option<Message> {
    Some(match event {
        Event::Key(key) => Message::Key(key),
        Event::Paste(text) => Message::Paste(text),
        Event::Mouse(mouse) => Message::Mouse(mouse),
        Event::Resize(width, height) => Message::Resize(width, height),
        Event::FocusGained | Event::FocusLost => return None,
    })
}

/// Does what `update` wants done; `false` when that is to leave.
fn carry_out(
    effect: Effect,
    state: &mut State,
    screen: &mut Screen,
    jobs: &mut Jobs,
) -> Result<bool> {
    match effect {
        Effect::Start(number, request) => jobs.start(number, request),
        Effect::Cancel(slot) => jobs.cancel(slot),
        Effect::Go(number) => jobs.go(number),
        Effect::Copy(text) => {
            if let Err(error) = screen.copy(&text) {
                if error.kind() != ErrorKind::Unsupported {
                    return Err(error);
                }
                state.say(Tone::Warn, error.message());
            }
        }
        Effect::Mouse(on) => screen.set_mouse(on)?,
        Effect::Suspend => {
            screen.suspend()?;
            state.size = screen.size()?;
        }
        Effect::Quit => return Ok(false),
    }
    Ok(true)
}
