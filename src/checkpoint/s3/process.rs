//! `credential_process`: a command that the user's own configuration names prints credentials.

use std::process::Stdio;
use std::time::Duration;

use reqsign_aws_v4::Credential;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::error::{Error, ErrorKind, Result};

/// Long enough to sign in to something.
const LONGEST: Duration = Duration::from_secs(60);
/// More is no credentials.
const MOST: u64 = 64 << 10;

/// What the command prints; nothing of it is ever shown.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

/// Runs `command`, as words and without a shell, and reads what it prints. Its stderr is left out
/// of every message: there may be a secret in it.
///
/// # Errors
/// What went wrong, to be said after the profile's name.
pub(super) async fn run(command: &str) -> Result<Credential> {
    let wrong =
        |what: String| Error::new(ErrorKind::Store, format!("its credential_process {what}"));
    let words = shell_words::split(command).unwrap_or_default();
    let [program, arguments @ ..] = &words[..] else {
        return Err(wrong("is no command".into()));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| wrong(format!("cannot be run: {}", crate::error::reason(&error))))?;
    let mut printed = Vec::new();
    let stdout = child.stdout.take();
    let work = async {
        if let Some(stdout) = stdout {
            stdout.take(MOST).read_to_end(&mut printed).await?;
        }
        child.wait().await
    };
    let status = match tokio::time::timeout(LONGEST, work).await {
        Ok(ended) => ended.map_err(|_| wrong("cannot be read".into()))?,
        Err(_) => return Err(wrong(format!("took over {} s", LONGEST.as_secs()))),
    };
    if !status.success() {
        return Err(wrong(match status.code() {
            Some(code) => format!("ended with {code}"),
            None => "was killed".into(),
        }));
    }
    let printed: Printed =
        serde_json::from_slice(&printed).map_err(|_| wrong("prints no credentials".into()))?;
    if printed.version != 1 {
        return Err(wrong(format!("prints version {}, not 1", printed.version)));
    }
    let expires_in = match printed.expiration {
        Some(time) => Some(
            time.parse()
                .map_err(|_| wrong("prints no valid expiration".into()))?,
        ),
        None => None,
    };
    Ok(Credential {
        access_key_id: printed.access_key_id,
        secret_access_key: printed.secret_access_key,
        session_token: printed.session_token,
        expires_in,
    })
}
