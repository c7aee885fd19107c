//! Colours by what they mean. The terminal's own 16 colours and background, never white or black as
//! a foreground, and nothing that only a colour tells: with `NO_COLOR` everything can still be read.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

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
#[derive(Clone, Copy, Debug, Default)]
pub struct Theme {
    /// Whether colours are left out.
    pub plain: bool,
}

impl Theme {
    /// A tone's style.
    #[must_use]
    pub fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let (color, modifier) = match tone {
            Tone::Plain => return style,
            Tone::Dim | Tone::Comment => return style.add_modifier(Modifier::DIM),
            Tone::Strong => return style.add_modifier(Modifier::BOLD),
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
        if self.plain { style } else { style.fg(color) }
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

    /// A toned line, styled.
    #[must_use]
    pub fn line(self, toned: Toned) -> Line<'static> {
        Line::from_iter(
            toned
                .into_iter()
                .map(|(tone, text)| Span::styled(text, self.style(tone))),
        )
    }
}
