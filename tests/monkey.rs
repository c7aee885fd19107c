//! A monkey before the interface: keys, pastes, resizes and clicks in no order, with fixed seeds, on
//! the demo world (and on another one named by `AFTERRUN_MONKEY_DB` and `AFTERRUN_MONKEY_STORE`).
//! Nothing panics, no frame holds the loop up, and what is left at the end still works.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use afterrun::checkpoint::FileCheckpointStore;
use afterrun::runs::{Runs, SqliteRuns, Tables};
use afterrun::tui::action::TABLE;
use afterrun::tui::state::Labels;
use common::headless::{Cost, Person, key, live};
use common::pty::Terminal;
use common::{Place, id, world};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use fastrand::Rng;
use rustix::process::Signal;

/// Events in all, for each world.
const EVENTS: u32 = 20_000;
/// No frame takes longer, in the loop's own time; code that is not optimised takes many times as long.
const FRAME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 250 } else { 100 });

/// How often the list looks for changes meanwhile.
const TICK: Duration = Duration::from_millis(20);

/// Letters for prompts. No slash: a restore must not go out of the working directory.
const LETTERS: &str = "abcdefgxyzREADM0123456789-_. éß日本🙂\u{301}\u{202e}";

fn one_key(rng: &mut Rng) -> KeyEvent {
    loop {
        let event = if rng.u8(..10) < 7 {
            let action = TABLE[rng.usize(..TABLE.len())];
            key(action.keys[rng.usize(..action.keys.len())])
        } else {
            let letters: Vec<char> = LETTERS.chars().collect();
            let code = KeyCode::Char(letters[rng.usize(..letters.len())]);
            let all = [
                KeyModifiers::NONE,
                KeyModifiers::NONE,
                KeyModifiers::CONTROL,
                KeyModifiers::ALT,
            ];
            KeyEvent::new(code, all[rng.usize(..all.len())])
        };
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        // Leaving is tested elsewhere.
        let leaves = matches!(event.code, KeyCode::Char('q')) && !control
            || matches!(event.code, KeyCode::Char('c' | 'z')) && control;
        if !leaves {
            return event;
        }
    }
}

/// The next event; a slash only where it opens a filter and is not typed into a path.
fn one_event(rng: &mut Rng, size: &mut (u16, u16), typing: bool) -> Event {
    match rng.u8(..100) {
        0..=1 => {
            *size = (rng.u16(20..300), rng.u16(5..100));
            Event::Resize(size.0, size.1)
        }
        2 => Event::Paste("pasted\ntext \u{1b}[2J with more".into()),
        3..=9 => {
            let kinds = [
                MouseEventKind::Down(MouseButton::Left),
                MouseEventKind::ScrollDown,
                MouseEventKind::ScrollUp,
                MouseEventKind::Moved,
            ];
            Event::Mouse(MouseEvent {
                kind: kinds[rng.usize(..kinds.len())],
                column: rng.u16(..size.0 + 2),
                row: rng.u16(..size.1 + 2),
                modifiers: KeyModifiers::NONE,
            })
        }
        10 => [Event::FocusLost, Event::FocusGained][rng.usize(..2)].clone(),
        _ => loop {
            let event = one_key(rng);
            if event.code != KeyCode::Char('/') || !typing {
                return Event::Key(event);
            }
        },
    }
}

/// Back to the list, and a run of it is opened: left to chance alone hardly any would stay open.
async fn open_some(person: &mut Person, rng: &mut Rng) {
    person.send(Event::Resize(160, 45));
    for _ in 0..6 {
        person.keys("esc");
    }
    person.keys("A ctrl-u enter 1 g");
    for _ in 0..rng.u8(1..20) {
        person.keys("j");
    }
    person.keys("enter");
    person.next_frame().await;
    person.settled().await;
}

/// What is opened at the end, and what is seen of it.
type Last = (&'static str, &'static str);

