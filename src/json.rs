//! JSON as Python's `json` module reads it, because that is what wrote and reads Agno's rows and
//! manifests: NaN and infinities, lone surrogates, integers of any size, the last of two equal
//! keys, UTF-16 and UTF-32 bytes. `serde_json` refuses all of these.

use std::fmt::{self, Write as _};

/// Python 3.11 gives up on nesting at about its recursion limit of 1,000 frames.
const MAX_DEPTH: usize = 980;
/// Python refuses to read an integer of more digits.
const MAX_INTEGER_DIGITS: usize = 4300;

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer of any size, as its digits.
    Int(String),
    /// Any other number; NaN and infinities too.
    Float(f64),
    /// Text; a lone surrogate becomes U+FFFD.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object in the order written; of two equal keys the last counts.
    Object(Vec<(String, Json)>),
}

/// Where and why reading stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Byte offset.
    pub at: usize,
    /// What was wrong there.
    pub why: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}", self.why, self.at)
    }
}

impl std::error::Error for JsonError {}

impl Json {
    /// Reads text that is already UTF-8.
    ///
    /// # Errors
    /// When Python's `json.loads(str)` would refuse it.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
        };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < reader.text.len() {
            return reader.stop("more after the value");
        }
        Ok(value)
    }

    /// Reads bytes as `json.loads(bytes)` does: UTF-8, UTF-16 or UTF-32, with or without a mark.
    ///
    /// # Errors
    /// When they are none of these, or no JSON.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, JsonError> {
        let bad = JsonError {
            at: 0,
            why: "not Unicode text",
        };
        Self::parse(&decode(bytes).ok_or(bad)?)
    }

    /// The value under `key`, of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(items) => items
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether Python's `or` passes over it.
    #[must_use]
    pub fn is_falsy(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) => true,
            Self::Bool(true) => false,
            Self::Int(digits) => digits.trim_start_matches('-').bytes().all(|b| b == b'0'),
            Self::Float(number) => *number == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Object(items) => items.is_empty(),
        }
    }

    /// What Python calls its type, for one-line explanations.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The value as Python's `json.dumps(value, allow_nan=False)` writes it, all ASCII; `None` for
    /// NaN and infinities.
    #[must_use]
    pub fn to_python(&self) -> Option<String> {
        let mut text = String::new();
        self.write_python(&mut text).then_some(text)
    }

    fn write_python(&self, out: &mut String) -> bool {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(digits) => out.push_str(digits),
            Self::Float(number) if number.is_finite() => {
                let _ = write!(out, "{number:?}");
            }
            Self::Float(_) => return false,
            Self::Text(text) => write_python_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    if !item.write_python(out) {
                        return false;
                    }
                }
                out.push(']');
            }
            Self::Object(items) => {
                out.push('{');
                for (index, (key, item)) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    write_python_text(key, out);
                    out.push_str(": ");
                    if !item.write_python(out) {
                        return false;
                    }
                }
                out.push('}');
            }
        }
        true
    }

    /// The value in `serde_json`'s terms; what JSON cannot carry (NaN, infinities) becomes null.
    #[must_use]
    pub fn to_serde(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(digits) => serde_json::from_str(digits).unwrap_or(Value::Null),
            Self::Float(number) => {
                serde_json::Number::from_f64(*number).map_or(Value::Null, Value::Number)
            }
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_serde).collect()),
            Self::Object(items) => Value::Object(
                items
                    .iter()
                    .map(|(name, value)| (name.clone(), value.to_serde()))
                    .collect(),
            ),
        }
    }
}

