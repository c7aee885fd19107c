//! The review worker: libgit2 over an agent's objects, in a process that has nothing else and may
//! be killed at any time. It reads requests from its input and answers on its output.

mod batch;
mod commit;
mod compared;
mod folder;
mod hidden;
mod objects;
pub(crate) mod packs;
mod probe;
mod sandbox;
mod settings;
mod walk;

use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStringExt;

use git2::{ObjectType, Oid, Repository};
use rustix::process::{Resource, Rlimit};

use super::confinement::Confinement;
use super::protocol::{Failure, ObjectKind, Request, Response, receive, send};
use compared::{Compared, compare};
use objects::Objects;
use walk::{below, has_crlf, log, tree};

/// Address space: packs are mapped in windows, contents are kept in memory.
const MAX_MEMORY: u64 = 2 << 30;
const MAX_CPU_SECONDS: u64 = 120;
/// Characters of a reason that are sent.
const MAX_REASON: usize = 1000;

type Answer<T = ()> = Result<T, Stop>;

/// Why a request ends early.
enum Stop {
    Failed(Failure, String),
    /// The parent is gone.
    Gone,
}

impl From<git2::Error> for Stop {
    fn from(error: git2::Error) -> Self {
        let why = match error.code() {
            git2::ErrorCode::NotFound => Failure::Missing,
            _ => Failure::Damaged,
        };
        Self::Failed(why, error.message().to_owned())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            // Nothing of it was sent, so that the reason can be.
            std::io::ErrorKind::InvalidInput => Self::Failed(Failure::Limit, error.to_string()),
            _ => Self::Gone,
        }
    }
}

fn failed<T>(why: Failure, message: impl Into<String>) -> Answer<T> {
    Err(Stop::Failed(why, message.into()))
}

/// Serves requests until the input ends.
pub(super) fn serve() {
    let limits = limit();
    let input = BufReader::new(std::io::stdin().lock());
    let output = BufWriter::new(std::io::stdout().lock());
    let _ = requests(input, output, limits);
}

/// Takes limits before a byte of the agent's is read; answers whether all of them hold.
fn limit() -> bool {
    let limit = |resource, value| {
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        rustix::process::setrlimit(resource, limit).is_ok()
    };
    let held = [
        limit(Resource::As, MAX_MEMORY),
        limit(Resource::Cpu, MAX_CPU_SECONDS),
        limit(Resource::Fsize, 0),
        limit(Resource::Core, 0),
        limit(Resource::Nofile, 128),
    ];
    #[cfg(target_os = "linux")]
    {
        // Should the parent die without a word, so do we.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
    settings::settle();
    held.iter().all(|held| *held)
}

fn requests(mut input: impl Read, mut output: impl Write, limits: bool) -> Answer {
    let Ok(Some(Request::Open { folder })) = receive(&mut input) else {
        return Err(Stop::Gone);
    };
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(folder));
    let confinement = Confinement {
        limits,
        ..sandbox::confine(&path)
    };
    let repository = match Repository::open_bare(path) {
        Ok(repository) => repository,
        Err(error) => {
            send(&mut output, &refusal(Failure::Protocol, error.message()))?;
            return Err(Stop::Gone);
        }
    };
    let objects = Objects::new(&repository)?;
    let odb = objects.odb();
    // What is written goes to memory, before any file.
    let _memory = odb.add_new_mempack_backend(1000)?;
    send(&mut output, &Response::Opened(confinement))?;
    let mut contents: Vec<Oid> = Vec::new();
    let mut compared: Option<Compared<'_>> = None;
    loop {
        let request = match receive(&mut input) {
            Ok(Some(request)) => request,
            _ => return Ok(()),
        };
        let answer = match request {
            Request::Open { .. } => failed(Failure::Protocol, "already open"),
            Request::Probe { outside } => Ok(send(
                &mut output,
                &Response::Escapes(probe::escapes(outside)),
            )?),
            Request::Tree { commit } => tree(&objects, commit, &mut output),
            Request::Folder { tree } => below(&objects, tree, &mut output),
            Request::Log { from, hide, limit } => {
                log(&repository, &objects, from, hide, limit, &mut output)
            }
            Request::Commit { commit } => {
                commit::commit(&repository, &objects, commit, &mut output)
            }
            Request::HasCrlf { blob } => has_crlf(&objects, blob)
                .and_then(|truth| Ok(send(&mut output, &Response::Truth(truth))?)),
            Request::Loose { kind, bytes } => {
                odb.write(object_type(kind), &bytes)?;
                continue;
            }
            Request::Content { bytes } => {
                contents.push(odb.write(ObjectType::Blob, &bytes)?);
                continue;
            }
            // Contents are kept in memory until the end, so that one worker compares once.
            Request::Compare { .. } if compared.is_some() => {
                failed(Failure::Protocol, "already compared")
            }
            Request::Compare { changes } => {
                compare(&repository, &objects, &changes, &contents, &mut output)
                    .map(|made| compared = Some(made))
            }
            Request::Patch { delta, options } => match &mut compared {
                Some(compared) => compared
                    .patch(&repository, &objects, delta, options)
                    .and_then(|patch| Ok(send(&mut output, &Response::Patch(patch))?)),
                None => failed(Failure::Protocol, "nothing was compared"),
            },
            Request::PatchText { delta, options } => match &mut compared {
                Some(compared) => compared.text(&repository, delta, options, &mut output),
                None => failed(Failure::Protocol, "nothing was compared"),
            },
        };
        match answer {
            Ok(()) => {}
            Err(Stop::Failed(why, message)) => send(&mut output, &refusal(why, &message))?,
            Err(Stop::Gone) => return Ok(()),
        }
    }
}

fn object_type(kind: ObjectKind) -> ObjectType {
    match kind {
        ObjectKind::Blob => ObjectType::Blob,
        ObjectKind::Tree => ObjectType::Tree,
        ObjectKind::Commit => ObjectType::Commit,
        ObjectKind::Tag => ObjectType::Tag,
    }
}

fn refusal(why: Failure, message: &str) -> Response {
    // It may quote a name of any length.
    let message = message.chars().take(MAX_REASON).collect();
    Response::Failed { why, message }
}
