//! Every action on another key: no sentence of the interface names a key that is not bound.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::world::{App, runs};
use crate::ErrorKind;
use crate::runs::RunPage;
use crate::tui::action::{Id, Scope, TABLE};
use crate::tui::keymap::{Key, Keymap, Rebound};
use crate::tui::message::{Answer, Message, PageUse, Slot};
use crate::tui::state::{Failure, FileContent};

/// A key and the word after it.
type Hint = (String, String);

/// A key for each action that no sentence would name by chance.
fn others() -> Keymap {
    let letters = ('а'..='я').chain('α'..='ω').chain('ա'..='ֆ');
    let changes = TABLE.iter().zip(letters).map(|(action, letter)| Rebound {
        id: action.id,
        keys: vec![
            Key::parse(&match action.scope {
                Scope::Prompt => format!("alt-{letter}"),
                _ => letter.to_string(),
            })
            .expect("a key"),
        ],
        line: 1,
    });
    let changes: Vec<_> = changes.collect();
    assert_eq!(changes.len(), TABLE.len(), "there are letters for all");
    Keymap::changed(&changes).expect("no clash")
}

/// No key at all.
fn none() -> Keymap {
    let changes = TABLE.iter().map(|action| Rebound {
        id: action.id,
        keys: Vec::new(),
        line: 1,
    });
    Keymap::changed(&changes.collect::<Vec<_>>()).expect("no clash")
}

/// Presses the key of each of `ids`, whichever it is.
fn press(app: &mut App, ids: &[Id]) {
    for id in ids {
        let key = app.state.keymap.keys(*id)[0].clone();
        match key.strip_prefix("alt-") {
            Some(letter) => {
                let letter = KeyCode::Char(letter.chars().next().expect("a letter"));
                app.send(Message::Key(KeyEvent::new(letter, KeyModifiers::ALT)));
            }
            None => app.keys(&key),
        }
    }
}

fn start(keymap: &Keymap, mut app: App) -> App {
    app.state.keymap = keymap.clone();
    // What was made ready with the table's keys is made anew.
    let (width, height) = app.state.size;
    app.send(Message::Resize(width + 1, height));
    app.send(Message::Resize(width, height));
    app
}

