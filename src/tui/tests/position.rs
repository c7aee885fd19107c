//! The place in a diff: the lines that stand on the screen stand there again when other context,
//! another base or another turn comes.

use std::sync::Arc;

use super::world::{App, compared, entries, runs};
use crate::review::LineKind;
use crate::tui::jobs::Handle;
use crate::tui::message::{Answer, Compared, Slot, Verified};
use crate::tui::state::{Failure, FileContent, FileTree, Marks, Patch, PatchRow};
use crate::tui::theme::Tone;

/// Changes at new lines 100, 200, …, 900 with `context` lines around each; on the old side every
/// line's number is lower by `moved`.
fn patch(context: u32, moved: u32) -> Patch {
    let mut rows = Vec::new();
    for change in (1..10).map(|n| n * 100) {
        rows.push(PatchRow::Hunk(format!("@@ {change} @@")));
        for new in change - context..=change + context {
            let old = new - moved;
            if new == change {
                rows.push(PatchRow::Line {
                    kind: LineKind::Deleted,
                    old: Some(old),
                    new: None,
                    text: format!("was {new}"),
                });
            }
            rows.push(PatchRow::Line {
                kind: if new == change {
                    LineKind::Added
                } else {
                    LineKind::Context
                },
                old: (new != change).then_some(old),
                new: Some(new),
                text: format!("is {new}"),
            });
        }
    }
    Patch {
        file: 0,
        title: "README.md".into(),
        rows,
        digits: 3,
    }
}

fn opened() -> App {
    let mut app = App::opened(120, 24);
    app.keys("3 z +");
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 0))));
    app
}

/// What a row of the pane says.
fn row(app: &App, at: usize) -> String {
    let screen = app.screen();
    let line = screen.lines().nth(2 + at).unwrap_or_default();
    line.trim_matches(|c: char| "│ ".contains(c)).to_owned()
}

/// Scrolls until the row at the top says `text`.
fn to(app: &mut App, text: &str) {
    app.keys("g");
    for _ in 0..400 {
        if row(app, 0).ends_with(text) {
            return;
        }
        app.keys("j");
    }
    panic!("no {text}: {}", app.screen());
}

fn compared_tree(diff: Compared) -> Result<(Box<Compared>, Arc<FileTree>), Failure> {
    let marks = Marks {
        root: &diff.root,
        files: &diff.files,
        ignored: &[],
        notices: &[],
    };
    let tree = Arc::new(FileTree::build(&entries(), Some(marks)));
    Ok((Box::new(diff), tree))
}

fn compare_again(app: &mut App) {
    app.answer(Slot::Diff, Answer::Diff(compared_tree(compared())));
}

/// Scrolls until `text` is at the top, whatever stands beside it.
fn to_file(app: &mut App, text: &str) {
    app.keys("z");
    to(app, text);
    app.keys("z");
}

#[test]
fn context_grows_and_shrinks_around_the_line_at_the_top() {
    for line in ["is 398", "is 400", "was 400", "is 503"] {
        let mut app = opened();
        to(&mut app, line);
        app.keys("+");
        app.answer(Slot::Content, Answer::Patch(Ok(patch(12, 0))));
        assert!(row(&app, 0).ends_with(line), "{line}: {}", app.screen());
        app.keys("-");
        app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 0))));
        assert!(row(&app, 0).ends_with(line), "{line}: {}", app.screen());
    }
    let mut app = opened();
    to(&mut app, "is 406");
    app.keys("-");
    app.answer(Slot::Content, Answer::Patch(Ok(patch(1, 0))));
    assert!(
        row(&app, 0).ends_with("is 499"),
        "the next line that is there: {}",
        app.screen()
    );
    let mut app = opened();
    app.keys("+");
    app.answer(Slot::Content, Answer::Patch(Ok(patch(12, 0))));
    assert_eq!(row(&app, 0), "README.md", "the start stays the start");
}

#[test]
fn a_hunk_at_the_top_keeps_its_lines() {
    let mut app = opened();
    app.keys("] ] ]");
    assert!(row(&app, 0).starts_with("@@ 300"), "{}", app.screen());
    let second = row(&app, 1);
    app.keys("w");
    app.answer(Slot::Content, Answer::Patch(Ok(patch(12, 0))));
    assert_eq!(row(&app, 1), second, "{}", app.screen());
    app.keys("]");
    assert!(
        row(&app, 0).starts_with("@@ 400"),
        "on from the hunk that was gone to: {}",
        app.screen()
    );
}

