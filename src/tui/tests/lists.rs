//! The two lists: moving, folding, filtering, reading on, and the mouse.

use super::world::{App, OPENED, compared, entries, run, runs};
use crate::ErrorKind;
use crate::runs::{Cursor, RunPage};
use crate::tui::message::{Answer, Message, PageUse, Request, Slot};
use crate::tui::state::{Failure, FileTree, Item, Marks, Pane, Show, View};

#[test]
fn filters_as_one_types_and_the_newest_answer_counts() {
    let mut app = App::listed(160, 45);
    app.requests();
    app.keys("/");
    app.text("bi");
    let requests = app.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        matches!(&requests[1], Request::Page { filter, .. } if filter.text.as_deref() == Some("bi"))
    );
    let newest = app.number(Slot::Search);
    let stale = RunPage {
        runs: runs(),
        ..RunPage::default()
    };
    app.send(Message::Answer(
        newest - 1,
        Answer::Page(PageUse::Found, Ok(stale)),
    ));
    assert_eq!(
        app.state.awaited.get(&Slot::Search),
        Some(&newest),
        "a late page is dropped"
    );
    let found = RunPage {
        runs: runs()[5..6].to_vec(),
        ..RunPage::default()
    };
    app.answer(Slot::Search, Answer::Page(PageUse::Found, Ok(found)));
    assert!(app.screen().contains("1 of 7"), "{}", app.screen());
    app.keys("enter");
    assert_eq!(app.state.runs.text, "bi");
    app.keys("esc");
    assert_eq!(app.state.runs.text, "");
    app.keys("s");
    assert!(matches!(
        app.requests().last(),
        Some(Request::Page { filter, .. }) if filter.statuses == ["COMPLETED"]
    ));
}

#[test]
fn reads_on_at_the_end_of_the_list() {
    let mut app = App::empty(160, 45);
    let many: Vec<_> = (0..200)
        .map(|n| run(&format!("r{n}"), "s", Some("a"), "ERROR", n, n))
        .collect();
    let next = Some(Cursor {
        created_at: 0,
        row: "7".into(),
    });
    let page = RunPage {
        runs: many,
        next: next.clone(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    assert!(app.screen().contains("200, more below"), "{}", app.screen());
    app.requests();
    app.keys("G");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page { how: PageUse::Append, after, .. }] if *after == next
    ));
    let page = RunPage {
        runs: vec![run("last", "s", Some("a"), "ERROR", 1, 900)],
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Append, Ok(page)));
    assert_eq!(app.state.runs.runs.len(), 201);
    assert!(app.screen().contains("last") || app.state.runs.node(app.state.runs.cursor).is_some());
}

#[test]
fn folds_and_unfolds() {
    let mut app = App::listed(160, 45);
    let rows = app.state.runs.rows.len();
    app.keys("h");
    assert!(
        matches!(
            app.state.runs.rows[app.state.runs.cursor].item,
            Item::Session(..)
        ),
        "out to the session"
    );
    app.keys("h");
    assert_eq!(app.state.runs.rows.len(), rows - 4);
    app.keys("enter");
    assert_eq!(app.state.runs.rows.len(), rows);
    app.keys("T");
    assert_eq!(app.state.runs.rows.len(), 7);
    assert!(app.screen().contains("engineer · Fix"), "{}", app.screen());
}

#[test]
fn files_show_all_changed_ignored() {
    let mut app = App::opened(160, 45);
    app.keys("2 x");
    assert_eq!(app.state.files.show, Show::Changed);
    let screen = app.screen();
    assert!(
        screen.contains("D was.txt") && screen.contains(" −3 │") && !screen.contains("fixture-env"),
        "{screen}"
    );
    app.keys("x G l j");
    assert_eq!(app.state.files.show, Show::Ignored);
    app.keys("x");
    assert!(
        app.screen().contains("etc (left out) → /etc"),
        "{}",
        app.screen()
    );
    app.keys("/");
    app.text("notes");
    let screen = app.screen();
    assert!(
        screen.contains("? notes.txt") && !screen.contains("M README.md"),
        "{screen}"
    );
    app.keys("esc");
    assert!(app.screen().contains("M README.md"));
}

