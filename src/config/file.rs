//! The configuration file: what it may say, and where it says what it may not. Nothing in it is
//! ignored in silence: a name that is not known is an error with its line and what may have been
//! meant.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{KEYS, Key, Value};
use super::keys;
use super::layer::{Layer, Source};
use super::page::Page;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::text::{visible, visible_path};
use crate::tui::keymap::{Keymap, Rebound};

/// A configuration is a page of text, not more.
const AT_MOST: u64 = 1 << 20;
/// What stands at its top alone, beside the keys that profiles have, too.
const TOP: [&str; 3] = ["default_profile", "keys", "profiles"];

/// The file with every key, commented out, each set to what it is anyway.
pub const DEFAULT: &str = include_str!("../../assets/config.toml");

/// What a configuration file says.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    /// Where it was read; `None` where there is none.
    pub path: Option<PathBuf>,
    /// What it says at its top.
    pub top: Part,
    /// The name of the profile that counts when none is asked for, and its line.
    pub default_profile: Option<(String, usize)>,
    /// Its profiles.
    pub profiles: Vec<Profile>,
    /// Who else may write it.
    pub written_by_others: Option<&'static str>,
}

/// What is said at the top, or in a profile.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Of each key.
    pub layer: Layer,
    /// Which actions have other keys; a profile's are the top's with its own above them.
    pub rebound: Vec<Rebound>,
    /// Which keys do what then.
    pub keymap: Keymap,
}

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it says.
    pub part: Part,
}

/// Where the configuration is: `named`, else the user's own place for it, which may be empty.
#[must_use]
pub fn place(
    named: Option<PathBuf>,
    config_home: Option<OsString>,
    home: Option<&Path>,
) -> Option<(PathBuf, bool)> {
    if let Some(named) = named {
        return Some((named, true));
    }
    // As the XDG rules have it, a path that is not absolute is not taken.
    let config_home = config_home
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let folder = config_home.or_else(|| Some(home?.join(".config")))?;
    Some((folder.join("afterrun/config.toml"), false))
}

/// Whether there is no such file, and no folder that could hold it.
fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

impl ConfigFile {
    /// Reads the file at `path`; one that is not there is empty, unless it `must_exist`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it cannot be read or says what is not known.
    pub fn read(path: &Path, must_exist: bool) -> Result<Self> {
        let shown = visible_path(path);
        let failed = |why: &str| {
            Error::new(ErrorKind::Usage, format!("{shown} cannot be read: {why}"))
                .hint("it is the configuration; name another with --config FILE")
        };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if !must_exist && is_missing(&error) => return Ok(Self::default()),
            Err(error) => return Err(failed(&reason(&error))),
        };
        let entry = file.metadata().map_err(|error| failed(&reason(&error)))?;
        let mut bytes = Vec::new();
        let read = file.take(AT_MOST + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed(&reason(&error)))?;
        if bytes.len() as u64 > AT_MOST {
            return Err(failed("it is over 1 MiB, which no configuration is"));
        }
        let text = String::from_utf8(bytes).map_err(|_| failed("it is no UTF-8 text"))?;
        let mut config = Self::parse(&text, &shown)?;
        config.path = Some(path.to_path_buf());
        config.written_by_others = writers(&entry);
        Ok(config)
    }

    /// Reads `text`, which `name` names in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it says what is not known.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let page = Page { text, name };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            page.wrong(at, &visible(error.message().trim()))
        })?;
        let mut config = Self {
            top: Part::read(&page, table.get_ref(), &TOP, &[])?,
            ..Self::default()
        };
        for (key, value) in table.get_ref() {
            let at = key.span().start;
            match key.get_ref().as_ref() {
                "default_profile" => {
                    config.default_profile = page.profile_name(value, at)?;
                }
                "profiles" => config.profiles = profiles(&page, value, &config.top.rebound)?,
                _ => {}
            }
        }
        if let Some((name, line)) = &config.default_profile
            && config.profile(name).is_none()
        {
            let what = format!("there is no profile `{}`", visible(name));
            return Err(page.wrong_at(*line, &what).hint(config.meant(name)));
        }
        Ok(config)
    }

    /// The profile called `name`.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// Which profile may have been meant by `name`, as a hint.
    pub(super) fn meant(&self, name: &str) -> String {
        if self.profiles.is_empty() {
            return "there is none: a section [profiles.NAME] of the configuration makes one"
                .into();
        }
        let names: Vec<&str> = self.profiles.iter().map(|one| one.name.as_str()).collect();
        let all: Vec<_> = names.iter().map(|name| visible(name)).collect();
        match crate::near::nearest(name, names.iter().copied()) {
            Some(meant) => format!(
                "did you mean `{}`? There are: {}",
                visible(meant),
                all.join(", ")
            ),
            None => format!("there are: {}", all.join(", ")),
        }
    }
}

/// Who but its owner may write the file, where anybody may. A group of the owner's own, which many
/// systems give everyone, is nobody else.
fn writers(entry: &std::fs::Metadata) -> Option<&'static str> {
    let (user, group) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    if ![user, 0].contains(&entry.uid()) {
        Some("it belongs to another user")
    } else if entry.mode() & 0o002 != 0 {
        Some("every user can write it")
    } else if entry.mode() & 0o020 != 0 && entry.gid() != group {
        Some("its group can write it")
    } else {
        None
    }
}

