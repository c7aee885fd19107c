//! A database's password that is found nowhere: printed by the command of the configuration, or asked
//! for at the terminal. It is kept in memory alone, and shown to nobody.

use std::io::{IsTerminal, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Error, ErrorKind, Result, reason};
use crate::text::visible;
use crate::threads;

/// How long a command may take: somebody may have to touch a key for it.
const PATIENCE: Duration = Duration::from_secs(60);
const PULSE: Duration = Duration::from_millis(10);
/// How long what a command printed may take to arrive when it has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// No password is longer.
const LONGEST: u64 = 4096;
/// What is shown of a command's complaint.
const COMPLAINT: usize = 300;

/// The first line that the command in `words` prints.
///
/// # Errors
/// [`ErrorKind::Io`] when it cannot be run, fails, or prints none; [`ErrorKind::Timeout`].
pub(super) async fn printed(words: &[String]) -> Result<String> {
    let words = words.to_vec();
    crate::checkpoint::blocking(move || run(&words, PATIENCE)).await
}

fn run(words: &[String], patience: Duration) -> Result<String> {
    let Some((program, rest)) = words.split_first() else {
        return Err(Error::new(ErrorKind::Usage, "password_command is empty"));
    };
    let shown = format!("password_command ({})", visible(program));
    let failed = |what: String| Error::new(ErrorKind::Io, format!("{shown} {what}"));
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            failed(format!("cannot be started: {}", reason(&error)))
                .hint("it is run without a shell; `sh -c '…'` is one")
        })?;
    let pipes =
        beginning(child.stdout.take()).and_then(|line| Ok((line, beginning(child.stderr.take())?)));
    let (line, complaint) = match pipes {
        Ok(pipes) => pipes,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let Some(status) = ended(&mut child, patience) else {
        let what = format!("{shown} took over {} s and was stopped", patience.as_secs());
        return Err(Error::new(ErrorKind::Timeout, what));
    };
    let complaint = complaint.recv_timeout(LAST_WORDS).unwrap_or_default();
    if !status.success() {
        return Err(failed(format!("failed: {}", why(status, &complaint))));
    }
    let printed = line.recv_timeout(LAST_WORDS).unwrap_or_default();
    let line = printed.split(|byte| *byte == b'\n').next();
    let line = line.unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if printed.len() as u64 >= LONGEST && line.len() == printed.len() {
        return Err(failed(
            "printed a line that is too long for a password".into(),
        ));
    }
    match std::str::from_utf8(line) {
        Ok("") => Err(failed("printed no password on its first line".into())),
        Ok(line) => Ok(line.to_owned()),
        Err(_) => Err(failed("printed a first line that is no UTF-8 text".into())),
    }
}

/// The beginning of what comes out of `pipe`; the rest is read, too, and forgotten.
fn beginning(pipe: Option<impl Read + Send + 'static>) -> Result<Receiver<Vec<u8>>> {
    let (send, answer) = channel();
    threads::start(move || {
        let Some(mut pipe) = pipe else { return };
        let mut bytes = Vec::new();
        // What was read before a failure counts.
        let _ = (&mut pipe).take(LONGEST).read_to_end(&mut bytes);
        let _ = send.send(bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    })?;
    Ok(answer)
}

/// How it ended; nothing when it had to be stopped.
fn ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(PULSE),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Its last line on stderr, which is where most programs say what is wrong, else how it ended.
fn why(status: ExitStatus, complaint: &[u8]) -> String {
    let complaint = String::from_utf8_lossy(complaint);
    let mut lines = complaint.lines().map(str::trim);
    match lines.rfind(|line| !line.is_empty()) {
        Some(line) => visible(line).chars().take(COMPLAINT).collect(),
        None => status.to_string(),
    }
}

/// Whether somebody is there to be asked.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for the password of `whose` at the terminal, without an echo.
///
/// # Errors
/// [`ErrorKind::Cancelled`] when it is not given; [`ErrorKind::Io`].
pub(super) async fn asked(whose: &str) -> Result<String> {
    let failed = |error: std::io::Error| {
        let what = format!("cannot ask for the password: {}", reason(&error));
        Error::new(ErrorKind::Io, what)
    };
    let quiet = Quiet::begin().map_err(failed)?;
    // ctrl-c comes as a signal, too: it may not end us before the terminal has its echo back.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let prompt = format!("Password for {}: ", visible(whose));
    let before = quiet.0.clone();
    let asking = threads::blocking(move || {
        let answer = rpassword::prompt_password(prompt);
        // It gives back what it found, which is our silence, and may do so after we have left.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
        Ok(answer)
    });
    let answer = tokio::select! {
        answer = asking => answer,
        _ = interrupt.recv() => return Err(Error::cancelled()),
        _ = terminate.recv() => return Err(Error::cancelled()),
        _ = hangup.recv() => return Err(Error::cancelled()),
    };
    match answer {
        Ok(Ok(password)) => Ok(password),
        // ctrl-c, and the end of the input.
        Ok(Err(error)) if is_leaving(&error) => Err(Error::cancelled()),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(Error::cancelled()),
    }
}

fn is_leaving(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, UnexpectedEof};
    matches!(error.kind(), Interrupted | UnexpectedEof)
}

/// A terminal that shows nothing of what is typed, from before it is asked for until this is dropped:
/// also when whoever reads the password waits on.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> std::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Result<String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, Duration::from_secs(20))
    }

    #[track_caller]
    fn refused(script: &str, what: &str) {
        let error = sh(script).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.message(), format!("password_command (sh) {what}"));
    }

    #[test]
    fn the_first_line_is_the_password() {
        assert_eq!(sh("echo 'a b '; echo user: x").expect("printed"), "a b ");
        assert_eq!(sh("printf 'secret\\r\\n'").expect("printed"), "secret");
        assert_eq!(sh("printf secret").expect("printed"), "secret");
        // What it says beside it, or prints after it without end, is nothing of ours.
        let more = "echo touch the key >&2; echo secret; head -c 300000 /dev/zero";
        assert_eq!(sh(more).expect("printed"), "secret");
    }

    #[test]
    fn a_failure_says_why_and_never_what_was_printed() {
        refused(
            "echo hunter2; echo first >&2; echo 'no key\u{1b}[2J' >&2; exit 3",
            "failed: no key\\x1b[2J",
        );
        refused("echo hunter2; exit 3", "failed: exit status: 3");
        refused(
            "echo; echo hunter2",
            "printed no password on its first line",
        );
        refused("true", "printed no password on its first line");
        refused(
            "printf 'hunter\\377\\n'",
            "printed a first line that is no UTF-8 text",
        );
        refused(
            "head -c 5000 /dev/zero | tr '\\0' x",
            "printed a line that is too long for a password",
        );
        let nowhere = run(&["/no/such/program".to_owned()], PATIENCE).expect_err("refused");
        let message = nowhere.message();
        assert!(
            message.ends_with("cannot be started: no such file or directory"),
            "{message}"
        );
    }

    #[test]
    fn a_command_that_takes_too_long_is_stopped() {
        let words = ["sleep", "60"].map(str::to_owned);
        let error = run(&words, Duration::from_millis(50)).expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(
            error
                .message()
                .starts_with("password_command (sleep) took over")
        );
    }
}
