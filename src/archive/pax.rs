//! pax records: what an extension header says about the member after it.

use bytes::Bytes;

use super::ambiguous;
use super::number::{python_float, python_int};

/// A time in seconds: whole from a header, a double from a pax record, as in Python.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mtime {
    /// Whole seconds.
    Whole(i128),
    /// Seconds as a double.
    Double(f64),
}

impl Mtime {
    /// Seconds and nanoseconds (0 to 999,999,999), floored as Python's `os.utime` floors them;
    /// `None` for NaN and for seconds past 64 bits, which no clock holds.
    #[must_use]
    pub fn timespec(self) -> Option<(i64, u32)> {
        match self {
            Self::Whole(seconds) => Some((i64::try_from(seconds).ok()?, 0)),
            Self::Double(time) => {
                if time.is_nan() {
                    return None;
                }
                let mut seconds = time.trunc();
                let mut nanos = ((time - seconds) * 1e9).floor();
                if nanos >= 1e9 {
                    nanos -= 1e9;
                    seconds += 1.0;
                } else if nanos < 0.0 {
                    nanos += 1e9;
                    seconds -= 1.0;
                }
                // 2^63 itself is out of range, -2^63 is in it.
                let range = -(2_f64.powi(63))..2_f64.powi(63);
                range
                    .contains(&seconds)
                    .then_some((seconds as i64, nanos as u32))
            }
        }
    }

    /// Nanoseconds since the epoch, where that is a time at all.
    #[must_use]
    pub fn nanoseconds(self) -> Option<i128> {
        self.timespec()
            .map(|(seconds, nanos)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    }
}

/// What is read of a header; every other record is only held to its form.
const KEYS: [&[u8]; 11] = [
    b"path",
    b"linkpath",
    b"size",
    b"mtime",
    b"GNU.sparse.name",
    b"GNU.sparse.map",
    b"GNU.sparse.size",
    b"GNU.sparse.realsize",
    b"GNU.sparse.major",
    b"GNU.sparse.minor",
    b"GNU.sparse.numblocks",
];

/// Records in the order they were first given; a later value replaces an earlier one. Values are
/// shared: a global header speaks of every member, and may be large.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    all: Vec<(&'static [u8], Bytes)>,
    /// What other readers take for something else.
    doubt: Option<&'static str>,
}

/// A pax header that is malformed. Readers disagree on these (Python 3.11 and 3.13 among them), so
/// they are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRecords {
    /// A record of length zero: Python takes the header as invalid, which ends the archive.
    ZeroLength,
    /// Everything else.
    Malformed,
}

impl Records {
    fn set(&mut self, key: &[u8], value: &[u8]) {
        let Some(key) = KEYS.iter().find(|known| **known == key) else {
            return;
        };
        let value = Bytes::copy_from_slice(value);
        match self.all.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.all.push((key, value)),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Bytes> {
        let found = self.all.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static [u8], &Bytes)> {
        self.all.iter().map(|(key, value)| (*key, value))
    }

    /// What other readers take for something else in the header that was read last.
    pub(crate) fn doubt(&self) -> Option<&'static str> {
        self.doubt
    }

    /// Reads `payload`: `LENGTH KEY=VALUE\n`, where LENGTH counts the whole record, then zeros.
    pub(crate) fn add(&mut self, payload: &[u8]) -> Result<(), BadRecords> {
        let mut rest = payload;
        let mut own: Vec<(&[u8], &[u8])> = Vec::new();
        self.doubt = None;
        while rest.first().is_some_and(|byte| *byte != 0) {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let length = std::str::from_utf8(&rest[..digits])
                .ok()
                .and_then(|digits| digits.parse::<usize>().ok())
                .ok_or(BadRecords::Malformed)?;
            if length == 0 {
                return Err(BadRecords::ZeroLength);
            }
            let record = rest.get(..length).ok_or(BadRecords::Malformed)?;
            let body = record
                .get(digits..)
                .and_then(|body| body.strip_prefix(b" "))
                .and_then(|body| body.strip_suffix(b"\n"))
                .ok_or(BadRecords::Malformed)?;
            let cut = body
                .iter()
                .position(|b| *b == b'=')
                .filter(|cut| *cut > 0)
                .ok_or(BadRecords::Malformed)?;
            let (key, value) = (&body[..cut], &body[cut + 1..]);
            self.doubt = self.doubt.or_else(|| in_doubt(key, value, &own));
            if KEYS.contains(&key) && own.len() < KEYS.len() {
                own.push((key, value));
            }
            self.set(key, value);
            rest = &rest[length..];
        }
        if rest.iter().any(|byte| *byte != 0) {
            return Err(BadRecords::Malformed);
        }
        Ok(())
    }

