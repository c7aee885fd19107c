//! The loop: wait for something, take in all there is, draw once. It never waits on a database, a
//! disk or a worker, and knows a screen only by what it asks of one, so that tests drive it too.

use std::process::{Child, Command};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::Event;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::jobs::Jobs;
use super::message::{Answer, CopyToEdit, Effect, Message};
use super::state::State;
use super::theme::{Theme, Tone};
use super::update;
use super::{editor, lending};
use crate::{ErrorKind, Result};

/// How often a line that shows progress is drawn though nothing was reported.
const TICK: Duration = Duration::from_millis(250);
/// Messages taken in before the next frame, so that a burst is one frame and not many.
const BURST: usize = 1024;

/// What the loop needs of a screen.
pub trait Surface {
    /// Columns and rows.
    ///
    /// # Errors
    /// When the terminal does not say.
    fn size(&self) -> Result<(u16, u16)>;

    /// Draws `state`.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn draw(&mut self, state: &State, theme: Theme) -> Result<()>;

    /// Has the next frame drawn whole: what stands there is not known any more.
    fn forget(&mut self);

    /// Mouse reports on or off.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn set_mouse(&mut self, on: bool) -> Result<()>;

    /// Puts `text` on the terminal's clipboard.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the text is not fit for it; else the terminal is gone.
    fn copy(&mut self, text: &str) -> Result<()>;

    /// Tells whoever looks elsewhere that something ended, where the terminal can (OSC 9).
    ///
    /// # Errors
    /// When the terminal is gone.
    fn notify(&mut self, text: &str) -> Result<()>;

    /// Gives the terminal back, stops, and takes it again when the shell goes on.
    ///
    /// # Errors
    /// When it cannot be taken again.
    fn suspend(&mut self) -> Result<()>;

    /// Gives the terminal to `command` and starts it. Nothing of ours reads the keyboard or writes to
    /// the terminal until [`Surface::take_back`].
    ///
    /// # Errors
    /// When the terminal cannot be taken again for a command that does not start; that it does not is
    /// an answer.
    fn lend(&mut self, command: &mut Command) -> Result<std::io::Result<Child>>;

    /// Takes the terminal again that was lent.
    ///
    /// # Errors
    /// When it cannot be.
    fn take_back(&mut self) -> Result<()>;

    /// Takes the terminal again after something else had it.
    ///
    /// # Errors
    /// When it cannot be.
    fn resume(&mut self) -> Result<()>;
}

/// What reaches the loop from outside the process.
#[derive(Debug)]
pub struct Outside {
    /// What the terminal reports; closed when the terminal is gone.
    pub events: UnboundedReceiver<Event>,
    /// What signals ask for; heard before anything that is typed.
    pub asked: UnboundedReceiver<Asked>,
    /// Milliseconds since the epoch.
    pub clock: fn() -> i64,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To leave.
    Leave,
    /// To take the terminal again: the shell lets us go on.
    Resume,
    /// To draw for another size.
    Resize,
}

/// Runs until it is left.
///
/// # Errors
/// When the screen cannot be used.
pub async fn drive(
    state: &mut State,
    theme: Theme,
    screen: &mut impl Surface,
    jobs: &mut Jobs,
    answered: &mut UnboundedReceiver<Message>,
    outside: &mut Outside,
) -> Result<()> {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut messages = vec![Message::Start];
    let mut look = None;
    loop {
        for message in messages.drain(..) {
            if matches!(message, Message::Resize(..)) {
                // Though it be as large as before: it may have been smaller in between.
                screen.forget();
            }
            if !(state.linear && is_a_look(&message)) {
                state.now_ms = (outside.clock)();
            }
            for effect in update::update(state, message) {
                match carry_out(effect, state, screen, jobs)? {
                    Next::GoOn => {}
                    Next::LookAt(at) => look = Some(at),
                    Next::Edit(copy) if edit(&copy, state, screen, outside).await? => {}
                    Next::Edit(_) | Next::Leave => return Ok(()),
                }
            }
        }
        screen.draw(state, theme)?;
        tokio::select! {
            biased;
            asked = outside.asked.recv() => match asked {
                Some(Asked::Resume) => {
                    screen.resume()?;
                    let (width, height) = screen.size()?;
                    messages.push(Message::Resize(width, height));
                }
                Some(Asked::Resize) => {
                    let (width, height) = screen.size()?;
                    messages.push(Message::Resize(width, height));
                }
                Some(Asked::Leave) | None => return Ok(()),
            },
            event = outside.events.recv() => {
                // The terminal is gone.
                let Some(event) = event else { return Ok(()) };
                messages.extend(taken(event));
                messages.extend(waiting(&mut outside.events).filter_map(taken));
            }
            first = answered.recv() => {
                messages.extend(first);
                messages.extend(waiting(answered));
            }
            () = until(look), if look.is_some() => {
                look = None;
                messages.push(Message::Look);
            }
            // Somebody who listens is told what changed, not that time passes.
            _ = tick.tick(), if ticks(state) => messages.push(Message::Tick),
        }
    }
}

