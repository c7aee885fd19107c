//! The help begins with the keys of the pane that one is in, and explains every sign of the screen.

use super::world::App;
use crate::tui::signs::SIGNS;
use crate::tui::{ascii, linear};

/// Where `text` stands in the help.
#[track_caller]
fn line_of(lines: &[String], text: &str) -> usize {
    let at = lines.iter().position(|line| line == text);
    at.unwrap_or_else(|| panic!("no {text} in {lines:#?}"))
}

fn help(app: &App) -> Vec<String> {
    let lines = crate::tui::overlays::help::lines(&app.state, &Default::default());
    let text = |line: Vec<(_, String)>| line.into_iter().map(|part| part.1).collect::<String>();
    lines.into_iter().map(text).collect()
}

#[test]
fn the_focused_pane_comes_first_and_signs_last() {
    for (key, order) in [
        (
            "1",
            ["Runs", "Everywhere", "Files", "Content", "Prompts", "Signs"],
        ),
        (
            "2",
            ["Files", "Everywhere", "Runs", "Content", "Prompts", "Signs"],
        ),
        (
            "3",
            ["Content", "Everywhere", "Runs", "Files", "Prompts", "Signs"],
        ),
    ] {
        let mut app = App::opened(120, 35);
        app.keys(key);
        let lines = help(&app);
        let at = order.map(|title| line_of(&lines, title));
        assert!(at.is_sorted(), "{key}: {at:?}");
        app.keys("?");
        assert!(app.screen().contains(order[0]), "{}", app.screen());
    }
}

#[test]
fn a_sign_is_found_by_itself_and_by_its_words() {
    for typed in ["⧗", "retention:"] {
        let mut app = App::opened(120, 35);
        app.keys("? /");
        app.text(typed);
        let screen = app.screen();
        assert!(screen.contains("next completed turn deletes"), "{screen}");
        assert!(!screen.contains("one line down"), "{screen}");
    }
    let mut app = App::opened(120, 35);
    app.keys("? /");
    app.text("signs");
    assert!(
        app.screen().contains("the run that is open"),
        "{}",
        app.screen()
    );
}

#[test]
fn every_sign_that_is_said_otherwise_is_explained() {
    let known = |sign: &str| SIGNS.iter().any(|(one, _)| *one == sign);
    for sign in linear::signs() {
        assert!(known(sign), "{sign}");
    }
    // Arrows, points and the place where one types explain themselves.
    let plain = ["›", "→", "←", "·", "▏", "×"];
    for (sign, _) in ascii::SIGNS {
        assert!(known(sign) || plain.contains(sign), "{sign}");
    }
}
