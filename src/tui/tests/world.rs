//! A small world by hand: agents, runs of every kind, an open run with a diff.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::ErrorKind;
use crate::archive::{Entry, EntryKind, Mtime};
use crate::checkpoint::CheckpointRef;
use crate::json::Json;
use crate::progress::{Progress, Stage};
use crate::review::{Commit, FileChange, LineKind, Notice, Stash, Status};
use crate::runs::{AgentSummary, RunData, RunPage, RunRow, SessionInfo};
use crate::tui::jobs::{DiffHandle, Handle};
use crate::tui::message::{
    Answer, Compared, Effect, Message, PageUse, Request, Slot, Verified, Written,
};
use crate::tui::state::{Failure, FileTree, Labels, Marks, Patch, PatchRow, State};
use crate::tui::theme::Theme;
use crate::tui::update::update;
use crate::tui::view;

/// The time it is in every test.
pub const NOW: i64 = 1_760_000_000;

/// The id of the run that the tests open.
pub const OPENED: &str = "run-refunds-4";

/// A digest as a checkpoint has it.
pub fn digest() -> String {
    format!("4be1c0ffee77{}9c", "0".repeat(50))
}

/// A row; `status` without a checkpoint unless it is COMPLETED.
pub fn run(
    run_id: &str,
    session: &str,
    agent: Option<&str>,
    status: &str,
    turn: i64,
    age: i64,
) -> RunRow {
    let checkpoint = match status {
        "COMPLETED" => format!(
            r#","metadata":{{"sandbox":{{"checkpoint":{{"sha256":"{}","size":12156}},
            "repository":{{"url":"https://github.com/acme/ledger","branch":"main",
            "commit":"7fd1a60000000000000000000000000000000000"}}}}}}"#,
            digest()
        ),
        _ => String::new(),
    };
    let data =
        format!(r#"{{"agent_name":"Engineer","input":{{"input_content":"Fix it"}}{checkpoint}}}"#);
    RunRow {
        run_id: run_id.into(),
        session_id: session.into(),
        agent_id: agent.map(str::to_owned),
        user_id: Some("ada".into()),
        run_type: Some("agent".into()),
        status: Some(status.into()),
        run_index: Some(turn - 1),
        created_at: Some(NOW - age),
        updated_at: Some(NOW - age + 20),
        data: RunData::Value(Json::parse(&data).expect("JSON")),
    }
}

/// The runs of the world, newest first.
pub fn runs() -> Vec<RunRow> {
    let engineer = Some("engineer");
    let mut damaged = run("run-damaged", "s-billing", engineer, "COMPLETED", 1, 90_000);
    damaged.data = RunData::Unreadable("run_data is no JSON".into());
    vec![
        run(OPENED, "s-refunds", engineer, "COMPLETED", 4, 120),
        run("run-refunds-3", "s-refunds", engineer, "RUNNING", 3, 540),
        run("run-refunds-2", "s-refunds", engineer, "ERROR", 2, 720),
        run("run-refunds-1", "s-refunds", engineer, "COMPLETED", 1, 800),
        run(
            "run-look",
            "s-look",
            Some("reviewer"),
            "COMPLETED",
            1,
            4_000,
        ),
        damaged,
        run("run-team", "s-team", None, "COMPLETED", 1, 200_000),
    ]
}

fn sessions() -> HashMap<String, SessionInfo> {
    [
        ("s-refunds", "Fix refunds", 4),
        ("s-look", "Look at the diff", 1),
        ("s-billing", "Migrate billing", 1),
        ("s-team", "Plan the quarter", 1),
    ]
    .into_iter()
    .map(|(id, title, runs)| {
        let title = title.to_owned();
        (id.to_owned(), SessionInfo { title, runs })
    })
    .collect()
}

fn agents() -> Vec<AgentSummary> {
    let agent = |id: Option<&str>, name: Option<&str>, counts: &[(&str, u64)]| AgentSummary {
        agent_id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        sessions: 1,
        runs: counts
            .iter()
            .map(|(status, count)| ((*status).to_owned(), *count))
            .collect::<BTreeMap<_, _>>(),
        last_run_at: Some(NOW),
    };
    vec![
        agent(
            Some("engineer"),
            Some("Engineer"),
            &[("COMPLETED", 3), ("ERROR", 1), ("RUNNING", 1)],
        ),
        agent(Some("reviewer"), Some("Reviewer"), &[("COMPLETED", 1)]),
        agent(None, None, &[("COMPLETED", 1)]),
    ]
}

