//! Colours, characters and modes, from an environment made up for each case.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::world::App;
use crate::tui::ascii::{SIGNS, reduce};
use crate::tui::look::{Between, Look, Manner};
use crate::tui::theme::{Choice, Depth, Ground, Theme, Tone};

const TONES: [Tone; 19] = [
    Tone::Plain,
    Tone::Dim,
    Tone::Strong,
    Tone::Added,
    Tone::Removed,
    Tone::Changed,
    Tone::Hunk,
    Tone::Good,
    Tone::Bad,
    Tone::Warn,
    Tone::Busy,
    Tone::Accent,
    Tone::Match,
    Tone::Keyword,
    Tone::Quoted,
    Tone::Comment,
    Tone::Constant,
    Tone::Function,
    Tone::Type,
];

fn of<'a>(pairs: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| {
        let found = pairs.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    }
}

#[test]
fn colours_are_counted_without_asking() {
    for (depth, pairs) in [
        (Depth::None, &[][..]),
        (Depth::None, &[("TERM", "dumb"), ("COLORTERM", "truecolor")]),
        (Depth::None, &[("TERM", "vt100")]),
        (
            Depth::None,
            &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
        ),
        (
            Depth::None,
            &[("TERM", "xterm-256color"), ("CLICOLOR", "0")],
        ),
        (Depth::Many, &[("TERM", "xterm-256color"), ("NO_COLOR", "")]),
        (
            Depth::Many,
            &[("TERM", "xterm-256color"), ("CLICOLOR", "1")],
        ),
        (Depth::Many, &[("TERM", "tmux-256color")]),
        (Depth::Sixteen, &[("TERM", "xterm")]),
        (Depth::Sixteen, &[("TERM", "screen")]),
        (
            Depth::Sixteen,
            &[("TERM", "linux"), ("COLORTERM", "truecolor")],
        ),
        (Depth::True, &[("TERM", "xterm"), ("COLORTERM", "24bit")]),
        (Depth::True, &[("TERM", "xterm-direct")]),
        (
            Depth::Many,
            &[
                ("TERM", "screen"),
                ("COLORTERM", "truecolor"),
                ("STY", "1.x"),
            ],
        ),
    ] {
        assert_eq!(Depth::of(of(pairs)), depth, "{pairs:?}");
    }
    for (ground, said) in [
        (Ground::Dark, "15;0"),
        (Ground::Dark, "7;default;8"),
        (Ground::Light, "0;15"),
        (Ground::Light, "0;7"),
        (Ground::Unknown, "0;default"),
        (Ground::Unknown, "\x1b"),
    ] {
        assert_eq!(Ground::of(of(&[("COLORFGBG", said)])), ground, "{said}");
    }
}

#[test]
fn what_is_said_wins_over_no_color_and_not_over_the_terminal() {
    let quiet = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
    let resolve = |name: &str, pairs: &[(&str, &str)]| {
        let choice: Choice = name.parse().expect("a theme");
        choice.resolve(of(pairs))
    };
    assert_eq!(resolve("auto", &quiet), (Depth::None, Ground::Unknown));
    assert_eq!(resolve("dark", &quiet), (Depth::Many, Ground::Dark));
    assert_eq!(resolve("light", &quiet), (Depth::Many, Ground::Light));
    assert_eq!(resolve("16", &quiet), (Depth::Sixteen, Ground::Unknown));
    assert_eq!(resolve("none", &quiet), (Depth::None, Ground::Unknown));
    let dumb = [("TERM", "dumb")];
    for (name, _) in Choice::ALL {
        assert_eq!(resolve(name, &dumb).0, Depth::None, "{name}");
    }
    let wrong = "pink".parse::<Choice>().expect_err("no theme");
    assert_eq!(wrong, "a theme is one of auto, dark, light, 16, none");
}

/// What an indexed colour of the cube or the greys is, by xterm's own table.
fn rgb(color: Color) -> (u8, u8, u8) {
    const STEPS: [u8; 6] = [0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff];
    match color {
        Color::Rgb(red, green, blue) => (red, green, blue),
        Color::Indexed(index @ 232..) => {
            let grey = 8 + (index - 232) * 10;
            (grey, grey, grey)
        }
        Color::Indexed(index @ 16..) => {
            let step = |by: u8| STEPS[usize::from((index - 16) / by % 6)];
            (step(36), step(6), step(1))
        }
        other => panic!("{other:?} is whatever the terminal makes of it"),
    }
}

