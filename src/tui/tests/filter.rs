//! The filter of the runs: what is typed narrows what is loaded at once, what the database finds
//! beyond it joins, and without it the list is what it was.

use ratatui::style::Modifier;

use super::world::{App, OPENED, run, runs};
use crate::ErrorKind;
use crate::runs::{Cursor, RunPage, RunRow, SessionInfo};
use crate::tui::message::{Answer, PageUse, Request, Slot};
use crate::tui::state::{Failure, Item};

fn next_place() -> Cursor {
    Cursor {
        created_at: 1,
        row: "7".into(),
    }
}

/// The ids of the rows, in order.
fn shown(app: &App) -> Vec<String> {
    let rows = app.state.runs.rows.iter();
    rows.filter_map(|row| match row.item {
        Item::Run(index) => app.state.runs.at(index).map(|run| run.run_id.clone()),
        _ => None,
    })
    .collect()
}

fn found(runs: Vec<RunRow>, next: Option<Cursor>) -> Answer {
    let page = RunPage {
        runs,
        next,
        ..RunPage::default()
    };
    Answer::Page(PageUse::Found, Ok(page))
}

fn selected(app: &App) -> Option<&str> {
    let run = app.state.runs.selected();
    run.map(|run| run.run_id.as_str())
}

/// A list of which more is below.
fn long() -> App {
    let mut app = App::listed(160, 45);
    app.keys("R");
    let page = RunPage {
        runs: runs(),
        next: Some(next_place()),
        sessions: app.state.runs.sessions.clone(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    app.requests();
    app
}

#[test]
fn narrows_at_once_and_asks_the_database_beside_it() {
    let mut app = long();
    app.keys("/");
    app.text("bill");
    assert_eq!(shown(&app), ["run-damaged"], "before any answer");
    let screen = app.screen();
    assert!(screen.contains("1 of 7 loaded, searching…"), "{screen}");
    assert!(
        screen.contains("1 of 7 loaded · searching the rest for it as typed…"),
        "{screen}"
    );
    let asked = app.requests();
    assert_eq!(asked.len(), 4, "one for each letter, the newest wins");
    assert!(matches!(
        asked.last(),
        Some(Request::Page { filter, after: None, how: PageUse::Found })
            if filter.text.as_deref() == Some("bill")
    ));
    // One beyond what is loaded, and one that is there already.
    let beyond = run("run-old", "s-old", Some("engineer"), "ERROR", 1, 3_000);
    let answer = found(vec![beyond, runs().remove(5)], None);
    app.answer(Slot::Search, answer);
    assert_eq!(shown(&app), ["run-old", "run-damaged"], "by its time");
    let screen = app.screen();
    assert!(
        screen.contains(
            "1 of 7 loaded, 1 beyond · the rest was searched for it as typed · enter keeps it"
        ),
        "{screen}"
    );
    app.keys("enter");
    assert!(
        app.screen().contains("1 of 7 loaded, 1 beyond"),
        "{}",
        app.screen()
    );
}

#[test]
fn finds_by_every_field_and_all_words() {
    let mut app = App::listed(160, 45);
    let mut of = |text: &str| {
        app.keys("/ ctrl-u");
        app.text(text);
        app.keys("enter");
        shown(&app)
    };
    assert_eq!(of("refunds-3"), ["run-refunds-3"], "by id");
    assert_eq!(of("s-look"), ["run-look"], "by session");
    assert_eq!(of("rviewer"), ["run-look"], "by agent, a letter left out");
    assert_eq!(of("quarter"), ["run-team"], "by title");
    assert_eq!(of("error"), ["run-refunds-2"], "by status");
    assert_eq!(of("engineer refund compl"), [OPENED, "run-refunds-1"]);
    assert_eq!(
        of("Engineer refunds"),
        [OPENED, "run-refunds-3", "run-refunds-2", "run-refunds-1"]
    );
    assert_eq!(of("engineer quarter"), [""; 0], "both in one run");
    assert_eq!(of("ENGINEER"), [""; 0], "capitals are meant");
    assert!(app.screen().contains("No run matches"), "{}", app.screen());
}

#[test]
fn without_it_the_list_is_what_it_was() {
    let mut app = long();
    app.keys("j j j");
    app.keys("h");
    app.keys("enter j");
    let rows = app.state.runs.rows.clone();
    let was = app.state.runs.node(app.state.runs.cursor);
    app.keys("/");
    app.text("look");
    let answer = found(
        vec![run("run-far", "s-far", Some("x"), "ERROR", 1, 9_999)],
        Some(next_place()),
    );
    app.answer(Slot::Search, answer);
    assert_eq!(shown(&app), ["run-look", "run-far"]);
    assert!(
        app.screen().contains("1 of 7 loaded, 1+ beyond"),
        "{}",
        app.screen()
    );
    app.keys("esc");
    assert_eq!(app.state.runs.rows, rows);
    assert_eq!(
        app.state.runs.next,
        Some(next_place()),
        "reading goes on where it did"
    );
    assert_eq!(app.state.runs.node(app.state.runs.cursor), was);
    assert!(!app.state.awaited.contains_key(&Slot::Search));
}

#[test]
fn a_run_that_was_chosen_stays_chosen() {
    let mut app = long();
    app.keys("/");
    app.text("look");
    app.keys("enter esc");
    assert_eq!(selected(&app), Some(OPENED), "nobody moved to another");
    app.keys("/");
    app.text("o");
    assert_eq!(selected(&app), Some(OPENED), "it is shown still");
    app.keys("ctrl-u");
    app.text("look");
    let far = run("run-far", "s-far", Some("x"), "ERROR", 1, 9_999);
    app.answer(Slot::Search, found(vec![far], None));
    assert_eq!(selected(&app), Some("run-look"));
    app.keys("enter G");
    assert_eq!(selected(&app), Some("run-far"));
    app.keys("esc");
    assert_eq!(selected(&app), Some("run-far"), "it is in the list now");
    assert_eq!(shown(&app).len(), 8);
}

#[test]
fn counts_say_where_they_were_counted() {
    let mut app = long();
    app.keys("/");
    app.text("look");
    let far = run("run-far", "s-far", Some("x"), "ERROR", 1, 9_000);
    app.answer(Slot::Search, found(vec![far], Some(next_place())));
    let right = |app: &App, width| {
        let (_, right) = crate::tui::panes::runs::title(&app.state, width);
        right.into_iter().map(|part| part.1).collect::<String>()
    };
    assert_eq!(right(&app, 52), "1 of 7 loaded, 1+ beyond");
    assert_eq!(right(&app, 34), "1 + 1… beyond");
    assert_eq!(right(&app, 24), "1 + 1…");
    app.keys("ctrl-u");
    app.text("zqx");
    app.answer(Slot::Search, found(Vec::new(), None));
    assert_eq!(right(&app, 52), "0 of 7 loaded, none beyond");
    let screen = app.screen();
    assert!(
        screen.contains("none beyond the 7 loaded either"),
        "{screen}"
    );
}

#[test]
fn what_was_found_goes_on_and_may_fail() {
    let mut app = long();
    app.keys("T /");
    app.text("refunds");
    app.answer(Slot::Search, found(Vec::new(), Some(next_place())));
    app.keys("enter G");
    app.requests();
    app.keys("enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page { after: Some(_), how: PageUse::FoundMore, filter }]
            if filter.text.as_deref() == Some("refunds")
    ));
    let why = Failure::new(ErrorKind::Database, "agno.sqlite is locked");
    app.answer(Slot::Search, Answer::Page(PageUse::FoundMore, Err(why)));
    let screen = app.screen();
    assert!(screen.contains("4 of 7 loaded, search failed"), "{screen}");
    assert!(
        screen.contains("✖ agno.sqlite is locked (enter tries again)"),
        "{screen}"
    );
    app.keys("enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page {
            how: PageUse::Found,
            ..
        }]
    ));
}

