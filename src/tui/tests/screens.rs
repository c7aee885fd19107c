//! The main screens at four sizes, and colours where they mean something.

use ratatui::style::{Color, Modifier};

use super::world::App;
use crate::tui::theme::{Depth, Theme, Tone};

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 35), (80, 24), (60, 16)];

/// Snapshots what `app` makes at each size.
pub fn at_sizes(name: &str, app: impl Fn(u16, u16) -> App) {
    for (width, height) in SIZES {
        let screen = app(width, height).screen();
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
    }
}

fn refused(width: u16, height: u16) -> App {
    let mut app = App::listed(width, height);
    app.keys("j j enter");
    app.refuse_error();
    app
}

fn planned(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("r enter");
    app.plan(10, 2_313, &["workspace/repository/etc"]);
    app
}

#[test]
fn nothing_read() {
    at_sizes("empty", App::empty);
}

#[test]
fn list() {
    at_sizes("list", App::listed);
}

#[test]
fn refusal() {
    at_sizes("refusal", refused);
}

#[test]
fn opened() {
    at_sizes("opened", App::opened);
}

#[test]
fn content_beside_files() {
    at_sizes("diff", |width, height| {
        let mut app = App::opened(width, height);
        app.keys("3");
        app
    });
}

#[test]
fn info() {
    at_sizes("info", |width, height| {
        let mut app = App::opened(width, height);
        app.keys("i");
        app
    });
}

#[test]
fn help() {
    at_sizes("help", |width, height| {
        let mut app = App::opened(width, height);
        app.keys("?");
        app
    });
}

#[test]
fn restore_plan() {
    at_sizes("plan", planned);
}

#[test]
fn palette() {
    at_sizes("palette", |width, height| {
        let mut app = App::opened(width, height);
        app.keys(":");
        app.text("re");
        app
    });
}

#[test]
fn too_small_says_so() {
    let app = App::listed(50, 10);
    assert!(
        app.screen().contains("afterrun needs 60×16"),
        "{}",
        app.screen()
    );
}

#[test]
fn digest_stands_at_every_width() {
    for width in [60, 80, 100, 120, 160, 300] {
        let screen = App::opened(width, 24).screen();
        assert!(screen.contains("sha256 4be1"), "at {width}:\n{screen}");
    }
}

#[test]
fn refusal_is_whole_on_the_bottom_at_every_width() {
    for width in [60, 80, 110, 160] {
        let screen = refused(width, 24).screen();
        let bottom: String = screen
            .lines()
            .skip_while(|line| !line.starts_with('├'))
            .collect();
        let words: String = bottom
            .split(['│', ' '])
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            words.contains("is ERROR, not COMPLETED; only a completed turn commits a checkpoint"),
            "at {width}:\n{screen}"
        );
    }
}

#[test]
fn colours_mean_something_and_are_never_needed() {
    let app = App::opened(160, 45);
    let buffer = app.buffer();
    let cells = || buffer.content.iter().enumerate();
    let mut added = cells().filter(|(_, cell)| cell.fg == Color::Green && cell.symbol() == "+");
    assert!(
        added.next().is_some(),
        "the added line is green, and has its sign"
    );
    for (_, cell) in cells() {
        assert!(!matches!(cell.fg, Color::White | Color::Black), "{cell:?}");
        assert_eq!(cell.bg, Color::Reset, "the terminal's own background");
    }
    let plain = Theme {
        depth: Depth::None,
        ..Theme::default()
    };
    for tone in [
        Tone::Added,
        Tone::Removed,
        Tone::Bad,
        Tone::Accent,
        Tone::Match,
    ] {
        assert_eq!(plain.style(tone).fg, None);
    }
    let reversed = cells().filter(|(_, cell)| cell.modifier.contains(Modifier::REVERSED));
    assert!(reversed.count() > 10, "the cursor is seen without colour");
}
