//! Times as people type them: a span back from now, a date, or an exact time.

use crate::error::{Error, ErrorKind, Result};

/// The epoch second that `text` means, `now` being the present one: `90m`, `12h`, `7d`, `2w`, a date
/// in the system's time zone, or a whole timestamp.
///
/// # Errors
/// [`ErrorKind::Usage`] with what is accepted.
pub fn since(text: &str, now: i64) -> Result<i64> {
    let wrong = || {
        // It may be pasted, and any length.
        let start: String = text.chars().take(60).collect();
        let quoted = crate::text::python_repr(start.as_bytes());
        Error::new(ErrorKind::Usage, format!("{quoted} is no time"))
            .hint("say 90m, 12h, 7d, 2w, or a date like 2026-06-01")
    };
    if let Some(unit) = text.chars().last().filter(|c| "smhdw".contains(*c)) {
        let digits = &text[..text.len() - 1];
        let count: i64 = match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().map_err(|_| wrong())?,
            false => return Err(wrong()),
        };
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => 604_800,
        };
        return Ok(now.saturating_sub(count.checked_mul(seconds).ok_or_else(wrong)?));
    }
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Ok(timestamp.as_second());
    }
    let date: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
    let zoned = date
        .to_zoned(jiff::tz::TimeZone::system())
        .map_err(|_| wrong())?;
    Ok(zoned.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_spans_and_dates() {
        let now = 1_780_000_000;
        assert_eq!(since("7d", now).expect("a span"), now - 604_800);
        assert_eq!(since("90m", now).expect("a span"), now - 5_400);
        assert_eq!(since("2w", now).expect("a span"), now - 1_209_600);
        assert_eq!(
            since("2026-06-01T00:00:00Z", now).expect("a time"),
            1_780_272_000
        );
        assert!(since("2026-06-01", now).is_ok());
        for bad in ["", "d", "-1d", "yesterday", "9999999999999999999d", "żd"] {
            assert!(since(bad, now).is_err(), "{bad:?}");
        }
    }
}