#[test]
fn another_base_shows_the_same_lines() {
    let mut app = opened();
    to(&mut app, "is 702");
    app.keys("b");
    compare_again(&mut app);
    assert!(
        row(&app, 0).ends_with("is 702"),
        "the old lines stand until the new ones are there: {}",
        app.screen()
    );
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 40))));
    let shown = row(&app, 0);
    assert!(
        shown.ends_with("is 702") && shown.starts_with("662"),
        "{shown}"
    );
}

#[test]
fn another_base_leaves_the_file_alone() {
    let mut app = opened();
    app.keys("f");
    let content = FileContent::Text(vec!["fn main() {}".into()], false);
    app.answer(Slot::Content, Answer::File(Ok(content)));
    let runs = vec![vec![(2, Tone::Keyword)].into()];
    app.answer(Slot::Content, Answer::Coloured(runs));
    app.keys("b");
    app.requests();
    compare_again(&mut app);
    assert!(app.requests().is_empty(), "it is the same file");
    assert!(app.screen().contains("fn main() {}"), "{}", app.screen());
    assert!(!app.state.content.colours.is_empty());
}

#[test]
fn another_turn_shows_the_same_lines() {
    let mut app = opened();
    to(&mut app, "is 702");
    app.keys("<");
    app.answer(Slot::Find, Answer::Turn(Ok("run-refunds-1".into())));
    verify(&mut app);
    app.screen();
    compare_again(&mut app);
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 7))));
    let shown = row(&app, 0);
    assert!(
        shown.ends_with("is 702") && shown.starts_with("695"),
        "{shown}"
    );
}

fn verify(app: &mut App) {
    let run = runs().into_iter().find(|run| run.run_id == "run-refunds-1");
    let reference = app.state.opened.as_ref().expect("a run").reference.clone();
    let verified = Verified {
        handle: Handle::default(),
        row: run.expect("a run of the world"),
        reference,
        tree: Arc::new(FileTree::build(&entries(), None)),
        state: String::new(),
        unrestorable: None,
        gzipped: true,
    };
    app.answer(Slot::Open, Answer::Opened(Ok(Box::new(verified)), None));
}

#[test]
fn a_file_that_another_turn_did_not_change_stays_in_sight() {
    let mut app = App::opened(160, 24);
    app.keys("2 x 3 }");
    let path = app.state.content.path.clone();
    assert_eq!(
        path.as_deref(),
        Some(&b"workspace/repository/notes.txt"[..])
    );
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 0))));
    to_file(&mut app, "is 702");
    app.keys("<");
    app.answer(Slot::Find, Answer::Turn(Ok("run-refunds-1".into())));
    verify(&mut app);
    let mut diff = compared();
    diff.files.retain(|file| file.path != b"notes.txt");
    app.answer(Slot::Diff, Answer::Diff(compared_tree(diff)));
    assert_eq!(app.state.content.path, path);
    assert!(
        app.screen().contains("No change against"),
        "{}",
        app.screen()
    );
    app.keys(">");
    app.answer(Slot::Find, Answer::Turn(Ok("run-refunds-1".into())));
    verify(&mut app);
    app.answer(Slot::Diff, Answer::Diff(compared_tree(compared())));
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 7))));
    assert_eq!(app.state.content.path, path);
    app.keys("z");
    assert!(row(&app, 0).ends_with("is 702"), "{}", app.screen());
}

#[test]
fn side_by_side_keeps_the_place() {
    let mut app = opened();
    to(&mut app, "is 702");
    app.keys("|");
    assert!(row(&app, 0).ends_with("is 702"), "{}", app.screen());
    app.keys("|");
    assert!(row(&app, 0).ends_with("is 702"), "{}", app.screen());
}

#[test]
fn another_file_begins_at_its_start() {
    let mut app = opened();
    to(&mut app, "is 702");
    app.keys("}");
    app.answer(Slot::Content, Answer::Patch(Ok(patch(6, 0))));
    assert_eq!(app.state.content.top().line, 0);
}
