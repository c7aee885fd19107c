//! Acting on what is shown: places, copies, fetches, completion, marks, the editor, the jobs.

use std::path::Path;

use super::world::{App, OPENED, compared, entries, patch};
use crate::ErrorKind;
use crate::archive::{Entry, EntryKind, Mtime};
use crate::progress::{Progress, Stage};
use crate::review::LineKind;
use crate::tui::message::{Answer, Completion, Effect, Fetched, Message, Request, Slot, Written};
use crate::tui::state::{
    Destination, Failure, FileContent, FileTree, Marks, Overlay, Pane, Patch, PatchRow, View,
};

const README: &[u8] = b"workspace/repository/README.md";

/// A run that is opened at a place, up to its comparison.
fn at(path: &str, place: &Destination) -> App {
    let mut app = App::listed(120, 24);
    app.state.open_first = Some(OPENED.into());
    app.state.place = Some(Destination {
        path: (!path.is_empty()).then(|| path.into()),
        ..place.clone()
    });
    app.send(Message::Start);
    app.verify();
    app.compare();
    app
}

fn long_patch() -> Patch {
    let mut rows = vec![PatchRow::Hunk("@@ -90,60 +91,60 @@".into())];
    rows.extend((91..151).map(|number| PatchRow::Line {
        kind: LineKind::Context,
        old: Some(number - 1),
        new: Some(number),
        text: format!("this is {number}"),
    }));
    Patch { rows, ..patch() }
}

fn long_file() -> FileContent {
    FileContent::Text(
        (1..=200).map(|line| format!("this is {line}")).collect(),
        false,
    )
}

#[track_caller]
fn first_line(app: &App, text: &str) {
    let screen = app.screen();
    let line = screen.lines().nth(2).expect("a line");
    assert!(line.contains(text), "{text}:\n{screen}");
}

#[test]
fn a_line_of_a_hunk_is_stood_at_in_the_diff() {
    let mut app = at("README.md:120", &Destination::default());
    app.answer(Slot::Content, Answer::Patch(Ok(long_patch())));
    assert_eq!(app.state.content.path.as_deref(), Some(README));
    assert_eq!(
        (app.state.focus, app.state.content.view),
        (Pane::Content, View::Diff)
    );
    first_line(&app, "this is 120");
    assert_eq!(copied(&mut app), format!("{}:120", whole("README.md")));
}

#[test]
fn a_line_outside_of_the_hunks_is_stood_at_in_the_file() {
    let mut app = at("workspace/repository/README.md:30", &Destination::default());
    app.answer(Slot::Content, Answer::Patch(Ok(long_patch())));
    assert_eq!(app.state.content.view, View::File);
    app.answer(Slot::Content, Answer::File(Ok(long_file())));
    first_line(&app, "this is 30");
    let command = copied(&mut app);
    assert_eq!(command, format!("{}:30 --view file", whole("README.md")));
}

#[test]
fn a_view_that_is_named_is_kept() {
    let view = |view| Destination {
        view: Some(view),
        ..Destination::default()
    };
    let mut app = at("README.md:30", &view(View::Diff));
    app.answer(Slot::Content, Answer::Patch(Ok(long_patch())));
    assert_eq!(app.state.content.view, View::Diff);
    assert!(
        app.screen()
            .contains("line 30 is in no hunk; the nearest is shown")
    );
    let mut app = at("README.md:300", &view(View::File));
    app.answer(Slot::Content, Answer::File(Ok(long_file())));
    assert!(app.screen().contains("there is no line 300: 200 are shown"));
    let app = at("", &view(View::Info));
    assert_eq!(app.state.content.view, View::Info);
}

#[test]
fn what_was_deleted_is_a_place_and_what_never_was_is_said() {
    let app = at("old/was.txt", &Destination::default());
    assert_eq!(
        app.state.content.path.as_deref(),
        Some(&b"workspace/repository/old/was.txt"[..])
    );
    let app = at("src/no\u{1b}where.rs", &Destination::default());
    let screen = app.screen();
    assert!(
        screen.contains("there is no src/no\\x1bwhere.rs in this run, nor among what it deleted"),
        "{screen}"
    );
    assert!(app.state.place.is_none());
    let app = at("workspace/repository/build/", &Destination::default());
    assert_eq!(app.state.focus, Pane::Files, "a folder is stood on");
}

