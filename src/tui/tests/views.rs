//! The views and prompts that no other snapshot shows, at the four sizes.

use super::screens::at_sizes;
use super::world::App;
use crate::tui::message::{Answer, Slot};
use crate::tui::state::FileContent;
use crate::tui::theme::Tone;

/// The open run's first file, with this content.
fn file(width: u16, height: u16, content: FileContent) -> App {
    let mut app = App::opened(width, height);
    app.keys("3 f");
    app.answer(Slot::Content, Answer::File(Ok(content)));
    app
}

/// What keys lead to from an open run.
fn after(name: &str, keys: &str) {
    at_sizes(name, |width, height| {
        let mut app = App::opened(width, height);
        app.keys(keys);
        app
    });
}

#[test]
fn a_file_with_its_colours() {
    at_sizes("file", |width, height| {
        let lines = [
            "# How to refund",
            "",
            "    refund(order)",
            "日本語 ✔ \\u{202e}",
        ];
        let lines = lines.map(str::to_owned).to_vec();
        let mut app = file(width, height, FileContent::Text(lines, true));
        let runs = vec![vec![(15, Tone::Type)].into(), Vec::new().into()];
        app.answer(Slot::Content, Answer::Coloured(runs));
        app
    });
}

#[test]
fn a_file_of_bytes() {
    at_sizes("hex", |width, height| {
        let bytes = (0..=255).collect();
        file(width, height, FileContent::Binary(bytes, true))
    });
}

#[test]
fn a_link() {
    at_sizes("link", |width, height| {
        let words = vec![
            "A link to /etc".into(),
            "A restore leaves it out: it leads to an absolute path.".into(),
        ];
        file(width, height, FileContent::Words(words))
    });
}

#[test]
fn a_search() {
    at_sizes("search", |width, height| {
        let mut app = App::opened(width, height);
        app.keys("3 /");
        app.text("e");
        app.keys("enter n");
        app
    });
}

#[test]
fn the_transcript() {
    after("transcript", "3 t");
}

#[test]
fn another_agent() {
    after("open_as", "A");
}

#[test]
fn a_patch_to_write() {
    after("patch", "p");
}

#[test]
fn a_time_to_list_from() {
    at_sizes("since", |width, height| {
        let mut app = App::listed(width, height);
        app.keys("S");
        app.text("yesterday");
        app.keys("enter");
        app
    });
}

#[test]
fn one_pane_for_itself() {
    after("zoom", "2 z");
}