impl Part {
    /// Reads the keys of `table`, which may hold the sections `others`, too.
    fn read<'a>(
        page: &Page<'a>,
        table: &DeTable<'a>,
        others: &[&str],
        below: &[Rebound],
    ) -> Result<Self> {
        let mut part = Self {
            rebound: below.to_vec(),
            ..Self::default()
        };
        for (key, value) in table {
            let (at, name) = (key.span().start, key.get_ref().as_ref());
            if let Some(entry) = KEYS.iter().find(|entry| entry.name == name) {
                let value = entry.written(page, value)?;
                let line = Source::File(page.line(at));
                part.layer.set(entry.key, value, line);
            } else if name == "keys" {
                part.rebound = keys::rebound(page, value, below)?;
            } else if !others.contains(&name) {
                let names = KEYS.iter().map(|entry| entry.name);
                let names = names.chain(others.iter().copied());
                return Err(page.unknown(at, "key or section", name, names));
            }
        }
        part.keymap = keys::keymap(page, &part.rebound)?;
        Ok(part)
    }

    /// Whether it holds a database's or a store's password.
    #[must_use]
    pub fn holds_password(&self) -> bool {
        [Key::Db, Key::Store].iter().any(|key| {
            let given = self.layer.get(*key).map(|given| &given.value);
            matches!(given, Some(Value::Text(url)) if super::holds_secret(url))
        })
    }
}

fn profiles<'a>(
    page: &Page<'a>,
    value: &Spanned<DeValue<'a>>,
    below: &[Rebound],
) -> Result<Vec<Profile>> {
    let sections = page.table(value, "profiles", "holds sections such as [profiles.prod]")?;
    let read = |(name, value): (&Spanned<_>, &Spanned<DeValue<'a>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        let section = format!("profiles.{}", visible(name));
        let lines = page.table(value, &section, "holds lines such as db = \"…\"")?;
        Ok(Profile {
            name: name.clone().into_owned(),
            part: Part::read(page, lines, &["keys"], below)?,
        })
    };
    sections.iter().map(read).collect()
}

impl<'a> Page<'a> {
    /// A profile's name; none where it is empty.
    fn profile_name(
        &self,
        value: &Spanned<DeValue<'a>>,
        at: usize,
    ) -> Result<Option<(String, usize)>> {
        match value.get_ref() {
            DeValue::String(name) if name.is_empty() => Ok(None),
            DeValue::String(name) => Ok(Some((name.clone().into_owned(), self.line(at)))),
            _ => Err(self.wrong(
                at,
                "`default_profile` is text, such as default_profile = \"prod\"",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the default file that hold a key or a section, without their sign.
    fn uncommented() -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => format!("{rest}\n"),
            _ => "\n".to_owned(),
        };
        DEFAULT.lines().map(line).collect()
    }

    #[test]
    fn the_default_file_says_what_is_anyway() {
        let nothing = ConfigFile::parse(DEFAULT, "config.toml").expect("parsed");
        assert_eq!(nothing.top.layer, Layer::default());
        assert!(nothing.profiles.is_empty());

        let all = ConfigFile::parse(&uncommented(), "config.toml").expect("parsed");
        for entry in &KEYS {
            let said = all.top.layer.get(entry.key);
            let said = said.unwrap_or_else(|| panic!("{} is not named", entry.name));
            assert_eq!(said.value, entry.default(), "{}", entry.name);
        }
        assert_eq!(all.default_profile, None);
        assert!(DEFAULT.contains("\n#default_profile"));
        for change in &all.top.rebound {
            let keys: Vec<_> = change.keys.iter().map(ToString::to_string).collect();
            assert_eq!(Keymap::default().keys(change.id), keys);
        }
        assert!(!all.top.rebound.is_empty());
        let prod = all.profile("prod").expect("the example");
        assert!(prod.part.layer.truth(Key::DurableQueue));
        assert!(!prod.part.holds_password());
    }

    #[test]
    fn a_profile_adds_to_the_keys_of_the_top() {
        let text = "[keys.runs]\norder = [\"ctrl-o\"]\nstatus-filter = [\"f6\"]\n\
            [profiles.a.keys.runs]\norder = [\"ctrl-g\"]\n[profiles.b]\n";
        let file = ConfigFile::parse(text, "config.toml").expect("parsed");
        let keys = |name: &str, id| {
            let part = &file.profile(name).expect("there").part;
            part.keymap.keys(id).to_vec()
        };
        use crate::tui::action::Id;
        assert_eq!(keys("a", Id::Order), ["ctrl-g"]);
        assert_eq!(keys("a", Id::StatusFilter), ["f6"]);
        assert_eq!(keys("b", Id::Order), ["ctrl-o"]);
    }

    #[test]
    fn others_are_those_who_are_neither_owner_nor_root() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().expect("a file");
        let writers_at = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), mode).expect("set");
            writers(&file.path().metadata().expect("there"))
        };
        assert_eq!(writers_at(0o600), None);
        assert_eq!(writers_at(0o644), None);
        assert_eq!(writers_at(0o664), None, "a group of one's own");
        assert_eq!(writers_at(0o602), Some("every user can write it"));
    }
}