fn write_python_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Python's `json.detect_encoding`, then a decode that lets lone surrogates pass (as U+FFFD).
fn decode(bytes: &[u8]) -> Option<String> {
    let zero = |at: usize| bytes.get(at) == Some(&0);
    let (width, big, skip) = if bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        (4, true, 4)
    } else if bytes.starts_with(&[0xff, 0xfe, 0, 0]) {
        (4, false, 4)
    } else if bytes.starts_with(&[0xfe, 0xff]) {
        (2, true, 2)
    } else if bytes.starts_with(&[0xff, 0xfe]) {
        (2, false, 2)
    } else if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        (1, true, 3)
    } else if bytes.len() >= 4 {
        if zero(0) {
            if zero(1) { (4, true, 0) } else { (2, true, 0) }
        } else if zero(1) {
            if zero(2) || zero(3) {
                if zero(2) && zero(3) {
                    (4, false, 0)
                } else {
                    (2, false, 0)
                }
            } else {
                (2, false, 0)
            }
        } else {
            (1, true, 0)
        }
    } else if bytes.len() == 2 {
        if zero(0) {
            (2, true, 0)
        } else if zero(1) {
            (2, false, 0)
        } else {
            (1, true, 0)
        }
    } else {
        (1, true, 0)
    };
    let bytes = &bytes[skip..];
    match width {
        1 => decode_utf8(bytes),
        2 => {
            let (units, rest) = bytes.as_chunks::<2>();
            let units = units.iter().map(|unit| {
                if big {
                    u16::from_be_bytes(*unit)
                } else {
                    u16::from_le_bytes(*unit)
                }
            });
            rest.is_empty().then(|| {
                char::decode_utf16(units)
                    .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            })
        }
        _ => {
            let (units, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return None;
            }
            units
                .iter()
                .map(|unit| {
                    let code = if big {
                        u32::from_be_bytes(*unit)
                    } else {
                        u32::from_le_bytes(*unit)
                    };
                    match code {
                        0xd800..=0xdfff => Some(char::REPLACEMENT_CHARACTER),
                        code => char::from_u32(code),
                    }
                })
                .collect()
        }
    }
}

