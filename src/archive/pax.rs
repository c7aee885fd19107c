//! pax records: what an extension header says about the member after it.

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

/// Records in the order they were first given; a later value replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(Vec<(Vec<u8>, Vec<u8>)>);

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
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_vec(), value.to_vec())),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| &value[..])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(key, value)| (&key[..], &value[..]))
    }

    /// Reads `payload`: `LENGTH KEY=VALUE\n`, where LENGTH counts the whole record, then zeros.
    pub(crate) fn add(&mut self, payload: &[u8]) -> Result<(), BadRecords> {
        let mut rest = payload;
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
            self.set(&body[..cut], &body[cut + 1..]);
            rest = &rest[length..];
        }
        if rest.iter().any(|byte| *byte != 0) {
            return Err(BadRecords::Malformed);
        }
        Ok(())
    }

    /// Whether they describe a sparse file, in any of GNU's three forms.
    pub(crate) fn sparse(&self) -> bool {
        self.get(b"GNU.sparse.map").is_some()
            || self.get(b"GNU.sparse.size").is_some()
            || self.get(b"GNU.sparse.major") == Some(b"1")
                && self.get(b"GNU.sparse.minor") == Some(b"0")
    }
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
        assert_eq!(records.get(b"path"), Some(&b"a=b"[..]));
        assert_eq!(records.add(b""), Ok(()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(items in proptest::collection::vec(("[a-zA-Z.]{1,20}", proptest::collection::vec(any::<u8>(), 0..300)), 0..6)) {
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