#[test]
fn enter_on_a_file_shows_what_there_is_to_see() {
    let mut app = App::opened(160, 45);
    app.keys("2 enter");
    assert_eq!(
        (app.state.focus, app.state.content.view),
        (Pane::Content, View::Diff)
    );
    app.keys("2 G k");
    app.requests();
    app.keys("enter");
    assert_eq!(
        (app.state.focus, app.state.content.view),
        (Pane::Content, View::File)
    );
    assert!(
        matches!(&app.requests()[..], [Request::File { path, .. }] if path == b"workspace/fixture-env.txt")
    );
    app.keys("d {");
    assert_eq!(
        app.state.content.path.as_deref(),
        Some(&b"workspace/repository/notes.txt"[..])
    );
}

#[test]
fn an_unreadable_list_says_why_and_keeps_what_it_had() {
    let why = || Failure::new(ErrorKind::Database, "agno.sqlite is not an SQLite database");
    let mut app = App::empty(160, 45);
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Err(why())));
    assert!(
        app.screen()
            .contains("✖ agno.sqlite is not an SQLite database")
    );
    assert!(app.screen().contains("R tries again"));
    let mut app = App::listed(160, 45);
    app.keys("R");
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Err(why())));
    assert_eq!(app.state.runs.runs.len(), 7);
    assert!(app.screen().contains("✖ the list: agno.sqlite is not"));
}

#[test]
fn an_empty_database_says_what_to_do() {
    let mut app = App::empty(160, 45);
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Replace, Ok(RunPage::default())),
    );
    assert!(app.screen().contains("No runs in this database yet."));
    assert!(app.screen().contains("`afterrun"));
    app.keys("enter");
    assert!(
        app.screen().contains("open: no run here"),
        "{}",
        app.screen()
    );
}

#[test]
fn the_mouse_chooses_and_opens() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut app = App::listed(160, 45);
    let click = |app: &mut App, column, row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        app.send(Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }));
    };
    click(&mut app, 8, 6);
    assert_eq!(
        app.state.runs.selected().map(|run| run.run_id.as_str()),
        Some(OPENED),
        "off at first"
    );
    app.keys("M");
    click(&mut app, 8, 6);
    assert_eq!(
        app.state.runs.selected().map(|run| run.run_id.as_str()),
        Some("run-refunds-2")
    );
    click(&mut app, 8, 6);
    assert_eq!(
        app.state.opening.as_ref().map(|run| run.run_id.as_str()),
        Some("run-refunds-2")
    );
    click(&mut app, 140, 10);
    assert_eq!(app.state.focus, Pane::Content);
}

#[test]
fn a_hundred_thousand_files_are_drawn_by_the_window() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.verify();
    let mut files = entries();
    for n in 0..100_000 {
        let mut file = files[5].clone();
        file.path = format!("workspace/repository/d{}/f{n}", n / 100).into_bytes();
        files.push(file);
    }
    let diff = compared();
    let marks = Marks {
        root: &diff.root,
        files: &diff.files,
        ignored: &[],
        notices: &[],
    };
    let tree = FileTree::build(&files, Some(marks));
    assert!(tree.nodes.len() > 100_000);
    app.answer(Slot::Diff, Answer::Diff(Ok((Box::new(diff), tree.into()))));
    assert!(
        app.state.files.rows.len() < 1_100,
        "only what is unfolded becomes rows"
    );
    app.keys("2");
    let began = std::time::Instant::now();
    for _ in 0..20 {
        app.keys("j");
        app.screen();
    }
    // Far from a frame in an optimised build; here it only has to be no work on every file.
    assert!(
        began.elapsed().as_millis() < 2_000,
        "{:?} for 20 frames",
        began.elapsed()
    );
}
