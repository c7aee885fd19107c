//! Foregrounds for a ground that is known, out of the 240 colours of the 256 that are the same in every
//! terminal. With true colour the very same are sent as what they are, whatever the palette says.

use super::{Ground, Tone};

/// A tone's colour on `ground`; nothing for text in the terminal's own.
pub(super) fn of(tone: Tone, ground: Ground) -> Option<u8> {
    let (dark, light) = match tone {
        Tone::Plain | Tone::Strong => return None,
        Tone::Dim | Tone::Comment => (246, 242),
        Tone::Added | Tone::Good => (114, 28),
        Tone::Quoted => (150, 22),
        Tone::Removed | Tone::Bad => (210, 124),
        Tone::Changed | Tone::Warn => (221, 94),
        Tone::Constant => (215, 130),
        Tone::Hunk => (80, 30),
        Tone::Type => (79, 23),
        Tone::Busy => (111, 26),
        Tone::Function => (117, 25),
        Tone::Accent => (81, 24),
        Tone::Keyword => (176, 90),
        Tone::Match => (213, 127),
    };
    match ground {
        Ground::Unknown => None,
        Ground::Dark => Some(dark),
        Ground::Light => Some(light),
    }
}

/// What a colour of the cube or the greys is; the first 16 are the terminal's own and not asked for.
pub(super) fn rgb(index: u8) -> (u8, u8, u8) {
    if let Some(grey) = index.checked_sub(232) {
        let level = 8 + grey * 10;
        return (level, level, level);
    }
    let cube = index.saturating_sub(16);
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
}
