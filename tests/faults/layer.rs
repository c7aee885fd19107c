//! The fault layer: `strace` under a command makes its system call number N fail, once or from then on.
//!
//! strace counts the calls of each thread by itself. The main thread starts with `skip.c`, which makes as
//! many calls as no other thread makes; so small numbers fail in the other threads and the review worker,
//! and large ones in the main thread alone, after the dynamic loader is through.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::Place;

/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A system call, its number, and what it fails with.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub name: &'static str,
    number: i64,
    pub error: &'static str,
}

/// Each call that opening, restoring, comparing and storing make, with what a system may answer it.
pub const CALLS: [Call; 32] = [
    call("openat", libc::SYS_openat, "EMFILE"),
    call("read", libc::SYS_read, "EIO"),
    call("pread64", libc::SYS_pread64, "EIO"),
    call("write", libc::SYS_write, "ENOSPC"),
    call("pwrite64", libc::SYS_pwrite64, "ENOSPC"),
    call("writev", libc::SYS_writev, "ENOSPC"),
    call("lseek", libc::SYS_lseek, "EIO"),
    call("fsync", libc::SYS_fsync, "EIO"),
    call("fdatasync", libc::SYS_fdatasync, "EIO"),
    call("ftruncate", libc::SYS_ftruncate, "EIO"),
    call("fallocate", libc::SYS_fallocate, "ENOSPC"),
    call("mkdirat", libc::SYS_mkdirat, "ENOSPC"),
    call("symlinkat", libc::SYS_symlinkat, "EROFS"),
    call("linkat", libc::SYS_linkat, "EDQUOT"),
    call("renameat2", libc::SYS_renameat2, "EIO"),
    call("fchmod", libc::SYS_fchmod, "EPERM"),
    call("fchmodat", libc::SYS_fchmodat, "EPERM"),
    call("utimensat", libc::SYS_utimensat, "EROFS"),
    call("newfstatat", libc::SYS_newfstatat, "EIO"),
    call("fstat", libc::SYS_fstat, "EIO"),
    call("statx", libc::SYS_statx, "EACCES"),
    call("getdents64", libc::SYS_getdents64, "EIO"),
    call("readlinkat", libc::SYS_readlinkat, "EIO"),
    call("unlinkat", libc::SYS_unlinkat, "EACCES"),
    call("flock", libc::SYS_flock, "ENOLCK"),
    call("fcntl", libc::SYS_fcntl, "EMFILE"),
    call("clone3", libc::SYS_clone3, "EAGAIN"),
    call("pipe2", libc::SYS_pipe2, "EMFILE"),
    call("socketpair", libc::SYS_socketpair, "EMFILE"),
    call("epoll_create1", libc::SYS_epoll_create1, "EMFILE"),
    call("eventfd2", libc::SYS_eventfd2, "EMFILE"),
    call("getcwd", libc::SYS_getcwd, "EACCES"),
];

/// The calls of older architectures that do the same.
#[cfg(target_arch = "x86_64")]
const OLDER: [Call; 12] = [
    call("open", libc::SYS_open, "EMFILE"),
    call("stat", libc::SYS_stat, "EIO"),
    call("lstat", libc::SYS_lstat, "EIO"),
    call("mkdir", libc::SYS_mkdir, "ENOSPC"),
    call("rmdir", libc::SYS_rmdir, "EACCES"),
    call("unlink", libc::SYS_unlink, "EACCES"),
    call("link", libc::SYS_link, "EDQUOT"),
    call("symlink", libc::SYS_symlink, "EROFS"),
    call("rename", libc::SYS_rename, "EIO"),
    call("chmod", libc::SYS_chmod, "EPERM"),
    call("readlink", libc::SYS_readlink, "EIO"),
    call("access", libc::SYS_access, "EIO"),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [Call; 0] = [];

const fn call(name: &'static str, number: i64, error: &'static str) -> Call {
    Call {
        name,
        number,
        error,
    }
}

/// What a file system is asked.
pub fn calls() -> Vec<Call> {
    CALLS.into_iter().chain(OLDER).collect()
}

/// What SQLite asks of the files of a database.
pub fn of_a_database() -> Vec<Call> {
    let more = [
        call("mmap", libc::SYS_mmap, "ENOMEM"),
        call("fcntl", libc::SYS_fcntl, "EIO"),
    ];
    let others = calls().into_iter().filter(|call| call.name != "fcntl");
    others.chain(more).collect()
}

/// What a network is asked.
pub const EXCHANGES: [Call; 7] = [
    call("socket", libc::SYS_socket, "EMFILE"),
    call("connect", libc::SYS_connect, "ETIMEDOUT"),
    call("getsockopt", libc::SYS_getsockopt, "ECONNREFUSED"),
    call("sendto", libc::SYS_sendto, "EPIPE"),
    call("writev", libc::SYS_writev, "ECONNRESET"),
    call("sendmsg", libc::SYS_sendmsg, "ECONNRESET"),
    call("recvfrom", libc::SYS_recvfrom, "ECONNRESET"),
];

/// How often a command makes a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// In the main thread before its program begins.
    loader: u32,
    /// In the main thread.
    main: u32,
    /// At most, in one other thread or in the review worker.
    other: u32,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Number N of each thread but the main one, once or from then on.
    Other(u32, Often),
    /// Number N of the main thread.
    Main(u32, Often),
}

