//! What a terminal may be sent, byte by byte: text that shows, and the sequences that the product itself
//! sends, each in its exact form. Everything else fails, whoever wrote it.

/// Modes that the interface takes and gives back.
const MODES: [&str; 9] = [
    "25", "1000", "1002", "1003", "1004", "1006", "1015", "1049", "2004",
];
/// Marks on one letter.
const MARKS: usize = 8;

/// What is not shown, or turns what is around it: Unicode's controls, bidi controls, what may be ignored,
/// noncharacters.
fn is_unseen(c: char) -> bool {
    let code = c as u32;
    c.is_control()
        || code & 0xfffe == 0xfffe
        || matches!(code,
            0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfdd0..=0xfdef
            | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

/// The text of what was sent, without its sequences; says where it holds what no terminal may be sent.
pub fn text(raw: &[u8]) -> Result<String, String> {
    let sent = std::str::from_utf8(raw).map_err(|error| {
        let at = error.valid_up_to();
        format!("no UTF-8 at {at}: {}", around(raw, at))
    })?;
    let (mut text, mut marks) = (String::new(), 0);
    let mut rest = sent;
    while let Some(c) = rest.chars().next() {
        let at = sent.len() - rest.len();
        let wrong = |what: &str| Err(format!("{what} at {at}: {}", around(raw, at)));
        if c == '\x1b' {
            match sequence(rest) {
                Some(length) => rest = &rest[length..],
                None => return wrong("a sequence that is not ours"),
            }
            continue;
        }
        // A tab parts the two words of `--name-status`; a line ends with both on a terminal, and progress
        // is drawn over itself.
        let ends = c == '\r' && ["\r\n", "\r\x1b[K"].iter().any(|end| rest.starts_with(end));
        if is_unseen(c) && !ends && !matches!(c, '\n' | '\t') {
            return wrong(&format!("{c:?}"));
        }
        let is_mark = unicode_width::UnicodeWidthChar::width(c) == Some(0) && !c.is_control();
        marks = if is_mark { marks + 1 } else { 0 };
        if marks > MARKS {
            return wrong("a heap of marks");
        }
        text.push(c);
        rest = &rest[c.len_utf8()..];
    }
    Ok(text)
}

/// The length of the sequence that `rest` begins with, where it is one of the product's.
fn sequence(rest: &str) -> Option<usize> {
    let body = &rest[1..];
    if let Some(command) = body.strip_prefix(']') {
        let end = command.find('\x07')?;
        let said = &command[..end];
        let clipboard = said.strip_prefix("52;c;").is_some_and(|text| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        });
        let note = said
            .strip_prefix("9;")
            .is_some_and(|text| !text.contains(|c: char| is_unseen(c) || c == ';'));
        return (clipboard || note).then_some(1 + 1 + end + 1);
    }
    let control = body.strip_prefix('[')?;
    let end = control.find(|c: char| matches!(c, '\x40'..='\x7e'))?;
    let (numbers, last) = (&control[..end], &control[end..=end]);
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b';')
    };
    let ours = match last {
        "m" => digits(numbers),
        "H" => digits(numbers) && numbers.matches(';').count() == 1,
        "J" => numbers == "2",
        "K" => numbers.is_empty(),
        "h" | "l" => numbers
            .strip_prefix('?')
            .is_some_and(|mode| MODES.contains(&mode) || mode == "2026"),
        _ => false,
    };
    ours.then_some(2 + end + 1)
}

fn around(raw: &[u8], at: usize) -> String {
    let (from, to) = (at.saturating_sub(60), (at + 60).min(raw.len()));
    raw[from..to].escape_ascii().to_string()
}

#[test]
fn it_takes_what_is_ours_and_nothing_else() {
    for ours in [
        &b"\x1b[?1049h\x1b[2J\x1b[1;1H\x1b[38;5;10mA\x1b[0m"[..],
        b"\r\x1b[Kobject 1 of 2\r\n",
        b"\x1b]52;c;QQ==\x07\x1b]9;done\x07",
        "e\u{301} 日本".as_bytes(),
    ] {
        assert!(text(ours).is_ok(), "{}", ours.escape_ascii());
    }
    for theirs in [
        &b"\x1b]0;title\x07"[..],
        b"\x1b]52;c;?\x07",
        b"\x1b]8;;http://x\x1b\\",
        b"\x1b[6n",
        b"\x1b[3J",
        b"\x1b[?47h",
        b"\x1bc",
        b"\x1bP$q\x1b\\",
        b"\x1b_x\x1b\\",
        b"\x9b2J",
        "\u{9b}2J".as_bytes(),
        b"\x07",
        b"\x08",
        b"\x7f",
        "\u{202e}".as_bytes(),
        "\u{200b}".as_bytes(),
        "\u{e0041}".as_bytes(),
        "\u{fe0f}".as_bytes(),
        "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}".as_bytes(),
        b"over\rwritten",
    ] {
        assert!(text(theirs).is_err(), "{}", theirs.escape_ascii());
    }
}
