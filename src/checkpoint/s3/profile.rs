//! The shared configuration and credentials files, as botocore reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::environment::AwsEnvironment;
use crate::error::{Error, ErrorKind, Result};
use crate::text::{visible, visible_path};

/// A file that is longer is none that a person wrote.
const LONGEST: u64 = 1 << 20;

/// Keys (lower-case) and values of one section.
pub(super) type Section = BTreeMap<String, String>;

/// One profile: what the two files say about it. Holds secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub(super) struct Profile {
    /// From the credentials file.
    pub credentials: Section,
    /// From the configuration file.
    pub config: Section,
}

impl Profile {
    /// The value of `key`; the credentials file has the last word.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let value = self.credentials.get(key).or_else(|| self.config.get(key));
        value.map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Everything in both files.
#[derive(Clone, Default)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Profile>,
    /// `[sso-session NAME]`.
    pub sessions: BTreeMap<String, Section>,
    /// `[services NAME]`; the value of a service is an indented list of keys.
    services: BTreeMap<String, Section>,
    /// The profile that is in force.
    pub chosen: String,
    /// Whether it was named, and so has to be there.
    pub explicit: bool,
}

impl Profiles {
    /// Reads both files; one that does not exist is empty.
    ///
    /// # Errors
    /// A file that cannot be read or understood; a profile that was named and is in neither.
    pub(super) fn read(environment: &AwsEnvironment, named: Option<&str>) -> Result<Self> {
        let variable = environment.first(&["AWS_DEFAULT_PROFILE", "AWS_PROFILE"]);
        let mut all = Self {
            chosen: named.or(variable).unwrap_or("default").to_owned(),
            explicit: named.is_some(),
            ..Self::default()
        };
        let config = environment.file("AWS_CONFIG_FILE", ".aws/config");
        let credentials = environment.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        for (name, section) in sections(config.as_deref())? {
            let words = shell_words::split(&name).unwrap_or_default();
            match &words[..] {
                [one] if one == "default" => all.entry(one).config = section,
                [kind, name] if kind == "profile" => all.entry(name).config = section,
                [kind, name] if kind == "sso-session" => {
                    all.sessions.insert(name.clone(), section);
                }
                [kind, name] if kind == "services" => {
                    all.services.insert(name.clone(), section);
                }
                _ => {}
            }
        }
        for (name, section) in sections(credentials.as_deref())? {
            all.entry(&name).credentials = section;
        }
        let must_be_there = named.or(variable).is_some();
        if must_be_there && !all.profiles.contains_key(&all.chosen) {
            return Err(all.unknown(config, credentials));
        }
        Ok(all)
    }

    fn entry(&mut self, name: &str) -> &mut Profile {
        self.profiles.entry(name.to_owned()).or_default()
    }

    pub(super) fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// What the profile in force says for `key`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.profile(&self.chosen)?.get(key)
    }

    /// The endpoint that the profile in force has for `service`: its own, else one for all.
    pub(super) fn endpoint(&self, service: &str) -> Option<String> {
        let own = self
            .get("services")
            .and_then(|name| self.services.get(name)?.get(service))
            .and_then(|lines| {
                let mut pairs = lines.lines().filter_map(pair);
                pairs.find_map(|(key, value)| (key == "endpoint_url").then_some(value))
            });
        own.or_else(|| self.get("endpoint_url").map(str::to_owned))
    }

    fn unknown(&self, config: Option<PathBuf>, credentials: Option<PathBuf>) -> Error {
        let files: Vec<String> = [config, credentials]
            .iter()
            .flatten()
            .map(|path| visible_path(path))
            .collect();
        let names: Vec<_> = self.profiles.keys().map(|name| visible(name)).collect();
        Error::new(
            ErrorKind::Usage,
            format!(
                "The AWS profile {} is not in {}",
                visible(&self.chosen),
                files.join(" or ")
            ),
        )
        .hint(match names.is_empty() {
            true => "there is no profile at all".to_owned(),
            false => format!("there are: {}", names.join(", ")),
        })
    }
}

