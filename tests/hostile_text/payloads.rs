//! Texts that mean harm, and how each is to be shown.

/// What is written, and what a person reads of it.
pub const PAYLOADS: &[(&str, &str)] = &[
    ("\x1b[2J\x1b[31m", "\\x1b[2J\\x1b[31m"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("\x1b]8;;http://x\x1b\\", "\\x1b]8;;http://x\\x1b\\"),
    ("\x1b]9;note\x07", "\\x1b]9;note\\x07"),
    ("\x1b]52;c;QQ==\x07", "\\x1b]52;c;QQ==\\x07"),
    ("\x1bP$qm\x1b\\", "\\x1bP$qm\\x1b\\"),
    ("\x1b_apc\x1b\\", "\\x1b_apc\\x1b\\"),
    ("\x1bc\x1b(0", "\\x1bc\\x1b(0"),
    ("\u{9b}2J\u{9d}0;x\u{9c}", "\\x9b2J\\x9d0;x\\x9c"),
    ("\u{85}\u{8d}", "\\x85\\x8d"),
    ("\x07\x08\x08", "\\x07\\x08\\x08"),
    ("one\rtwo", "one\\rtwo"),
    ("\x0b\x0c\x7f\x0e", "\\x0b\\x0c\\x7f\\x0e"),
    ("one\ntwo", "one\\ntwo"),
    ("one\ttwo", "one\\ttwo"),
    ("\u{202e}gnp\u{202c}", "\\u{202e}gnp\\u{202c}"),
    (
        "\u{2066}\u{2067}\u{2068}\u{2069}",
        "\\u{2066}\\u{2067}\\u{2068}\\u{2069}",
    ),
    ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
    ("\u{200b}\u{200c}\u{200d}", "\\u{200b}\\u{200c}\\u{200d}"),
    ("\u{2060}\u{feff}\u{ad}", "\\u{2060}\\u{feff}\\xad"),
    (
        "\u{34f}\u{180e}\u{3164}\u{115f}",
        "\\u{34f}\\u{180e}\\u{3164}\\u{115f}",
    ),
    (
        "\u{e0050}\u{e0057}\u{e0001}",
        "\\u{e0050}\\u{e0057}\\u{e0001}",
    ),
    ("\u{fe0f}\u{fe00}\u{e0100}", "\\u{fe0f}\\u{fe00}\\u{e0100}"),
    ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
    ("\u{fff9}\u{fffb}\u{ffff}", "\\u{fff9}\\u{fffb}\\u{ffff}"),
    (
        "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{20dd}",
        "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{20dd}",
    ),
    ("日本語ｗ", "日本語ｗ"),
    ("👩\u{200d}👧", "👩\\u{200d}👧"),
    ("👍🏽", "👍\\u{1f3fd}"),
    ("✈\u{fe0f}", "✈\\u{fe0f}"),
    ("🇵🇱🇵", "🇵🇱🇵"),
    ("\u{1112}\u{1161}\u{11ab}ᄒ", "\u{1112}\u{1161}\u{11ab}ᄒ"),
    ("ាក្ក", "ាក\\u{17d2}ក"),
    ("раypаl", "раypаl"),
    ("'; touch x #", "'; touch x #"),
];

/// Bytes that are no UTF-8, or that only a file's name may be.
pub const BYTES: &[(&[u8], &str)] = &[
    (b"\x9b2J", "\\x9b2J"),
    (b"\xff\xfe", "\\xff\\xfe"),
    (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    (b"\xe2\x80", "\\xe2\\x80"),
    (b"caf\xe9", "caf\\xe9"),
];

/// `word`, the payload, and the marker that shows that nothing was swallowed.
pub fn evil(number: usize, word: &str) -> String {
    format!("{word}{}PWN{number:02}", PAYLOADS[number].0)
}

/// What is to be read of it.
pub fn seen(number: usize, word: &str) -> String {
    format!("{word}{}PWN{number:02}", PAYLOADS[number].1)
}

/// What is to be read of it in a file's text, where nobody needs to know how an emoji looks.
pub fn read(number: usize, word: &str) -> String {
    let shown = match PAYLOADS[number].0 {
        "👍🏽" => "👍",
        "✈\u{fe0f}" => "✈",
        _ => PAYLOADS[number].1,
    };
    format!("{word}{shown}PWN{number:02}")
}

/// Whether it can stand in a name: one with a backslash is in no checkpoint.
pub fn is_name(number: usize) -> bool {
    !PAYLOADS[number].0.contains(['/', '\\'])
}

/// All of them in one text.
pub fn all() -> String {
    (0..PAYLOADS.len()).map(|number| evil(number, "")).collect()
}

/// What is to be read of that.
pub fn all_seen() -> String {
    (0..PAYLOADS.len()).map(|number| seen(number, "")).collect()
}