impl When {
    pub fn lasts(self) -> bool {
        let (Self::Other(_, often) | Self::Main(_, often)) = self;
        often == Often::FromThenOn
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Often {
    Once,
    FromThenOn,
}

impl Count {
    /// Every number, once and from then on.
    pub fn every(self) -> Vec<When> {
        let both = [Often::Once, Often::FromThenOn];
        let other = (1..=self.other).flat_map(|n| both.map(|often| When::Other(n, often)));
        let main =
            (self.loader + 1..=self.main).flat_map(|n| both.map(|often| When::Main(n, often)));
        other.chain(main).collect()
    }
}

/// strace, and the program that stands before the command.
pub struct Layer {
    skip: PathBuf,
}

/// A command that has ended, or was ended.
pub struct Ended {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
    pub hung: bool,
    /// The call that failed was one of the runtime's own that cannot fail.
    pub runtime: bool,
}

impl Layer {
    /// None, told loudly, where processes may not be traced, or there is no strace or C compiler.
    pub fn get() -> Option<&'static Self> {
        static LAYER: OnceLock<Option<Layer>> = OnceLock::new();
        let layer = LAYER.get_or_init(|| {
            Self::make()
                .map_err(|why| println!("SKIPPED: no fault layer: {why}"))
                .ok()
        });
        layer.as_ref()
    }

    fn make() -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let skip = folder.join(format!("skip-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/skip.c");
        run(Command::new("cc")
            .args(["-static", "-O1", "-o"])
            .args([&skip, &source]))?;
        let this = Self { skip };
        run(Command::new("strace")
            .args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"])
            .args(["-e", "inject=openat:error=EIO:when=60000", "true"]))?;
        Ok(this)
    }

    fn under(
        &self,
        place: &Place,
        options: &[String],
        call: Call,
        skipped: u32,
        args: &[String],
    ) -> Command {
        let mut command = place.command("strace");
        command
            .args(["-f", "--seccomp-bpf", "-qq"])
            .args(options)
            .arg(&self.skip);
        command.args([call.number.to_string(), skipped.to_string()]);
        command.arg(env!("CARGO_BIN_EXE_afterrun")).args(args);
        command
    }

    /// How often `afterrun ARGS` makes each call.
    pub fn count(
        &self,
        place: &Place,
        args: &[String],
        calls: &[Call],
        path: Option<&Path>,
    ) -> BTreeMap<&'static str, Count> {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let names: Vec<&str> = calls.iter().map(|call| call.name).collect();
        // The loader makes no `poll`, and a Rust program one before `main`.
        let traced = format!("trace=execve,ppoll,poll,{}", names.join(","));
        let mut options = vec![
            "-o".into(),
            log.path().display().to_string(),
            "-e".into(),
            traced,
        ];
        if let Some(path) = path {
            options.extend(["-P".into(), path.display().to_string()]);
        }
        let mut command = self.under(place, &options, calls[0], 0, args);
        let ended = command.output().expect("strace runs");
        assert!(ended.status.success(), "{ended:?}");
        let log = std::fs::read_to_string(log.path()).expect("a log");
        counted(&log, calls, path.is_some())
    }

