//! Runs whose checkpoint the session's next turn deletes.

use super::world::{App, runs};
use crate::runs::{Retention, RunPage};
use crate::tui::message::{Answer, PageUse, Slot};

fn app(width: u16, height: u16, by_default: bool) -> App {
    let mut app = App::listed(width, height);
    app.keys("R");
    let mut page = RunPage {
        runs: runs(),
        sessions: app.state.runs.sessions.clone(),
        ..RunPage::default()
    };
    let retention = Retention {
        keeps: 3,
        by_default,
        at_risk: ["run-refunds-1".to_owned()].into(),
    };
    page.retention.insert("s-refunds".into(), retention);
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    app
}

fn first_turn(screen: &str) -> &str {
    screen
        .lines()
        .find(|line| line.contains("✔") && line.contains(" 1 ") && line.contains("13m"))
        .unwrap_or_else(|| panic!("{screen}"))
}

#[test]
fn marks_what_goes_next_with_a_sign_and_with_words_where_there_is_room() {
    for width in [60, 80, 120, 200] {
        let screen = app(width, 24, false).screen();
        assert_eq!(screen.matches('⧗').count(), 1, "{screen}");
        assert!(first_turn(&screen).contains('⧗'), "{screen}");
        assert_eq!(crate::tui::fit::columns("⧗"), 1);
    }
    let mut wide = app(200, 24, false);
    wide.keys("z");
    let screen = wide.screen();
    assert!(
        first_turn(&screen).contains("next turn deletes it"),
        "{screen}"
    );
}

#[test]
fn info_says_what_is_known_and_which_key_keeps_the_bytes() {
    let mut by_binding = app(200, 60, false);
    by_binding.keys("j j j i");
    let screen = by_binding.screen();
    assert!(
        screen.contains("session keeps 3); F keeps its stored bytes"),
        "{screen}"
    );
    let mut by_rows = app(200, 60, true);
    by_rows.keys("j j j i");
    let screen = by_rows.screen();
    assert!(screen.contains("Agno's default of 3); F keeps"), "{screen}");
    by_rows.keys("k k k");
    assert!(!by_rows.screen().contains("deletes this checkpoint"));
}