fn luminance((red, green, blue): (u8, u8, u8)) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn every_tone_can_be_read_on_its_ground() {
    for (ground, behind) in [
        // The usual dark grounds are no blacker than the second.
        (Ground::Dark, [(0, 0, 0), (0x1e, 0x1e, 0x2e)]),
        (Ground::Light, [(255, 255, 255), (0xfd, 0xf6, 0xe3)]),
    ] {
        for depth in [Depth::Many, Depth::True] {
            let theme = Theme {
                depth,
                ground,
                words: false,
            };
            for tone in TONES {
                let style = theme.style(tone);
                assert_eq!(style.bg, None, "the ground is the terminal's");
                assert!(!style.add_modifier.contains(Modifier::DIM), "{tone:?}");
                let Some(color) = style.fg else {
                    assert!(matches!(tone, Tone::Plain | Tone::Strong), "{tone:?}");
                    continue;
                };
                for behind in behind {
                    let contrast = contrast(rgb(color), behind);
                    assert!(contrast >= 4.0, "{tone:?} on {behind:?}: {contrast:.1}");
                }
            }
            let hue = |tone| rgb(theme.style(tone).fg.expect("a colour"));
            let (red, green, blue) = hue(Tone::Added);
            assert!(green > red && green > blue, "what is new is green");
            let (red, green, blue) = hue(Tone::Removed);
            assert!(red > green && red > blue, "what is gone is red");
            let (red, green, blue) = hue(Tone::Changed);
            assert!(red > blue && green > blue, "what changed is yellow");
        }
        let colour = |depth| {
            let theme = Theme {
                depth,
                ground,
                words: false,
            };
            rgb(theme.style(Tone::Hunk).fg.expect("a colour"))
        };
        assert_eq!(colour(Depth::Many), colour(Depth::True));
    }
}

#[test]
fn an_unknown_ground_gets_the_terminals_own_colours() {
    for depth in [Depth::Sixteen, Depth::Many, Depth::True] {
        let theme = Theme {
            depth,
            ..Theme::default()
        };
        for tone in TONES {
            let style = theme.style(tone);
            assert_eq!(style, Theme::default().style(tone), "{tone:?}");
            let extremes = [Color::Black, Color::White, Color::Gray, Color::DarkGray];
            assert!(
                !style.fg.is_some_and(|fg| extremes.contains(&fg)),
                "{tone:?}"
            );
            assert_eq!(style.bg, None);
        }
        assert_eq!(
            theme.style(Tone::Dim),
            Style::new().add_modifier(Modifier::DIM)
        );
    }
}

#[test]
fn the_terminals_own_colours_know_no_ground() {
    for ground in [Ground::Dark, Ground::Light] {
        let theme = Theme {
            ground,
            ..Theme::default()
        };
        for tone in TONES {
            assert_eq!(theme.style(tone), Theme::default().style(tone), "{tone:?}");
        }
    }
}

#[test]
fn none_is_none() {
    for ground in [Ground::Unknown, Ground::Dark, Ground::Light] {
        let theme = Theme {
            depth: Depth::None,
            ground,
            words: false,
        };
        for tone in TONES {
            let style = theme.style(tone);
            assert_eq!((style.fg, style.bg), (None, None), "{tone:?}");
        }
    }
}

fn manner(pairs: &[(&str, &str)]) -> Manner {
    Manner::of(&Look::default(), of(pairs))
}

