//! What is stopped says how it ended when its job has answered, and not before.

use super::world::App;
use crate::ErrorKind;
use crate::tui::message::{Answer, Effect, Slot};
use crate::tui::state::Failure;

const CLAIM: &str = "nothing was left behind";

/// A patch that is being written, and that a person wants stopped.
fn stopping() -> App {
    let mut app = App::opened(120, 24);
    app.keys("p enter");
    app.effects.clear();
    app.keys("esc");
    assert!(matches!(&app.effects[..], [Effect::Cancel(Slot::Write)]));
    let screen = app.screen();
    assert!(screen.contains("stopping the patch"), "{screen}");
    assert!(!screen.contains(CLAIM), "{screen}");
    app
}

#[test]
fn a_patch_that_was_stopped_leaves_nothing() {
    let mut app = stopping();
    app.keys("p");
    assert!(
        app.screen()
            .contains("one patch is being written; esc stops it"),
        "{}",
        app.screen()
    );
    let failure = Failure::new(ErrorKind::Cancelled, "Cancelled");
    app.answer(Slot::Write, Answer::PatchWritten(Err(failure)));
    assert!(
        app.screen()
            .contains("patch stopped; nothing was left behind")
    );
}

#[test]
fn a_patch_that_was_written_before_it_could_be_stopped_is_said() {
    let mut app = stopping();
    let done = ("./x.patch".to_owned(), 3, 1_500);
    app.answer(Slot::Write, Answer::PatchWritten(Ok(done)));
    let screen = app.screen();
    assert!(screen.contains("✔ wrote ./x.patch"), "{screen}");
    assert!(!screen.contains(CLAIM), "{screen}");
}
