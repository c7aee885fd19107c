//! What the terminal sends, read on a thread of its own: crossterm never comes back from reading a
//! terminal that is gone, and the loop has to hear the signal that says so. The thread can be told to
//! keep its hands off while another program has the terminal, whose keys they are then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::Event;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::error::Result;
use crate::threads;

/// How long the keyboard is waited for before it is asked whether anybody still listens.
const LISTEN: Duration = Duration::from_millis(100);
/// How long the thread is waited for to lay off: it is inside a read only for bytes that are there.
const LAY_OFF: Duration = Duration::from_secs(2);

/// How late a signal may be heard.
const LATE: Duration = Duration::from_millis(500);

/// There is one terminal, and so one thread that reads it.
static EARS: Ears = Ears {
    turn: Mutex::new(Turn {
        reading: false,
        pause: false,
        back: None,
    }),
    changed: Condvar::new(),
};

struct Ears {
    turn: Mutex<Turn>,
    changed: Condvar,
}

struct Turn {
    /// The thread may be reading right now.
    reading: bool,
    /// Somebody else has the terminal.
    pause: bool,
    /// Since when nobody else has it.
    back: Option<Instant>,
}

impl Ears {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the terminal may be read.
    fn begin(&self) {
        let mut turn = self.turn();
        while turn.pause {
            turn = self
                .changed
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
        turn.reading = true;
    }

    fn rest(&self) {
        self.turn().reading = false;
        self.changed.notify_all();
    }
}

/// Whether another program has the terminal, or had it a moment ago: a signal that the terminal sent
/// was then meant for it.
pub(super) fn is_elsewhere() -> bool {
    let turn = EARS.turn();
    turn.pause || turn.back.is_some_and(|back| back.elapsed() < LATE)
}

/// While this lives, nothing of ours reads the terminal.
#[derive(Debug)]
pub struct Quiet(());

impl Quiet {
    /// Waits until the thread has laid off; nothing when it does not, so that nobody fights for keys.
    #[must_use]
    pub fn keep() -> Option<Self> {
        let mut turn = EARS.turn();
        turn.pause = true;
        // From here on dropping this lets the thread go on.
        let quiet = Self(());
        let waited = EARS
            .changed
            .wait_timeout_while(turn, LAY_OFF, |turn| turn.reading)
            .unwrap_or_else(PoisonError::into_inner);
        let (turn, timeout) = waited;
        drop(turn);
        (!timeout.timed_out()).then_some(quiet)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let mut turn = EARS.turn();
        turn.pause = false;
        turn.back = Some(Instant::now());
        drop(turn);
        EARS.changed.notify_all();
    }
}

/// The thread that reads.
pub(super) struct Keyboard {
    stop: Arc<AtomicBool>,
}

impl Keyboard {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread for it.
    pub(super) fn listen() -> Result<(Self, UnboundedReceiver<Event>)> {
        let (sender, events) = unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        threads::start(move || {
            while !stopped.load(Ordering::Relaxed) {
                EARS.begin();
                let event = match crossterm::event::poll(LISTEN) {
                    Ok(true) => Some(crossterm::event::read()),
                    Ok(false) => None,
                    Err(error) => Some(Err(error)),
                };
                EARS.rest();
                let Some(event) = event else { continue };
                if matches!(event, Ok(Event::Resize(..))) {
                    super::terminal::nudge();
                }
                let heard = event.is_ok_and(|event| sender.send(event).is_ok());
                if !heard {
                    break;
                }
            }
        })?;
        Ok((Self { stop }, events))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Not waited for: on a terminal that is gone it would not come.
        self.stop.store(true, Ordering::Relaxed);
    }
}
