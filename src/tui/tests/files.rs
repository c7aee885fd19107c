//! The Files pane: columns, notices, ticks, marks and the filter.

use super::screens::at_sizes;
use super::world::App;
use crate::tui::state::Pane;

fn files(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("2");
    app
}

/// The line of the Files pane that holds `text`.
#[track_caller]
fn row(app: &App, text: &str) -> String {
    let screen = app.screen();
    let line = screen.lines().find(|line| line.contains(text));
    let line = line.unwrap_or_else(|| panic!("no {text} in\n{screen}"));
    let cells = line.split('│').find(|part| part.contains(text));
    cells.expect("a pane").trim_end().to_owned()
}

#[test]
fn marked_and_viewed() {
    at_sizes("files_marked", |width, height| {
        let mut app = files(width, height);
        app.keys("g space v space");
        app
    });
}

#[test]
fn filtered() {
    at_sizes("files_filtered", |width, height| {
        let mut app = files(width, height);
        app.keys("/");
        app.text("wsntx");
        app
    });
}

#[test]
fn columns_stand_where_there_is_room() {
    let app = files(200, 45);
    assert!(row(&app, "notes.txt").ends_with("+11       0644    120 B"));
    assert!(
        row(&app, "M README.md").contains(" ! "),
        "{}",
        row(&app, "M README.md")
    );
    assert!(row(&app, "▾ workspace").ends_with("3 changed of 6 files"));
    let mut zoomed = files(120, 35);
    zoomed.keys("z");
    assert!(
        row(&zoomed, "M README.md").contains("! index-hides"),
        "{}",
        row(&zoomed, "M README.md")
    );
    let app = files(120, 35);
    assert!(row(&app, "notes.txt").ends_with("+11"));
    assert!(
        row(&app, "M README.md").contains('!'),
        "a notice keeps its sign"
    );
}

#[test]
fn ticks_go_on_to_the_next_and_come_back_off() {
    let mut app = files(160, 45);
    let first = app.state.content.path.clone();
    app.keys("v");
    assert!(row(&app, "M README.md").contains('✓'));
    assert_ne!(app.state.content.path, first, "on to the next");
    assert!(app.screen().contains("1 of 3 viewed"), "{}", app.screen());
    app.keys("v v");
    assert!(
        app.screen().contains("every changed file is viewed"),
        "{}",
        app.screen()
    );
    app.keys("v");
    assert!(app.screen().contains("2 of 3 viewed"), "{}", app.screen());
    app.keys("G v");
    assert!(
        app.screen().contains("only changed files are ticked off"),
        "{}",
        app.screen()
    );
}

#[test]
fn marks_are_seen_and_dropped_first() {
    let mut app = files(160, 45);
    app.keys("g space");
    assert!(row(&app, "▾*workspace").contains("workspace"));
    assert!(app.screen().contains("* 1"), "{}", app.screen());
    // The first one drops what the bottom line says.
    app.keys("esc esc");
    assert!(app.state.files.marked.is_empty());
    assert_eq!(app.state.focus, Pane::Files, "one layer at a time");
}

#[test]
fn a_filter_is_fuzzy_and_marks_its_letters() {
    let mut app = files(160, 45);
    app.keys("/");
    app.text("rdme");
    let screen = app.screen();
    assert!(screen.contains("README.md"), "{screen}");
    assert!(!screen.contains("fixture-env"), "{screen}");
    let buffer = app.buffer();
    let cells = buffer.content.iter();
    let marked: String = cells
        .filter(|cell| cell.fg == ratatui::style::Color::Magenta)
        .map(|cell| cell.symbol())
        .collect();
    assert!(marked.contains("RDME"), "{marked}");
}