/// UTF-8 in which a surrogate may stand encoded (Python's `surrogatepass`).
fn decode_utf8(bytes: &[u8]) -> Option<String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(text.to_owned());
    }
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                break;
            }
            Err(error) => {
                let (valid, bad) = rest.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(valid).ok()?);
                if !matches!(bad, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]) {
                    return None;
                }
                text.push(char::REPLACEMENT_CHARACTER);
                rest = &bad[3..];
            }
        }
    }
    Some(text)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn stop<T>(&self, why: &'static str) -> Result<T, JsonError> {
        Err(JsonError { at: self.at, why })
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, word: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > MAX_DEPTH {
            return self.stop("nested too deep");
        }
        self.space();
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Json::Text(self.text()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                for (word, value) in [
                    (&b"null"[..], Json::Null),
                    (b"true", Json::Bool(true)),
                    (b"false", Json::Bool(false)),
                    (b"NaN", Json::Float(f64::NAN)),
                    (b"Infinity", Json::Float(f64::INFINITY)),
                ] {
                    if self.takes(word) {
                        return Ok(value);
                    }
                }
                self.stop("no JSON value")
            }
            None => self.stop("no JSON value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.takes(b"}") {
            return Ok(Json::Object(items));
        }
        loop {
            self.space();
            if self.text.get(self.at) != Some(&b'"') {
                return self.stop("no key in quotes");
            }
            let key = self.text()?;
            self.space();
            if !self.takes(b":") {
                return self.stop("no colon after a key");
            }
            items.push((key, self.value(depth + 1)?));
            self.space();
            if self.takes(b"}") {
                return Ok(Json::Object(items));
            }
            if !self.takes(b",") {
                return self.stop("no comma between items");
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.takes(b"]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes(b"]") {
                return Ok(Json::List(items));
            }
            if !self.takes(b",") {
                return self.stop("no comma between items");
            }
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        if self.takes(b"-") && self.takes(b"Infinity") {
            return Ok(Json::Float(f64::NEG_INFINITY));
        }
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while matches!(reader.text.get(reader.at), Some(b'0'..=b'9')) {
                reader.at += 1;
            }
            reader.at - from
        };
        let whole = if self.takes(b"0") { 1 } else { digits(self) };
        if whole == 0 {
            return self.stop("no JSON value");
        }
        let mut float = false;
        let mark = self.at;
        if self.takes(b".") {
            if digits(self) > 0 {
                float = true;
            } else {
                self.at = mark;
            }
        }
        let mark = self.at;
        if self.takes(b"e") || self.takes(b"E") {
            let _ = self.takes(b"+") || self.takes(b"-");
            if digits(self) > 0 {
                float = true;
            } else {
                self.at = mark;
            }
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if float {
            return Ok(Json::Float(word.parse().unwrap_or(f64::NAN)));
        }
        if whole > MAX_INTEGER_DIGITS {
            return self.stop("an integer of too many digits");
        }
        Ok(Json::Int(word.to_owned()))
    }

    fn text(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let start = self.at;
            while !matches!(self.text.get(self.at), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            text.push_str(std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default());
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                Some(_) => return self.stop("a raw control character in text"),
                None => return self.stop("text without its end"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(mark) = self.text.get(self.at) else {
            return self.stop("text without its end");
        };
        self.at += 1;
        Ok(match mark {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let second = self.hex()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = back;
                }
                char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return self.stop("an unknown escape"),
        })
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.stop("no four hex digits after \\u"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_python_reads() {
        let value = Json::parse(
            r#" {"a": NaN, "b": [1, -0, 2.5e3], "a": "\ud800x", "c": 123456789012345678901} "#,
        );
        let value = value.expect("Python reads this");
        assert_eq!(value.get("a"), Some(&Json::Text("\u{fffd}x".into())));
        assert_eq!(
            value.get("c").map(Json::to_serde).map(|v| v.to_string()),
            Some("123456789012345678901".into())
        );
        assert_eq!(
            Json::parse(r#""\ud83e\uddfe""#),
            Ok(Json::Text("🧾".into()))
        );
        assert_eq!(
            Json::parse_bytes(&[b'{', 0, b'}', 0]),
            Ok(Json::Object(vec![]))
        );
        assert_eq!(
            Json::parse_bytes(b"\"\xed\xa0\x80\""),
            Ok(Json::Text("\u{fffd}".into()))
        );
    }

    #[test]
    fn refuses_what_python_refuses() {
        for text in [
            "",
            "{",
            "01",
            "1 2",
            "\"\n\"",
            "{'a':1}",
            "[1,]",
            "{\"a\":1,}",
            "\u{feff}1",
            "nul",
            "+1",
            ".5",
            "1.",
        ] {
            assert!(Json::parse(text).is_err(), "{text:?}");
        }
        assert!(Json::parse(&"9".repeat(4300)).is_ok());
        assert!(Json::parse(&"9".repeat(4301)).is_err());
        assert!(Json::parse(&("[".repeat(900) + &"]".repeat(900))).is_ok());
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
        assert!(Json::parse_bytes(b"\"caf\xe9\"").is_err());
    }

    proptest! {
        #[test]
        fn agrees_with_serde_where_serde_reads(text in r#"[\[\]{}",:0-9eE.+\-truefalsn\\u ]{0,40}"#) {
            if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&text) {
                let ours = Json::parse(&text);
                prop_assert!(ours.is_ok(), "{text:?} is JSON, not for us");
                if !theirs.is_number() {
                    prop_assert_eq!(ours.unwrap().is_falsy(), matches!(&theirs, serde_json::Value::Null
                        | serde_json::Value::Bool(false)) || theirs.as_str() == Some("")
                        || theirs.as_array().is_some_and(Vec::is_empty)
                        || theirs.as_object().is_some_and(serde_json::Map::is_empty));
                }
            }
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = Json::parse_bytes(&bytes);
        }
    }
}
