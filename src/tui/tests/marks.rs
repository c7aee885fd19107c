//! Marks, the comparison of two runs, and what a run's row shows once it was compared.

use super::world::{App, OPENED, compared, entries, runs};
use crate::review::BaseChoice;
use crate::runs::RunPage;
use crate::tui::message::{Answer, PageUse, Request, Slot};
use crate::tui::state::FileTree;

fn refresh(app: &mut App) {
    app.keys("R");
    let page = RunPage {
        runs: runs(),
        sessions: app.state.runs.sessions.clone(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
}

fn row<'a>(screen: &'a str, sign: &str) -> &'a str {
    screen
        .lines()
        .find(|line| line.contains(sign))
        .unwrap_or_else(|| panic!("no {sign}:\n{screen}"))
}

#[test]
fn marks_survive_and_go_with_escape() {
    let mut app = App::listed(160, 45);
    app.keys("space");
    assert!(app.screen().contains("✔* 4"), "{}", app.screen());
    assert!(
        app.screen().contains("1 Runs  1 marked"),
        "{}",
        app.screen()
    );
    refresh(&mut app);
    app.keys("/");
    app.text("refunds");
    app.keys("enter");
    assert!(app.screen().contains("✔* 4"), "{}", app.screen());
    app.keys("esc");
    assert!(!app.screen().contains("✔* 4"), "marks go first");
    assert_eq!(app.state.runs.text, "refunds");
    app.keys("esc");
    assert_eq!(app.state.runs.text, "");
    app.keys("g space");
    assert!(
        app.screen().contains("mark: move to a run first"),
        "{}",
        app.screen()
    );
}

#[test]
fn compares_the_newer_with_the_older() {
    let mut app = App::listed(160, 45);
    app.keys("D");
    let screen = app.screen();
    assert!(
        screen.contains("compare: mark two runs first (space)"),
        "{screen}"
    );
    app.keys("j j j space");
    app.keys("k D");
    let screen = app.screen();
    assert!(screen.contains("one run is marked"), "{screen}");
    // To the newest of the session, with the oldest marked.
    app.keys("k k k");
    app.requests();
    app.keys("D");
    assert!(
        matches!(&app.requests()[..], [Request::Open { run_id, .. }] if run_id == OPENED),
        "the newer is opened"
    );
    app.verify();
    assert!(
        app.requests().iter().any(|request| matches!(
            request,
            Request::Diff { choice: BaseChoice::Run(base), .. } if base == "run-refunds-1"
        )),
        "with the older as its base"
    );
    app.compare();
    app.keys("1 j j j");
    app.requests();
    // Opened in the usual way, the next one has its own base again.
    app.keys("enter");
    app.verify();
    assert!(app.requests().iter().any(|request| matches!(
        request,
        Request::Diff {
            choice: BaseChoice::Default,
            ..
        }
    )));
}

#[test]
fn a_third_mark_is_one_too_many() {
    let mut app = App::listed(160, 45);
    app.keys("space space space D");
    let screen = app.screen();
    assert!(
        screen.contains("3 runs are marked and two are compared"),
        "{screen}"
    );
}

#[test]
fn a_row_shows_what_its_comparison_counted() {
    let mut app = App::opened(200, 60);
    let screen = app.screen();
    assert!(
        row(&screen, "✔  4").contains("12.2 kB ●  +12  −3"),
        "{screen}"
    );
    // Another base than the one that is asked for now.
    app.keys("b");
    assert!(
        row(&app.screen(), "✔  4").contains("+12  −3   pin"),
        "{}",
        app.screen()
    );
    let mut narrow = App::opened(120, 35);
    narrow.keys("b 1");
    let screen = narrow.screen();
    assert!(row(&screen, "✔  4").contains("~+12"), "{screen}");
    let mut other = compared();
    (other.kind, other.additions, other.deletions) = ("head", Some(123_456), None);
    let tree = FileTree::build(&entries(), None);
    app.answer(Slot::Diff, Answer::Diff(Ok((Box::new(other), tree.into()))));
    let screen = app.screen();
    assert!(row(&screen, "✔  4").contains("+.1M −?"), "{screen}");
    assert!(!row(&screen, "✔  4").contains("head"), "it is the base now");
}

#[test]
fn screens() {
    for (width, height) in [(200, 60), (120, 35), (80, 24), (60, 16)] {
        let mut app = App::opened(width, height);
        app.keys("1 space j j space");
        insta::assert_snapshot!(format!("marked_{width}x{height}"), app.screen());
    }
}
