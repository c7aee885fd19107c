//! One line of progress on stderr, when that is a terminal and the work takes a while.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::progress::{CancellationToken, Progress, Stage, Watch};
use crate::text::human_bytes;

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);
const EVERY: Duration = Duration::from_millis(100);

/// A watch that `cancel` stops and that draws on stderr.
pub(super) fn watch(cancel: CancellationToken) -> Watch {
    if !std::io::stderr().is_terminal() {
        return Watch::new(cancel);
    }
    let begun = Instant::now();
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    Watch::reporting(cancel, move |progress| {
        let Ok(mut last) = last.lock() else { return };
        let now = Instant::now();
        if progress.finished {
            if last.take().is_some() {
                clear();
            }
        } else if now - begun > PATIENCE && last.is_none_or(|last| now - last > EVERY) {
            *last = Some(now);
            draw(progress);
        }
    })
}

fn draw(progress: Progress) {
    let name = match progress.stage {
        Stage::Row => "row",
        Stage::Gate => "gate",
        Stage::Object => "object",
        Stage::Digest => "sha256",
        Stage::Archive => "archive",
        Stage::Checkout => "checkout",
        Stage::Diff => "diff",
        Stage::Restore => "restore",
    };
    let bytes = matches!(
        progress.stage,
        Stage::Object | Stage::Digest | Stage::Restore
    );
    let show = |count: u64| {
        if bytes {
            human_bytes(count)
        } else {
            count.to_string()
        }
    };
    let mut line = format!("{name} {}", show(progress.done));
    let percent = progress
        .done
        .saturating_mul(100)
        .checked_div(progress.total);
    if let Some(percent) = percent {
        line.push_str(&format!(" of {} ({percent}%)", show(progress.total)));
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r\x1b[K{line}");
    let _ = err.flush();
}

fn clear() {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r\x1b[K");
    let _ = err.flush();
}
