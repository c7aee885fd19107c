//! Signals that stop a command, so that what was begun is removed before we go.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::progress::CancellationToken;

/// Cancels `cancel` when Ctrl-C, SIGTERM or SIGHUP comes; a second one of the first two ends us at
/// once. A line that drops may say so more than once.
pub(super) fn cancels(runtime: &Runtime, cancel: CancellationToken) {
    let ignored = ignored();
    let on = |kind: SignalKind| {
        // What whoever started us has us ignore (`nohup`, a shell's `&`) stays ignored.
        let bit = 1_u64.checked_shl(kind.as_raw_value().cast_unsigned().saturating_sub(1));
        let heard = bit.is_none_or(|bit| ignored & bit == 0);
        heard.then(|| signal(kind).ok()).flatten()
    };
    // Taken over here and now: a signal that came a moment later would end us without a trace.
    let entered = runtime.enter();
    let mut interrupt = on(SignalKind::interrupt());
    let mut terminate = on(SignalKind::terminate());
    let mut hangup = on(SignalKind::hangup());
    drop(entered);
    runtime.spawn(async move {
        let mut asked = false;
        loop {
            let again = tokio::select! {
                () = next(&mut interrupt) => true,
                () = next(&mut terminate) => true,
                () = next(&mut hangup) => false,
            };
            if again && asked {
                std::process::exit(130);
            }
            asked |= again;
            cancel.cancel();
        }
    });
}

/// Waits for the next such signal; for ever where it is not listened for.
async fn next(signal: &mut Option<Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if heard.is_none() {
        std::future::pending::<()>().await;
    }
}

/// The signals that we were started to ignore, one bit each; none where the system does not say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
