//! Colours by what they mean, on the terminal's own background, never white or black as a foreground,
//! and nothing that only a colour tells: with `NO_COLOR` everything can still be read.
//!
//! What the terminal can show is read from the environment or said by a flag. The terminal itself is
//! never asked (no OSC 11, no device attributes): no answer can then be late, or hostile.

mod choice;
mod ink;

pub use choice::{Choice, Depth, Ground};

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::linear;

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// The terminal's own.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Strong,
    /// A line or file that is new.
    Added,
    /// A line or file that is gone.
    Removed,
    /// A file that changed.
    Changed,
    /// A hunk's header.
    Hunk,
    /// Verified, completed.
    Good,
    /// Refused, failed.
    Bad,
    /// Worth a look.
    Warn,
    /// At work.
    Busy,
    /// A key, or what has the focus.
    Accent,
    /// A match of the search.
    Match,
    /// Code: a word of the language.
    Keyword,
    /// Code: a text.
    Quoted,
    /// Code: a remark.
    Comment,
    /// Code: a number or another constant.
    Constant,
    /// Code: the name of a function.
    Function,
    /// Code: the name of a type, a tag or a section.
    Type,
}

/// A line of text in tones, before it meets a theme.
pub type Toned = Vec<(Tone, String)>;

/// Tones to styles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// How many colours there are.
    pub depth: Depth,
    /// What they stand on.
    pub ground: Ground,
    /// Whether signs are said in words, for a screen reader.
    pub words: bool,
}

impl Theme {
    /// A tone's style.
    #[must_use]
    pub fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let (color, modifier) = match tone {
            Tone::Plain => return style,
            Tone::Strong => return style.add_modifier(Modifier::BOLD),
            Tone::Dim | Tone::Comment => match self.ink(tone) {
                Some(grey) => return style.fg(grey),
                None => return style.add_modifier(Modifier::DIM),
            },
            Tone::Added | Tone::Good => (Color::Green, Modifier::empty()),
            Tone::Removed => (Color::Red, Modifier::empty()),
            Tone::Bad => (Color::Red, Modifier::BOLD),
            Tone::Changed | Tone::Warn => (Color::Yellow, Modifier::empty()),
            Tone::Hunk => (Color::Cyan, Modifier::empty()),
            Tone::Busy => (Color::Blue, Modifier::empty()),
            Tone::Accent => (Color::Cyan, Modifier::BOLD),
            Tone::Keyword => (Color::Magenta, Modifier::empty()),
            Tone::Quoted => (Color::Green, Modifier::empty()),
            Tone::Constant => (Color::Yellow, Modifier::empty()),
            Tone::Function => (Color::Blue, Modifier::empty()),
            Tone::Type => (Color::Cyan, Modifier::empty()),
            Tone::Match => (Color::Magenta, Modifier::UNDERLINED),
        };
        let style = style.add_modifier(modifier);
        match self.depth {
            Depth::None => style,
            _ => style.fg(self.ink(tone).unwrap_or(color)),
        }
    }

    /// A colour chosen for the ground, where it is known and there are more than the terminal's own 16.
    fn ink(self, tone: Tone) -> Option<Color> {
        let index = ink::of(tone, self.ground)?;
        match self.depth {
            Depth::None | Depth::Sixteen => None,
            Depth::Many => Some(Color::Indexed(index)),
            Depth::True => {
                let (red, green, blue) = ink::rgb(index);
                Some(Color::Rgb(red, green, blue))
            }
        }
    }

    /// The line under the cursor, in the pane that has the focus or in another.
    #[must_use]
    pub fn cursor(self, focused: bool) -> Style {
        let style = Style::new();
        if focused {
            style.add_modifier(Modifier::REVERSED)
        } else {
            style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
        }
    }

    /// Frames.
    #[must_use]
    pub fn frame(self) -> Style {
        self.style(Tone::Dim)
    }

    /// A row made for `width` columns, styled.
    #[must_use]
    pub fn row(self, toned: Toned, width: usize) -> Line<'static> {
        let toned = if self.words {
            linear::fitted(toned, width)
        } else {
            toned
        };
        Line::from_iter(
            toned
                .into_iter()
                .map(|(tone, text)| Span::styled(text, self.style(tone))),
        )
    }
}
