//! What comes in (keys, answers of jobs) and what `update` wants done about it. Each request carries
//! a number and each answer the number it answers, so that a late one is known for what it is.

mod answer;
mod look;
mod request;

pub use answer::{Answer, Compared, Completion, CopyToEdit, Fetched, Resolved, Verified, Written};
pub use look::{Look, LookFor};
pub use request::{PageUse, Request, Slot, Unfold};

use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};

use super::jobs::Handle;
use super::state::Failure;

/// What `update` is told.
#[derive(Debug)]
pub enum Message {
    /// The interface starts.
    Start,
    /// A key press.
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// The terminal's size.
    Resize(u16, u16),
    /// Whether the terminal has the focus of its window, where it says so.
    Focus(bool),
    /// Time passed while something is at work.
    Tick,
    /// The time has come to look what changed in the database.
    Look,
    /// The terminal took no copy of this text, and why.
    NotCopied(String, Failure),
    /// What a job answers.
    Answer(u64, Answer),
}

/// What `update` wants done outside the state.
#[derive(Debug)]
pub enum Effect {
    /// Start a job under this number; an older one in its slot is cancelled.
    Start(u64, Request),
    /// Say [`Message::Look`] after this time; a time that was asked for before counts no more.
    LookIn(Duration),
    /// Stop what runs in the slot.
    Cancel(Slot),
    /// The plan with this number was agreed to: carry it out.
    Go(u64),
    /// End the worker of a run that is set aside; it starts again when it is needed.
    Rest(Handle),
    /// Put this text on the terminal's clipboard.
    Copy(String),
    /// Say it outside the terminal, where somebody may look elsewhere.
    Notify(String),
    /// Give the terminal to an editor on this copy, and wait for it.
    Edit(CopyToEdit),
    /// Mouse reports on or off.
    Mouse(bool),
    /// Give the terminal back and stop, until the shell goes on.
    Suspend,
    /// Leave.
    Quit,
}
