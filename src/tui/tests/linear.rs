//! What a screen reader is given: words, one pane, and the cursor on the row that is meant.

use ratatui::Terminal;
use ratatui::backend::{Backend as _, TestBackend};

use super::world::{App, NOW, runs};
use crate::progress::{Progress, Stage};
use crate::tui::message::{Answer, Look, Message, Slot};
use crate::tui::state::{EVERY, Failure};
use crate::tui::theme::{Depth, Theme, Tone, Toned};
use crate::tui::{linear, view};

fn listed() -> App {
    let mut app = App::listed(80, 24);
    app.state.linear = true;
    app.keys("j k");
    app
}

fn opened() -> App {
    let mut app = App::opened(80, 24);
    app.state.linear = true;
    app
}

/// The screen, and what stands from the cursor on.
fn heard(app: &App) -> (String, String) {
    let (width, height) = app.state.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a backend");
    let theme = Theme {
        depth: Depth::None,
        words: true,
        ..Theme::default()
    };
    terminal
        .draw(|frame| view::draw(&app.state, theme, frame))
        .expect("a frame");
    let at = terminal
        .backend_mut()
        .get_cursor_position()
        .expect("a cursor");
    let buffer = terminal.backend().buffer();
    let row = |from: u16, y: u16| {
        let cells = (from..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    let screen: Vec<String> = (0..height).map(|y| row(0, y)).collect();
    (screen.join("\n"), row(at.x, at.y))
}

fn snapshot(name: &str, app: &App) {
    let (screen, cursor) = heard(app);
    insta::assert_snapshot!(name, format!("{screen}\n\ncursor: {cursor}"));
    for sign in "│─╭╮╰╯├┤┴└✔✖▶◌‖⊘↻▾▸●▏".chars() {
        assert!(!screen.contains(sign), "{sign}:\n{screen}");
    }
}

#[test]
fn panes_one_at_a_time() {
    snapshot("linear_runs", &listed());
    let mut app = opened();
    app.keys("2");
    snapshot("linear_files", &app);
    app.keys("3");
    snapshot("linear_diff", &app);
    app.keys("i");
    snapshot("linear_info", &app);
}

#[test]
fn a_list_that_keeps_up() {
    let mut app = listed();
    app.state.live.every = Some(EVERY);
    app.state.live.seen = Some(app.state.now_ms);
    let mut new = runs()[1].clone();
    new.run_id = "new".into();
    new.run_index = Some(4);
    new.created_at = Some(NOW + 1);
    app.state.now_ms += 30_000;
    app.send(Message::Look);
    let mut look = Look {
        version: Some(2),
        written: true,
        ..Look::default()
    };
    look.new.runs = vec![new];
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    snapshot("linear_live", &app);
    // Folded, its session says it.
    app.keys("h h");
    let (screen, cursor) = heard(&app);
    assert!(cursor.starts_with("folded Fix refunds"), "{cursor}");
    assert!(cursor.contains("new"), "{screen}");
    // That time passes is not told; that the database is lost is.
    let why = Failure::new(crate::ErrorKind::Database, "the server went away");
    app.send(Message::Look);
    app.answer(Slot::Look, Answer::Look(Err(why)));
    let lost = heard(&app).0;
    app.state.now_ms += 5_000;
    assert_eq!(heard(&app).0, lost);
    assert!(lost.contains("database not seen"), "{lost}");
}

#[test]
fn a_refusal() {
    let mut app = listed();
    app.keys("j j enter");
    app.refuse_error();
    snapshot("linear_refusal", &app);
}

#[test]
fn overlays_have_no_frame_either() {
    let mut app = opened();
    for keys in ["?", ":", "r", "J", "/"] {
        app.keys(keys);
        let (screen, _) = heard(&app);
        assert!(!screen.contains(['│', '─', '╭']), "{screen}");
        app.keys("esc");
    }
    // The cursor stands where the next letter goes.
    app.keys("1 /");
    app.text("refunds");
    app.keys("ctrl-u");
    app.text("look");
    let (screen, cursor) = heard(&app);
    assert!(screen.contains("filter the runs /look"), "{screen}");
    assert!(!cursor.contains("look"), "{cursor}");
}

#[test]
fn the_cursor_follows_the_row() {
    let mut app = listed();
    let mut rows = vec![heard(&app).1];
    for _ in 0..4 {
        app.keys("j");
        rows.push(heard(&app).1);
    }
    let mut different = rows.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), rows.len(), "{rows:?}");
    assert!(
        rows.iter().any(|row| row.starts_with("unfolded ")),
        "{rows:?}"
    );
    app.keys("g h");
    assert!(
        heard(&app).1.starts_with("folded engineer"),
        "{}",
        heard(&app).1
    );
}

