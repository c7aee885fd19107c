//! Hostile names and texts: nothing of them reaches a cell as it came.

use std::sync::Arc;

use super::world::{App, compared, entries, run};
use crate::archive::EntryKind;
use crate::review::Notice;
use crate::runs::{RunPage, SessionInfo};
use crate::tui::message::{Answer, PageUse, Slot};
use crate::tui::state::{Failure, FileTree, Marks};
use crate::{Error, ErrorKind};

const EVIL: &str = "evil\x1b[31m\u{202e}gnp\n\r\u{200b}\u{7f}\u{9b}2J";

fn is_clean(app: &App, what: &str) {
    for cell in &app.buffer().content {
        for letter in cell.symbol().chars() {
            let bad = letter.is_control()
                || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!bad, "{what}: {letter:?} in a cell of\n{}", app.screen());
        }
    }
}

#[test]
fn rows_names_and_messages() {
    for (width, height) in [(160, 45), (80, 24), (60, 16)] {
        let mut app = App::listed(width, height);
        let mut evil = run(EVIL, EVIL, Some(EVIL), EVIL, 1, 10);
        evil.user_id = Some(EVIL.into());
        let info = SessionInfo {
            title: EVIL.into(),
            runs: 1,
        };
        let page = RunPage {
            runs: vec![evil.clone()],
            sessions: [(EVIL.to_owned(), info)].into(),
            notices: vec![EVIL.into()],
            ..RunPage::default()
        };
        app.state.labels.database = EVIL.into();
        app.state.labels.profile = Some(EVIL.into());
        app.state.opening_as = Some(EVIL.into());
        app.keys("R");
        app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
        is_clean(&app, "list");
        assert!(app.screen().contains("evil\\x1b"), "{}", app.screen());
        app.keys("enter");
        is_clean(&app, "opening");
        let error =
            Error::new(ErrorKind::NotFound, format!("Run {EVIL} does not exist")).hint(EVIL);
        app.answer(
            Slot::Open,
            Answer::Opened(Err(Failure::from(error)), Some(Box::new(evil))),
        );
        is_clean(&app, "refusal");
        app.keys("i");
        is_clean(&app, "info of a refusal");
        app.keys("y");
        is_clean(&app, "copy");
        app.keys(":");
        app.send(crate::tui::message::Message::Paste(EVIL.into()));
        is_clean(&app, "palette");
        app.keys("esc A");
        app.send(crate::tui::message::Message::Paste(EVIL.into()));
        is_clean(&app, "prompt");
        app.keys("enter J");
        is_clean(&app, "jobs");
    }
}

#[test]
fn files_links_and_notices() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.verify();
    let mut files = entries();
    for path in ["workspace/repository/", "workspace/"] {
        let mut evil = files[5].clone();
        evil.path = [path.as_bytes(), EVIL.as_bytes(), b"\xff\xfe"].concat();
        files.push(evil.clone());
        evil.path.push(b'x');
        evil.kind = EntryKind::Symlink {
            target: format!("/{EVIL}").into_bytes(),
        };
        files.push(evil);
    }
    let mut diff = compared();
    diff.files[0].path = [EVIL.as_bytes(), b"\xff\xfe"].concat();
    diff.files[1].old_path = Some(EVIL.into());
    diff.commits[0].subject = EVIL.into();
    diff.commits[0].author = EVIL.into();
    diff.stashes[0].subject = EVIL.into();
    diff.notices = vec![Notice::at("evil", EVIL.as_bytes(), EVIL)];
    diff.head = Some(EVIL.into());
    let marks = Marks {
        root: &diff.root,
        files: &diff.files,
        ignored: &[],
        notices: &[],
    };
    let tree = Arc::new(FileTree::build(&files, Some(marks)));
    app.answer(Slot::Diff, Answer::Diff(Ok((Box::new(diff), tree))));
    is_clean(&app, "files");
    app.keys("2 g");
    is_clean(&app, "summary");
    app.keys("i");
    is_clean(&app, "info");
    app.keys("f");
    is_clean(&app, "file");
}

/// Every terminal counts what is shown as we do: one that takes characters one by one, and one that takes
/// what belongs together at once.
#[test]
fn columns_are_those_of_every_way_of_counting() {
    use ratatui::style::Style;
    use ratatui::text::Span;
    use unicode_width::UnicodeWidthStr as _;

    use crate::text::{columns, visible};
    let mut letters: Vec<char> = (0..0x2_0000)
        .chain(0xe_0000..0xe_0200)
        .filter_map(char::from_u32)
        .collect();
    letters.push('\u{2_0000}');
    for (number, letter) in letters.into_iter().enumerate() {
        let bases = [
            "a", "가", "ᄒ", "क", "क्", "😀", "👍", "ل", "ก", "1", "日", "ᝰ", "ꦏ꧀",
        ];
        for base in ["", bases[number % bases.len()]] {
            for text in [
                format!("{base}{letter}"),
                format!("{base}{letter}{letter}{base}"),
            ] {
                let shown = visible(&text);
                let span = Span::raw(shown.as_ref());
                let together: usize = span
                    .styled_graphemes(Style::default())
                    .map(|part| part.symbol.width())
                    .sum();
                let whole: usize = span
                    .styled_graphemes(Style::default())
                    .map(|part| part.symbol.len())
                    .sum();
                assert_eq!(columns(&shown), together, "{text:?} {:x}", letter as u32);
                assert_eq!(whole, shown.len(), "{text:?} is drawn whole");
                assert_eq!(visible(&shown), shown, "once is enough");
            }
        }
    }
}
