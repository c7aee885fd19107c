//! Info as a list that folds: its cursor, a commit's own diff, the row's JSON.

use super::world::{App, OPENED};
use super::wrap::replaced;
use crate::ErrorKind;
use crate::tui::message::{Answer, Request, Slot, Unfold};
use crate::tui::state::{CommitFile, CommitRows, Detail, Failure};
use crate::tui::theme::Tone;

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 35), (80, 24), (60, 16)];

fn commit() -> Detail {
    let file = |letter, title: &str| CommitFile {
        letter: (Tone::Changed, letter),
        title: title.into(),
        counts: vec![(Tone::Added, "  +3".into())],
        rows: replaced().rows,
        digits: 4,
    };
    Detail::Commit(CommitRows {
        heading: "2 files against its parent 7fd1a60".into(),
        files: vec![file('M', "src/a.rs"), file('A', "src/b.rs")],
        cut: None,
    })
}

fn row_of(app: &App, text: &str) -> usize {
    let screen = app.screen();
    screen
        .lines()
        .position(|line| line.contains(text))
        .unwrap_or_else(|| panic!("no {text}: {screen}"))
}

/// Moves the cursor onto the line that holds `text`.
fn to(app: &mut App, text: &str) {
    app.keys("g");
    for _ in 0..500 {
        let buffer = app.buffer();
        let reversed = (2..buffer.area.height).find(|y| {
            let cell = &buffer[(buffer.area.width - 3, *y)];
            cell.modifier.contains(ratatui::style::Modifier::REVERSED)
        });
        let line = reversed.and_then(|y| app.screen().lines().nth(y.into()).map(str::to_owned));
        if line.is_some_and(|line| line.contains(text)) {
            return;
        }
        app.keys("j");
    }
    panic!("the cursor never came to {text}: {}", app.screen());
}

fn info(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.requests();
    app.keys("i 3 z");
    app
}

/// Info with a commit and the row's JSON unfolded.
fn unfolded(width: u16, height: u16) -> App {
    let mut app = info(width, height);
    to(&mut app, "Row as JSON");
    app.keys("enter");
    let json = vec![
        vec![(Tone::Plain, "{".into())],
        vec![
            (Tone::Plain, "  ".into()),
            (Tone::Type, "\"run_id\"".into()),
            (Tone::Plain, ": ".into()),
            (Tone::Quoted, "\"run-refunds-4\"".into()),
        ],
        vec![(Tone::Plain, "}".into())],
    ];
    let answer = Answer::Unfolded("json".into(), Ok(Detail::Json(json)));
    app.answer(Slot::Unfold, answer);
    to(&mut app, "Add refunds");
    app.keys("l");
    let name = format!("commit 91c0dee{}", "0".repeat(33));
    app.answer(Slot::Unfold, Answer::Unfolded(name, Ok(commit())));
    app
}

#[test]
fn unfolded_at_every_size() {
    for (width, height) in SIZES {
        let mut app = unfolded(width, height);
        app.keys("j j j");
        insta::assert_snapshot!(format!("unfolded_{width}x{height}"), app.screen());
    }
}

/// What was asked for but the session's binding, which Info shows at first.
fn asked(app: &mut App) -> Vec<Request> {
    let mut all = app.requests();
    all.retain(|request| !matches!(request, Request::Binding { .. }));
    all
}

#[test]
fn a_commit_is_asked_for_when_it_is_unfolded() {
    let mut app = info(120, 60);
    assert!(
        asked(&mut app).is_empty(),
        "nothing is read before it is wanted"
    );
    to(&mut app, "Add refunds");
    app.keys("enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Unfold { what: Unfold::Commit { id, .. }, .. }] if id.starts_with("91c0dee")
    ));
    assert!(app.screen().contains("Reading…"), "{}", app.screen());
    let name = format!("commit 91c0dee{}", "0".repeat(33));
    app.answer(Slot::Unfold, Answer::Unfolded(name, Ok(commit())));
    let screen = app.screen();
    assert!(screen.contains("▾ M src/a.rs  +3"), "{screen}");
    assert!(screen.contains("+ the new second line"), "{screen}");
    // A file folds, and `h` goes out to the commit and folds that.
    to(&mut app, "src/a.rs");
    app.keys("h");
    assert!(app.screen().contains("▸ M src/a.rs"), "{}", app.screen());
    app.keys("h h");
    assert!(app.screen().contains("▸ 91c0dee"), "{}", app.screen());
    assert!(!app.screen().contains("src/a.rs"), "{}", app.screen());
    app.keys("l");
    assert!(app.requests().is_empty(), "it is known by now");
    assert!(app.screen().contains("▸ M src/a.rs"), "{}", app.screen());
}

