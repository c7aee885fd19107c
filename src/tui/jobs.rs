//! Jobs: async work on the library beside the event loop. Each slot holds one job and a newer one
//! cancels it; answers carry the number of the request they answer, so a late one is dropped.

mod acting;
mod handle;
mod keep;
mod look;
mod paths;
mod ready;
mod syntax;
mod unfold;
mod work;
mod write;

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub use handle::{DiffHandle, Handle};

use super::message::{Answer, Message, Request, Slot};
use crate::progress::{CancellationToken, Watch};
use crate::runs::Runs;

/// How long leaving waits for cancelled jobs to remove what they had begun.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// What a job needs besides its request.
#[derive(Clone)]
pub(crate) struct Context {
    runs: Runs,
    number: u64,
    watch: Watch,
    /// Cancelled only when the interface is left.
    closing: CancellationToken,
    /// For what a run keeps open, see [`Jobs::finish`].
    alive: Sender<()>,
    answers: UnboundedSender<Message>,
}

impl Context {
    fn answer(&self, answer: Answer) {
        // Nobody listens any more when the interface is leaving.
        let _ = self.answers.send(Message::Answer(self.number, answer));
    }
}

/// The jobs at work.
#[derive(Debug)]
pub struct Jobs {
    runs: Runs,
    answers: UnboundedSender<Message>,
    slots: HashMap<Slot, CancellationToken>,
    /// What a planned restore waits for, by its number.
    agreed: HashMap<u64, oneshot::Sender<()>>,
    closing: CancellationToken,
    tasks: JoinSet<()>,
    /// Every open run holds a clone; when none is left, nothing of ours is.
    alive: Sender<()>,
    all_gone: Receiver<()>,
}

impl Jobs {
    /// Jobs on `runs` that answer to `answers`.
    #[must_use]
    pub fn new(runs: Runs, answers: UnboundedSender<Message>) -> Self {
        let (alive, all_gone) = channel(1);
        Self {
            alive,
            all_gone,
            runs,
            answers,
            slots: HashMap::new(),
            agreed: HashMap::new(),
            closing: CancellationToken::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts `request` under `number`; an older job in its slot is cancelled.
    pub fn start(&mut self, number: u64, request: Request) {
        while self.tasks.try_join_next().is_some() {}
        self.agreed.retain(|_, waiting| !waiting.is_closed());
        let slot = request.slot();
        self.cancel(slot);
        let token = CancellationToken::new();
        let answers = self.answers.clone();
        self.slots.insert(slot, token.clone());
        let watch = Watch::reporting(token, move |progress| {
            let _ = answers.send(Message::Answer(number, Answer::Progress(progress)));
        });
        let context = Context {
            runs: self.runs.clone(),
            number,
            watch,
            closing: self.closing.clone(),
            alive: self.alive.clone(),
            answers: self.answers.clone(),
        };
        let (agree, agreed) = oneshot::channel();
        if slot == Slot::Restore {
            self.agreed.insert(number, agree);
        }
        let answers = self.answers.clone();
        self.tasks.spawn(async move {
            // A task of its own, so that a defect in a job ends the job and not the interface.
            let job = tokio::spawn(work::carry_out(context, request, agreed));
            if job.await.is_err() {
                let _ = answers.send(Message::Answer(number, Answer::Crashed(slot)));
            }
        });
    }

    /// Stops what runs in `slot`.
    pub fn cancel(&mut self, slot: Slot) {
        if let Some(token) = self.slots.remove(&slot) {
            token.cancel();
        }
        if slot == Slot::Restore {
            // Whoever waits for an answer to a plan is told that there will be none.
            self.agreed.clear();
        }
    }

    /// Lets the restore planned under `number` go on.
    pub fn go(&mut self, number: u64) {
        if let Some(agree) = self.agreed.remove(&number) {
            let _ = agree.send(());
        }
    }

    /// Ends the worker of a run that is set aside.
    pub fn rest(&mut self, handle: &Handle) {
        if let Some(live) = handle.live().cloned() {
            self.tasks.spawn_blocking(move || live.rest());
        }
    }

    /// Stops everything and waits, for a while, until it has cleaned up: a restore what it wrote, an
    /// open run its private files and its worker. The state must be gone by now.
    pub async fn finish(self) {
        let Self {
            mut tasks,
            alive,
            mut all_gone,
            ..
        } = self;
        for token in self.slots.values() {
            token.cancel();
        }
        self.closing.cancel();
        drop(self.agreed);
        drop(alive);
        let rest = async {
            while tasks.join_next().await.is_some() {}
            // Nothing is ever sent: this ends when the last one that could is gone.
            let _ = all_gone.recv().await;
        };
        if tokio::time::timeout(LAST_WAIT, rest).await.is_err() {
            tracing::warn!("left while a job was still at work");
        }
    }
}
