//! How long a key press takes where much is loaded: `cargo bench --bench interface`.
//!
//! Figures are for comparing two builds on one machine; nothing here passes or fails. A press that is
//! over 16 ms is a frame that is missed.

use std::collections::HashMap;
use std::sync::Arc;

use afterrun::archive::{Entry, EntryKind, Mtime};
use afterrun::checkpoint::CheckpointRef;
use afterrun::json::Json;
use afterrun::runs::{RunData, RunPage, RunRow, SessionInfo};
use afterrun::tui::jobs::Handle;
use afterrun::tui::message::{Answer, Message, PageUse, Slot, Verified};
use afterrun::tui::state::{FileTree, Labels, State};
use afterrun::tui::theme::Theme;
use afterrun::tui::update::update;
use afterrun::tui::view;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::Bencher;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Runs that are loaded, four to a session.
const RUNS: usize = 20_000;
/// Entries of the archive that is open: Agno's limit.
const ENTRIES: usize = 100_000;

fn main() {
    divan::main();
}

/// A row as Agno writes one, and the title of its session.
fn run(number: usize) -> (RunRow, SessionInfo) {
    const TITLES: [&str; 5] = [
        "Fix the rounding of refunds that are over a thousand",
        "Look around in the repository and say what it does",
        "Migrate the billing service to the new ledger",
        "Why does the café's receipt have no 日本 on it?",
        "Write tests for the parser, and mend what they find",
    ];
    let session = number / 4;
    let data = r#"{"agent_name":"Engineer","input":{"input_content":"Fix it"}}"#;
    let row = RunRow {
        run_id: format!("{:08x}-e29e-40ba-ae85-{number:012x}", number * 2_654_435),
        session_id: format!("session-{:08x}", session * 40_503),
        agent_id: Some(["engineer", "reviewer", "writer"][session % 3].into()),
        user_id: Some("ada".into()),
        run_type: Some("agent".into()),
        status: Some(["COMPLETED", "ERROR"][usize::from(number.is_multiple_of(9))].into()),
        run_index: i64::try_from(number % 4).ok(),
        created_at: i64::try_from(1_760_000_000 - number).ok(),
        updated_at: None,
        data: RunData::Value(Json::parse(data).expect("JSON")),
    };
    let title = format!("{} ({session})", TITLES[session % TITLES.len()]);
    (row, SessionInfo { title, runs: 4 })
}

fn press(state: &mut State, code: KeyCode) {
    let _ = update(state, Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

/// Times a letter more in the prompt that is open, and back, each with its frame.
fn press_and_back(bencher: Bencher<'_, '_>, mut state: State) {
    let mut terminal = Terminal::new(TestBackend::new(120, 35)).expect("a screen");
    bencher.bench_local(|| {
        for code in [KeyCode::Char('e'), KeyCode::Backspace] {
            press(&mut state, code);
            terminal
                .draw(|frame| view::draw(&state, Theme::default(), frame))
                .expect("drawn");
        }
    });
}

/// The list with everything loaded, and this typed into its filter.
fn filtered(text: &str) -> State {
    let mut state = State::new(Labels::default(), None, (120, 35), 1_760_000_000_000);
    let _ = update(&mut state, Message::Start);
    let (runs, sessions): (Vec<_>, HashMap<_, _>) = (0..RUNS)
        .map(run)
        .map(|(row, session)| (row.clone(), (row.session_id, session)))
        .unzip();
    let page = RunPage {
        runs,
        sessions,
        ..RunPage::default()
    };
    let page = Answer::Page(PageUse::Replace, Ok(page));
    let number = state.awaited[&Slot::Page];
    let _ = update(&mut state, Message::Answer(number, page));
    press(&mut state, KeyCode::Char('/'));
    for letter in text.chars() {
        press(&mut state, KeyCode::Char(letter));
    }
    state
}

/// Two presses and their frames: a letter more of the runs' filter, and back.
#[divan::bench(args = ["", "r", "refund", "fix roun", "zqx", "e29e"])]
fn a_letter_of_the_filter_and_back(bencher: Bencher<'_, '_>, text: &str) {
    press_and_back(bencher, filtered(text));
}

/// An open run with as many files as an archive may have, and this typed into their filter.
fn files_filtered(text: &str) -> State {
    let mut state = filtered("");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Enter);
    let entry = |number: usize| Entry {
        path: format!(
            "workspace/repository/node_modules/package-{:03}/lib/module_{number}.js",
            number % 500
        )
        .into_bytes(),
        kind: EntryKind::File {
            offset: 0,
            size: 100,
        },
        mode: 0o644,
        mtime: Mtime::Whole(0),
    };
    let entries: Vec<Entry> = (0..ENTRIES).map(entry).collect();
    let verified = Verified {
        handle: Handle::default(),
        row: run(0).0,
        reference: CheckpointRef::new("0".repeat(64), 1).expect("a reference"),
        tree: Arc::new(FileTree::build(&entries, None)),
        state: "{}".into(),
        unrestorable: None,
        gzipped: true,
    };
    let number = state.awaited[&Slot::Open];
    let opened = Answer::Opened(Ok(Box::new(verified)), None);
    let _ = update(&mut state, Message::Answer(number, opened));
    press(&mut state, KeyCode::Char('2'));
    press(&mut state, KeyCode::Char('/'));
    for letter in text.chars() {
        press(&mut state, KeyCode::Char(letter));
    }
    state
}

/// Two presses and their frames: a letter more of the files' filter, and back.
#[divan::bench(args = ["", "m", "module_77", "node/mod", "zqx"])]
fn a_letter_of_the_files_filter_and_back(bencher: Bencher<'_, '_>, text: &str) {
    press_and_back(bencher, files_filtered(text));
}