/// The situations in which hints stand on the screen.
fn situations(
    keymap: &Keymap,
    (width, height): (u16, u16),
    wanted: impl Fn(&str) -> bool,
) -> Vec<(&'static str, App)> {
    let empty = || start(keymap, App::empty(width, height));
    let listed = || start(keymap, App::listed(width, height));
    let opened = || {
        let mut app = listed();
        press(&mut app, &[Id::OpenRun]);
        app.verify();
        app.compare();
        app.patch();
        app
    };
    let listed_then = |ids: &[Id]| {
        let mut app = listed();
        press(&mut app, ids);
        app
    };
    let then = |ids: &[Id]| {
        let mut app = opened();
        press(&mut app, ids);
        app
    };
    let typed = |mut app: App, text: &str, ids: &[Id]| {
        app.text(text);
        press(&mut app, ids);
        app
    };
    let refused = |kind, message: &str| {
        let mut app = listed_then(&[Id::Down, Id::Down, Id::OpenRun]);
        let failure = Failure::new(kind, message);
        let row = app.state.runs.run("run-refunds-2").cloned().map(Box::new);
        app.answer(Slot::Open, Answer::Opened(Err(failure), row));
        app
    };
    let file = |content| {
        let mut app = then(&[Id::PaneContent, Id::ViewFile]);
        app.answer(Slot::Content, Answer::File(Ok(content)));
        app
    };
    let failed = |slot: Slot, mut app: App| {
        let failure = Failure::new(ErrorKind::Io, "the disk is full");
        let answer = match slot {
            Slot::Content => Answer::Patch(Err(failure)),
            Slot::Diff => Answer::Diff(Err(failure)),
            _ => Answer::Page(PageUse::Replace, Err(failure)),
        };
        app.answer(slot, answer);
        app
    };
    let planned = || {
        let mut app = then(&[Id::Restore, Id::Accept]);
        app.plan(10, 2_313, &["workspace/repository/etc"]);
        app
    };
    let unread = || {
        let mut app = listed_then(&[Id::Refresh]);
        let page = RunPage {
            runs: runs()
                .into_iter()
                .filter(|run| run.agent_id.is_some())
                .collect(),
            ..RunPage::default()
        };
        app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
        press(&mut app, &[Id::Bottom, Id::Unfold]);
        app
    };
    let verified = || {
        let mut app = listed_then(&[Id::OpenRun]);
        app.verify();
        app
    };
    let marked = [Id::MarkRun, Id::Down];
    let mut made = Vec::new();
    macro_rules! made {
        ($(($name:expr, $app:expr $(,)?)),* $(,)?) => {
            $(if wanted($name) { made.push(($name, $app)); })*
        };
    }
    made![
        ("nothing read", empty()),
        ("no list", failed(Slot::Page, empty())),
        ("list", listed()),
        ("folded", listed_then(&[Id::Top, Id::Fold])),
        ("flat", listed_then(&[Id::Flat])),
        ("oldest first", listed_then(&[Id::Order])),
        ("status", listed_then(&[Id::StatusFilter])),
        ("one mark", listed_then(&marked[..1])),
        ("two marks", listed_then(&[marked, marked].concat())),
        (
            "three marks",
            listed_then(&[marked, marked, marked].concat()),
        ),
        (
            "compared three",
            listed_then(&[&marked.repeat(8)[..], &[Id::Compare]].concat()),
        ),
        ("not read yet", unread()),
        ("filter", typed(listed_then(&[Id::Find]), "zzz", &[])),
        (
            "nothing found",
            typed(listed_then(&[Id::Find]), "zzz", &[Id::Accept]),
        ),
        (
            "since",
            typed(listed_then(&[Id::Since]), "x", &[Id::Accept])
        ),
        (
            "refused",
            refused(ErrorKind::NotCompleted, "Run 2 is ERROR, not COMPLETED"),
        ),
        (
            "gone",
            refused(ErrorKind::ObjectMissing, "Checkpoint object is missing"),
        ),
        (
            "foreign",
            refused(ErrorKind::Foreign, "Run 2 belongs to another agent"),
        ),
        ("opening", listed_then(&[Id::OpenRun])),
        ("comparing", verified()),
        ("not compared", failed(Slot::Diff, verified())),
        ("opened", opened()),
        ("files", then(&[Id::PaneFiles])),
        ("changed files", then(&[Id::PaneFiles, Id::ShowFiles])),
        (
            "ignored files",
            then(&[Id::PaneFiles, Id::ShowFiles, Id::ShowFiles]),
        ),
        (
            "marked files",
            then(&[Id::PaneFiles, Id::MarkFile, Id::Restore]),
        ),
        (
            "no such file",
            typed(then(&[Id::PaneFiles, Id::Find]), "zzz", &[Id::Accept]),
        ),
        ("diff", then(&[Id::PaneContent])),
        ("side by side", then(&[Id::PaneContent, Id::SideBySide])),
        (
            "no patch",
            failed(Slot::Content, {
                let mut app = verified();
                app.compare();
                app
            }),
        ),
        ("zoomed", then(&[Id::PaneContent, Id::Zoom])),
        ("text", file(FileContent::Text(vec!["a".into()], false))),
        ("bytes", file(FileContent::Binary(vec![0; 99], false))),
        ("words", file(FileContent::Words(vec!["A link".into()]))),
        (
            "search",
            typed(then(&[Id::PaneContent, Id::Find]), "zzz", &[Id::Accept]),
        ),
        ("info", then(&[Id::PaneContent, Id::ViewInfo])),
        (
            "unfolding",
            then(&[Id::PaneContent, Id::ViewInfo, Id::Bottom, Id::Follow]),
        ),
        ("transcript", then(&[Id::PaneContent, Id::ViewTranscript])),
        ("help", then(&[Id::Help])),
        (
            "narrowed help",
            typed(then(&[Id::Help, Id::Find]), "zzz", &[])
        ),
        ("palette", typed(then(&[Id::Palette]), "re", &[])),
        (
            "palette of the list",
            typed(listed_then(&[Id::Palette]), "re", &[])
        ),
        ("no such run", typed(then(&[Id::Palette]), "qqqq", &[])),
        ("restore", then(&[Id::Restore])),
        ("plan", planned()),
        ("patch", then(&[Id::Patch])),
        ("fetch", then(&[Id::Fetch])),
        ("open as", then(&[Id::OpenAs])),
        ("jobs", then(&[Id::Jobs])),
    ];
    made
}

