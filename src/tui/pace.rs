//! How fast something goes and how long it will take, in a few words.

use crate::progress::Progress;
use crate::text::human_bytes;

/// Below this many milliseconds a rate says nothing.
const TOO_SOON: i64 = 500;

/// `12.1 MB of 40.0 MB, 30%, 8.1 MB/s, 4 s left`, with what is known of it.
#[must_use]
pub fn bytes(progress: Progress, elapsed_ms: i64) -> String {
    let Progress { done, total, .. } = progress;
    let mut text = human_bytes(done);
    if let Some(percent) = done.saturating_mul(100).checked_div(total) {
        text.push_str(&format!(" of {}, {percent}%", human_bytes(total)));
    }
    let Ok(elapsed @ 1..) = u64::try_from(elapsed_ms) else {
        return text;
    };
    if elapsed_ms < TOO_SOON || done == 0 {
        return text;
    }
    let rate = done.saturating_mul(1000) / elapsed;
    text.push_str(&format!(", {}/s", human_bytes(rate)));
    if total > done && rate > 0 {
        let left = i64::try_from((total - done) / rate).unwrap_or(i64::MAX);
        text.push_str(&format!(
            ", {} left",
            took(left.saturating_mul(1000).max(1000))
        ));
    }
    text
}

/// A time taken: `340 ms`, `12 s`, `3 min 20 s`.
#[must_use]
pub fn took(ms: i64) -> String {
    match ms {
        ..1000 => format!("{} ms", ms.max(0)),
        1000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Stage;

    #[test]
    fn says_what_is_known() {
        let progress = |done, total| Progress {
            stage: Stage::Restore,
            done,
            total,
            finished: false,
        };
        assert_eq!(bytes(progress(0, 0), 0), "0 B");
        assert_eq!(
            bytes(progress(10_000, 40_000), 100),
            "10.0 kB of 40.0 kB, 25%"
        );
        assert_eq!(
            bytes(progress(10_000, 40_000), 2_000),
            "10.0 kB of 40.0 kB, 25%, 5.0 kB/s, 6 s left"
        );
        assert_eq!(took(200_000), "3 min 20 s");
        assert_eq!(took(3_720_000), "1 h 2 min");
    }
}
