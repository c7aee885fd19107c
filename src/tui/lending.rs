//! While a program has the terminal. Its end is waited for, and so is the signal to leave: a window of
//! an editor may outlive the line that it was asked for on.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

use super::driver::Asked;

/// How long a program may take for its last words, each time it is told to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits for the end of `child`; nothing when we are to leave before it, and it is told to end too.
pub(super) async fn outlast(
    child: &mut Child,
    asked: &mut UnboundedReceiver<Asked>,
) -> Option<io::Result<ExitStatus>> {
    tokio::select! {
        biased;
        ended = end_of(child) => return Some(ended),
        () = leaving(asked) => {}
    }
    // What a terminal that goes away sends, and what a person sends to what does not hear that. Not
    // both at once: some take a second signal for a reason to drop everything.
    for signal in [Signal::HUP, Signal::TERM] {
        let pid = Pid::from_child(child);
        // It may have ended by itself, and one that is stopped hears nothing.
        let _ = kill_process(pid, signal).and_then(|()| kill_process(pid, Signal::CONT));
        let ended = tokio::time::timeout(LAST_WORDS, end_of(child)).await;
        if ended.is_ok() {
            break;
        }
    }
    None
}

async fn end_of(child: &mut Child) -> io::Result<ExitStatus> {
    // Listened for before the child is asked, so that its end is not missed.
    let mut changed = signal(SignalKind::child())?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        changed.recv().await;
    }
}

/// Comes back when a signal asks to leave; what else is asked is seen to when the terminal is ours.
async fn leaving(asked: &mut UnboundedReceiver<Asked>) {
    while !matches!(asked.recv().await, Some(Asked::Leave) | None) {}
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn a_program_is_outlasted_unless_we_are_to_leave() {
        let (ask, mut asked) = unbounded_channel();
        for other in [Asked::Resize, Asked::Resume] {
            ask.send(other).expect("heard");
        }
        let mut child = Command::new("sh")
            .args(["-c", "exit 3"])
            .spawn()
            .expect("sh");
        let ended = outlast(&mut child, &mut asked).await.expect("its end");
        assert_eq!(ended.expect("a status").code(), Some(3));
        // This one would wait for ever.
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat");
        ask.send(Asked::Leave).expect("heard");
        assert!(outlast(&mut child, &mut asked).await.is_none());
        use std::os::unix::process::ExitStatusExt as _;
        let status = child.try_wait().expect("a status").expect("it has ended");
        // Where hanging up is ignored (below nohup) it takes the second one.
        let told = [Signal::HUP, Signal::TERM].map(|signal| Some(signal.as_raw()));
        assert!(told.contains(&status.signal()), "{status:?}");
    }
}