#[test]
fn each_stage_is_said_once() {
    let mut app = listed();
    app.keys("enter");
    let at = |app: &mut App, done, finished| {
        let progress = Progress {
            stage: Stage::Object,
            done,
            total: 12_156,
            finished,
        };
        app.answer(Slot::Open, Answer::Progress(progress));
        heard(app).0
    };
    let before = heard(&app).0;
    let begun = at(&mut app, 100, false);
    assert_ne!(begun, before);
    assert_eq!(at(&mut app, 6_000, false), begun);
    assert_ne!(at(&mut app, 12_156, true), begun);
}

#[test]
fn a_row_that_is_too_long_says_so() {
    let parts = [(Tone::Added, "  +1"), (Tone::Dim, "  next turn deletes it")];
    let line: Toned = parts.map(|(tone, text)| (tone, text.to_owned())).into();
    let text = |line: Toned| line.into_iter().map(|part| part.1).collect::<String>();
    assert_eq!(
        text(linear::fitted(line.clone(), 40)),
        "  1 added  next turn deletes it"
    );
    assert_eq!(text(linear::fitted(line, 14)), "  1 added  ne…");
    // Nothing of a row is cut off without a sign, in any pane.
    let mut app = App::opened(60, 16);
    app.state.linear = true;
    for key in ["1", "2", "3"] {
        app.keys(key);
        let (screen, _) = heard(&app);
        assert!(
            !screen.contains(" adde\n") && !screen.contains(" add\n"),
            "{screen}"
        );
    }
}

#[test]
fn a_status_is_said_once_and_first() {
    let (screen, _) = heard(&listed());
    for (status, word) in [
        ("RUNNING", "running  3"),
        ("ERROR", "failed  2"),
        ("COMPLETED", "done  4"),
    ] {
        assert!(screen.contains(word), "{screen}");
        assert!(!screen.contains(status), "{screen}");
    }
    let (screen, _) = heard(&opened());
    assert!(screen.contains("done row done COMPLETED"), "{screen}");
    let deleted = [
        (Tone::Warn, "⧗"),
        (Tone::Plain, " "),
        (Tone::Warn, " next turn deletes it"),
    ];
    let deleted = deleted.map(|(tone, text)| (tone, text.to_owned()));
    let said = linear::in_words(deleted.into()).into_iter();
    let said = said.map(|part| part.1).collect::<String>();
    assert_eq!(said.trim_end(), "deleted by the next turn");
    let gap = linear::in_words(vec![(Tone::Dim, "⋯ 3 lines".into())]);
    assert_eq!(gap[0].1, "3 lines left out");
}

#[test]
fn what_somebody_wrote_is_not_said_otherwise() {
    let line = |parts: &[(Tone, &str)]| {
        let line: Toned = parts
            .iter()
            .map(|(tone, text)| (*tone, (*text).into()))
            .collect();
        let said = linear::in_words(line).into_iter();
        said.map(|(_, text)| text).collect::<String>()
    };
    assert_eq!(line(&[(Tone::Plain, "✔ a → b")]), "✔ a → b");
    assert_eq!(line(&[(Tone::Quoted, "\"→ b\"")]), "\"→ b\"");
    assert_eq!(line(&[(Tone::Added, "+ x → +1")]), "added: x → +1");
    assert_eq!(line(&[(Tone::Removed, "-")]), "deleted:");
    assert_eq!(
        line(&[(Tone::Added, "  +12"), (Tone::Removed, "  −3")]),
        "  12 added  3 deleted"
    );
    assert_eq!(
        line(&[(Tone::Changed, "M "), (Tone::Changed, "M x")]),
        "modified M x"
    );
    assert_eq!(
        line(&[(Tone::Busy, "▶ "), (Tone::Busy, "RUNNING")]),
        "RUNNING"
    );
    assert_eq!(line(&[(Tone::Good, "✔ wrote a")]), "done wrote a");
}
