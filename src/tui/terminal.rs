//! The terminal is borrowed: whatever ends the interface, a quit, an error, a panic or a signal, it is
//! given back as it was found. It is told things and never asked any.

mod osc;

use std::io::{Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::panic::{self, PanicHookInfo};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::driver::Surface;
use super::keyboard::Quiet;
use super::look::Manner;
use super::state::State;
use super::theme::Theme;
use super::{ascii, crash, view};
use crate::{Error, ErrorKind, Result};

/// How the terminal was taken, while it is ours; the panic hook asks it.
static TAKEN: Mutex<Option<Manner>> = Mutex::new(None);

/// Whether a program has the terminal that gives it back to us.
static LENT: AtomicBool = AtomicBool::new(false);

/// Clicks and the wheel, with places beyond column 223. crossterm asks for every movement besides,
/// which costs a slow line more than the keys do.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";

type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The terminal while it is ours; dropping it gives it back.
pub struct Screen {
    /// Never dropped: ratatui would print to the terminal once more, and a terminal that is gone (the
    /// ssh line dropped) would make that a panic, past everything that still has to be cleaned up.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    manner: Manner,
    mouse: bool,
    /// Whether the next frame is drawn on a blank screen.
    stale: bool,
    lent: Option<Lent>,
    hook: Option<Hook>,
}

fn failed(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the terminal cannot be used: {error}"),
    )
    .source(error)
}

/// Has the kernel say once more that something was typed, by setting the terminal as it is: of a key
/// that comes together with a resize, crossterm takes the resize and waits for another key.
pub(super) fn nudge() {
    // Held, so that it is not given back in between.
    let taken = taken();
    let input = rustix::stdio::stdin();
    if taken.is_some()
        && let Ok(now) = tcgetattr(input)
    {
        let _ = tcsetattr(input, OptionalActions::Now, &now);
    }
}

fn taken() -> std::sync::MutexGuard<'static, Option<Manner>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the terminal is ours right now, or lent to a program, so that nobody else writes to it.
#[must_use]
pub fn is_taken() -> bool {
    // Whoever holds the lock is about to take it or to give it back.
    LENT.load(Ordering::SeqCst) || TAKEN.try_lock().map_or(true, |taken| taken.is_some())
}

/// While this lives a program has the terminal: we neither read its keys nor write over it.
struct Lent {
    _quiet: Quiet,
    /// How the terminal was lent.
    was: Option<Termios>,
}

impl Lent {
    fn new(quiet: Quiet) -> Self {
        LENT.store(true, Ordering::SeqCst);
        Self {
            _quiet: quiet,
            was: None,
        }
    }

    /// Puts right what a program left that was ended in the middle of its work.
    fn mend(&self) {
        if let Some(was) = &self.was {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, was);
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.store(false, Ordering::SeqCst);
    }
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be switched or asked for its size.
    pub fn take(manner: Manner, mouse: bool) -> Result<Self> {
        let before: Hook = Arc::from(panic::take_hook());
        let here = std::thread::current().id();
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == here {
                // The driver's caller says it, once everything is cleaned up.
                give_back();
                crash::report(info);
            } else {
                // A job of ours: the interface goes on and says so; printing would garble it.
                tracing::error!("a job panicked at {}", crash::place(info));
            }
        }));
        let hook = Some(before);
        // From here on, dropping the guard undoes whatever has been done.
        let backend = CrosstermBackend::new(stdout());
        let terminal = ManuallyDrop::new(Terminal::new(backend).map_err(failed)?);
        let mut screen = Self {
            terminal,
            manner,
            mouse,
            stale: true,
            lent: None,
            hook,
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> Result<()> {
        {
            let mut taken = taken();
            *taken = Some(self.manner);
            enable_raw_mode().map_err(failed)?;
        }
        let mut out = stdout();
        if self.manner.alternate {
            queue!(out, EnterAlternateScreen).map_err(failed)?;
        }
        if self.manner.reports {
            queue!(out, EnableBracketedPaste, EnableFocusChange).map_err(failed)?;
        }
        if self.manner.reports && self.mouse {
            queue!(out, Print(MOUSE)).map_err(failed)?;
        }
        self.stale = true;
        execute!(out, cursor::Hide).map_err(failed)
    }

    /// Says something beyond the screen.
    fn command(&self, sequence: &str) -> Result<()> {
        let mut out = stdout();
        out.write_all(sequence.as_bytes())
            .and_then(|()| out.flush())
            .map_err(failed)
    }
}

