//! The terminal is borrowed: whatever ends the interface, a quit, an error, a panic or a signal, it is
//! given back as it was found.

use std::io::{Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::panic::{self, PanicHookInfo};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};

use super::driver::Surface;
use super::keyboard::Quiet;
use super::state::State;
use super::theme::Theme;
use super::view;
use crate::{Error, ErrorKind, Result};

/// Whether the terminal is ours right now; the panic hook asks it.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The most that is put on a clipboard: some terminals drop the connection at more.
const COPY_AT_MOST: usize = 74_000;

type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The terminal while it is ours; dropping it gives it back.
pub struct Screen {
    /// Never dropped: ratatui would print to the terminal once more, and a terminal that is gone (the
    /// ssh line dropped) would make that a panic, past everything that still has to be cleaned up.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    mouse: bool,
    hook: Option<Hook>,
}

fn failed(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the terminal cannot be used: {error}"),
    )
    .source(error)
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be switched or asked for its size.
    pub fn take(mouse: bool) -> Result<Self> {
        let before: Hook = Arc::from(panic::take_hook());
        let hook = Arc::clone(&before);
        let here = std::thread::current().id();
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == here {
                give_back();
                hook(info);
            } else if TAKEN.load(Ordering::SeqCst) {
                // A job of ours: the interface goes on and says so; printing would garble it.
                tracing::error!("a job panicked: {info}");
            } else {
                hook(info);
            }
        }));
        let hook = Some(before);
        // From here on, dropping the guard undoes whatever has been done.
        let backend = CrosstermBackend::new(stdout());
        let terminal = ManuallyDrop::new(Terminal::new(backend).map_err(failed)?);
        let mut screen = Self {
            terminal,
            mouse,
            hook,
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> Result<()> {
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode().map_err(failed)?;
        execute!(
            stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )
        .map_err(failed)?;
        if self.mouse {
            execute!(stdout(), EnableMouseCapture).map_err(failed)?;
        }
        // Not `Terminal::clear`: it asks the terminal where its cursor is, which waits for an answer
        // that may never come and that the event stream would take for itself.
        execute!(stdout(), Clear(ClearType::All)).map_err(failed)?;
        // Both buffers blank: the next frame is drawn whole.
        self.terminal.swap_buffers();
        Ok(())
    }
}

impl Surface for Screen {
    fn size(&self) -> Result<(u16, u16)> {
        let size = self.terminal.size().map_err(failed)?;
        Ok((size.width, size.height))
    }

    fn draw(&mut self, state: &State, theme: Theme) -> Result<()> {
        // Terminals that know it show the frame at once; the others ignore it.
        queue!(stdout(), BeginSynchronizedUpdate).map_err(failed)?;
        let drawn = self.terminal.draw(|frame| view::draw(state, theme, frame));
        drawn.map_err(failed)?;
        execute!(stdout(), EndSynchronizedUpdate).map_err(failed)
    }

    fn set_mouse(&mut self, on: bool) -> Result<()> {
        self.mouse = on;
        if on {
            execute!(stdout(), EnableMouseCapture).map_err(failed)
        } else {
            execute!(stdout(), DisableMouseCapture).map_err(failed)
        }
    }

    /// OSC 52, which also works over ssh. Only what can be printed is sent, in base64.
    fn copy(&mut self, text: &str) -> Result<()> {
        let sequence = osc52(text)?;
        let mut out = stdout();
        out.write_all(sequence.as_bytes())
            .and_then(|()| out.flush())
            .map_err(failed)
    }

    fn notify(&mut self, _text: &str) -> Result<()> {
        Ok(())
    }

    fn suspend(&mut self) -> Result<()> {
        give_back();
        // The whole group, as the terminal's own ctrl-z would: the shell then knows.
        let stopped = kill_current_process_group(Signal::TSTP);
        self.enter()?;
        stopped.map_err(|errno| failed(errno.into()))
    }

    fn hand_over(&mut self, command: &mut Command) -> Result<std::io::Result<ExitStatus>> {
        let Some(quiet) = Quiet::keep() else {
            return Ok(Err(std::io::Error::other(
                "the keyboard is still being read",
            )));
        };
        give_back();
        let ended = command.status();
        let taken = self.enter();
        drop(quiet);
        taken.map(|()| ended)
    }

    fn resume(&mut self) -> Result<()> {
        self.enter()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        if let Some(hook) = self.hook.take()
            && !std::thread::panicking()
        {
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// Undoes [`Screen::take`], as far as the terminal is still there; more than once does no harm.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

fn osc52(text: &str) -> Result<String> {
    let refuse = |why: &str| {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("not copied: {why}"),
        ))
    };
    if crate::text::visible(text) != text {
        return refuse("it holds characters that are not printable");
    }
    if text.len() > COPY_AT_MOST {
        return refuse("it is too long for a terminal's clipboard");
    }
    Ok(format!("\x1b]52;c;{}\x07", STANDARD.encode(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_printable_text_only() {
        assert_eq!(
            osc52("afterrun show x").expect("plain"),
            "\x1b]52;c;YWZ0ZXJydW4gc2hvdyB4\x07"
        );
        assert!(osc52("a\x1b[2J").is_err());
        assert!(osc52(&"x".repeat(COPY_AT_MOST + 1)).is_err());
    }
}
