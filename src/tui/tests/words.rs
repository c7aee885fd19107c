//! What is said and copied: commands for colleagues, notices, hints, and how they are shortened.

use super::world::{App, compared, entries, run};
use crate::ErrorKind;
use crate::review::{BaseChoice, Notice};
use crate::runs::{RunPage, SessionInfo};
use crate::tui::message::{Answer, Compared, Effect, Message, PageUse, Slot};
use crate::tui::state::{Failure, FileTree, Marks};

const FLAGS: &str = "--db postgresql://app@db/agno --store s3://checkpoints";

fn copied(app: &mut App) -> String {
    app.effects.clear();
    app.keys("y");
    match &app.effects[..] {
        [Effect::Copy(text)] => text.clone(),
        other => panic!("{other:?}: {}", app.screen()),
    }
}

/// An interface in which a run is open and compared so.
fn with(width: u16, diff: Compared) -> App {
    let mut app = App::listed(width, 36);
    app.keys("enter");
    app.verify();
    let marks = Marks {
        root: &diff.root,
        files: &diff.files,
        ignored: &[],
        notices: &[],
    };
    let tree = FileTree::build(&entries(), Some(marks));
    app.answer(Slot::Diff, Answer::Diff(Ok((Box::new(diff), tree.into()))));
    app
}

#[test]
fn copies_a_command_for_a_colleague() {
    let mut app = App::opened(160, 45);
    assert_eq!(
        copied(&mut app),
        format!("afterrun open run-refunds-4 {FLAGS}")
    );
    app.keys("j");
    assert_eq!(
        copied(&mut app),
        format!("afterrun open run-refunds-3 {FLAGS}"),
        "the run under the cursor"
    );
    app.keys("2");
    assert_eq!(
        copied(&mut app),
        format!("afterrun open run-refunds-4 workspace/repository/README.md {FLAGS}")
    );
    app.state.content.base = BaseChoice::Head;
    app.state.opening_as = Some("it's me".into());
    app.state.labels.default_store = true;
    assert_eq!(
        copied(&mut app),
        r"afterrun open run-refunds-4 workspace/repository/README.md --base head --db postgresql://app@db/agno --as 'it'\''s me'"
    );
    app.keys("g");
    assert!(
        copied(&mut app).starts_with("afterrun open run-refunds-4 workspace --base head "),
        "a folder too"
    );
}

#[test]
fn a_copied_command_is_safe_to_paste() {
    let mut app = App::opened(160, 45);
    app.state.current = Some("-x'; rm -rf ~; '".into());
    app.state.labels.database = "postgresql://app:***@db/agno".into();
    app.keys("2");
    assert_eq!(
        copied(&mut app),
        r"afterrun open --db 'postgresql://app:***@db/agno' --store s3://checkpoints -- '-x'\''; rm -rf ~; '\'''"
    );
    assert!(app.screen().contains("put the password in for ***"));
    for (run_id, database, why) in [
        ("a\u{202e}b", "db", "the run's id holds characters"),
        ("a", r"a\x1bb", "the database's name holds characters"),
    ] {
        app.state.current = Some(run_id.into());
        app.state.labels.database = database.into();
        app.effects.clear();
        app.keys("y");
        assert!(app.effects.is_empty());
        assert!(app.screen().contains(why), "{}", app.screen());
    }
}

#[test]
fn a_changed_path_is_what_open_takes() {
    for (path, expected) in [
        (
            &b"a b/$x.txt"[..],
            "run-refunds-4 'workspace/repository/a b/$x.txt' --db",
        ),
        (b"-w.txt", "run-refunds-4 workspace/repository/-w.txt --db"),
        (
            b"workspace/repository/x",
            " workspace/repository/workspace/repository/x --db",
        ),
    ] {
        let mut diff = compared();
        diff.files.truncate(1);
        diff.files[0].path = path.to_vec();
        let mut app = with(160, diff);
        app.keys("2");
        let command = copied(&mut app);
        assert!(command.contains(expected), "{command}");
    }
    let mut diff = compared();
    diff.files.truncate(1);
    diff.files[0].path = b"a\xff".to_vec();
    let mut app = with(160, diff);
    app.effects.clear();
    app.keys("2 y");
    assert!(app.effects.is_empty());
    assert!(app.screen().contains("not copied: the path holds"));
}