#[test]
fn marks_the_letters_it_found() {
    let mut app = App::listed(160, 45);
    app.keys("/");
    app.text("rfnd");
    let buffer = app.buffer();
    let marked = |y: u16| -> String {
        let row = (0..50).map(|x| &buffer[(x, y)]);
        row.filter(|cell| cell.modifier.contains(Modifier::UNDERLINED))
            .map(|cell| cell.symbol())
            .collect()
    };
    assert_eq!(marked(3), "rfnd", "{}", app.screen());
    app.keys("ctrl-u");
    app.text("refunds-2");
    let screen = app.screen();
    assert!(screen.contains("✖  2"), "{screen}");
    let buffer = app.buffer();
    let marked: Vec<String> = (0..45)
        .map(|y| {
            let row = (0..52).map(|x| &buffer[(x, y)]);
            row.filter(|cell| cell.modifier.contains(Modifier::UNDERLINED))
                .map(|cell| cell.symbol())
                .collect()
        })
        .collect();
    assert!(marked.contains(&"refunds-2".to_owned()), "{marked:?}");
}

#[test]
fn hostile_text_costs_nothing_and_stays_in_its_columns() {
    let mut app = App::listed(160, 45);
    let long = "日本\u{202e}".repeat(400_000);
    let mut row = run(&long, "s-long", Some(&long), "ERROR", 1, 5);
    row.status = Some("Ω\x1b[31m".into());
    row.run_index = Some(i64::MAX - 1);
    let mut page = RunPage {
        runs: vec![row, runs().remove(0)],
        ..RunPage::default()
    };
    let (title, runs) = (long, 1);
    page.sessions
        .insert("s-long".into(), SessionInfo { title, runs });
    app.keys("R");
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    for keys in ["T", "T"] {
        app.keys(keys);
        app.keys("/ ctrl-u");
        app.text("日本");
        assert_eq!(shown(&app).len(), 1);
        let screen = app.screen();
        for line in screen.lines().filter(|line| line.starts_with('│')) {
            assert!(line.ends_with('│'), "{screen}");
        }
        assert!(!screen.contains('\u{202e}') && !screen.contains('\x1b'));
        app.keys("esc");
    }
}

