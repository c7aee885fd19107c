//! Long lines: cut at both edges or wrapped, and what a screen of them costs. Old and new side by side.

use super::world::App;
use crate::review::LineKind;
use crate::tui::message::{Answer, Message, Slot};
use crate::tui::state::{FileContent, Patch, PatchRow, Place};

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 35), (80, 24), (60, 16)];

/// A file whose second line is long, on the whole screen.
pub fn text(width: u16, height: u16, lines: Vec<String>) -> App {
    let mut app = App::opened(width, height);
    app.keys("f 3 z");
    let content = FileContent::Text(lines, false);
    app.answer(Slot::Content, Answer::File(Ok(content)));
    app
}

fn long() -> Vec<String> {
    let words: Vec<String> = (0..60).map(|n| format!("word{n}")).collect();
    vec![
        "short".into(),
        words.join(" "),
        "日本語".repeat(40),
        "end".into(),
    ]
}

/// A patch in which a run of lines was replaced by a longer one.
pub fn replaced() -> Patch {
    let line = |kind, old, new, text: &str| PatchRow::Line {
        kind,
        old,
        new,
        text: text.into(),
    };
    Patch {
        file: 0,
        title: "README.md".into(),
        rows: vec![
            PatchRow::Hunk("@@ -1,4 +1,5 @@".into()),
            line(LineKind::Context, Some(1), Some(1), "Hello World!"),
            line(LineKind::Deleted, Some(2), None, "the old second line"),
            line(
                LineKind::Deleted,
                Some(3),
                None,
                &"old and long ".repeat(20),
            ),
            line(LineKind::Added, None, Some(2), "the new second line"),
            line(LineKind::Added, None, Some(3), &"new and long ".repeat(20)),
            line(LineKind::Added, None, Some(4), "one more"),
            line(LineKind::Context, Some(4), Some(5), "the end"),
            PatchRow::Gap(1_120),
            PatchRow::Hunk("@@ -1125 +1126 @@".into()),
            line(LineKind::Deleted, Some(1125), None, "gone"),
            PatchRow::Words("\\ no line feed at the end".into()),
            line(LineKind::Added, None, Some(1126), "came"),
        ],
        digits: 4,
    }
}

fn patched(width: u16, height: u16) -> App {
    let mut app = App::opened(width, height);
    app.keys("3 z +");
    app.answer(Slot::Content, Answer::Patch(Ok(replaced())));
    app
}

#[test]
fn long_lines_at_every_size() {
    for (width, height) in SIZES {
        let mut app = text(width, height, long());
        app.keys("W");
        app.keys("space");
        insta::assert_snapshot!(format!("wrapped_{width}x{height}"), app.screen());
        app.keys("W L l");
        insta::assert_snapshot!(format!("sideways_{width}x{height}"), app.screen());
    }
}

#[test]
fn a_cut_line_says_so_at_both_edges() {
    let mut app = text(60, 16, long());
    assert!(app.screen().contains("1 short"), "{}", app.screen());
    let row = |app: &App| app.screen().lines().nth(3).unwrap_or_default().to_owned();
    assert!(row(&app).contains("2 word0 word1"), "{}", row(&app));
    assert!(row(&app).ends_with("› │"), "{}", row(&app));
    app.keys("L");
    assert!(row(&app).contains("2 ‹d1 word2"), "{}", row(&app));
    assert!(row(&app).ends_with("› │"), "{}", row(&app));
    for _ in 0..100 {
        app.keys("l");
    }
    assert!(row(&app).contains("word59"), "{}", row(&app));
    assert!(!row(&app).contains('›'), "{}", row(&app));
    assert!(app.screen().contains("no line goes on to the right"));
    app.keys("W");
    assert!(app.screen().contains("↪"), "{}", app.screen());
    app.keys("L");
    assert!(
        app.screen().contains("rightwards: long lines are wrapped"),
        "{}",
        app.screen()
    );
}

#[test]
fn a_wrapped_line_is_scrolled_by_rows_and_whole() {
    let mut app = text(60, 16, long());
    app.keys("W G");
    assert!(app.screen().contains("4 end"), "{}", app.screen());
    app.keys("g");
    // Every word is seen on the way down, and the way up ends where it began.
    let mut seen = app.screen();
    for _ in 0..30 {
        app.keys("j");
        seen.push_str(&app.screen());
    }
    // Words are cut where the row ends, so that only their letters are looked for.
    let letters: String = seen.chars().filter(|c| c.is_ascii_digit()).collect();
    assert!(
        letters.contains("5859") || seen.contains("word59"),
        "{seen}"
    );
    let bottom = app.screen();
    app.keys("G");
    assert_eq!(app.screen(), bottom);
    for _ in 0..30 {
        app.keys("k");
    }
    assert_eq!(app.state.content.top(), Place::default());
}

#[test]
fn a_megabyte_in_one_line_is_laid_out_as_far_as_it_is_seen() {
    let mut app = text(120, 35, vec!["x".repeat(1 << 20), "end".into()]);
    app.keys("W");
    let rows = |app: &App| app.screen().matches('x').count();
    assert!(rows(&app) > 3_000, "{}", app.screen());
    app.keys("ctrl-d");
    let top = app.state.content.top();
    assert_eq!(top.line, 0);
    assert!(top.offset > 1_000 && top.offset < 4_000, "{top:?}");
    app.keys("G");
    assert!(app.screen().contains("2 end"), "{}", app.screen());
    app.keys("k k");
    assert!(!app.screen().contains("2 end"), "{}", app.screen());
    assert_eq!(app.state.content.top().line, 0);
    app.send(Message::Resize(60, 16));
    assert!(app.screen().contains("xxxx"));
    app.keys("g");
    assert_eq!(app.state.content.top(), Place::default());
}

#[test]
fn old_and_new_stand_beside_each_other() {
    let mut app = patched(200, 60);
    app.keys("|");
    app.keys("space");
    let screen = app.screen();
    insta::assert_snapshot!("sides_200x60", screen);
    let row = |text: &str| {
        let row = screen.lines().find(|line| line.contains(text));
        row.unwrap_or_else(|| panic!("{screen}")).to_owned()
    };
    assert!(row("the old second line").contains("the new second line"));
    assert!(row("old and long").contains("new and long"));
    assert!(!row("one more").contains('-'));
    assert!(row("gone").contains("came"));
    app.keys("] ]");
    assert_eq!(app.state.content.at_hunk.map(|(_, line)| line), Some(8));
    app.send(Message::Resize(70, 24));
    assert!(
        app.screen().contains("- the old second line"),
        "below each other where it is narrow: {}",
        app.screen()
    );
}

#[test]
fn side_by_side_says_how_wide_it_must_be() {
    let mut app = patched(70, 24);
    app.keys("|");
    let screen = app.screen();
    assert!(
        screen.contains("side by side: it takes a pane of 76 columns, and this one has 66"),
        "{screen}"
    );
    let mut app = App::opened(120, 35);
    app.keys("3 |");
    assert!(app.screen().contains("z gives it the"), "{}", app.screen());
}

#[test]
fn what_is_left_out_between_hunks_is_said() {
    let app = patched(120, 35);
    assert!(app.screen().contains("⋯ 1,120 lines"), "{}", app.screen());
}

#[test]
fn headings_stay_when_the_lines_go_sideways() {
    let mut app = patched(120, 35);
    app.keys("3 L");
    let screen = app.screen();
    assert!(screen.contains("│ README.md"), "{screen}");
    assert!(screen.contains("│ @@ -1,4 +1,5 @@"), "{screen}");
}