/// The sections of `path`, none when it does not exist.
fn sections(path: Option<&Path>) -> Result<BTreeMap<String, Section>> {
    use std::io::Read as _;
    let Some(path) = path else {
        return Ok(BTreeMap::new());
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io("read", path, error))?;
    let wrong =
        |what: String| Error::new(ErrorKind::Usage, format!("{}: {what}", visible_path(path)));
    if bytes.len() as u64 > LONGEST {
        return Err(wrong("no AWS file is over 1 MiB".into()));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".into()))?;
    // Never the line itself: there may be a secret in it.
    parse(&text).map_err(|line| wrong(format!("line {line} is neither [section] nor key = value")))
}

/// What Python's `RawConfigParser` makes of `text`: an indented line belongs to the value above it,
/// only whole lines are comments. The error is the number of a line.
fn parse(text: &str) -> std::result::Result<BTreeMap<String, Section>, usize> {
    let mut all: BTreeMap<String, Section> = BTreeMap::new();
    let (mut section, mut key) = (None::<String>, None::<String>);
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        if let (true, Some(section), Some(key)) = (indented, &section, &key) {
            let value = all.entry(section.clone()).or_default().entry(key.clone());
            let value = value.or_default();
            value.push('\n');
            value.push_str(trimmed);
        } else if let Some(name) = trimmed.strip_prefix('[') {
            let name = name.split_once(']').ok_or(number + 1)?.0.trim();
            all.entry(name.to_owned()).or_default();
            (section, key) = (Some(name.to_owned()), None);
        } else {
            let (Some(section), Some((name, value))) = (&section, pair(trimmed)) else {
                return Err(number + 1);
            };
            let values = all.entry(section.clone()).or_default();
            values.insert(name.clone(), value);
            key = Some(name);
        }
    }
    Ok(all)
}

fn pair(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(['=', ':'])?;
    Some((key.trim().to_lowercase(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str, credentials: &str, named: Option<&str>) -> Result<Profiles> {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join(".aws")).expect("made");
        std::fs::write(home.path().join(".aws/config"), config).expect("written");
        std::fs::write(home.path().join(".aws/credentials"), credentials).expect("written");
        let environment = AwsEnvironment::new([], Some(home.path().to_owned()));
        Profiles::read(&environment, named)
    }

    #[test]
    fn both_files_are_one_and_credentials_have_the_last_word() {
        let config = "[default]\nregion = eu-west-1\n[profile \"team a\"]\n# no\naws_secret_access_key: b;c=#d\nregion=x\ns3 =\n  addressing_style = path\nservices = mine\n[services mine]\ns3 =\n  endpoint_url = http://bucket\n";
        let credentials = "[team a]\naws_secret_access_key = from/credentials+=\n";
        let all = read(config, credentials, Some("team a")).expect("read");
        assert_eq!(all.get("region"), Some("x"));
        assert_eq!(all.get("aws_secret_access_key"), Some("from/credentials+="));
        let own = all.profile("team a").expect("there");
        assert_eq!(own.config["aws_secret_access_key"], "b;c=#d");
        assert_eq!(all.endpoint("s3").as_deref(), Some("http://bucket"));
        assert_eq!(all.endpoint("sts"), None);
        let all = read(config, credentials, None).expect("read");
        assert_eq!(
            (all.get("region"), all.explicit),
            (Some("eu-west-1"), false)
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_no_secret_is_shown() {
        let told = read("[default]\nhunter2-secret\n", "", None)
            .err()
            .expect("wrong");
        assert!(
            told.message()
                .ends_with("line 2 is neither [section] nor key = value")
        );
        assert!(!told.message().contains("hunter2"));
        let told = read("[profile prod]\n", "[dev]\n", Some("pord"))
            .err()
            .expect("unknown");
        assert!(
            told.message()
                .starts_with("The AWS profile pord is not in ")
        );
        assert_eq!(told.next_step(), Some("there are: dev, prod"));
    }
}
