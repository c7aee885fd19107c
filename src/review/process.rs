//! The worker's life as its parent sees it: started from our own executable, asked over pipes, and
//! killed when it is over time or no longer wanted.

use std::ffi::OsString;
use std::io::{BufReader, BufWriter};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::confinement::{Confinement, Escape};
use super::protocol::{Failure, Request, Response, receive, send};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;
use crate::scratch::Scratch;
use crate::threads;

/// The argument that turns the executable into a worker.
const ARGUMENT: &str = "--afterrun-review-worker";
/// How often deadline and cancellation are looked at, and how often while there are none.
const PULSE: Duration = Duration::from_millis(10);
const IDLE_PULSE: Duration = Duration::from_millis(100);

static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Call this first in `main`: it serves as the review worker when the process was started as one
/// (and then does not return), and otherwise makes this executable the one that workers are
/// started from.
pub fn init() {
    if std::env::args_os().nth(1) == Some(OsString::from(ARGUMENT)) {
        super::worker::serve();
        std::process::exit(0);
    }
    if let Ok(executable) = std::env::current_exe() {
        let _ = EXECUTABLE.set(executable);
    }
}

/// Names another executable whose `main` calls [`init`] first, e.g. the `afterrun` command. Only
/// the first call of either counts.
pub fn use_worker(executable: impl Into<PathBuf>) {
    let _ = EXECUTABLE.set(executable.into());
}

/// What a worker is held to, and what it could do all the same.
#[derive(Clone, Debug)]
pub struct WorkerCheck {
    /// The system's limits on it, in words; none where the system does not say.
    pub limits: Vec<String>,
    /// What it is confined by.
    pub confinement: Confinement,
    /// What it tried and could.
    pub escapes: Vec<Escape>,
}

/// Starts a worker on an empty repository in `scratch` and lets it try what it must not be able to
/// do: open a file outside, write one, connect, execute.
///
/// # Errors
/// Why none can be started.
pub fn check_worker(scratch: &Scratch) -> Result<WorkerCheck> {
    let objects = super::objects::PrivateObjects::new(scratch)?;
    let mut worker = Worker::start(objects.path())?;
    // Its own executable can be read by whoever started it.
    let outside = EXECUTABLE.get().map(|path| path.as_os_str().as_bytes());
    worker.send(&Request::Probe {
        outside: outside.unwrap_or_default().to_vec(),
    })?;
    let escapes = match worker.receive()? {
        Response::Escapes(escapes) => escapes,
        other => return Err(unexpected(&other)),
    };
    let pid = lock(&worker.guard.child).id();
    Ok(WorkerCheck {
        limits: super::limits::of(pid),
        confinement: worker.confinement,
        escapes,
    })
}

/// A running worker.
pub(crate) struct Worker {
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    guard: Arc<Guard>,
    confinement: Confinement,
}

/// What the watching thread shares with the calls.
struct Guard {
    child: Mutex<Child>,
    deadline: Mutex<Option<(Instant, Watch)>>,
    /// Set when the worker was killed for being over time.
    late: AtomicBool,
    finished: AtomicBool,
}

