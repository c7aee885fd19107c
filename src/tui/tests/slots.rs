//! Answers and prompts in an order that nobody plans: what is late, or about another run, counts for
//! nothing.

use super::world::{App, OPENED, patch, run, runs};
use crate::runs::RunPage;
use crate::tui::message::{Answer, Completion, Message, PageUse, Request, Slot, Written};
use crate::tui::state::{FileContent, Overlay, View};

fn plan(destination: &str) -> Written {
    Written {
        destination: destination.into(),
        entries: 1,
        bytes: 1,
        left_out: Vec::new(),
    }
}

#[test]
fn a_prompt_is_about_the_run_it_was_opened_for() {
    let mut app = App::opened(160, 45);
    app.keys("1 j j j enter r");
    assert!(
        app.screen()
            .contains("Restore to a new directory · turn 4 (run-refu)"),
        "{}",
        app.screen()
    );
    app.verify();
    assert_eq!(
        app.state.opened.as_ref().expect("open").row.run_id,
        "run-refunds-1"
    );
    // The other run is open by now; the prompt still says whose files it writes.
    assert!(app.screen().contains("turn 4 (run-refu)"));
    app.keys("esc p");
    assert!(
        !app.screen().contains("Write the diff"),
        "there is no diff of the new run yet"
    );
}

#[test]
fn a_completed_path_drops_the_plan_for_the_one_before() {
    let mut app = App::opened(160, 45);
    app.keys("r ctrl-u");
    app.text("./ou");
    app.keys("tab enter");
    let planned = app.number(Slot::Restore);
    let completed = Completion {
        asked: "./ou".into(),
        completed: "./out/".into(),
        names: Vec::new(),
        more: false,
    };
    app.answer(Slot::Complete, Answer::Completed(Ok(completed)));
    app.send(Message::Answer(planned, Answer::Plan(Ok(plan("./ou")))));
    assert!(!app.screen().contains("enter restores"), "{}", app.screen());
    app.effects.clear();
    app.keys("enter");
    assert!(
        matches!(&app.requests()[..], [Request::Restore { destination, .. }] if destination.as_os_str() == "./out/"),
        "the path on the line is planned anew"
    );
}

#[test]
fn a_file_comes_back_after_another_was_looked_at_elsewhere() {
    let mut app = App::opened(160, 45);
    app.keys("3 f");
    let text = |text: &str| FileContent::Text(vec![text.into()], false);
    app.answer(Slot::Content, Answer::File(Ok(text("first"))));
    app.keys("i 2 j k 3 f");
    assert!(
        matches!(app.requests().last(), Some(Request::File { .. })),
        "it is read again"
    );
    app.answer(Slot::Content, Answer::File(Ok(text("first again"))));
    assert!(app.screen().contains("first again"), "{}", app.screen());
}

#[test]
fn a_patch_on_its_way_is_not_shown_under_another_run() {
    let mut app = App::opened(160, 45);
    app.keys("3 w");
    let late = app.number(Slot::Content);
    app.keys("1 j j j enter");
    app.verify();
    app.send(Message::Answer(late, Answer::Patch(Ok(patch()))));
    let screen = app.screen();
    assert!(!screen.contains("Edited by the engineer"), "{screen}");
}

#[test]
fn text_on_its_way_is_not_shown_under_another_path() {
    let mut app = App::opened(160, 45);
    app.keys("3 f");
    let late = app.number(Slot::Content);
    app.keys("i 2 j");
    let text = FileContent::Text(vec!["of the first".into()], false);
    app.send(Message::Answer(late, Answer::File(Ok(text))));
    app.keys("3 f");
    assert!(!app.screen().contains("of the first"), "{}", app.screen());
}

#[test]
fn an_unfolded_agent_leaves_the_list_to_be_read() {
    let mut app = App::opened(160, 45);
    app.keys("1 o");
    let list = app.number(Slot::Page);
    let mut page = RunPage {
        runs: vec![run("other", "s", Some("reviewer"), "ERROR", 1, 9)],
        ..RunPage::default()
    };
    let unfold = Request::Page {
        filter: app.state.runs.filter(),
        after: None,
        how: PageUse::Merge,
    };
    assert_ne!(unfold.slot(), Slot::Page, "it takes a place of its own");
    page.runs.extend(runs());
    app.send(Message::Answer(
        list,
        Answer::Page(PageUse::Replace, Ok(page)),
    ));
    assert!(app.state.runs.run("other").is_some());
    // Nothing is read on from a list that is being replaced.
    app.keys("o");
    app.requests();
    app.keys("G enter");
    let read_on = app.requests().into_iter().find(|request| {
        matches!(
            request,
            Request::Page {
                how: PageUse::Append,
                ..
            }
        )
    });
    assert!(read_on.is_none(), "{read_on:?}");
}

#[test]
fn a_key_over_the_help_is_one_of_the_pane_below() {
    let mut app = App::opened(160, 45);
    app.keys("2 g ? space");
    assert!(app.state.overlay.is_none());
    assert_eq!(app.state.files.marked.len(), 1, "a file, not a run");
    app.keys("esc esc 3 ? ]");
    assert!(app.screen().contains("no hunk here"), "{}", app.screen());
}

#[test]
fn one_patch_is_written_at_a_time() {
    let mut app = App::opened(160, 45);
    app.keys("p enter p");
    assert!(
        app.screen().contains("one patch is being written"),
        "{}",
        app.screen()
    );
    assert!(!matches!(app.state.overlay, Some(Overlay::Prompt(_))));
    app.keys("J");
    assert_eq!(
        app.state
            .jobs
            .iter()
            .filter(|job| job.outcome.is_none())
            .count(),
        1
    );
}

#[test]
fn ticks_are_counted_among_what_is_changed_now() {
    let mut app = App::opened(160, 45);
    app.keys("2 v v");
    let (run, viewed) = app.state.files.viewed.iter_mut().next().expect("ticks");
    assert_eq!(run, OPENED);
    viewed.insert(b"workspace/repository/gone-with-another-base".to_vec());
    assert!(app.screen().contains("2 of 3 viewed"), "{}", app.screen());
}

#[test]
fn another_sessions_file_begins_at_its_top() {
    let mut app = App::opened(160, 45);
    app.state.content.tops[View::Diff as usize].line = 2;
    app.keys("1 j j j j j j j j enter");
    app.verify();
    assert_eq!(app.state.content.top().line, 0);
}
