//! The worker tries, itself, what it must not be able to do.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::review::confinement::Escape;

/// What of it works. `outside` is a file that is readable but for the sandbox, and a program.
pub(super) fn escapes(outside: Vec<u8>) -> Vec<Escape> {
    let outside = PathBuf::from(OsString::from_vec(outside));
    let beside = std::env::temp_dir().join(format!("afterrun-probe-{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside);
    if written.is_ok() {
        let _ = std::fs::remove_file(&beside);
    }
    // Sockets of our own: nobody else is spoken to, whatever holds.
    let socket = TcpListener::bind("127.0.0.1:0").is_ok()
        || UdpSocket::bind("127.0.0.1:0").is_ok()
        || UnixStream::pair().is_ok();
    let started = Command::new(&outside)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    [
        (File::open(&outside).is_ok(), Escape::Read),
        (std::fs::read_dir("/").is_ok(), Escape::List),
        (written.is_ok(), Escape::Write),
        (socket, Escape::Connect),
        (started.is_ok(), Escape::Execute),
    ]
    .into_iter()
    .filter_map(|(works, escape)| works.then_some(escape))
    .collect()
}
