//! The whole interface without a terminal: the real loop, the real jobs, a screen in memory. Keys
//! go in as events and the test waits for what it wants to see, as a person would.

use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use afterrun::Result;
use afterrun::runs::Runs;
use afterrun::tui::driver::{Asked, Outside, Surface, drive};
use afterrun::tui::jobs::Jobs;
use afterrun::tui::message::Slot;
use afterrun::tui::state::{Labels, State};
use afterrun::tui::theme::Theme;
use afterrun::tui::view;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::pty::PATIENCE;

/// 2026-06-02 12:00 UTC, the day after everything in the demo.
fn noon() -> i64 {
    1_780_401_600_000
}

/// What the last frame showed.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The screen, a line a row.
    pub text: String,
    /// Whether a job is at work that the interface waits for.
    pub busy: bool,
    /// Whether something lies over the panes.
    pub overlay: bool,
    /// Frames so far.
    pub count: u64,
}

/// What frames cost, in this thread's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub frames: u64,
    pub longest: Duration,
}

/// A screen in memory.
struct Screen {
    terminal: Terminal<TestBackend>,
    size: Arc<Mutex<(u16, u16)>>,
    frames: watch::Sender<Frame>,
    copied: Arc<Mutex<Vec<String>>>,
    cost: Arc<Mutex<Cost>>,
    last: Duration,
}

fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a duration")
}

impl Surface for Screen {
    fn size(&self) -> Result<(u16, u16)> {
        Ok(*self.size.lock().expect("whole"))
    }

    fn draw(&mut self, state: &State, theme: Theme) -> Result<()> {
        let (width, height) = *self.size.lock().expect("whole");
        self.terminal.backend_mut().resize(width, height);
        let drawn = self
            .terminal
            .draw(|frame| view::draw(state, theme, frame))
            .expect("drawn");
        // What came in since the last frame, and this frame: a person waits for both.
        let mut cost = self.cost.lock().expect("whole");
        cost.frames += 1;
        cost.longest = cost.longest.max(thread_time() - self.last);
        drop(cost);
        let buffer = drawn.buffer;
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let row = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
            text.push_str(row.collect::<String>().trim_end());
            text.push('\n');
        }
        self.frames.send_modify(|frame| {
            *frame = Frame {
                text,
                busy: state.restoring.is_some()
                    // A plan waits for an answer.
                    || state
                        .awaited
                        .keys()
                        .any(|slot| !matches!(slot, Slot::Restore | Slot::Look | Slot::Binding)),
                overlay: state.overlay.is_some(),
                count: frame.count + 1,
            };
        });
        self.last = thread_time();
        Ok(())
    }

    fn forget(&mut self) {}

    fn set_mouse(&mut self, _on: bool) -> Result<()> {
        Ok(())
    }

    fn copy(&mut self, text: &str) -> Result<()> {
        self.copied.lock().expect("whole").push(text.to_owned());
        Ok(())
    }

    fn notify(&mut self, _text: &str) -> Result<()> {
        Ok(())
    }

    fn suspend(&mut self) -> Result<()> {
        Ok(())
    }

    /// Nobody is in front of it: every editor ends at once.
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

/// Whoever sits before the screen.
pub struct Person {
    events: UnboundedSender<Event>,
    asked: UnboundedSender<Asked>,
    size: Arc<Mutex<(u16, u16)>>,
    frames: watch::Receiver<Frame>,
    copied: Arc<Mutex<Vec<String>>>,
    cost: Arc<Mutex<Cost>>,
}

impl Person {
    /// Sends an event.
    pub fn send(&self, event: Event) {
        if let Event::Resize(width, height) = event {
            *self.size.lock().expect("whole") = (width, height);
        }
        // An interface that was left hears nothing any more.
        let _ = self.events.send(event);
    }

    /// Presses keys in the table's notation, separated by spaces.
    pub fn keys(&self, keys: &str) {
        for name in keys.split_whitespace() {
            self.send(Event::Key(key(name)));
        }
    }