#[test]
fn a_terminal_gets_what_it_can_take() {
    let full = manner(&[("TERM", "xterm-256color"), ("LANG", "en_US.UTF-8")]);
    assert!(full.alternate && full.reports && full.synchronized && full.commands);
    assert!(!full.ascii);
    for nothing in [&[("TERM", "dumb"), ("LANG", "C.UTF-8")][..], &[]] {
        let none = manner(nothing);
        assert!(!none.alternate && !none.reports && !none.synchronized && !none.commands);
        assert!(none.ascii);
        assert_eq!(none.theme.depth, Depth::None);
    }
    let console = manner(&[("TERM", "linux"), ("LANG", "C.UTF-8")]);
    assert!(console.alternate && console.reports && !console.ascii);
    assert!(!console.synchronized && !console.commands);
    for (between, pair) in [
        (Between::Tmux, ("TMUX", "/tmp/tmux-0/default,1,0")),
        (Between::Screen, ("STY", "1.pts-0.host")),
        (Between::Nothing, ("ZELLIJ", "0")),
    ] {
        assert_eq!(manner(&[("TERM", "screen"), pair]).between, between);
    }
    let look = Look {
        main_screen: true,
        ascii: true,
        linear: true,
        theme: Some(Choice::None),
    };
    let asked = Manner::of(&look, of(&[("TERM", "xterm"), ("LANG", "C.UTF-8")]));
    assert!(!asked.alternate && asked.ascii && asked.reports && asked.theme.words);
    assert_eq!(asked.theme.depth, Depth::None);
}

#[test]
fn the_locale_says_which_characters() {
    for (utf8, pairs) in [
        (false, &[][..]),
        (false, &[("LANG", "C")]),
        (false, &[("LANG", "POSIX")]),
        (false, &[("LANG", "de_DE.ISO-8859-1")]),
        (false, &[("LANG", "en_US")]),
        (true, &[("LANG", "C.UTF-8")]),
        (true, &[("LANG", "C.utf8")]),
        (true, &[("LANG", "de_DE.UTF-8@euro")]),
        (true, &[("LC_CTYPE", "UTF-8")]),
        (true, &[("LC_ALL", ""), ("LANG", "en_US.UTF-8")]),
        (false, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]),
        (true, &[("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")]),
        (false, &[("LC_CTYPE", "C"), ("LANG", "en_US.UTF-8")]),
    ] {
        let pairs = [pairs, &[("TERM", "xterm")]].concat();
        assert_eq!(!manner(&pairs).ascii, utf8, "{pairs:?}");
    }
}

#[test]
fn every_view_comes_down_to_ascii() {
    for size in [(60, 16), (80, 24), (120, 35)] {
        let mut app = App::opened(size.0, size.1);
        let mut signs = 0;
        for keys in [
            "", "1", "2", "3", "i", "f", "J", "esc", "?", "esc", ":", "esc", "/", "esc", "r",
            "esc", "p",
        ] {
            app.keys(keys);
            let drawn = app.buffer();
            let mut reduced = drawn.clone();
            reduce(&mut reduced);
            for (before, after) in drawn.content.iter().zip(&reduced.content) {
                assert!(after.symbol().is_ascii(), "{:?}", after.symbol());
                assert_eq!(after.symbol().len(), 1);
                assert_eq!(before.style(), after.style());
                if before.symbol().is_ascii() {
                    assert_eq!(before.symbol(), after.symbol());
                } else {
                    // Ours all have a sign of their own.
                    assert_ne!(after.symbol(), "?", "{}", before.symbol());
                    signs += 1;
                }
            }
        }
        assert!(signs > 1_000, "{signs}");
    }
}

#[test]
fn signs_stay_different() {
    for (index, (sign, letter)) in SIGNS.iter().enumerate() {
        assert!(letter.len() == 1 && letter.is_ascii(), "{sign}");
        assert!(!["?", "!"].contains(letter), "{sign} is another's");
        for (other, same) in &SIGNS[..index] {
            assert_ne!(letter, same, "{sign} and {other}");
        }
    }
    for sign in ["✔", "✖", "▶", "◌", "‖", "⊘", "↻", "▸", "▾", "●", "…"] {
        assert!(SIGNS.iter().any(|(known, _)| *known == sign), "{sign}");
    }
}

#[test]
fn what_has_no_sign_keeps_its_columns() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 2));
    buffer.set_string(0, 0, "a日本é\u{301}z ─│╭", Style::new());
    buffer.set_string(0, 1, "−3 – ’q’ 🧾.", Style::new());
    reduce(&mut buffer);
    let row = |y| (0..12).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    assert_eq!(row(0), "a? ? ?z -|+ ");
    assert_eq!(row(1), "-3 - 'q' ? .");
}
