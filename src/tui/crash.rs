//! When the interface itself stops by a defect: a report for whoever mends it, in a file of its own,
//! with nothing in it of what was looked at.

use std::backtrace::Backtrace;
use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::new_file::{NewFile, PRIVATE};
use crate::text::{visible, visible_path};
use crate::{Error, ErrorKind};

/// Characters of the terminal's name.
const NAME: usize = 100;
/// Reports that are kept.
const KEPT: usize = 10;
const START: &str = "crash-";

/// The last panic of the interface: where its report is, or why there is none.
static LAST: Mutex<Option<Result<PathBuf, String>>> = Mutex::new(None);

fn last() -> std::sync::MutexGuard<'static, Option<Result<PathBuf, String>>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the report of a panic; called by the panic hook, where its trace is still there.
pub fn report(info: &PanicHookInfo<'_>) {
    let text = text(info, &Backtrace::force_capture());
    let written = match folder() {
        Some(folder) => write(&folder, &text).inspect(|_| sweep(&folder)),
        // Others' files are there too: nothing is removed.
        None => write(&std::env::temp_dir(), &text),
    };
    *last() = Some(written.map_err(|error| crate::error::reason(&error)));
}

/// What is said about the last panic.
#[must_use]
pub fn error() -> Error {
    let error = Error::new(
        ErrorKind::Io,
        "the interface stopped by a defect of afterrun",
    );
    match last().take() {
        Some(Ok(path)) => error.hint(format!(
            "a report for its makers, without anything you looked at, is in {}",
            visible_path(&path)
        )),
        Some(Err(why)) => error.hint(format!("no report could be written: {why}")),
        None => error,
    }
}

fn text(info: &PanicHookInfo<'_>, trace: &Backtrace) -> String {
    let (width, height) = crossterm::terminal::size().unwrap_or_default();
    let term = std::env::var("TERM").unwrap_or_default();
    format!(
        "afterrun {}\ntime      {}\nplace     {}\nterminal  {width}x{height} {}\n\n{trace}\n",
        env!("CARGO_PKG_VERSION"),
        jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        place(info),
        visible(&term).chars().take(NAME).collect::<String>(),
    )
}

/// Where a panic was, and its message where that is a text of ours. One that was put together may
/// quote somebody's row or file.
#[must_use]
pub fn place(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map_or_else(
        || "unknown".to_owned(),
        |place| format!("{}:{}:{}", place.file(), place.line(), place.column()),
    );
    match info.payload().downcast_ref::<&'static str>() {
        Some(message) => format!("{place}: {message}"),
        None => place,
    }
}

/// `$XDG_STATE_HOME/afterrun`, else `~/.local/state/afterrun`, made where it can be.
fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let folder = state.join("afterrun");
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    made.ok().map(|()| folder)
}

/// Writes a new report into `folder`.
fn write(folder: &Path, text: &str) -> std::io::Result<PathBuf> {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let path = folder.join(format!("{START}{time}-{}.txt", std::process::id()));
    let mut file = NewFile::beside(&path, PRIVATE)?;
    file.write_all(text.as_bytes())?;
    file.publish(&path)?;
    Ok(path)
}

/// Removes all but the newest reports; their names begin with their time.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let report = |name: &str| name.starts_with(START) && name.ends_with(".txt");
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| report(name))
        .collect();
    names.sort();
    let old = names.len().saturating_sub(KEPT);
    for name in &names[..old] {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// Panics when the key that a test names is pressed, so that the way out of a panic is walked too.
#[cfg(debug_assertions)]
pub fn rehearse(event: &crossterm::event::Event) {
    use crossterm::event::{Event, KeyCode};
    if let Event::Key(key) = event
        && let KeyCode::Char(letter) = key.code
        && std::env::var("AFTERRUN_PANIC_KEY").is_ok_and(|key| key == letter.to_string())
    {
        panic!("rehearsed, and {event:?} is what was looked at");
    }
}

/// Panics in the job that a test names by its slot.
#[cfg(debug_assertions)]
pub fn rehearse_job(slot: super::message::Slot) {
    if std::env::var("AFTERRUN_PANIC_JOB").is_ok_and(|name| name == format!("{slot:?}")) {
        panic!("rehearsed in a job");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_reports_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mine.txt"), "x").expect("written");
        for day in 10..25 {
            let name = format!("{START}202606{day}T000000Z-1.txt");
            fs::write(folder.path().join(name), "x").expect("written");
        }
        let new = write(folder.path(), "text").expect("written");
        sweep(folder.path());
        let names: Vec<_> = fs::read_dir(folder.path())
            .expect("listed")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names.len(), KEPT + 1);
        assert!(new.exists() && folder.path().join("mine.txt").exists());
        assert!(
            !folder
                .path()
                .join(format!("{START}20260615T000000Z-1.txt"))
                .exists()
        );
        assert!(
            folder
                .path()
                .join(format!("{START}20260616T000000Z-1.txt"))
                .exists()
        );
    }

    /// What is kept of the panics of this thread.
    fn places_of(panics: &[fn(&str)]) -> Vec<String> {
        use std::sync::Arc;
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (into, here) = (Arc::clone(&kept), std::thread::current().id());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == here {
                into.lock().expect("whole").push(place(info));
            } else {
                before(info);
            }
        }));
        for panics in panics {
            let panicked = std::panic::catch_unwind(|| panics("secret é"));
            assert!(panicked.is_err());
        }
        let _ = std::panic::take_hook();
        let kept = kept.lock().expect("whole");
        kept.clone()
    }

    #[test]
    fn nothing_is_quoted() {
        let kept = places_of(&[
            |_| panic!("a text of ours"),
            |text| panic!("made of {text}"),
            |text| drop(text[..8].to_owned()),
            |text| assert_eq!(text.parse::<u32>().expect(text), 0),
            |text| assert_eq!(text.strip_prefix("x").expect(text), ""),
        ]);
        assert_eq!(kept.len(), 5);
        assert!(kept[0].contains("crash.rs:") && kept[0].ends_with(": a text of ours"));
        for place in &kept[1..] {
            assert!(!place.contains("secret"), "{place}");
            assert!(place.contains(".rs:"), "{place}");
        }
    }
}