    /// Types text.
    pub fn text(&self, text: &str) {
        for letter in text.chars() {
            let code = KeyCode::Char(letter);
            self.send(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    /// A signal asks for something.
    pub fn ask(&self, what: Asked) {
        let _ = self.asked.send(what);
    }

    /// The last frame.
    pub fn frame(&self) -> Frame {
        self.frames.borrow().clone()
    }

    /// What was copied.
    pub fn copied(&self) -> Vec<String> {
        self.copied.lock().expect("whole").clone()
    }

    /// What frames cost so far.
    pub fn cost(&self) -> Cost {
        *self.cost.lock().expect("whole")
    }

    /// Waits for a frame of which `there` is true.
    #[track_caller]
    pub fn wait(
        &mut self,
        what: &str,
        there: impl Fn(&Frame) -> bool,
    ) -> impl Future<Output = Frame> {
        let what = what.to_owned();
        let at = std::panic::Location::caller();
        async move {
            let found = self.frames.wait_for(|frame| there(frame));
            let found = tokio::time::timeout(PATIENCE, found).await;
            let found = found.map(|found| found.map(|frame| frame.clone()));
            match found {
                Ok(Ok(frame)) => frame,
                Ok(Err(_)) => panic!("{at}: the interface was left, waiting for {what}"),
                Err(_) => panic!("{at}: waited in vain for {what}:\n{}", self.frame().text),
            }
        }
    }

    /// Waits until `text` stands on a line of the screen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> impl Future<Output = Frame> {
        let wanted = text.to_owned();
        self.wait(text, move |frame| frame.text.contains(&wanted))
    }

    /// Waits until `text` is gone.
    #[track_caller]
    pub fn wait_gone(&mut self, text: &str) -> impl Future<Output = Frame> {
        let gone = text.to_owned();
        self.wait(text, move |frame| !frame.text.contains(&gone))
    }

    /// Waits until everything sent is taken in and nothing is at work.
    #[track_caller]
    pub fn settled(&mut self) -> impl Future<Output = Frame> {
        self.wait("rest", |frame| !frame.busy)
    }

    /// Waits for the next frame.
    #[track_caller]
    pub fn next_frame(&mut self) -> impl Future<Output = Frame> {
        let count = self.frame().count;
        self.wait("a frame", move |frame| frame.count > count)
    }
}

/// A key in the table's notation.
pub fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.strip_prefix("ctrl-") {
        Some(rest) => (KeyModifiers::CONTROL, rest),
        None => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "f1" => KeyCode::F(1),
        letter => KeyCode::Char(letter.chars().next().expect("a key")),
    };
    KeyEvent::new(code, modifiers)
}

/// Runs the interface on `runs` with `person` before it, until the person is done or it is left;
/// whether it was left.
pub async fn with<F: Future<Output = ()>>(
    runs: Runs,
    labels: Labels,
    size: (u16, u16),
    person: impl FnOnce(Person) -> F,
) -> bool {
    live(runs, labels, size, None, person).await
}

/// The same, with a list that looks for changes so often.
pub async fn live<F: Future<Output = ()>>(
    runs: Runs,
    labels: Labels,
    size: (u16, u16),
    every: Option<Duration>,
    person: impl FnOnce(Person) -> F,
) -> bool {
    let (events, heard) = unbounded_channel();
    let (asked, asks) = unbounded_channel();
    let (frames, seen) = watch::channel(Frame::default());
    let (answers, mut answered) = unbounded_channel();
    let shared = Arc::new(Mutex::new(size));
    let (copied, cost) = (Arc::default(), Arc::default());
    let mut screen = Screen {
        terminal: Terminal::new(TestBackend::new(size.0, size.1)).expect("a screen"),
        size: Arc::clone(&shared),
        frames,
        copied: Arc::clone(&copied),
        cost: Arc::clone(&cost),
        last: thread_time(),
    };
    let mut state = State::new(labels, None, size, noon());
    state.mouse = true;
    state.live.every = every;
    let mut jobs = Jobs::new(runs, answers);
    let mut outside = Outside {
        events: heard,
        asked: asks,
        clock: noon,
    };
    let person = person(Person {
        events,
        asked,
        size: shared,
        frames: seen,
        copied,
        cost,
    });
    let drive = drive(
        &mut state,
        Theme::default(),
        &mut screen,
        &mut jobs,
        &mut answered,
        &mut outside,
    );
    let left = tokio::select! {
        left = drive => {
            left.expect("a screen in memory");
            true
        }
        () = person => false,
    };
    drop(state);
    drop(answered);
    jobs.finish().await;
    left
}
