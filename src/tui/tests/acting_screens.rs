//! What lies over the panes while one acts, at four sizes.

use super::screens::at_sizes;
use super::world::App;
use crate::progress::{Progress, Stage};
use crate::tui::message::{Answer, Completion, Slot};

fn narrowed(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("? /");
    app.text("file");
    app
}

fn completed(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("F ctrl-u");
    app.text("./kept/");
    app.keys("tab");
    let completion = Completion {
        asked: "./kept/".into(),
        completed: "./kept/".into(),
        names: (1..30).map(|turn| format!("turn-{turn}.tar.gz")).collect(),
        more: true,
    };
    app.answer(Slot::Complete, Answer::Completed(Ok(completion)));
    app
}

fn marked(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("2 space space space space r enter");
    app.plan(5, 156, &[]);
    app
}

fn jobs(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("p enter");
    app.state.now_ms += 1_234;
    app.answer(
        Slot::Write,
        Answer::PatchWritten(Ok(("./afterrun-run-refu.patch".into(), 3, 1_500))),
    );
    app.keys("F enter");
    app.state.now_ms += 4_000;
    let progress = Progress {
        stage: Stage::Digest,
        done: 3_000_000,
        total: 12_000_000,
        finished: false,
    };
    app.answer(Slot::Fetch, Answer::Progress(progress));
    app.keys("J");
    app
}

#[test]
fn help_narrowed() {
    at_sizes("help_narrowed", narrowed);
}

#[test]
fn fetch_completed() {
    at_sizes("fetch_completed", completed);
}

#[test]
fn plan_of_what_is_marked() {
    at_sizes("plan_marked", marked);
}

#[test]
fn jobs_at_work_and_done() {
    at_sizes("jobs", jobs);
}
