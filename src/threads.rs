//! Threads that the system may refuse: that is a failure like any other, where tokio and the standard
//! library would panic, or wait for one without end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind, Result};

/// Threads of [`blocking`] that have not ended.
static AT_WORK: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();
/// One runtime is built at a time: the hook for panics is the process's.
static HOOK: Mutex<()> = Mutex::new(());
/// The threads whose panics tell that a runtime cannot be built.
const BUILDS: &str = "afterrun-runtime";

/// A thread of its own for `work`.
///
/// # Errors
/// [`ErrorKind::Io`] when the system gives none.
pub(crate) fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    thread::Builder::new().spawn(work).map_err(refused)
}

/// Runs blocking work on a thread of its own, which knows the caller's runtime, and waits for it.
///
/// # Errors
/// That of `work`; [`ErrorKind::Io`] when the system gives no thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (told, answer) = oneshot::channel();
    let runtime = Handle::current();
    let counted = Counted::new();
    start(move || {
        let _counted = counted;
        let _runtime = runtime.enter();
        // Nobody waits for what was given up.
        let _ = told.send(catch_unwind(AssertUnwindSafe(work)));
    })?;
    match answer.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(Error::cancelled()),
    }
}

/// Runs `work` beside whatever else is done, and [`rest`] waits for it, too. Where the system gives no
/// thread, it is left undone.
#[cfg(feature = "app")]
pub(crate) fn beside(work: impl FnOnce() + Send + 'static) {
    let counted = Counted::new();
    let _ = start(move || {
        let _counted = counted;
        work();
    });
}

/// Waits until everything that [`blocking`] began has ended, but no longer than `limit`.
#[cfg(feature = "app")]
pub(crate) fn rest(limit: std::time::Duration) {
    let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = ENDED.wait_timeout_while(at_work, limit, |count| *count > 0);
}

/// A runtime with `workers` threads.
///
/// # Errors
/// [`ErrorKind::Io`] when the system refuses what it needs.
pub(crate) fn runtime(workers: usize) -> Result<Runtime> {
    let (tell, told) = channel();
    let panics = tell.clone();
    let build = move || {
        let built = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name(BUILDS)
            .enable_all()
            .build();
        let _ = tell.send(Some(built));
    };
    // tokio panics where there is no thread or socket for it, and then waits for those that it has,
    // without end: so nobody waits for it, and the panic itself is what is heard of.
    let one = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let before = Arc::new(take_hook());
    let others = Arc::clone(&before);
    set_hook(Box::new(move |panic| {
        if thread::current().name() == Some(BUILDS) {
            drop(panics.send(None));
        } else {
            others(panic);
        }
    }));
    let thread = thread::Builder::new().name(BUILDS.into()).spawn(build);
    let built = thread.map_err(refused).map(|_| told.recv());
    drop(take_hook());
    if let Some(before) = Arc::into_inner(before) {
        set_hook(before);
    }
    drop(one);
    match built? {
        Ok(Some(Ok(runtime))) => Ok(runtime),
        Ok(Some(Err(error))) => Err(Error::new(
            ErrorKind::Io,
            format!("cannot start a runtime: {}", crate::error::reason(&error)),
        )
        .source(error)),
        Ok(None) | Err(_) => Err(Error::new(
            ErrorKind::Io,
            "cannot start a runtime: the system gives no thread or socket for it",
        )
        .hint("look at the limits on processes and open files (ulimit -u, ulimit -n)")),
    }
}

fn refused(error: io::Error) -> Error {
    let reason = crate::error::reason(&error);
    Error::new(ErrorKind::Io, format!("cannot start a thread: {reason}"))
        .hint("look at the limit on processes (ulimit -u)")
        .source(error)
}

/// One of [`AT_WORK`].
struct Counted;

impl Counted {
    fn new() -> Self {
        *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_all();
    }
}
