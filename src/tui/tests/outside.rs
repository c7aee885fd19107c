//! What leaves the screen: a job's end told to somebody who looks elsewhere, a copy that became a file.

use super::world::App;
use crate::ErrorKind;
use crate::tui::message::{Answer, Effect, Message, Request, Slot, Written};
use crate::tui::state::Failure;

/// What was told since the last call.
fn told(app: &mut App) -> Vec<String> {
    let effects = std::mem::take(&mut app.effects).into_iter();
    let told = effects.filter_map(|effect| match effect {
        Effect::Notify(text) => Some(text),
        _ => None,
    });
    told.collect()
}

/// A run is being opened since `age` milliseconds, and passes.
fn opened_after(age: i64, focused: bool) -> Vec<String> {
    let mut app = App::listed(120, 35);
    app.send(Message::Focus(focused));
    app.keys("enter");
    app.state.now_ms += age;
    app.verify();
    app.compare();
    told(&mut app)
}

#[test]
fn a_long_jobs_end_is_told_once_and_only_elsewhere() {
    assert_eq!(
        opened_after(3_000, false),
        ["afterrun: open run-refunds-4: verified"]
    );
    assert_eq!(opened_after(2_999, false), [""; 0]);
    assert_eq!(opened_after(60_000, true), [""; 0]);
}

#[test]
fn a_restores_end_is_told_without_what_a_terminal_obeys() {
    let mut app = App::opened(120, 35);
    app.keys("r enter");
    let written = |destination: &str| Written {
        destination: destination.into(),
        entries: 10,
        bytes: 2_313,
        left_out: Vec::new(),
    };
    app.answer(Slot::Restore, Answer::Plan(Ok(written("./out"))));
    app.keys("enter");
    app.send(Message::Focus(false));
    told(&mut app);
    app.state.now_ms += 10_000;
    let hostile = format!("a;b\x1b]0;c{}", "x".repeat(500));
    app.answer(Slot::Restore, Answer::Restored(Ok(written(&hostile))));
    let told = told(&mut app);
    let [text] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(text.starts_with("afterrun: restore to "), "{text}");
    assert!(text.contains("a,b\\x1b]0,c"), "{text}");
    assert_eq!(text.chars().count(), 200);
    assert!(!text.contains([';', '\x1b']), "{text}");
}

#[test]
fn a_failed_job_is_told_too_and_one_stopped_by_hand_is_not() {
    let mut app = App::listed(120, 35);
    app.keys("enter");
    app.state.now_ms += 5_000;
    app.send(Message::Focus(false));
    let failure = Failure::new(ErrorKind::ObjectMissing, "Checkpoint object is missing");
    app.answer(Slot::Open, Answer::Opened(Err(failure), None));
    assert_eq!(
        told(&mut app),
        ["afterrun: open run-refunds-4: Checkpoint object is missing"]
    );
    app.keys("enter");
    app.state.now_ms += 5_000;
    app.keys("esc");
    assert_eq!(told(&mut app), [""; 0]);
}

#[test]
fn what_the_clipboard_does_not_take_goes_to_a_file() {
    let mut app = App::opened(120, 35);
    app.requests();
    let why = Failure::new(
        ErrorKind::Unsupported,
        "not copied: this terminal has no clipboard",
    );
    app.send(Message::NotCopied("the text".into(), why.clone()));
    let asked = app.requests();
    assert!(
        matches!(&asked[..], [Request::Keep { text }] if text == "the text"),
        "{asked:?}"
    );
    let screen = app.screen();
    assert!(
        screen.contains("no clipboard; writing it to a file"),
        "{screen}"
    );
    let path = "/run/user/0/afterrun-copy-x.txt";
    app.answer(Slot::Keep, Answer::Kept(Ok(path.into())));
    let screen = app.screen();
    assert!(
        screen.contains(&format!("the copy is in {path}")),
        "{screen}"
    );
    app.send(Message::NotCopied("the text".into(), why));
    let full = Failure::new(ErrorKind::Io, "cannot write in /run: no space left");
    app.answer(Slot::Keep, Answer::Kept(Err(full)));
    let screen = app.screen();
    assert!(
        screen.contains("✖ not copied: cannot write in /run"),
        "{screen}"
    );
}
