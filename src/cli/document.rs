//! JSON as it is printed: the same document for whoever reads it, and nothing for a terminal to obey.
//! `serde_json` escapes controls below U+0020 alone; here everything is escaped that text would write out.

use std::io::{self, Write};

use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::text::Wary;

struct Safe;

impl Formatter for Safe {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return out.write_all(fragment.as_bytes());
        }
        let mut wary = Wary::default();
        let mut begins = 0;
        for (at, c) in fragment.char_indices() {
            if wary.writes_out(c) {
                out.write_all(&fragment.as_bytes()[begins..at])?;
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
                begins = at + c.len_utf8();
            }
        }
        out.write_all(&fragment.as_bytes()[begins..])
    }
}

/// Writes `value` in one line.
pub(super) fn write(out: &mut impl Write, value: &Value) -> io::Result<()> {
    use serde::Serialize as _;
    value.serialize(&mut Serializer::with_formatter(&mut *out, Safe))?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_is_the_same_and_holds_nothing_raw() {
        let evil = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{200b}\u{e0041}\"\\\n\u{fe0f}e\u{301}日👍🏽";
        let value = json!({evil: [evil, 1, null]});
        let mut bytes = Vec::new();
        write(&mut bytes, &value).expect("a Vec takes it all");
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(
            text.contains("\\u009b") && text.contains("\\udb40\\udc41"),
            "{text}"
        );
        assert_eq!(crate::text::visible(text.trim_end()), text.trim_end());
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