    /// Runs `afterrun ARGS`, and makes `call` fail.
    pub fn fail(&self, place: &Place, args: &[String], fault: &Fault<'_>) -> Ended {
        let Fault {
            call,
            error,
            count,
            when,
            path,
        } = fault;
        let skipped = if path.is_some() { 0 } else { count.other + 8 };
        let numbers = match *when {
            When::Other(n, Often::FromThenOn) if path.is_none() => format!("{n}..{skipped}"),
            When::Other(n, Often::FromThenOn) => format!("{n}+"),
            When::Other(n, Often::Once) => n.to_string(),
            When::Main(n, Often::Once) => (n + skipped).to_string(),
            When::Main(n, Often::FromThenOn) => format!("{}+", n + skipped),
        };
        let name = call.name;
        let log = (name == "write").then(|| tempfile::NamedTempFile::new().expect("a file"));
        let log = log.as_ref().map(tempfile::NamedTempFile::path);
        let written = log.unwrap_or(Path::new("/dev/null")).display().to_string();
        let mut options: Vec<String> = vec!["-y".into(), "-o".into(), written, "-e".into()];
        options.extend([format!("trace={name}"), "-e".into()]);
        options.push(format!("inject={name}:error={error}:when={numbers}"));
        if let Some(path) = path {
            options.extend(["-P".into(), path.display().to_string()]);
        }
        watched(self.under(place, &options, *call, skipped, args), log)
    }
}

/// What fails.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'a> {
    pub call: Call,
    pub error: &'static str,
    pub count: Count,
    pub when: When,
    /// Only calls on this path count, in whatever thread.
    pub path: Option<&'a Path>,
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Waits for the end of `command`; all of its processes are ended when it hangs, and at once when, by
/// strace's log, tokio could not write to the eventfd that wakes it: it panics then and waits without end, and
/// no system refuses that.
fn watched(mut command: Command, log: Option<&Path>) -> Ended {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().expect("started");
    let group = rustix::process::Pid::from_child(&child);
    let end = || {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    };
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let out = std::thread::spawn(move || {
        let mut out = Vec::new();
        stdout.read_to_end(&mut out).expect("read");
        out
    });
    let err = std::thread::spawn(move || {
        let mut err = Vec::new();
        stderr.read_to_end(&mut err).expect("read");
        String::from_utf8_lossy(&err).into_owned()
    });
    let waking = || {
        let log = log.map(|log| std::fs::read_to_string(log).unwrap_or_default());
        let mut lines = log.iter().flat_map(|log| log.lines());
        lines.any(|line| line.contains("eventfd") && line.ends_with("(INJECTED)"))
    };
    let begun = Instant::now();
    let (mut hung, mut pause) = (false, Duration::from_millis(1));
    let status = loop {
        if let Some(status) = child.try_wait().expect("asked") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            hung = true;
            end();
        } else if waking() {
            end();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    Ended {
        code: status.code(),
        out: out.join().expect("read"),
        err: err.join().expect("read"),
        hung,
        runtime: waking(),
    }
}

/// The calls in a log, by thread.
fn counted(log: &str, calls: &[Call], on_a_path: bool) -> BTreeMap<&'static str, Count> {
    let mut lines = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .peekable();
    let main = lines.peek().map(|(thread, _)| (*thread).to_owned());
    let mut of_others: BTreeMap<(&str, &'static str), u32> = BTreeMap::new();
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    let mut begun = false;
    for (thread, line) in lines {
        let Some((name, _)) = line.trim_start().split_once('(') else {
            continue;
        };
        let is_main = Some(thread) == main.as_deref();
        if is_main && name == "execve" {
            // The program before ours is through.
            counts
                .values_mut()
                .for_each(|count| (count.main, count.loader) = (0, 0));
            begun = false;
        }
        begun |= is_main && matches!(name, "poll" | "ppoll");
        let Some(call) = calls.iter().find(|call| call.name == name) else {
            continue;
        };
        let count = counts.entry(call.name).or_default();
        if on_a_path {
            let all = of_others.entry((thread, call.name)).or_default();
            *all += 1;
            count.other = count.other.max(*all);
        } else if is_main {
            count.main += 1;
            count.loader += u32::from(!begun);
        } else {
            let all = of_others.entry((thread, call.name)).or_default();
            *all += 1;
            count.other = count.other.max(*all);
        }
    }
    counts
}
