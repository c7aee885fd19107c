//! The loop itself on the demo world, with a screen that only writes down what is asked of it.

use std::process::{Child, Command};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::config::Settings;
use crate::tui::driver::{Asked, Outside, Surface, drive};
use crate::tui::jobs::Jobs;
use crate::tui::state::{Labels, State};
use crate::tui::theme::Theme;
use crate::{Error, ErrorKind, Result};

const SIZE: (u16, u16) = (120, 35);
/// Nothing here takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A screen without a clipboard; it is left when `last` was asked of it.
struct Fake {
    asked: Vec<String>,
    last: &'static str,
    leave: UnboundedSender<Asked>,
}

impl Fake {
    fn note(&mut self, what: String) {
        if what.starts_with(self.last) {
            let _ = self.leave.send(Asked::Leave);
        }
        self.asked.push(what);
    }
}

impl Surface for Fake {
    fn size(&self) -> Result<(u16, u16)> {
        Ok(SIZE)
    }

    fn draw(&mut self, state: &State, _theme: Theme) -> Result<()> {
        let note = state.note.as_ref().map(|note| note.text.clone());
        self.note(format!("draw {}", note.unwrap_or_default()));
        Ok(())
    }

    fn forget(&mut self) {
        self.note("forget".into());
    }

    fn set_mouse(&mut self, _on: bool) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "no mouse here"))
    }

    fn copy(&mut self, text: &str) -> Result<()> {
        self.note(format!("copy {text}"));
        Ok(())
    }

    fn notify(&mut self, text: &str) -> Result<()> {
        self.note(format!("notify {text}"));
        Ok(())
    }

    fn suspend(&mut self) -> Result<()> {
        Ok(())
    }

    fn lend(&mut self, _command: &mut Command) -> Result<std::io::Result<Child>> {
        Ok(Command::new("true").spawn())
    }

    fn take_back(&mut self) -> Result<()> {
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A clock on which five seconds pass between any two messages.
fn hasty() -> i64 {
    static NOW: AtomicI64 = AtomicI64::new(1_760_000_000_000);
    NOW.fetch_add(5_000, Ordering::Relaxed)
}

/// What the loop asks of its screen until `last`, when these events wait for it.
async fn asked(events: Vec<Event>, last: &'static str, open: bool) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let world = crate::demo::build(&folder.path().join("world")).expect("a world");
    let settings = Settings {
        database: Some(world.database.to_string_lossy().into_owned()),
        store: Some(world.store.to_string_lossy().into_owned()),
        ..Settings::default()
    };
    let (answers, mut answered) = unbounded_channel();
    let mut jobs = Jobs::new(settings.open().expect("the world"), answers);
    let mut state = State::new(Labels::default(), None, SIZE, hasty());
    state.mouse = true;
    state.open_first = open.then_some(world.story);
    let (typed, keyboard) = unbounded_channel();
    for event in events {
        typed.send(event).expect("heard");
    }
    let (leave, asked) = unbounded_channel();
    let mut screen = Fake {
        asked: Vec::new(),
        last,
        leave,
    };
    let mut outside = Outside {
        events: keyboard,
        asked,
        clock: hasty,
    };
    let theme = Theme::default();
    let left = drive(
        &mut state,
        theme,
        &mut screen,
        &mut jobs,
        &mut answered,
        &mut outside,
    );
    let left = tokio::time::timeout(PATIENCE, left).await;
    left.expect("it was asked").expect("left");
    drop(state);
    drop(answered);
    jobs.finish().await;
    screen.asked
}

fn press(letter: char) -> Event {
    Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_job_is_told_while_nobody_looks() {
    let away = asked(vec![Event::FocusLost], "notify", true).await;
    let told: Vec<_> = away
        .iter()
        .filter(|what| what.starts_with("notify"))
        .collect();
    assert!(
        matches!(told[..], [text] if text.starts_with("notify afterrun: open ") && text.ends_with(": verified")),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resize_has_the_screen_drawn_whole() {
    let resize = vec![Event::Resize(SIZE.0, SIZE.1)];
    let asked = asked(resize, "forget", false).await;
    assert_eq!(asked, ["draw ", "forget", "draw "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mouse_that_is_not_there_is_said() {
    let asked = asked(vec![press('M')], "draw no mouse here", false).await;
    assert_eq!(asked, ["draw ", "draw no mouse here"]);
}
