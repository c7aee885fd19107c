//! Numbers as Python reads them out of a tar: octal or binary in a header, text in a pax record.

/// Python refuses to read an integer of more digits.
const MAX_DIGITS: usize = 4300;

/// A number field that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadNumber;

/// `tarfile.nti`: a binary number marked by 0x80 or 0xff, else octal text up to the first NUL.
pub(crate) fn header_number(field: &[u8]) -> Result<i128, BadNumber> {
    match field.first() {
        Some(mark @ (0x80 | 0xff)) => {
            let value = field[1..]
                .iter()
                .fold(0_i128, |value, byte| (value << 8) | i128::from(*byte));
            let whole = 1_i128 << (8 * (field.len() - 1));
            Ok(if *mark == 0xff { value - whole } else { value })
        }
        _ => {
            let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
            let text = std::str::from_utf8(&field[..end]).map_err(|_| BadNumber)?;
            if !text.is_ascii() {
                return Err(BadNumber);
            }
            let text = strip(text);
            if text.is_empty() {
                return Ok(0);
            }
            python_int(text, 8).ok_or(BadNumber)
        }
    }
}

/// Python's `str.strip` for ASCII.
fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, ' ' | '\t'..='\r' | '\u{1c}'..='\u{1f}'))
}

/// Python's `int(text, base)`: spaces around, a sign, a prefix in base 8, underscores between
/// digits. `None` where Python raises ValueError; values past 127 bits saturate.
pub(crate) fn python_int(text: &str, base: u32) -> Option<i128> {
    let text = strip(text);
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = match digits.get(..2) {
        Some("0o" | "0O") if base == 8 => {
            let rest = &digits[2..];
            rest.strip_prefix('_').unwrap_or(rest)
        }
        _ => digits,
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS && base == 10 {
        return None;
    }
    let mut value = 0_i128;
    let mut after_digit = false;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        let digit = c.to_digit(base)?;
        value = value
            .saturating_mul(i128::from(base))
            .saturating_add(i128::from(digit));
        after_digit = true;
    }
    after_digit.then_some(if negative { -value } else { value })
}

/// Python's `float(text)`; `None` where it raises ValueError.
pub(crate) fn python_float(text: &str) -> Option<f64> {
    let text = strip(text);
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let mut plain = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '_' {
            if !(digit(at.checked_sub(1)) && digit(Some(at + 1))) {
                return None;
            }
        } else {
            plain.push(c);
        }
    }
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_header_fields_as_python_does() {
        assert_eq!(header_number(b"0000644\0"), Ok(0o644));
        assert_eq!(header_number(b"   644 \0"), Ok(0o644));
        assert_eq!(header_number(b"\0\0\0\0\0\0\0\0"), Ok(0));
        assert_eq!(header_number(b"1\x00777\0\0\0"), Ok(1));
        assert_eq!(header_number(b"1_0\0"), Ok(8));
        assert_eq!(header_number(b"0o10\0"), Ok(8));
        assert_eq!(header_number(b"-10\0"), Ok(-8));
        assert_eq!(header_number(b"+10\0"), Ok(8));
        assert_eq!(header_number(b"zz\0"), Err(BadNumber));
        assert_eq!(header_number(b"8\0"), Err(BadNumber));
        assert_eq!(header_number(b"\x81\0\0\0"), Err(BadNumber));
        assert_eq!(header_number(b"\x80\0\0\x06"), Ok(6));
        assert_eq!(header_number(b"\xff\xff\xff\xff"), Ok(-1));
    }

    #[test]
    fn reads_pax_numbers_as_python_does() {
        assert_eq!(python_int(" 0_6 ", 10), Some(6));
        assert_eq!(python_int("six", 10), None);
        assert_eq!(python_int("_6", 10), None);
        assert_eq!(python_int("6_", 10), None);
        assert_eq!(python_int("-1", 10), Some(-1));
        assert_eq!(python_int("", 10), None);
        assert_eq!(python_float(" 1_780_000_000.5 "), Some(1_780_000_000.5));
        assert_eq!(python_float("1._5"), None);
        assert_eq!(python_float("yesterday"), None);
        assert!(python_float("nan").is_some_and(f64::is_nan));
        assert_eq!(python_float("-inf"), Some(f64::NEG_INFINITY));
    }
}