/// Keys that are words too, or signs: beside another word they may be part of a sentence.
const AMBIGUOUS: [&str; 14] = [
    "1", "2", "3", ":", "!", "left", "right", "up", "down", "home", "end", "a", "A", "=",
];

/// Each key of the table on `screen` that stands beside what it does.
fn hints(screen: &str) -> BTreeSet<Hint> {
    let keys: BTreeSet<&str> = TABLE
        .iter()
        .flat_map(|action| action.keys)
        .copied()
        .collect();
    let mut hints = BTreeSet::new();
    for line in screen.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let bare = word.trim_matches(|letter| "()[],.;:".contains(letter));
            let key = [*word, bare].into_iter().find(|word| keys.contains(word));
            let Some(key) = key else { continue };
            let before = at.checked_sub(1).map_or("", |at| words[at]);
            let next = words.get(at + 1).copied().unwrap_or_default();
            let pane = matches!(next, "Runs" | "Files" | "Diff" | "File" | "Info");
            let is_word = next.chars().all(char::is_lowercase) && !next.is_empty();
            let says = match key {
                "a" | "A" => is_word && next.ends_with('s'),
                key if AMBIGUOUS.contains(&key) => false,
                "space" if before == "white" => false,
                _ => is_word,
            };
            let aside = word.starts_with('(') && !AMBIGUOUS.contains(&key);
            if pane || says || aside || before == "press" {
                hints.insert((key.to_owned(), next.to_owned()));
            }
        }
    }
    hints
}

/// The hints in every situation, and after every key in some; each screen also as it is where no key is
/// bound any more, if `unbound`.
fn walked(keymap: &Keymap, unbound: bool) -> BTreeSet<(String, Hint)> {
    let mut found = BTreeSet::new();
    let mut see = |name: &str, app: &mut App| {
        let mut screen = app.screen();
        if unbound {
            app.state.keymap = none();
            screen.push_str(&app.screen());
        }
        let hints = hints(&screen).into_iter();
        found.extend(hints.map(|hint| (name.to_owned(), hint)));
    };
    for size in [(160, 45), (80, 24)] {
        for (name, mut app) in situations(keymap, size, |_| true) {
            see(name, &mut app);
        }
    }
    for name in ["list", "opened", "files", "diff", "text", "info"] {
        for action in TABLE {
            for (_, mut app) in situations(keymap, (120, 35), |one| one == name) {
                press(&mut app, &[action.id]);
                see(&format!("{name}, then {}", action.name), &mut app);
            }
        }
    }
    found
}

#[test]
fn the_keys_of_the_table_stand_beside_what_they_do() {
    let seen: BTreeSet<Hint> = walked(&Keymap::default(), false)
        .into_iter()
        .map(|(_, hint)| hint)
        .collect();
    for (key, word) in [
        ("1", "Runs"),
        ("2", "Files"),
        ("3", "Info"),
        ("?", "keys"),
        ("enter", "open"),
        ("enter", "restores"),
        ("esc", "all"),
        ("space", "or"),
        ("d", "shows"),
        ("q", "quits"),
        ("G", "reads"),
        ("ctrl-u", "clears"),
        ("tab", "completes"),
    ] {
        let hint = (key.to_owned(), word.to_owned());
        assert!(seen.contains(&hint), "{key} {word}: {seen:?}");
    }
}

#[test]
fn no_sentence_names_a_key_that_is_not_bound() {
    assert_eq!(walked(&others(), true), BTreeSet::new());
}