#[test]
fn another_run_is_not_gone_to() {
    let mut app = App::listed(120, 24);
    app.state.open_first = Some("run-refunds-3".into());
    app.state.place = Some(Destination {
        path: Some(b"notes.txt".to_vec()),
        ..Destination::default()
    });
    app.send(Message::Start);
    app.keys("1 g j j enter");
    app.verify();
    app.compare();
    assert_eq!(app.state.content.path.as_deref(), Some(README));
    assert!(app.state.place.is_none());
}

/// The words of the copied command, without what every command has.
fn copied(app: &mut App) -> String {
    app.effects.clear();
    app.keys("y");
    let [Effect::Copy(text)] = &app.effects[..] else {
        panic!("{:?}: {}", app.effects, app.screen());
    };
    text.replace("afterrun open ", "").replace(
        " --db postgresql://app@db/agno --store s3://checkpoints",
        "",
    )
}

fn whole(path: &str) -> String {
    format!("{OPENED} workspace/repository/{path}")
}

/// An open run whose files are of these names.
fn with_files(names: &[&str]) -> App {
    let mut app = App::listed(120, 24);
    app.keys("enter");
    app.verify();
    compare_with(&mut app, names);
    app
}

/// The comparison of such a run is there.
fn compare_with(app: &mut App, names: &[&str]) {
    let mut all = entries();
    all.extend(names.iter().map(|name| Entry {
        path: format!("workspace/repository/{name}").into(),
        kind: EntryKind::File { offset: 0, size: 9 },
        mode: 0o644,
        mtime: Mtime::Whole(0),
    }));
    all.sort_by(|one, other| one.path.cmp(&other.path));
    let compared = compared();
    let marks = Marks {
        root: &compared.root,
        files: &compared.files,
        ignored: &[],
        notices: &compared.notices,
    };
    let tree = FileTree::build(&all, Some(marks));
    app.answer(
        Slot::Diff,
        Answer::Diff(Ok((Box::new(compared), tree.into()))),
    );
}

/// Shows the file of this name, from its 12th line on.
fn show_twelfth(app: &mut App, name: &str) {
    app.keys("2 G /");
    app.text(name);
    app.keys("enter f");
    app.answer(Slot::Content, Answer::File(Ok(long_file())));
    app.keys("3 g j j j j j j j j j j j");
}

#[test]
fn a_path_that_ends_like_a_line_survives() {
    let names = ["a.log", "a.log:12", "b:3"];
    for (name, command) in [
        ("a.log", "a.log --line 12"),
        ("a.log:12", "a.log:12 --line 12"),
        ("b:3", "b:3 --line 12"),
    ] {
        let mut app = with_files(&names);
        // The filter finds `a.log` in both; the first is meant, or all of the name.
        show_twelfth(&mut app, name);
        assert_eq!(copied(&mut app), whole(command));
    }
    // Whole names win, and what is left of a line still is one.
    for (path, line, found, shown) in [
        ("a.log:12", None, "a.log:12", 1),
        ("a.log", Some(12), "a.log", 12),
        ("a.log:12:7", None, "a.log:12", 7),
        ("b:3", None, "b:3", 1),
        ("b:3", Some(5), "b:3", 5),
    ] {
        let mut app = App::listed(120, 24);
        app.state.open_first = Some(OPENED.into());
        app.state.place = Some(Destination {
            path: Some(path.into()),
            line,
            view: None,
        });
        app.send(Message::Start);
        app.verify();
        compare_with(&mut app, &names);
        app.answer(Slot::Content, Answer::File(Ok(long_file())));
        let found = format!("workspace/repository/{found}");
        assert_eq!(app.state.content.path.as_deref(), Some(found.as_bytes()));
        first_line(&app, &format!("this is {shown}"));
    }
}

#[test]
fn tables_that_are_not_the_usual_ones_are_named() {
    let mut app = App::opened(120, 24);
    app.state.labels.tables.runs = "my runs".into();
    assert!(copied(&mut app).ends_with(" --runs-table 'my runs'"));
}