async fn until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}

/// Whether what is shown changes with time alone.
fn ticks(state: &State) -> bool {
    (state.at_work() || state.live.counts_seconds()) && !state.linear
}

/// Whether the message is about looking for changes: for somebody who listens no time passes by that,
/// so that nothing is said anew where nothing changed.
fn is_a_look(message: &Message) -> bool {
    matches!(
        message,
        Message::Look | Message::Answer(_, Answer::Look(_) | Answer::Bound(_))
    )
}

/// What is there already, up to a burst.
fn waiting<T>(channel: &mut UnboundedReceiver<T>) -> impl Iterator<Item = T> {
    std::iter::from_fn(|| channel.try_recv().ok()).take(BURST)
}

fn taken(event: Event) -> Option<Message> {
    #[cfg(debug_assertions)]
    super::crash::rehearse(&event);
    Some(match event {
        Event::Key(key) => Message::Key(key),
        Event::Paste(text) => Message::Paste(text),
        Event::Mouse(mouse) => Message::Mouse(mouse),
        Event::Resize(width, height) => Message::Resize(width, height),
        Event::FocusGained => Message::Focus(true),
        Event::FocusLost => Message::Focus(false),
    })
}

/// What follows when something is done.
enum Next {
    GoOn,
    /// Changes are looked for at this time.
    LookAt(Instant),
    /// An editor is given the terminal.
    Edit(CopyToEdit),
    Leave,
}

/// Has a copy edited; `false` when we are to leave before the editor has ended.
async fn edit(
    copy: &CopyToEdit,
    state: &mut State,
    screen: &mut impl Surface,
    outside: &mut Outside,
) -> Result<bool> {
    let Some((program, words)) = copy.words.split_first() else {
        return Ok(true);
    };
    let mut editor = Command::new(program);
    editor.args(words);
    editor::without_secrets(&mut editor, |name| std::env::var(name).ok());
    let ended = match screen.lend(&mut editor)? {
        Ok(mut child) => {
            let Some(ended) = lending::outlast(&mut child, &mut outside.asked).await else {
                return Ok(false);
            };
            screen.take_back()?;
            ended
        }
        Err(error) => Err(error),
    };
    state.size = screen.size()?;
    update::edited(state, copy, ended);
    Ok(true)
}

/// Does what `update` wants done.
fn carry_out(
    effect: Effect,
    state: &mut State,
    screen: &mut impl Surface,
    jobs: &mut Jobs,
) -> Result<Next> {
    match effect {
        Effect::Start(number, request) => jobs.start(number, request),
        Effect::LookIn(pause) => return Ok(Next::LookAt(Instant::now() + pause)),
        Effect::Cancel(slot) => jobs.cancel(slot),
        Effect::Go(number) => jobs.go(number),
        Effect::Rest(handle) => jobs.rest(&handle),
        Effect::Copy(text) => {
            if let Err(error) = screen.copy(&text) {
                if error.kind() != ErrorKind::Unsupported {
                    return Err(error);
                }
                // To a file instead, which is a job's work.
                let message = Message::NotCopied(text, error.into());
                for effect in update::update(state, message) {
                    carry_out(effect, state, screen, jobs)?;
                }
            }
        }
        Effect::Notify(text) => screen.notify(&text)?,
        Effect::Edit(copy) => return Ok(Next::Edit(copy)),
        Effect::Mouse(on) => {
            if let Err(error) = screen.set_mouse(on) {
                if error.kind() != ErrorKind::Unsupported {
                    return Err(error);
                }
                state.mouse = false;
                state.say(Tone::Warn, error.message());
            }
        }
        Effect::Suspend => {
            screen.suspend()?;
            state.size = screen.size()?;
            // Whoever says `fg` looks here. A look that was planned is due by now, or is planned by this.
            for effect in update::update(state, Message::Focus(true)) {
                if let next @ Next::LookAt(_) = carry_out(effect, state, screen, jobs)? {
                    return Ok(next);
                }
            }
        }
        Effect::Quit => return Ok(Next::Leave),
    }
    Ok(Next::GoOn)
}

/// The clock of a real run.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
