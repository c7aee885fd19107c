//! The list of keys narrowed, and what the palette finds beside actions.

use super::world::App;
use crate::tui::action::Id;
use crate::tui::message::{Answer, Message, Request, Resolved, Slot};
use crate::tui::state::{Overlay, PaletteItem, Pane, View};

fn items(app: &App) -> &[PaletteItem] {
    match &app.state.overlay {
        Some(Overlay::Palette(palette)) => &palette.items,
        other => panic!("no palette: {other:?}"),
    }
}

#[test]
fn help_narrows_to_what_is_typed() {
    let mut app = App::opened(120, 35);
    app.keys("? /");
    app.text("hunk");
    let screen = app.screen();
    assert!(screen.contains("to the next hunk"), "{screen}");
    assert!(screen.contains("narrow: hunk"), "{screen}");
    assert!(!screen.contains("one line down"), "{screen}");
    assert!(screen.contains("Content"), "its scope stays: {screen}");
    // Typed text is text: `q` narrows, it does not leave.
    app.keys("ctrl-u q");
    let screen = app.screen();
    assert!(app.effects.is_empty() || app.state.overlay.is_some());
    assert!(
        screen.contains("leave") && !screen.contains("to the next hunk"),
        "{screen}"
    );
    app.keys("ctrl-u");
    app.text("nothing has this");
    assert!(app.screen().contains("No key is about nothing has this."));
    app.keys("ctrl-u");
    app.text("ctrl-d");
    app.keys("enter");
    assert!(app.screen().contains("narrowed to ctrl-d"));
    assert!(app.screen().contains("half a page down"));
    app.keys("esc");
    assert!(
        app.screen().contains("one line down"),
        "the filter is dropped first"
    );
    app.keys("esc");
    assert!(app.state.overlay.is_none());
}

#[test]
fn a_narrowed_help_stays_in_its_lines() {
    let mut app = App::opened(80, 24);
    app.keys("? G /");
    app.text("hunk");
    let Some(Overlay::Help(help)) = &app.state.overlay else {
        panic!("no help");
    };
    assert_eq!(help.top, 0, "{}", app.screen());
    app.keys("enter G j j");
    assert!(
        app.screen().contains("to the next hunk"),
        "{}",
        app.screen()
    );
    app.send(Message::Paste("\x1b[2J quit\n".into()));
    assert!(
        app.screen().contains("narrow: hunk[2J quit"),
        "{}",
        app.screen()
    );
}

#[test]
fn the_palette_is_fuzzy_and_shows_why_not() {
    let mut app = App::listed(120, 35);
    app.keys(":");
    app.text("cptch");
    assert!(
        matches!(
            items(&app).first(),
            Some(PaletteItem::Action(Id::CopyPatch, Some(_)))
        ),
        "{:?}",
        items(&app)
    );
    assert!(
        app.screen().contains("— open a run first"),
        "{}",
        app.screen()
    );
    app.keys("ctrl-u");
    app.text("whtspc");
    assert!(matches!(
        items(&app).first(),
        Some(PaletteItem::Action(Id::Whitespace, _))
    ));
}

#[test]
fn a_changed_file_is_gone_to_by_name() {
    let mut app = App::opened(120, 35);
    app.keys(":");
    app.text("notes.t");
    assert!(
        app.screen()
            .contains("go to workspace/repository/notes.txt")
    );
    app.requests();
    app.keys("enter");
    assert_eq!(
        app.state.content.path.as_deref(),
        Some(&b"workspace/repository/notes.txt"[..])
    );
    assert_eq!(
        (app.state.focus, app.state.content.view),
        (Pane::Content, View::Diff)
    );
    // What an action is called wins; the file is below it.
    app.keys(":");
    app.text("file");
    assert!(matches!(
        items(&app).first(),
        Some(PaletteItem::Action(Id::ViewFile, _))
    ));
}

#[test]
fn a_run_is_found_by_digest_and_agent() {
    let mut app = App::listed(120, 35);
    for word in ["sha256:4be1", "engineer@latest"] {
        app.keys(":");
        app.text(word);
        app.answer(Slot::Lookup, Answer::Found(Ok(Vec::new())));
        assert!(!app.screen().contains("does not exist"), "{}", app.screen());
        app.requests();
        app.keys("enter");
        assert!(
            matches!(&app.requests()[..], [Request::Resolve { text, otherwise: None }] if text == word)
        );
        app.answer(
            Slot::Find,
            Answer::Resolved(Ok(Resolved::Run("run-look".into()))),
        );
        assert!(
            matches!(&app.requests()[..], [Request::Open { run_id, .. }] if run_id == "run-look")
        );
        app.keys("esc");
    }
}