#[test]
fn a_patch_is_made_and_copied() {
    let mut app = App::opened(120, 24);
    app.keys("2 Y");
    assert!(
        matches!(
            app.requests().last(),
            Some(Request::PatchText { file: Some(0), .. })
        ),
        "of the file under the cursor"
    );
    let text = "diff --git a/README.md b/README.md\n+x\n";
    app.answer(Slot::Clip, Answer::PatchText(Ok(text.into())));
    assert!(matches!(&app.effects[..], [Effect::Copy(copied)] if copied == text));
    assert!(
        app.screen()
            .contains("sent to the clipboard: the patch of README.md, 2 lines")
    );
    app.keys("g Y");
    assert!(matches!(
        app.requests().last(),
        Some(Request::PatchText { file: None, .. })
    ));
    let large = Failure::new(
        ErrorKind::Limit,
        "the patch is over 1 MiB, too much to copy",
    );
    app.answer(Slot::Clip, Answer::PatchText(Err(large)));
    assert!(
        app.screen()
            .contains("too much to copy → p writes it to a file")
    );
    let mut app = App::listed(120, 24);
    app.keys("Y");
    assert!(
        app.screen()
            .contains("copy patch: open a run first (enter on it)")
    );
}

fn finished(done: u64, total: u64, stage: Stage) -> Answer {
    Answer::Progress(Progress {
        stage,
        done,
        total,
        finished: false,
    })
}

#[test]
fn stored_bytes_are_fetched_of_a_run_that_is_not_open() {
    let mut app = App::listed(120, 24);
    app.keys("F");
    assert!(
        app.screen()
            .contains("Keep the stored bytes of run-refunds-4 in")
    );
    assert!(app.screen().contains("./afterrun-run-refu.tar.gz"));
    app.keys("ctrl-u");
    app.text("~/kept.tar");
    app.requests();
    app.keys("enter");
    assert!(matches!(
        &app.requests()[..],
        [Request::Fetch { run_id, opening_as: None, path }]
            if run_id == OPENED && path == Path::new("~/kept.tar")
    ));
    app.answer(Slot::Fetch, finished(2_000_000, 8_000_000, Stage::Digest));
    app.state.now_ms += 2_000;
    let screen = app.screen();
    assert!(
        screen.contains(
            "… fetching to ~/kept.tar: 2.0 MB of 8.0 MB, 25%, 1.0 MB/s, 6 s left  (esc stops it)"
        ),
        "{screen}"
    );
    app.keys("F");
    assert!(app.screen().contains("one fetch is at work; esc stops it"));
    app.keys("J");
    assert!(
        app.screen().contains("at work: 2.0 MB of 8.0 MB"),
        "{}",
        app.screen()
    );
    app.keys("esc");
    app.answer(
        Slot::Fetch,
        Answer::Fetched(Ok(Fetched {
            path: "/home/me/kept.tar".into(),
            size: 8_000_000,
            sha256: super::world::digest(),
        })),
    );
    assert!(
        app.screen()
            .contains("✔ fetched to /home/me/kept.tar: 8,000,000 B, sha256 4be1c0ffee77")
    );
    app.state.now_ms += 60_000;
    app.keys("J");
    let screen = app.screen();
    assert!(
        screen.contains("fetch to ~/kept.tar") && screen.contains("2 s"),
        "{screen}"
    );
}

#[test]
fn a_fetch_is_stopped() {
    let mut app = App::opened(120, 24);
    app.keys("F enter");
    app.effects.clear();
    app.keys("esc");
    assert!(matches!(&app.effects[..], [Effect::Cancel(Slot::Fetch)]));
    app.answer(
        Slot::Fetch,
        Answer::Fetched(Err(Failure::new(ErrorKind::Cancelled, "Cancelled"))),
    );
    assert!(app.state.fetching.is_none());
    assert!(
        app.screen()
            .contains("fetch stopped; nothing was left behind"),
        "{}",
        app.screen()
    );
}

