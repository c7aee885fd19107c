//! What is said must be true, and every key says something.

use super::world::{App, runs};
use crate::ErrorKind;
use crate::tui::message::{Answer, Request, Slot};
use crate::tui::state::Failure;

#[test]
fn a_file_that_is_not_compared_is_not_called_unchanged() {
    let mut app = App::opened(160, 45);
    app.keys("2 /");
    app.text("out.o");
    app.keys("enter d");
    let screen = app.screen();
    assert!(
        screen.contains("Left out by the checkout's ignore rules"),
        "{screen}"
    );
    assert!(!screen.contains("No change against"), "{screen}");
}

#[test]
fn a_broken_checkpoint_stays_known_in_the_list() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    let failure = Failure::new(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch");
    let row = Some(Box::new(runs().remove(0)));
    app.answer(Slot::Open, Answer::Opened(Err(failure), row));
    app.keys("esc j j j enter");
    app.verify();
    let screen = app.screen();
    let row = screen.lines().find(|line| line.contains("✖ sha256"));
    assert!(
        row.is_some_and(|row| row.contains("4 COMPLETED")),
        "{screen}"
    );
}

#[test]
fn a_key_of_another_pane_says_where_it_counts() {
    let mut app = App::opened(160, 45);
    app.keys("1 ]");
    assert!(
        app.screen().contains("next hunk: in the content (3)"),
        "{}",
        app.screen()
    );
    app.keys("3 s");
    assert!(
        app.screen().contains("status: in the runs (1)"),
        "{}",
        app.screen()
    );
    app.keys("v");
    assert!(
        app.screen().contains("viewed: in the files (2)"),
        "{}",
        app.screen()
    );
}

#[test]
fn the_patch_of_everything_is_asked_for_knowingly() {
    let mut app = App::opened(160, 45);
    app.requests();
    app.keys("2 G Y");
    assert!(
        app.screen().contains("this one did not change; p writes"),
        "{}",
        app.screen()
    );
    app.keys("g Y");
    assert!(matches!(
        app.requests().last(),
        Some(Request::PatchText { file: None, .. })
    ));
}

#[test]
fn nothing_over_the_panes_is_promised_their_keys() {
    for keys in ["r", ":", "?", "J"] {
        let mut app = App::opened(160, 45);
        app.keys(keys);
        let screen = app.screen();
        let bottom: String = screen.lines().skip(43).collect();
        assert!(!bottom.contains("palette"), "{keys}: {screen}");
    }
}

#[test]
fn as_many_hints_on_a_wide_screen_as_on_a_narrow_one() {
    let hints = |width| {
        let mut app = App::opened(width, 30);
        app.keys("3 esc");
        let screen = app.screen();
        ["next hunk", "next file", "base", "restore", "keys"]
            .iter()
            .filter(|hint| {
                screen
                    .lines()
                    .rev()
                    .take(3)
                    .any(|line| line.contains(**hint))
            })
            .count()
    };
    for width in [60, 80, 100, 110, 120, 140, 160, 200] {
        assert_eq!(hints(width), 5, "at {width}");
    }
}

#[test]
fn nobody_is_opened_as_an_agent_that_is_not_there_without_a_word() {
    let mut app = App::listed(160, 45);
    app.keys("A");
    app.text("nobody");
    app.keys("enter");
    assert!(
        app.screen().contains("no agent here is called nobody"),
        "{}",
        app.screen()
    );
}

#[test]
fn an_empty_path_is_said() {
    for keys in ["r ctrl-u enter", "p ctrl-u enter"] {
        let mut app = App::opened(160, 45);
        app.keys(keys);
        assert!(
            app.screen().contains("nothing is typed"),
            "{}",
            app.screen()
        );
    }
}

#[test]
fn the_plan_names_the_whole_destination() {
    let long = format!("./{}", "a-long-name/".repeat(12));
    let mut app = App::opened(60, 24);
    app.keys("r ctrl-u");
    app.text(&long);
    app.keys("enter");
    let plan = crate::tui::message::Written {
        destination: long.clone(),
        entries: 1,
        bytes: 1,
        left_out: Vec::new(),
    };
    app.answer(Slot::Restore, Answer::Plan(Ok(plan)));
    let letters = |text: &str| text.matches("a-long-name/").count();
    let shown: String = app.screen().split(['│', ' ', '\n']).collect();
    assert!(letters(&shown) >= 12, "{}", app.screen());
}

#[test]
fn counts_stay_beside_a_long_path() {
    let mut app = App::opened(80, 24);
    app.keys("3 f");
    let lines = vec!["refund".to_owned(); 9];
    app.answer(
        Slot::Content,
        Answer::File(Ok(crate::tui::state::FileContent::Text(lines, false))),
    );
    app.keys("/");
    app.text("refund");
    app.keys("enter n");
    let screen = app.screen();
    assert!(screen.contains("2/9"), "{screen}");
    assert!(screen.contains("match 2 of 9"), "{screen}");
    app.keys("N N");
    assert!(
        app.screen().contains("from the end again"),
        "{}",
        app.screen()
    );
}