/// The interface and what it asked for.
pub struct App {
    pub state: State,
    pub effects: Vec<Effect>,
}

impl App {
    /// An interface that has read nothing.
    pub fn empty(width: u16, height: u16) -> Self {
        let labels = Labels {
            profile: None,
            database: "postgresql://app@db/agno".into(),
            store: "s3://checkpoints".into(),
            default_store: false,
            tables: crate::runs::Tables::default(),
        };
        let state = State::new(labels, None, (width, height), NOW * 1000);
        let mut app = Self {
            state,
            effects: Vec::new(),
        };
        app.send(Message::Start);
        app
    }

    /// An interface that shows the world's list.
    pub fn listed(width: u16, height: u16) -> Self {
        let mut app = Self::empty(width, height);
        app.answer(Slot::Agents, Answer::Agents(Ok(agents())));
        let page = RunPage {
            runs: runs(),
            sessions: sessions(),
            ..RunPage::default()
        };
        app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
        app
    }

    /// An interface in which a run is open and compared.
    pub fn opened(width: u16, height: u16) -> Self {
        let mut app = Self::listed(width, height);
        app.keys("enter");
        app.verify();
        app.compare();
        app.patch();
        app
    }

    pub fn send(&mut self, message: Message) {
        let effects = update(&mut self.state, message);
        self.effects.extend(effects);
    }

    /// The number that `slot` waits for.
    pub fn number(&self, slot: Slot) -> u64 {
        *self
            .state
            .awaited
            .get(&slot)
            .unwrap_or_else(|| panic!("nothing is asked of {slot:?}"))
    }

    /// An answer to what `slot` waits for.
    pub fn answer(&mut self, slot: Slot, answer: Answer) {
        let number = self.number(slot);
        self.send(Message::Answer(number, answer));
    }

    /// Presses keys in the table's notation, separated by spaces.
    pub fn keys(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            let (control, name) = match (key.strip_prefix("ctrl-"), key.strip_prefix("alt-")) {
                (Some(rest), _) => (KeyModifiers::CONTROL, rest),
                (None, Some(rest)) => (KeyModifiers::ALT, rest),
                (None, None) => (KeyModifiers::NONE, key),
            };
            let code = match name {
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "down" => KeyCode::Down,
                "up" => KeyCode::Up,
                "f1" => KeyCode::F(1),
                "space" => KeyCode::Char(' '),
                letter => KeyCode::Char(letter.chars().next().expect("a key")),
            };
            self.send(Message::Key(KeyEvent::new(code, control)));
        }
    }

    /// Types text.
    pub fn text(&mut self, text: &str) {
        for letter in text.chars() {
            self.send(Message::Key(KeyEvent::new(
                KeyCode::Char(letter),
                KeyModifiers::NONE,
            )));
        }
    }

    /// The requests since the last call.
    pub fn requests(&mut self) -> Vec<Request> {
        let effects = std::mem::take(&mut self.effects).into_iter();
        effects
            .filter_map(|effect| match effect {
                Effect::Start(_, request) => Some(request),
                _ => None,
            })
            .collect()
    }

    /// The run that is being opened passes, with every step reported.
    pub fn verify(&mut self) {
        let run_id = self
            .state
            .opening
            .as_ref()
            .expect("a run is being opened")
            .run_id
            .clone();
        for (stage, done) in [
            (Stage::Row, 1),
            (Stage::Gate, 1),
            (Stage::Object, 12_156),
            (Stage::Digest, 12_156),
            (Stage::Archive, 11),
        ] {
            let passed = Progress {
                stage,
                done,
                total: done,
                finished: true,
            };
            self.answer(Slot::Open, Answer::Progress(passed));
        }
        let row = runs()
            .into_iter()
            .find(|run| run.run_id == run_id)
            .expect("a run of the world");
        let verified = Verified {
            handle: Handle::default(),
            row,
            reference: CheckpointRef::new(digest(), 12_156).expect("a reference"),
            tree: Arc::new(FileTree::build(&entries(), None)),
            state: r#"{"binding":{"agent_id":"engineer"},"version":1}"#.into(),
            unrestorable: None,
            gzipped: true,
        };
        self.answer(Slot::Open, Answer::Opened(Ok(Box::new(verified)), None));
    }

    /// The run that is being opened is refused: it is none that completed.
    pub fn refuse_error(&mut self) {
        let message =
            "Run run-refunds-2 is ERROR, not COMPLETED; only a completed turn commits a checkpoint";
        let failure = Failure::new(ErrorKind::NotCompleted, message);
        let row = self.state.runs.run("run-refunds-2").cloned().map(Box::new);
        self.answer(Slot::Open, Answer::Opened(Err(failure), row));
    }

    /// The plan that is asked for is there.
    pub fn plan(&mut self, entries: u64, bytes: u64, left_out: &[&str]) {
        let plan = Written {
            destination: "./afterrun-run-refu".into(),
            entries,
            bytes,
            left_out: left_out.iter().map(|path| (*path).to_owned()).collect(),
        };
        self.answer(Slot::Restore, Answer::Plan(Ok(plan)));
    }

    /// Its comparison is there.
    pub fn compare(&mut self) {
        let compared = compared();
        let marks = Marks {
            root: &compared.root,
            files: &compared.files,
            ignored: &[b"build/out.o".to_vec()],
            notices: &compared.notices,
        };
        let tree = FileTree::build(&entries(), Some(marks));
        self.answer(
            Slot::Diff,
            Answer::Diff(Ok((Box::new(compared), Arc::new(tree)))),
        );
    }

    /// The hunks of the file under the cursor are there.
    pub fn patch(&mut self) {
        self.answer(Slot::Content, Answer::Patch(Ok(patch())));
    }

    /// The screen.
    pub fn buffer(&self) -> Buffer {
        let (width, height) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a backend");
        let theme = Theme::default();
        terminal
            .draw(|frame| view::draw(&self.state, theme, frame))
            .expect("a frame");
        terminal.backend().buffer().clone()
    }

    /// The screen as text.
    pub fn screen(&self) -> String {
        let buffer = self.buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let row = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
            text.push_str(row.collect::<String>().trim_end());
            text.push('\n');
        }
        text
    }
}

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry {
        path: path.into(),
        kind,
        mode: 0o644,
        mtime: Mtime::Whole(0),
    }
}