#[test]
fn a_notice_names_its_path_at_every_width() {
    const WHOLE: &str = "! config/settings.toml: the index hides this change from git (assume-unchanged); i shows notices";
    for (width, said) in [
        (160, WHOLE),
        (120, WHOLE),
        (
            80,
            "! config/settings.toml: the index hides this change from…; i shows notices",
        ),
        (60, "! config/settings.toml: the index…; i shows notices"),
    ] {
        let mut diff = compared();
        diff.notices = vec![Notice::at(
            "index-hides",
            b"config/settings.toml",
            "the index hides this change from git (assume-unchanged)",
        )];
        let mut app = with(width, diff);
        assert!(app.screen().contains(said), "at {width}:\n{}", app.screen());
        app.send(Message::Resize(200, 45));
        assert!(app.screen().contains(WHOLE), "{}", app.screen());
    }
}

#[test]
fn the_files_count_is_shortened_not_dropped() {
    for (width, said, filtered) in [
        (160, "1,600 changed · 7 ignored", "1,600 changed"),
        (120, "1,600 ch. · 7 ign.", "2 Files  changed   1,600 ch."),
        (110, "1,600 ch. · 7 ign.", "2 Files  changed 1,600 ch."),
    ] {
        let mut diff = compared();
        diff.files = vec![diff.files[0].clone(); 1_600];
        diff.ignored = 7;
        let mut app = with(width, diff);
        assert!(app.screen().contains(said), "at {width}:\n{}", app.screen());
        app.keys("2 x");
        assert!(app.screen().contains(filtered), "{}", app.screen());
    }
}

/// A session of one turn that runs still, and its refusal.
fn running(width: u16, height: u16) -> App {
    const ID: &str = "e1c38238-f23c-4e3e-a291-6b0782625785";
    let mut app = App::opened(width, height);
    app.keys("R");
    let mut page = RunPage {
        runs: vec![
            run(ID, "s-lint", Some("engineer"), "RUNNING", 1, 60),
            run("other", "s-other", Some("engineer"), "COMPLETED", 1, 90),
        ],
        ..RunPage::default()
    };
    for session in ["s-lint", "s-other"] {
        let info = SessionInfo {
            title: "Bump the linter".into(),
            runs: 1,
        };
        page.sessions.insert(session.into(), info);
    }
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    app.keys("1 g j j enter");
    let message =
        format!("Run {ID} is RUNNING, not COMPLETED; only a completed turn commits a checkpoint");
    let failure = Failure::new(ErrorKind::NotCompleted, &message);
    let row = app.state.runs.run(ID).cloned().map(Box::new);
    app.answer(Slot::Open, Answer::Opened(Err(failure), row));
    app
}

#[test]
fn only_what_is_possible_is_advised() {
    for width in [160, 120, 80] {
        let mut app = running(width, 24);
        insta::assert_snapshot!(format!("running_{width}x24"), app.screen());
        for pane in ["1", "2", "3"] {
            app.keys(pane);
            let screen = app.screen();
            assert!(!screen.contains("press <"), "{screen}");
            assert!(!screen.contains("r restore"), "{screen}");
        }
        app.keys("3 ]");
        assert!(
            app.screen().contains("next hunk: Run e1c38238"),
            "{}",
            app.screen()
        );
        app.keys("esc esc");
        assert!(app.state.refusal.is_none());
    }
    assert!(App::opened(160, 45).screen().contains("r restore"));
}

#[test]
fn the_palette_says_that_a_run_does_not_exist() {
    let mut app = App::listed(160, 45);
    app.keys(":");
    app.text("qqq");
    assert!(app.screen().contains("enter opens the run qqq"));
    app.answer(Slot::Lookup, Answer::Found(Ok(Vec::new())));
    assert!(
        app.screen().contains("✖ Run qqq does not exist"),
        "{}",
        app.screen()
    );
    app.text("q");
    assert!(!app.screen().contains("does not exist"), "not known yet");
    let failure = Failure::new(ErrorKind::Database, "agno.sqlite is locked");
    app.answer(Slot::Lookup, Answer::Found(Err(failure)));
    assert!(app.screen().contains("enter opens the run qqqq"));
}

#[test]
fn a_late_lookup_leaves_other_overlays_alone() {
    let mut app = App::opened(160, 45);
    app.keys(":");
    app.text("run-refunds");
    app.keys("esc ?");
    app.answer(Slot::Lookup, Answer::Found(Ok(Vec::new())));
    assert!(app.state.overlay.is_some(), "the help stays");
}

#[test]
fn reasons_in_the_help_are_whole() {
    for width in [160, 120, 80] {
        let mut app = App::listed(width, 120);
        app.keys("?");
        let screen = app.screen();
        let words = screen.split_whitespace().filter(|word| *word != "│");
        let text = words.collect::<Vec<_>>().join(" ");
        let reason = "as a patch for git apply — open a run first (enter on it)";
        assert!(text.contains(reason), "{screen}");
    }
}