fn completion(asked: &str, completed: &str, names: &[&str]) -> Answer {
    Answer::Completed(Ok(Completion {
        asked: asked.into(),
        completed: completed.into(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        more: false,
    }))
}

fn typed(app: &App) -> &str {
    match &app.state.overlay {
        Some(Overlay::Prompt(prompt)) => prompt.input.value(),
        other => panic!("no prompt: {other:?}"),
    }
}

#[test]
fn tab_completes_a_path_and_lists_the_rest() {
    let mut app = App::opened(80, 24);
    app.keys("r ctrl-u");
    app.text("./re");
    app.requests();
    app.keys("tab");
    assert!(matches!(
        &app.requests()[..],
        [Request::Complete { text, folders: true }] if text == "./re"
    ));
    app.answer(
        Slot::Complete,
        completion("./re", "./restore-", &["restore-1/", "restore-2/"]),
    );
    assert_eq!(typed(&app), "./restore-");
    assert!(
        app.screen().contains("restore-1/  restore-2/"),
        "{}",
        app.screen()
    );
    // What came too late is dropped.
    app.keys("tab");
    app.text("3");
    app.answer(
        Slot::Complete,
        completion("./restore-", "./restore-1/", &[]),
    );
    assert_eq!(typed(&app), "./restore-3");
    assert!(!app.screen().contains("restore-1/"), "{}", app.screen());
    app.keys("tab");
    app.answer(
        Slot::Complete,
        completion("./restore-3", "./restore-3", &[]),
    );
    assert!(app.screen().contains("nothing begins so"));
    let failure = Failure::new(ErrorKind::NotFound, "there is no folder x");
    app.keys("tab");
    app.answer(Slot::Complete, Answer::Completed(Err(failure)));
    assert!(app.screen().contains("✖ there is no folder x"));
    app.keys("esc p tab");
    assert!(matches!(
        app.requests().last(),
        Some(Request::Complete { folders: false, .. })
    ));
}

#[test]
fn only_what_is_marked_is_restored() {
    let mut app = App::opened(120, 30);
    app.keys("2 space space r");
    assert!(
        app.screen().contains("Restore 2 marked to a new directory"),
        "{}",
        app.screen()
    );
    app.requests();
    app.keys("enter");
    let requests = app.requests();
    let [Request::Restore { only, .. }] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(only.len(), 2);
    assert!(only.contains(&README.to_vec()));
    let plan = Written {
        destination: "/tmp/out".into(),
        entries: 4,
        bytes: 156,
        left_out: Vec::new(),
    };
    app.answer(Slot::Restore, Answer::Plan(Ok(plan)));
    let screen = app.screen();
    assert!(screen.contains("only     2 marked paths"), "{screen}");
    assert!(
        screen.contains("workspace/repository/README.md"),
        "{screen}"
    );
    app.keys("esc");
    // A mark is taken away by the same key, and belongs to its run.
    app.keys("k k space");
    assert_eq!(app.state.files.marked.len(), 1);
    app.keys("1 enter");
    app.verify();
    assert!(app.state.files.marked.is_empty());
}

#[test]
fn an_editor_is_asked_for_a_file_only() {
    let mut app = App::opened(120, 24);
    app.keys("2 e");
    assert!(
        app.screen().contains("editor: no editor is named"),
        "{}",
        app.screen()
    );
    app.state.editor = Ok(vec!["hx".into()]);
    app.requests();
    app.keys("e");
    assert!(matches!(
        &app.requests()[..],
        [Request::CopyToEdit { path, editor, line: None, .. }]
            if path == README && editor == &["hx".to_owned()]
    ));
    let failure = Failure {
        hint: Some("`afterrun cat run PATH` prints its bytes".into()),
        ..Failure::new(
            ErrorKind::Unsupported,
            "x is binary, which no text editor shows",
        )
    };
    app.answer(Slot::Edit, Answer::ToEdit(Err(failure)));
    assert!(
        app.screen()
            .contains("no text editor shows → `afterrun cat run PATH`")
    );
    let said: String = app.screen().split_whitespace().collect();
    assert!(said.contains("fshowsthemhere"), "{}", app.screen());
    app.keys("g e");
    assert!(
        app.screen().contains("editor: only for a file"),
        "{}",
        app.screen()
    );
    app.keys("G /");
    app.text("was.txt");
    app.keys("enter e");
    assert!(
        app.screen().contains("it is gone: the run deleted it"),
        "{}",
        app.screen()
    );
}