#[test]
fn a_commit_that_cannot_be_read_says_so_in_its_line() {
    let mut app = info(120, 60);
    to(&mut app, "Add refunds");
    app.keys("enter");
    let failure = Failure::new(ErrorKind::UnsafeContent, "An object is missing: 91c0dee");
    let name = format!("commit 91c0dee{}", "0".repeat(33));
    app.answer(Slot::Unfold, Answer::Unfolded(name, Err(failure)));
    assert!(
        app.screen().contains("✖ An object is missing: 91c0dee"),
        "{}",
        app.screen()
    );
    app.requests();
    app.keys("enter enter");
    assert_eq!(app.requests().len(), 1, "asked for once more");
    to(&mut app, "WIP on main");
    app.keys("enter");
    app.answer(Slot::Unfold, Answer::Crashed(Slot::Unfold));
    assert!(
        app.screen().contains("a defect of afterrun"),
        "{}",
        app.screen()
    );
}

#[test]
fn several_are_read_one_after_another() {
    let mut app = info(120, 60);
    to(&mut app, "WIP on main");
    app.keys("enter");
    to(&mut app, "Add refunds");
    app.keys("enter");
    assert_eq!(asked(&mut app).len(), 1);
    let name = format!("commit {}", "5ta5h00000".repeat(4));
    app.answer(Slot::Unfold, Answer::Unfolded(name, Ok(commit())));
    assert!(matches!(
        &app.requests()[..],
        [Request::Unfold { what: Unfold::Commit { id, .. }, .. }] if id.starts_with("91c0dee")
    ));
}

#[test]
fn the_cursor_stays_on_its_line_when_more_comes_above_it() {
    let mut app = info(120, 24);
    to(&mut app, "Add refunds");
    app.keys("enter j j");
    let under = app.state.content.info.cursor;
    to(&mut app, "Notices: 1");
    let before = row_of(&app, "Notices: 1");
    let name = format!("commit 91c0dee{}", "0".repeat(33));
    app.answer(Slot::Unfold, Answer::Unfolded(name, Ok(commit())));
    assert_eq!(row_of(&app, "Notices: 1"), before, "{}", app.screen());
    assert!(app.state.content.info.cursor > under);
    app.keys("enter");
    assert!(app.screen().contains("▸ Notices: 1"), "{}", app.screen());
}

#[test]
fn a_refused_and_an_unopened_run_show_their_rows_json() {
    let mut app = App::listed(120, 60);
    app.keys("i 3 z G enter");
    assert!(matches!(
        &app.requests().pop(),
        Some(Request::Unfold { what: Unfold::Row { run_id }, .. }) if run_id == OPENED
    ));
    let mut app = App::listed(120, 60);
    app.keys("j j enter");
    let message = "Run run-refunds-2 is ERROR, not COMPLETED";
    let failure = Failure::new(ErrorKind::NotCompleted, message);
    let row = app.state.runs.run("run-refunds-2").cloned().map(Box::new);
    app.answer(Slot::Open, Answer::Opened(Err(failure), row));
    app.keys("i 3 z G enter");
    assert!(matches!(
        &app.requests().pop(),
        Some(Request::Unfold { what: Unfold::Row { run_id }, .. }) if run_id == "run-refunds-2"
    ));
    app.keys("k k k enter");
    assert!(
        app.screen().contains("follow: this line holds nothing"),
        "{}",
        app.screen()
    );
    app.keys("f enter");
    assert!(
        app.screen().contains("only in the info (i shows it)"),
        "{}",
        app.screen()
    );
}

#[test]
fn a_search_moves_the_cursor() {
    let mut app = unfolded(120, 35);
    app.keys("g /");
    app.text("run_id");
    app.keys("enter");
    assert!(app.screen().contains("\"run_id\""), "{}", app.screen());
    let line = app.state.content.info.cursor;
    assert!(line > 20, "{line}");
    app.keys("/");
    app.text("sha256");
    app.keys("esc");
    assert_eq!(app.state.content.info.cursor, line);
}
