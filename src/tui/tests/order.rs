//! The order of the list, and where it ends.

use super::world::{App, NOW, OPENED, run, runs};
use crate::ErrorKind;
use crate::json::Json;
use crate::runs::{Cursor, RunData, RunOrder, RunPage, RunRow};
use crate::tui::message::{Answer, PageUse, Request, Slot};
use crate::tui::state::{Failure, Item};

fn page(runs: Vec<RunRow>, next: bool) -> RunPage {
    let next = next.then_some(Cursor {
        created_at: 1,
        row: "1".into(),
    });
    RunPage {
        runs,
        next,
        ..RunPage::default()
    }
}

fn sized(run_id: &str, size: u64, age: i64) -> RunRow {
    let mut row = run(run_id, "s", Some("a"), "COMPLETED", 1, age);
    let data = format!(
        r#"{{"metadata":{{"sandbox":{{"checkpoint":{{"sha256":"{}","size":{size}}}}}}}}}"#,
        "ab".repeat(32)
    );
    row.data = RunData::Value(Json::parse(&data).expect("JSON"));
    row
}

fn shown(app: &App) -> Vec<&str> {
    let rows = app.state.runs.rows.iter();
    rows.filter_map(|row| match row.item {
        Item::Run(index) => app.state.runs.at(index).map(|run| run.run_id.as_str()),
        _ => None,
    })
    .collect()
}

#[test]
fn goes_from_newest_to_oldest_to_largest() {
    let mut app = App::listed(160, 45);
    app.requests();
    app.keys("j j o");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page { filter, after: None, how: PageUse::Replace }]
            if filter.order == RunOrder::OldestFirst
    ));
    let mut oldest = runs();
    oldest.reverse();
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Replace, Ok(page(oldest, false))),
    );
    let screen = app.screen();
    assert!(screen.contains("1 Runs  oldest first"), "{screen}");
    assert_eq!(shown(&app).first(), Some(&"run-team"), "in the tree too");
    assert_eq!(shown(&app).last(), Some(&"run-look"));
    app.keys("T");
    assert_eq!(shown(&app).last(), Some(&OPENED));
    // What is opened by its id goes where it belongs.
    app.state
        .runs
        .merge(vec![run("run-mid", "s", Some("a"), "ERROR", 1, 700)]);
    app.keys("T T");
    let at = shown(&app).iter().position(|id| *id == "run-mid");
    assert_eq!(at, Some(5), "{:?}", shown(&app));
    app.keys("o");
    assert!(matches!(
        app.requests().last(),
        Some(Request::Page { filter, .. }) if filter.order == RunOrder::NewestFirst
    ));
    let of_sizes = vec![
        sized("small", 10, 1),
        sized("large", 90, 2),
        sized("middle", 50, 3),
    ];
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Replace, Ok(page(of_sizes, false))),
    );
    assert_eq!(shown(&app), ["large", "middle", "small"]);
    assert!(
        app.screen().contains("largest of loaded"),
        "{}",
        app.screen()
    );
    app.keys("G o");
    assert!(app.requests().is_empty(), "the same runs in another order");
    assert_eq!(shown(&app), ["small", "large", "middle"]);
    assert_eq!(app.state.runs.cursor, 0);
}

#[test]
fn says_where_reading_on_ends_and_why_it_failed() {
    let mut app = App::empty(160, 30);
    let many = |from: i64| -> Vec<RunRow> {
        let row = |n| run(&format!("r{n}"), "s", Some("a"), "ERROR", n, n);
        (from..from + 200).map(row).collect()
    };
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Replace, Ok(page(many(0), true))),
    );
    app.keys("G");
    assert!(app.screen().contains("… reading on"), "{}", app.screen());
    let place = app.state.runs.cursor;
    let why = Failure::new(ErrorKind::Database, "agno.sqlite is locked");
    app.answer(Slot::Page, Answer::Page(PageUse::Append, Err(why)));
    let screen = app.screen();
    assert!(
        screen.contains("✖ agno.sqlite is locked (enter tries again)"),
        "{screen}"
    );
    app.requests();
    app.keys("k j");
    assert!(app.requests().is_empty(), "not again by itself");
    app.keys("enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page {
            how: PageUse::Append,
            ..
        }]
    ));
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Append, Ok(page(many(200), false))),
    );
    assert_eq!(app.state.runs.cursor, place - 1, "on the row above the end");
    let last = app.state.runs.selected().map(|run| run.run_id.as_str());
    assert_eq!(last, Some("r199"), "the place is kept");
    app.keys("G");
    let screen = app.screen();
    assert!(screen.contains("that is all: 400 runs"), "{screen}");
    assert_eq!(
        app.state.runs.selected().map(|run| run.run_id.as_str()),
        Some("r399"),
        "the cursor passes over the last line"
    );
}

#[test]
fn reads_on_once_for_each_place() {
    let mut app = App::empty(160, 30);
    let many = |from: i64, agent: &'static str| -> Vec<RunRow> {
        let row = |n| run(&format!("r{n}"), "s", Some(agent), "ERROR", n, n);
        (from..from + 200).map(row).collect()
    };
    let mut first = many(0, "a");
    first.push(run("other", "t", Some("b"), "ERROR", 1, 201));
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Replace, Ok(page(first, true))),
    );
    app.keys("G");
    app.requests();
    // What comes stands above the end of the tree, near which the cursor still is.
    app.answer(
        Slot::Page,
        Answer::Page(PageUse::Append, Ok(page(many(300, "a"), true))),
    );
    assert!(
        app.requests().is_empty(),
        "not the whole database for one key"
    );
    assert!(!app.state.awaited.contains_key(&Slot::Page));
    app.keys("G");
    assert!(matches!(
        &app.requests()[..],
        [Request::Page {
            how: PageUse::Append,
            ..
        }]
    ));
}

#[test]
fn columns_stand_under_each_other_at_every_width() {
    for width in [60, 80, 120, 200] {
        let mut app = App::empty(width, 24);
        let mut wide = run("wide", "s", Some("a"), "日本語日本語日本語", 12_345, 1);
        wide.created_at = Some(NOW - 400 * 86_400);
        let mut huge = sized("huge", 1 << 60, 100);
        huge.run_index = Some(3);
        let rows = vec![
            wide,
            sized("small", 12, 90_000),
            huge,
            run("plain", "s", Some("a"), "REGENERATED", 2, 7),
        ];
        app.answer(
            Slot::Page,
            Answer::Page(PageUse::Replace, Ok(page(rows, false))),
        );
        app.state.focus = crate::tui::state::Pane::Runs;
        for flat in [false, true] {
            if flat {
                app.keys("T");
            }
            let screen = app.screen();
            // Each age ends in the same column.
            let columns: Vec<usize> = [" 1y", " 1d", " 1m", " 7s"]
                .iter()
                .map(|age| {
                    let line = screen.lines().find(|line| {
                        line.contains(age) && ["✔", "?", "↻"].iter().any(|sign| line.contains(sign))
                    });
                    let line = line.unwrap_or_else(|| panic!("{age} at {width}:\n{screen}"));
                    let at = line.find(age).expect("the age");
                    // A cell that a wide character covers is a space here.
                    line[..at].chars().count()
                })
                .collect();
            assert!(
                columns.windows(2).all(|two| two[0] == two[1]),
                "{columns:?}\n{screen}"
            );
        }
    }
}
