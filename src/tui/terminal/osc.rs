//! What is said to the terminal beyond the screen: its clipboard (OSC 52) and a notification (OSC 9),
//! and how tmux and GNU screen are told to pass it on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tui::look::Between;
use crate::{Error, ErrorKind, Result};

/// The most that is put on a clipboard: some terminals drop the connection at more.
pub(super) const COPY_AT_MOST: usize = 74_000;
/// Characters of a notification.
const NOTE_AT_MOST: usize = 200;
/// Bytes of one string that GNU screen passes on, its start and end included.
const PIECE: usize = 768;

/// Puts `text` on the clipboard.
pub(super) fn clipboard(text: &str, between: Between) -> Result<String> {
    let refuse = |why: &str| {
        let message = format!("not copied: {why}");
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    if !text.split(['\n', '\t']).all(is_printable) {
        return refuse("it holds characters that are not printable");
    }
    if text.len() > COPY_AT_MOST {
        return refuse("it is too long for a terminal's clipboard");
    }
    let sequence = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
    Ok(passed(&sequence, between))
}

fn is_printable(text: &str) -> bool {
    crate::text::visible(text) == text
}

/// Says `text` where the terminal says such things: cut, and without what would end or change it.
pub(super) fn notification(text: &str, between: Between) -> String {
    let text: String = crate::text::visible(text)
        .chars()
        .map(|letter| if letter == ';' { ',' } else { letter })
        .take(NOTE_AT_MOST)
        .collect();
    passed(&format!("\x1b]9;{text}\x07"), between)
}

/// `sequence` so that it comes through.
fn passed(sequence: &str, between: Between) -> String {
    match between {
        Between::Nothing => sequence.to_owned(),
        // Which of the two works is a matter of tmux's options; the other is dropped.
        Between::Tmux => {
            let doubled = sequence.replace('\x1b', "\x1b\x1b");
            format!("{sequence}\x1bPtmux;{doubled}\x1b\\")
        }
        Between::Screen => {
            let mut all = String::new();
            let mut piece = String::new();
            for letter in sequence.chars() {
                if piece.len() + letter.len_utf8() > PIECE - 4 {
                    all.push_str(&format!("\x1bP{piece}\x1b\\"));
                    piece.clear();
                }
                piece.push(letter);
            }
            all.push_str(&format!("\x1bP{piece}\x1b\\"));
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_printable_text_only() {
        let plain = |text: &str| clipboard(text, Between::Nothing);
        assert_eq!(
            plain("afterrun show x").expect("plain"),
            "\x1b]52;c;YWZ0ZXJydW4gc2hvdyB4\x07"
        );
        assert_eq!(plain("a\tb\n").expect("lines"), "\x1b]52;c;YQliCg==\x07");
        for bad in ["a\x1b[2J", "a\r\n", "a\u{202e}b", "\0"] {
            let refused = plain(bad).expect_err("not printable");
            assert_eq!(refused.kind(), ErrorKind::Unsupported);
        }
        assert!(plain(&"x".repeat(COPY_AT_MOST)).is_ok());
        assert!(plain(&"x".repeat(COPY_AT_MOST + 1)).is_err());
    }

    #[test]
    fn is_passed_on() {
        let copied = |between| clipboard("hi", between).expect("plain");
        assert_eq!(
            copied(Between::Tmux),
            "\x1b]52;c;aGk=\x07\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"
        );
        assert_eq!(copied(Between::Screen), "\x1bP\x1b]52;c;aGk=\x07\x1b\\");
        let text = "x".repeat(3_000);
        let long = clipboard(&text, Between::Screen).expect("plain");
        let pieces: Vec<&str> = long.split_inclusive("\x1b\\").collect();
        assert_eq!(pieces.len(), 6);
        let whole: String = pieces
            .iter()
            .map(|piece| {
                assert!(piece.len() <= PIECE, "{}", piece.len());
                let inside = piece.strip_prefix("\x1bP").expect("begun");
                inside.strip_suffix("\x1b\\").expect("ended")
            })
            .collect();
        assert_eq!(whole, clipboard(&text, Between::Nothing).expect("plain"));
    }

    #[test]
    fn notes_are_short_and_plain() {
        let said = notification("restored; 4;50 \x1b]0;x\x07", Between::Nothing);
        assert_eq!(said, "\x1b]9;restored, 4,50 \\x1b]0,x\\x07\x07");
        let long = notification(&"é".repeat(500), Between::Nothing);
        assert_eq!(long.chars().filter(|letter| *letter == 'é').count(), 200);
    }
}