#[test]
fn since_takes_times_and_says_what_else_it_wants() {
    let mut app = App::listed(160, 45);
    app.requests();
    app.keys("S");
    app.text("soon");
    app.keys("enter");
    let screen = app.screen();
    assert!(screen.contains("✖ 'soon' is no time"), "{screen}");
    assert!(
        screen.contains("say 90m, 12h, 7d, 2w, or a date"),
        "{screen}"
    );
    assert!(app.requests().is_empty() && app.state.overlay.is_some());
    app.keys("ctrl-u");
    app.text("7d");
    app.keys("enter");
    let asked = app.requests();
    assert!(
        matches!(&asked[..], [Request::Page { filter, .. }]
            if filter.since == Some(super::world::NOW - 7 * 86_400)),
        "{asked:?}"
    );
    let page = RunPage {
        runs: runs()[..2].to_vec(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    let screen = app.screen();
    assert!(screen.contains("1 Runs  since 7d"), "{screen}");
    assert!(screen.contains("2 found"), "{screen}");
    app.keys("esc");
    assert!(
        matches!(app.requests().last(), Some(Request::Page { filter, .. }) if filter.since.is_none())
    );
    app.keys("S enter");
    assert!(app.requests().is_empty(), "all runs are listed already");
}

#[test]
fn screens() {
    for (width, height) in [(200, 60), (120, 35), (80, 24), (60, 16)] {
        let mut app = App::listed(width, height);
        app.keys("/");
        app.text("refunds");
        app.answer(Slot::Search, found(Vec::new(), None));
        insta::assert_snapshot!(format!("filtered_{width}x{height}"), app.screen());
        let mut app = App::listed(width, height);
        app.keys("T");
        insta::assert_snapshot!(format!("flat_{width}x{height}"), app.screen());
    }
}