impl Surface for Screen {
    fn size(&self) -> Result<(u16, u16)> {
        let size = self.terminal.size().map_err(failed)?;
        Ok((size.width, size.height))
    }

    fn draw(&mut self, state: &State, theme: Theme) -> Result<()> {
        let Manner {
            synchronized,
            ascii,
            ..
        } = self.manner;
        // Terminals that know it show the frame at once; the others ignore it.
        if synchronized {
            queue!(stdout(), BeginSynchronizedUpdate).map_err(failed)?;
        }
        if std::mem::take(&mut self.stale) {
            // Not `Terminal::clear`: it asks the terminal where its cursor is, which waits for an answer
            // that may never come and that the event stream would take for itself.
            queue!(stdout(), Clear(ClearType::All)).map_err(failed)?;
            // Both buffers blank: this frame is drawn whole.
            self.terminal.swap_buffers();
        }
        let drawn = self.terminal.draw(|frame| {
            view::draw(state, theme, frame);
            if ascii {
                ascii::reduce(frame.buffer_mut());
            }
        });
        drawn.map_err(failed)?;
        if synchronized {
            execute!(stdout(), EndSynchronizedUpdate).map_err(failed)?;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.stale = true;
    }

    fn set_mouse(&mut self, on: bool) -> Result<()> {
        if !self.manner.reports {
            let message = "mouse: this terminal reports none";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.mouse = on;
        if on {
            execute!(stdout(), Print(MOUSE)).map_err(failed)
        } else {
            execute!(stdout(), DisableMouseCapture).map_err(failed)
        }
    }

    /// OSC 52, which also works over ssh. Only what can be printed is sent, in base64.
    fn copy(&mut self, text: &str) -> Result<()> {
        if !self.manner.commands {
            let message = "not copied: this terminal has no clipboard";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.command(&osc::clipboard(text, self.manner.between)?)
    }

    fn notify(&mut self, text: &str) -> Result<()> {
        if !self.manner.commands {
            return Ok(());
        }
        self.command(&osc::notification(text, self.manner.between))
    }

    fn suspend(&mut self) -> Result<()> {
        give_back();
        // The whole group, as the terminal's own ctrl-z would: the shell then knows.
        let stopped = kill_current_process_group(Signal::TSTP);
        self.enter()?;
        stopped.map_err(|errno| failed(errno.into()))
    }

    fn lend(&mut self, command: &mut Command) -> Result<std::io::Result<Child>> {
        let Some(quiet) = Quiet::keep() else {
            return Ok(Err(std::io::Error::other(
                "the keyboard is still being read",
            )));
        };
        let mut lent = Lent::new(quiet);
        give_back();
        lent.was = tcgetattr(rustix::stdio::stdin()).ok();
        self.lent = Some(lent);
        let started = command.spawn();
        if started.is_err() {
            self.take_back()?;
        }
        Ok(started)
    }

    fn take_back(&mut self) -> Result<()> {
        let taken = self.enter();
        self.lent = None;
        taken
    }

    fn resume(&mut self) -> Result<()> {
        self.enter()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        if let Some(lent) = self.lent.take() {
            lent.mend();
        }
        if let Some(hook) = self.hook.take()
            && !std::thread::panicking()
        {
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// Undoes [`Screen::take`], as far as the terminal is still there; more than once does no harm.
fn give_back() {
    let Some(manner) = taken().take() else {
        return;
    };
    let mut out = stdout();
    if manner.synchronized {
        let _ = queue!(out, EndSynchronizedUpdate);
    }
    if manner.reports {
        let _ = queue!(
            out,
            DisableMouseCapture,
            DisableFocusChange,
            DisableBracketedPaste
        );
    }
    if manner.alternate {
        let _ = queue!(out, LeaveAlternateScreen);
    } else {
        // What was drawn goes, and the shell goes on below it.
        let bottom = crossterm::terminal::size().map_or(0, |(_, height)| height.saturating_sub(1));
        let _ = queue!(out, Clear(ClearType::All), cursor::MoveTo(0, bottom));
    }
    let _ = execute!(out, cursor::Show);
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_writes_over_a_program_that_has_the_terminal() {
        assert!(!is_taken());
        let lent = Lent::new(Quiet::keep().expect("nobody reads here"));
        assert!(is_taken());
        drop(lent);
        assert!(!is_taken());
    }
}
