//! Opening: what is at work, what replaces what, and going back to a run that was open before.

use super::world::{App, OPENED, runs};
use crate::ErrorKind;
use crate::progress::{Progress, Stage};
use crate::tui::message::{Answer, Effect, Request, Slot};
use crate::tui::state::Failure;

/// The world with one run open after another.
fn two_opened() -> App {
    let mut app = App::opened(160, 45);
    app.keys("1 j j j enter");
    app.verify();
    app.compare();
    app.patch();
    assert!(app.screen().contains("→ turn 1"), "{}", app.screen());
    app.requests();
    app
}

#[test]
fn the_last_good_panes_stay_until_the_new_ones_are_there() {
    let mut app = App::opened(160, 45);
    app.keys("1 j j j enter");
    let screen = app.screen();
    assert!(screen.contains("→ turn 4"), "{screen}");
    assert!(screen.contains("Edited by the engineer"), "{screen}");
    app.verify();
    let screen = app.screen();
    assert!(screen.contains("comparing → turn 1"), "{screen}");
}

#[test]
fn progress_has_rate_and_time_left() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.state.now_ms += 2_000;
    let at = |done| Progress {
        stage: Stage::Digest,
        done,
        total: 40_000_000,
        finished: false,
    };
    app.answer(Slot::Open, Answer::Progress(at(10_000_000)));
    let screen = app.screen();
    assert!(
        screen.contains("sha256 25% of 40.0 MB, 5.0 MB/s, 6s left"),
        "{screen}"
    );
    assert!(screen.contains("esc stop"), "{screen}");
}

#[test]
fn of_several_opens_the_newest_wins() {
    let mut app = App::listed(160, 45);
    app.keys("enter j enter j j enter");
    let opened: Vec<_> = app
        .requests()
        .into_iter()
        .filter(|request| request.slot() == Slot::Open)
        .collect();
    assert_eq!(opened.len(), 3);
    app.verify();
    let shown = app.state.opened.as_ref().expect("open");
    assert_eq!(shown.row.run_id, "run-refunds-1");
    let given_up = app.state.jobs.iter().filter(|job| {
        job.outcome
            .as_ref()
            .is_some_and(|(_, text)| text.contains("newer"))
    });
    assert_eq!(given_up.count(), 2);
}

#[test]
fn going_back_asks_again_and_is_at_once() {
    let mut app = two_opened();
    app.keys("1 k k k enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Reopen { run_id, reference, .. }] if run_id == OPENED && reference.size() == 12_156
    ));
    app.effects.clear();
    let row = runs().remove(0);
    app.answer(Slot::Open, Answer::Reopened(Box::new(row)));
    let screen = app.screen();
    assert!(screen.contains("pin 7fd1a60 → turn 4"), "{screen}");
    assert!(screen.contains("✔ archive 11 entries"), "{screen}");
    assert!(
        app.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Rest(_))),
        "the other run's worker rests"
    );
    let asked = app.requests();
    assert!(
        matches!(&asked[..], [Request::Patch { .. }]),
        "the comparison is kept: {asked:?}"
    );
}

#[test]
fn another_base_is_compared_anew() {
    let mut app = two_opened();
    app.keys("b");
    app.compare();
    app.keys("1 k k k enter");
    app.requests();
    app.answer(Slot::Open, Answer::Reopened(Box::new(runs().remove(0))));
    assert!(matches!(&app.requests()[..], [Request::Diff { .. }, ..]));
}

#[test]
fn what_changed_since_is_refused_and_let_go() {
    let mut app = two_opened();
    app.keys("1 k k k enter");
    let gone = Failure::new(ErrorKind::ObjectMissing, "Checkpoint object is missing");
    let row = Some(Box::new(runs().remove(0)));
    app.answer(Slot::Open, Answer::Opened(Err(gone), row));
    assert!(
        app.screen().contains("✖ object missing"),
        "{}",
        app.screen()
    );
    app.requests();
    app.keys("enter");
    assert!(
        matches!(&app.requests()[..], [Request::Open { .. }]),
        "nothing of it is held any more"
    );
}

#[test]
fn enter_on_the_open_run_checks_everything_anew() {
    let mut app = App::opened(160, 45);
    app.requests();
    app.keys("1 enter");
    assert!(matches!(&app.requests()[..], [Request::Open { .. }]));
}

#[test]
fn a_run_opened_before_the_list_is_there_is_chosen_in_it() {
    let mut app = App::empty(160, 45);
    app.state.open_first = Some("run-look".into());
    app.send(crate::tui::message::Message::Start);
    let page = crate::runs::RunPage {
        runs: runs(),
        ..crate::runs::RunPage::default()
    };
    app.answer(
        Slot::Page,
        Answer::Page(crate::tui::message::PageUse::Replace, Ok(page)),
    );
    let chosen = app.state.runs.selected().expect("a run");
    assert_eq!(chosen.run_id, "run-look");
}