    fn says(&self, key: &[u8], what: &[u8]) -> bool {
        self.get(key).is_some_and(|value| value == what)
    }

    /// Whether they describe a sparse file, in any of GNU's three forms.
    pub(crate) fn sparse(&self) -> bool {
        self.get(b"GNU.sparse.map").is_some()
            || self.get(b"GNU.sparse.size").is_some()
            || self.says(b"GNU.sparse.major", b"1") && self.says(b"GNU.sparse.minor", b"0")
    }
}

/// What other readers make of a record that comes after those in `own`.
fn in_doubt(key: &[u8], value: &[u8], own: &[(&[u8], &[u8])]) -> Option<&'static str> {
    let number = matches!(
        key,
        b"size" | b"mtime" | b"atime" | b"ctime" | b"uid" | b"gid"
    );
    if number && !ambiguous::is_plain_decimal(value) {
        return Some(ambiguous::NUMBER);
    }
    let repeated = own.iter().any(|(name, old)| *name == key && *old != value);
    repeated.then_some(ambiguous::REPEATED)
}

/// A size in a record: garbage counts as zero, as in Python.
pub(crate) fn record_size(value: &[u8]) -> Option<i128> {
    number(value).map(|text| python_int(text, 10).unwrap_or(0))
}

/// A time in a record: garbage counts as zero, as in Python.
pub(crate) fn record_mtime(value: &[u8]) -> Option<Mtime> {
    number(value).map(|text| python_float(text).map_or(Mtime::Whole(0), Mtime::Double))
}

/// `None` for what is not ASCII: Python reads other scripts' digits too, we refuse them.
fn number(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_floored_doubles() {
        let at = |text: &str| record_mtime(text.as_bytes()).and_then(Mtime::nanoseconds);
        assert_eq!(at("1780000000.123456789"), Some(1_780_000_000_123_456_716));
        assert_eq!(at("-14182940.25"), Some(-14_182_940_250_000_000));
        assert_eq!(at("1.0000000009"), Some(1_000_000_000));
        assert_eq!(at("yesterday"), Some(0));
        for clockless in ["nan", "inf", "1e30", "9223372036854775808", "-1e30"] {
            assert_eq!(at(clockless), None, "{clockless}");
        }
    }

    #[test]
    fn malformed_records_are_errors() {
        for bad in [
            "10 path=workspace/x\n",
            "99 path=x\n",
            "20 path=workspace/xy",
            "8 path\n\n",
            "hello there",
            "10 path=ab\njunk",
        ] {
            assert!(Records::default().add(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let mut records = Records::default();
        assert_eq!(records.add(b"12 path=a=b\n\0\0\0"), Ok(()));
        assert!(records.says(b"path", b"a=b"));
        assert_eq!(records.add(b""), Ok(()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(items in proptest::collection::vec(("path|linkpath|size|mtime|[a-zA-Z.]{1,20}", proptest::collection::vec(any::<u8>(), 0..300)), 0..6)) {
            let mut payload = Vec::new();
            let mut expected = Records::default();
            for (key, value) in &items {
                payload.extend(super::super::capture::pax_record(key.as_bytes(), value));
                expected.set(key.as_bytes(), value);
            }
            let mut records = Records::default();
            prop_assert_eq!(records.add(&payload), Ok(()));
            prop_assert!(records.iter().eq(expected.iter()));
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Records::default().add(&bytes);
        }
    }
}
