//! Text from outside: shown to a terminal, answered by S3, or naming a PostgreSQL database.

use unicode_width::UnicodeWidthChar as _;

use crate::checkpoint::s3::xml::{Document, LONGEST};
use crate::postgres::{keywords, url};
use crate::text::{python_repr, visible, visible_bytes, visible_line};

/// Any bytes as text to show: nothing is left of what a terminal could obey, nor heaps of marks.
pub fn text(data: &[u8]) {
    let lossy = String::from_utf8_lossy(data);
    let shown = visible(&lossy);
    is_harmless(&shown);
    assert_eq!(
        visible(&shown),
        shown,
        "what is written out is written out again"
    );
    for shown in [visible_bytes(data), visible_line(data)] {
        is_harmless(&shown);
        assert!(shown.len() <= data.len() * 8);
        assert!(data.is_empty() || !shown.is_empty(), "it is gone");
    }
    let quoted = python_repr(data);
    assert!(quoted.len() >= 2 && quoted.ends_with(['\'', '"']));
    let inside = &quoted[1..quoted.len() - 1];
    assert!(!inside.contains(is_obeyed), "{inside:?}");
}

/// Whether a terminal does more with it than show a glyph.
fn is_obeyed(c: char) -> bool {
    matches!(c as u32,
        0..0x20 | 0x7f..0xa0 | 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e
        | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

fn is_harmless(shown: &str) {
    let mut marks = 0;
    for c in shown.chars() {
        assert!(!is_obeyed(c), "{c:?} is left");
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        assert!(marks <= 8, "a heap of marks is left");
    }
}

/// What S3 may answer: it is read up to a bound, and nothing grows.
pub fn xml(data: &[u8]) {
    let document = Document::read(data);
    let read = data.len().min(LONGEST) * 3;
    assert!(document.root.len() <= read);
    for name in ["Code", "Message", "Region", "UploadId", "ETag"] {
        assert!(document.get(name).len() <= read);
    }
}

/// A database's name, as a URL or in keywords: quoted anew it is read as the same, and no password
/// is shown.
pub fn postgres(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if url::is_url(&text)
        && let Ok(read) = url::parse(&text)
    {
        assert!(read.pairs.iter().all(|(name, _)| !name.is_empty()));
    }
    let _ = keywords::is_keywords(&text);
    if let Ok(pairs) = keywords::parse(&text) {
        let quoted: Vec<String> = pairs
            .iter()
            .map(|(name, value)| {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                format!("{name}='{value}'")
            })
            .collect();
        assert_eq!(keywords::parse(&quoted.join(" ")).ok(), Some(pairs));
    }
    let secret = "Tr0ub4dor&3";
    if !text.contains(secret) {
        let with = format!("{text} password={secret}");
        let named = |(name, value): &(String, String)| name == "password" && value == secret;
        let told = |(_, value): &(String, String)| value.contains(secret);
        // Escapes may spell it in another value, which hides nothing.
        let once = |pairs: &[(String, String)]| {
            pairs.last().is_some_and(named) && pairs.iter().filter(|pair| told(pair)).count() == 1
        };
        if keywords::parse(&with).is_ok_and(|pairs| once(&pairs)) {
            assert!(!keywords::masked(&with).contains(secret));
        }
    }
}
