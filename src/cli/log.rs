//! Logs go to stderr when they are asked for. While the interface has the screen, or an editor that
//! it was lent to, they would garble it, so they are held until it is given back.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use crate::text::visible_bytes;
use crate::tui::terminal;

/// Bytes that are held; older ones go.
const HELD: usize = 256 << 10;

static WAITING: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts logging at the level that so many `-v` mean.
pub(super) fn start(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "afterrun=info",
        2 => "afterrun=debug",
        _ => "afterrun=trace",
    };
    let _ = tracing_subscriber::fmt()
        .with_env_filter(level)
        .with_writer(|| Log)
        .with_ansi(false)
        .try_init();
}

/// Writes what is held.
pub(super) fn flush() {
    let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    // Nobody is left to hear that stderr is gone.
    let _ = io::stderr().write_all(&waiting);
}

/// One event as one line.
fn written_out(event: &[u8]) -> String {
    let mut line = visible_bytes(event.strip_suffix(b"\n").unwrap_or(event));
    line.push('\n');
    line
}

/// Lets the oldest lines go until no more than `most` bytes are held; a line is held whole or not at all.
fn forget(waiting: &mut Vec<u8>, most: usize) {
    let over = waiting.len().saturating_sub(most);
    if over > 0 {
        let end = waiting[over - 1..].iter().position(|byte| *byte == b'\n');
        waiting.drain(..end.map_or(waiting.len(), |end| over + end));
    }
}

struct Log;

impl Write for Log {
    /// Takes one event: what it quotes from outside may be no new line, nor anything a terminal obeys.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = written_out(bytes);
        if !terminal::is_taken() {
            flush();
            io::stderr().write_all(line.as_bytes())?;
            return Ok(bytes.len());
        }
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend_from_slice(line.as_bytes());
        forget(&mut waiting, HELD);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_forgotten() {
        let held = |most| {
            let mut waiting = Vec::from("żó\nłw\nx\n");
            forget(&mut waiting, most);
            String::from_utf8(waiting).expect("whole characters")
        };
        assert_eq!(held(11), "żó\nłw\nx\n");
        assert_eq!(held(10), "łw\nx\n");
        assert_eq!(held(6), "łw\nx\n");
        assert_eq!(held(5), "x\n");
        assert_eq!(held(1), "");
    }

    #[test]
    fn an_event_is_one_line_that_no_terminal_obeys() {
        let event = "INFO opened \x1b]0;x\x07\nERROR forged \u{202e}\u{9b}2J\n";
        assert_eq!(
            written_out(event.as_bytes()),
            "INFO opened \\x1b]0;x\\x07\\nERROR forged \\u{202e}\\x9b2J\n"
        );
    }
}