async fn play(mut person: Person, seed: u64, events: u32, last: Option<Last>) -> Cost {
    let mut rng = Rng::with_seed(seed);
    let mut size = (160, 45);
    person.wait_for("1 Runs").await;
    let mut sent = 0;
    let (mut opened, mut overlays) = (0, 0);
    while sent < events {
        let frame = person.frame();
        let typing = frame.overlay;
        overlays += u32::from(typing);
        opened += u32::from(frame.text.contains("✔ archive"));
        // A burst is one frame, as when keys are held down.
        for at in 0..rng.u32(1..12) {
            person.send(one_event(&mut rng, &mut size, typing || at > 0));
            sent += 1;
        }
        person.next_frame().await;
        if rng.u8(..20) == 0 {
            person.settled().await;
        }
        if rng.u8(..60) == 0 {
            open_some(&mut person, &mut rng).await;
            size = (160, 45);
        }
    }
    // It was everywhere, or nothing is shown by this.
    assert!(
        opened > 200 && overlays > 200,
        "{opened} frames with an open run, {overlays} with an overlay"
    );
    // Whatever is open is closed, and the list still works.
    person.send(Event::Resize(160, 45));
    person.settled().await;
    for _ in 0..12 {
        person.keys("esc");
    }
    person.keys("1 R");
    person.settled().await;
    // A run that is asked for by its id is verified, compared and shown.
    if let Some((run, change)) = last {
        const PALETTE: &str = "An action, or the id of a run";
        person.keys("A ctrl-u enter :");
        person.wait_for(PALETTE).await;
        person.text(run);
        person.keys("enter");
        person.wait_gone(PALETTE).await;
        person.settled().await;
        person.keys("d");
        person.wait_for(change).await;
    }
    person.cost()
}

fn labels() -> Labels {
    Labels {
        database: "agno.sqlite".into(),
        store: "checkpoints".into(),
        ..Labels::default()
    }
}

fn runs(database: &Path, store: &Path) -> Runs {
    let database = SqliteRuns::open(database.to_path_buf(), Tables::default()).expect("a database");
    let store = FileCheckpointStore::open(store.to_path_buf()).expect("a store");
    Runs::new(Arc::new(database), Some(Arc::new(store)), None)
}

#[test]
fn nothing_a_monkey_does_breaks_the_interface() {
    let place = Place::new();
    // Restores and patches go to the working directory.
    std::env::set_current_dir(place.path("")).expect("there");
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let demo = (world().database.clone(), world().store.clone());
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let other = named("AFTERRUN_MONKEY_DB").zip(named("AFTERRUN_MONKEY_STORE"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let story = (id::STORY2, "Edited by the engineer");
    let worlds = [Some((demo, Some(story))), other.map(|other| (other, None))];
    for (seed, ((database, store), last)) in (1..).zip(worlds.into_iter().flatten()) {
        let mut cost = Cost::default();
        let into = &mut cost;
        let left = runtime.block_on(live(
            runs(&database, &store),
            labels(),
            (160, 45),
            Some(TICK),
            async |person| *into = play(person, seed, EVENTS, last).await,
        ));
        assert!(!left, "seed {seed} left the interface");
        println!(
            "{EVENTS} events, {} frames, the longest {:?}",
            cost.frames, cost.longest
        );
        assert!(cost.longest < FRAME, "a frame took {:?}", cost.longest);
    }
    std::env::set_current_dir("/").expect("there");
}

#[test]
fn a_monkey_at_the_terminal_is_left_with_a_terminal() {
    let place = Place::new();
    let mut terminal = Terminal::start(
        &place,
        (120, 35),
        &[env!("CARGO_BIN_EXE_afterrun"), "demo"],
        &[("EDITOR", "true"), ("VISUAL", "true")],
    );
    terminal.wait_for("✔ archive");
    let mut rng = Rng::with_seed(7);
    let bytes: Vec<u8> = (b' '..=b'~')
        .filter(|byte| !b"q/".contains(byte))
        .chain(*b"\r\t\x04\x15\x1b\x1b")
        .collect();
    for round in 0..100 {
        let keys: String = (0..100)
            .map(|_| char::from(bytes[rng.usize(..bytes.len())]))
            .collect();
        terminal.keys(&keys);
        if round % 5 == 0 {
            terminal.resize((rng.u16(20..200), rng.u16(5..60)));
        }
    }
    // It still answers, whatever is open now; then it is told to go.
    terminal.resize((130, 40));
    terminal.wait("a frame of the new size", |terminal| {
        let text = terminal.text();
        text.lines().count() == 40
            && text
                .lines()
                .next_back()
                .is_some_and(|line| line.starts_with('╰'))
    });
    terminal.signal(Signal::TERM);
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (0, &None));
    ended.assert_given_back();
    place.assert_clean("the interface");
}
