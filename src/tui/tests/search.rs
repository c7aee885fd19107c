//! Searching the content: what is marked, what is counted, and what becomes of it.

use ratatui::style::{Color, Modifier};

use super::world::App;
use super::wrap::{replaced, text};
use crate::tui::message::{Answer, Slot};
use crate::tui::state::FileContent;

fn lines() -> Vec<String> {
    let mut lines: Vec<String> = (0..200).map(|n| format!("line {n}")).collect();
    lines[100] = "a Needle, and a needle".into();
    lines[150] = format!("{}needle", "far ".repeat(100));
    lines
}

fn title(app: &App) -> String {
    app.screen().lines().nth(1).unwrap_or_default().to_owned()
}

fn searched(app: &mut App, needle: &str) {
    app.keys("/");
    app.text(needle);
}

#[test]
fn matches_are_marked_and_counted() {
    let mut app = text(120, 35, lines());
    searched(&mut app, "needle");
    assert!(title(&app).contains("/needle 1/3"), "{}", title(&app));
    app.keys("enter");
    assert!(app.screen().contains("match 1 of 3"), "{}", app.screen());
    let buffer = app.buffer();
    let marked: String = (0..buffer.area.height)
        .flat_map(|y| (0..buffer.area.width).map(move |x| (x, y)))
        .filter(|at| at.1 > 1 && buffer[*at].fg == Color::Magenta)
        .map(|at| buffer[at].symbol().to_owned())
        .collect();
    assert_eq!(marked, "Needleneedle", "only what matches");
    let bright = (0..buffer.area.height)
        .flat_map(|y| (0..buffer.area.width).map(move |x| (x, y)))
        .filter(|at| {
            buffer[*at].fg == Color::Magenta && buffer[*at].modifier.contains(Modifier::REVERSED)
        });
    assert_eq!(bright.count(), 6, "the one gone to stands out");
    app.keys("n n");
    assert!(title(&app).contains("/needle 3/3"), "{}", title(&app));
    assert!(
        app.state.content.left > 0,
        "a match to the right is brought into view"
    );
    assert!(app.screen().contains("needle"), "{}", app.screen());
    app.keys("n");
    assert!(title(&app).contains("/needle 1/3"), "{}", title(&app));
    assert_eq!(app.state.content.left, 0);
    app.keys("N");
    assert!(title(&app).contains("/needle 3/3"), "{}", title(&app));
}

#[test]
fn a_capital_makes_case_count() {
    let mut app = text(120, 35, lines());
    searched(&mut app, "Needle");
    assert!(title(&app).contains("/Needle 1/1"), "{}", title(&app));
    app.keys("esc /");
    app.text("NEEDLE");
    assert!(title(&app).contains("/NEEDLE no match"), "{}", title(&app));
}

#[test]
fn leaving_the_prompt_goes_back_and_esc_ends_the_search() {
    let mut app = text(120, 35, lines());
    app.keys("ctrl-d");
    let top = app.state.content.top();
    searched(&mut app, "needle");
    assert_ne!(app.state.content.top(), top);
    app.keys("esc");
    assert_eq!(app.state.content.top(), top);
    assert!(!title(&app).contains("needle"));
    searched(&mut app, "needle");
    app.keys("enter");
    let there = app.state.content.top();
    app.keys("esc esc");
    assert!(app.state.content.search.is_none());
    assert_eq!(app.state.content.top(), there, "the place that was gone to");
    app.keys("n");
    assert!(app.screen().contains("search in the content pane first"));
}

#[test]
fn a_search_is_made_anew_in_what_comes_next() {
    let mut app = text(120, 35, lines());
    searched(&mut app, "line");
    app.keys("enter }");
    assert!(
        title(&app).contains("no match"),
        "nothing is there yet: {}",
        title(&app)
    );
    let content = FileContent::Text(vec!["a line".into(), "LINE".into()], false);
    app.answer(Slot::Content, Answer::File(Ok(content)));
    assert!(title(&app).contains("/line 1/2"), "{}", title(&app));
    app.keys("n");
    assert!(title(&app).contains("/line 2/2"), "{}", title(&app));
    app.keys("d");
    app.answer(Slot::Content, Answer::Patch(Ok(replaced())));
    assert!(title(&app).contains("/line 1/3"), "{}", title(&app));
    app.keys("z");
    assert!(title(&app).contains("1/3"), "{}", title(&app));
}

#[test]
fn wrapped_lines_and_sides_are_searched_too() {
    let mut app = text(60, 16, lines());
    app.keys("W /");
    app.text("needle");
    app.keys("enter N");
    assert!(app.screen().contains("needle"), "{}", app.screen());
    assert!(
        app.state.content.top().line >= 148,
        "{:?}",
        app.state.content.top()
    );
    let mut app = App::opened(200, 60);
    app.keys("3 z +");
    app.answer(Slot::Content, Answer::Patch(Ok(replaced())));
    app.keys("| /");
    app.text("second");
    assert!(title(&app).contains("1/2"), "{}", title(&app));
    app.keys("enter esc esc /");
    app.text("hello");
    assert!(
        title(&app).contains("1/1"),
        "both sides are one match: {}",
        title(&app)
    );
}
