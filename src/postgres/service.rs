//! A named group of parameters out of libpq's service files.

use std::fs;
use std::path::{Path, PathBuf};

use super::parameter::{self, Origin, Role, wrong};
use super::surroundings::Surroundings;
use super::url::Pair;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::text::{visible, visible_path};

/// Where Debian's libpq keeps the system's services; elsewhere `PGSYSCONFDIR` says it.
const SYSTEM: &str = "/etc/postgresql-common";
const NAME: &str = "pg_service.conf";
/// No service file is larger.
const MAX_BYTES: u64 = 1 << 20;

/// What `service` stands for, and the file that says so: the account's file, then the system's.
///
/// # Errors
/// [`ErrorKind::Usage`] when no file has it, or a line in it is wrong; [`ErrorKind::Io`] when a file
/// cannot be read.
pub(super) fn find(
    service: &str,
    file: Option<&str>,
    around: &Surroundings,
) -> Result<(Vec<Pair>, PathBuf)> {
    let own = file
        .map(PathBuf::from)
        .or_else(|| around.at_home(".pg_service.conf"));
    let system = around.variable("PGSYSCONFDIR").unwrap_or(SYSTEM);
    let mut looked = Vec::new();
    for path in own.into_iter().chain([Path::new(system).join(NAME)]) {
        if let Some(text) = read(&path)? {
            if let Some(pairs) = section(&text, service, &path)? {
                return Ok((pairs, path));
            }
            looked.push(visible_path(&path));
        }
    }
    let error = wrong(format!(
        "The service {} is defined nowhere",
        visible(service)
    ));
    Err(if looked.is_empty() {
        error.hint(
            "there is no service file: name one with PGSERVICEFILE, or make ~/.pg_service.conf",
        )
    } else {
        error.hint(format!(
            "add [{}] to {}",
            visible(service),
            looked.join(" or ")
        ))
    })
}

/// The file's text; none when there is no such file.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::metadata(path) {
        Err(_) => return Ok(None),
        Ok(about) if about.is_file() && about.len() <= MAX_BYTES => {}
        Ok(_) => {
            return Err(Error::new(
                ErrorKind::Io,
                format!(
                    "The service file {} is no file that can be read",
                    visible_path(path)
                ),
            ));
        }
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => Err(Error::new(
            ErrorKind::Io,
            format!(
                "cannot read the service file {}: {}",
                visible_path(path),
                reason(&error)
            ),
        )),
    }
}

/// The pairs below `[service]`; none when there is no such line. Of a parameter that stands there
/// twice the first counts, as in libpq.
fn section(text: &str, service: &str, path: &Path) -> Result<Option<Vec<Pair>>> {
    let mut found: Option<Vec<Pair>> = None;
    for (row, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if name.strip_suffix(']') == Some(service) {
                found = Some(Vec::new());
            }
            continue;
        }
        let Some(pairs) = &mut found else {
            continue;
        };
        let place = || format!("{}, line {}", visible_path(path), row + 1);
        let Some((name, value)) = line.split_once('=') else {
            return Err(wrong(format!(
                "{}: a service's line is name=value",
                place()
            )));
        };
        let (name, value) = (name.trim_end(), value.trim_start());
        match parameter::named(name) {
            Some(known) if known.name == "service" || known.name == "servicefile" => {
                return Err(wrong(format!("{}: a service cannot name another", place())));
            }
            Some(known) if known.role == Role::Demanding => {
                return Err(parameter::demanding(name, &Origin::Service(path.into())));
            }
            Some(_) => {}
            None => return Err(parameter::unknown(name, &Origin::Service(path.into()))),
        }
        if !value.is_empty() && !pairs.iter().any(|(known, _)| known == name) {
            pairs.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# ours\nhost=nowhere\n[other]\nhost=x\n\n[prod]\nhost=db\n port = 5433\nhost=second\n\
                        password=hunter2\n[last]\nuser=z\n";

    #[test]
    fn the_section_of_that_name_counts_and_its_first_values() {
        let pairs = section(FILE, "prod", Path::new("f"))
            .expect("a file")
            .expect("a section");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs,
            [
                pair("host", "db"),
                pair("port", "5433"),
                pair("password", "hunter2")
            ]
        );
        assert_eq!(section(FILE, "no", Path::new("f")).expect("a file"), None);
    }

    #[test]
    fn a_wrong_line_is_named_and_its_value_is_not() {
        for (text, said) in [
            ("[a]\nhunter2", "f, line 2: a service's line is name=value"),
            ("[a]\nservice=b", "f, line 2: a service cannot name another"),
            (
                "[a]\nhots=hunter2",
                "Unknown parameter hots in the service file f",
            ),
            (
                "[a]\nrequirepeer=hunter2",
                "requirepeer in the service file f cannot be kept here",
            ),
        ] {
            let error = section(text, "a", Path::new("f")).expect_err("wrong");
            assert_eq!(error.message(), said);
            assert!(!format!("{error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn the_accounts_file_goes_before_the_systems() {
        let folder = tempfile::tempdir().expect("a folder");
        let system = folder.path().join("etc");
        fs::create_dir(&system).expect("made");
        fs::write(system.join(NAME), "[a]\nhost=system\n[b]\nhost=systems-b\n").expect("written");
        fs::write(folder.path().join(".pg_service.conf"), "[a]\nhost=own\n").expect("written");
        let around = Surroundings::new(
            Some(folder.path().into()),
            None,
            [("PGSYSCONFDIR".to_owned(), system.display().to_string())],
        );
        let host = |service| find(service, None, &around).map(|(pairs, _)| pairs[0].1.clone());
        assert_eq!(host("a").expect("own"), "own");
        assert_eq!(host("b").expect("the system's"), "systems-b");
        let error = host("c").expect_err("nowhere");
        assert_eq!(error.message(), "The service c is defined nowhere");
    }
}
