//! Colours of a file: they follow its text, and take nothing away from it.

use ratatui::style::Color;

use super::world::App;
use super::wrap::text;
use crate::tui::message::{Answer, Slot};
use crate::tui::theme::Tone;

fn colour(app: &App, of: &str) -> Color {
    let screen = app.screen();
    let (y, line) = screen
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains(of))
        .unwrap_or_else(|| panic!("{screen}"));
    let before = line.split(of).next().unwrap_or_default();
    let x = crate::tui::fit::columns(before);
    app.buffer()[(
        u16::try_from(x).expect("a column"),
        u16::try_from(y).expect("a row"),
    )]
        .fg
}

#[test]
fn text_comes_first_and_its_colours_follow() {
    let mut app = text(120, 35, vec!["fn żółw() {}".into(), "// 日本".into()]);
    let before = app.screen();
    assert_eq!(colour(&app, "fn"), Color::Reset);
    let runs = vec![
        vec![
            (2, Tone::Keyword),
            (3, Tone::Plain),
            (10, Tone::Function),
            (15, Tone::Plain),
        ]
        .into(),
        vec![(9, Tone::Constant)].into(),
    ];
    app.answer(Slot::Content, Answer::Coloured(runs));
    assert_eq!(app.screen(), before, "the same text");
    assert_eq!(colour(&app, "fn"), Color::Magenta);
    assert_eq!(colour(&app, "żółw"), Color::Blue);
    assert_eq!(colour(&app, "()"), Color::Reset);
    assert_eq!(colour(&app, "日"), Color::Yellow);
    app.keys("W L");
    assert_eq!(colour(&app, "żółw"), Color::Blue);
}

#[test]
fn runs_that_do_not_fit_leave_the_text_whole() {
    let mut app = text(120, 35, vec!["żółw".into(), "end".into()]);
    let runs = vec![
        // Within a letter, and behind the end.
        vec![(1, Tone::Keyword)].into(),
        vec![(1, Tone::Keyword), (99, Tone::Quoted)].into(),
    ];
    app.answer(Slot::Content, Answer::Coloured(runs));
    let screen = app.screen();
    assert!(
        screen.contains("1 żółw") && screen.contains("2 end"),
        "{screen}"
    );
}

#[test]
fn a_job_that_dies_over_colours_leaves_the_text() {
    let mut app = text(120, 35, vec!["fn main() {}".into()]);
    app.answer(Slot::Content, Answer::Crashed(Slot::Content));
    let screen = app.screen();
    assert!(screen.contains("fn main() {}"), "{screen}");
    assert!(!screen.contains("defect"), "{screen}");
}

#[test]
fn colours_of_one_file_are_not_those_of_the_next() {
    let mut app = text(120, 35, vec!["fn main() {}".into()]);
    let runs = vec![vec![(2, Tone::Keyword)].into()];
    app.answer(Slot::Content, Answer::Coloured(runs));
    app.keys("}");
    let late = app.number(Slot::Content) - 1;
    let other = crate::tui::state::FileContent::Text(vec!["fn of another".into()], false);
    app.answer(Slot::Content, Answer::File(Ok(other)));
    assert_eq!(colour(&app, "fn of another"), Color::Reset);
    let runs = vec![vec![(2, Tone::Keyword)].into()];
    app.send(crate::tui::message::Message::Answer(
        late,
        Answer::Coloured(runs),
    ));
    assert_eq!(colour(&app, "fn of another"), Color::Reset, "too late");
}