impl Worker {
    /// Starts a worker on the private repository in `folder`.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let Some(executable) = EXECUTABLE.get() else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "No review worker is set up, and comparing needs one",
            )
            .hint("call afterrun::review::init() first in main, or afterrun::review::use_worker"));
        };
        let (started, answer) = sync_channel(1);
        let executable = executable.clone();
        // The worker dies with the thread that starts it, so that thread is the one that watches it.
        threads::start(move || {
            let guard = match spawn(&executable) {
                Ok((guard, input, output)) => {
                    let guard = Arc::new(guard);
                    let _ = started.send(Ok((Arc::clone(&guard), input, output)));
                    guard
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            guard.watch();
        })?;
        let (guard, input, output) = match answer.recv() {
            Ok(started) => started?,
            Err(_) => return fail(ErrorKind::Io, "cannot start the review worker"),
        };
        let mut worker = Self {
            input: BufWriter::new(input),
            output: BufReader::new(output),
            guard,
            confinement: Confinement::default(),
        };
        worker.send(&Request::Open {
            folder: folder.as_os_str().as_bytes().to_vec(),
        })?;
        worker.allow(Duration::from_secs(10), &Watch::default());
        match worker.receive()? {
            Response::Opened(confinement) => {
                worker.confinement = confinement;
                Ok(worker)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// What the kernel holds it to, by its own word.
    pub(crate) fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Gives what follows this much time, and lets `watch` cancel it; the worker does not survive
    /// the end of either.
    pub(crate) fn allow(&self, time: Duration, watch: &Watch) {
        let mut deadline = lock(&self.guard.deadline);
        *deadline = Some((Instant::now() + time, watch.clone()));
    }

    /// The worker may idle from here on.
    pub(crate) fn rest(&self) {
        *lock(&self.guard.deadline) = None;
    }

    pub(crate) fn send(&mut self, request: &Request) -> Result<()> {
        send(&mut self.input, request).map_err(|error| self.gone(Some(error)))
    }

    /// The next answer; a refusal is an error.
    pub(crate) fn receive(&mut self) -> Result<Response> {
        match receive(&mut self.output) {
            Ok(Some(Response::Failed { why, message })) => Err(refused(why, &message)),
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(self.gone(None)),
            Err(error) if self.guard.late.load(Ordering::SeqCst) || self.cancelled() => {
                Err(self.gone(Some(std::io::Error::other(error))))
            }
            Err(error) => Err(error),
        }
    }

    fn cancelled(&self) -> bool {
        lock(&self.guard.deadline)
            .as_ref()
            .is_some_and(|(_, watch)| watch.token().is_cancelled())
    }

    /// Why the worker stopped answering.
    fn gone(&self, source: Option<std::io::Error>) -> Error {
        if self.cancelled() {
            return Error::cancelled();
        }
        let error = if self.guard.late.load(Ordering::SeqCst) {
            Error::new(
                ErrorKind::Timeout,
                "The review worker took too long with this checkout's objects and was stopped",
            )
        } else {
            Error::new(
                ErrorKind::UnsafeContent,
                "The review worker died on this checkout's objects",
            )
        };
        let error = error.hint("`afterrun tree` and `afterrun restore` do not need git's objects");
        match source {
            Some(source) => error.source(source),
            None => error,
        }
    }
}

fn spawn(executable: &Path) -> Result<(Guard, ChildStdin, ChildStdout)> {
    let mut child = Command::new(executable)
        .arg(ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::io("start the review worker", executable, error))?;
    tracing::info!("review worker {} is started", child.id());
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return fail(ErrorKind::Io, "cannot talk to the review worker");
    };
    let guard = Guard {
        child: Mutex::new(child),
        deadline: Mutex::new(None),
        late: AtomicBool::new(false),
        finished: AtomicBool::new(false),
    };
    Ok((guard, input, output))
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.guard.finished.store(true, Ordering::SeqCst);
        let mut child = lock(&self.guard.child);
        let _ = child.kill();
        let ended = child.wait();
        tracing::info!(
            "review worker {} has ended: {}",
            child.id(),
            ended.map_or_else(|error| error.to_string(), |status| status.to_string())
        );
    }
}

impl Guard {
    /// Kills the worker at its deadline or on cancellation.
    fn watch(&self) {
        while !self.finished.load(Ordering::SeqCst) {
            let idle = lock(&self.deadline).is_none();
            std::thread::sleep(if idle { IDLE_PULSE } else { PULSE });
            let verdict = lock(&self.deadline).as_ref().and_then(|(deadline, watch)| {
                if watch.token().is_cancelled() {
                    Some(false)
                } else {
                    (Instant::now() > *deadline).then_some(true)
                }
            });
            if let Some(late) = verdict {
                self.late.store(late, Ordering::SeqCst);
                let _ = lock(&self.child).kill();
                let why = if late {
                    "it is over time"
                } else {
                    "it is not wanted any more"
                };
                tracing::info!("the review worker is killed: {why}");
                return;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const OTHERWISE: &str = "with the base empty the files are shown without what they were before, and notices say what was found";

fn refused(why: Failure, message: &str) -> Error {
    let message = crate::text::visible(message);
    let message: String = message.chars().take(300).collect();
    match why {
        Failure::Missing => Error::new(
            ErrorKind::UnsafeContent,
            format!("An object is missing: {message}"),
        )
        .hint(OTHERWISE),
        Failure::Damaged => Error::new(
            ErrorKind::UnsafeContent,
            format!("An object cannot be used: {message}"),
        )
        .hint(OTHERWISE),
        Failure::Limit => {
            Error::new(ErrorKind::Limit, format!("Too much to compare: {message}")).hint(OTHERWISE)
        }
        Failure::Protocol => Error::new(
            ErrorKind::UnsafeContent,
            format!("The review worker refused: {message}"),
        ),
    }
}

pub(crate) fn unexpected(response: &Response) -> Error {
    let name = format!("{response:?}");
    let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
    Error::new(
        ErrorKind::UnsafeContent,
        format!("The review worker gave an unexpected answer ({name})"),
    )
}