/// What the open run's archive holds.
pub fn entries() -> Vec<Entry> {
    let folder = |path| entry(path, EntryKind::Directory);
    let file = |path, size| entry(path, EntryKind::File { offset: 0, size });
    let link = |path, target: &str| {
        entry(
            path,
            EntryKind::Symlink {
                target: target.into(),
            },
        )
    };
    vec![
        folder("native"),
        file("native/fixture-session", 36),
        folder("workspace"),
        file("workspace/fixture-env.txt", 73),
        folder("workspace/repository"),
        file("workspace/repository/README.md", 36),
        folder("workspace/repository/build"),
        file("workspace/repository/build/out.o", 2_048),
        link("workspace/repository/etc", "/etc"),
        link("workspace/repository/latest", "README.md"),
        file("workspace/repository/notes.txt", 120),
    ]
}

fn change(status: Status, path: &str, additions: u32, deletions: u32) -> FileChange {
    FileChange {
        status,
        path: path.into(),
        old_path: None,
        old_mode: 0o100_644,
        new_mode: 0o100_644,
        additions: Some(additions),
        deletions: Some(deletions),
        binary: false,
        opaque: None,
        deltas: Vec::new(),
    }
}

/// What changed in it.
pub fn compared() -> Compared {
    let pin = "7fd1a60000000000000000000000000000000000";
    Compared {
        handle: DiffHandle::default(),
        base: "pin 7fd1a60".into(),
        kind: "pin",
        head: Some("91c0dee000000000000000000000000000000000".into()),
        pin: Some(pin.into()),
        files: vec![
            change(Status::Modified, "README.md", 1, 0),
            change(Status::Untracked, "notes.txt", 11, 0),
            change(Status::Deleted, "old/was.txt", 0, 3),
        ],
        additions: Some(12),
        deletions: Some(3),
        ignored: 1,
        commits: vec![Commit {
            id: "91c0dee000000000000000000000000000000000".into(),
            author: "Engineer <engineer@acme.example>".into(),
            time: NOW - 300,
            subject: "Add refunds".into(),
        }],
        stashes: vec![Stash {
            id: "5ta5h00000".repeat(4),
            subject: "WIP on main".into(),
        }],
        notices: vec![Notice::at(
            "index-hides",
            b"README.md",
            "assume-unchanged in the index hides a change",
        )],
        root: b"workspace/repository".to_vec(),
    }
}

/// The hunks of its first file.
pub fn patch() -> Patch {
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
            PatchRow::Hunk("@@ -1 +1,2 @@".into()),
            line(LineKind::Context, Some(1), Some(1), "Hello World!"),
            line(LineKind::Added, None, Some(2), "Edited by the engineer"),
        ],
        digits: 1,
    }
}
