//! What AWS tools read from around them, handed in: the library itself reads neither environment
//! nor home directory.

use std::collections::HashMap;
use std::path::PathBuf;

/// Variables and home directory as AWS tools use them. Its `Debug` shows no value: some are secret.
#[derive(Clone, Default)]
pub struct AwsEnvironment {
    variables: HashMap<String, String>,
    home: Option<PathBuf>,
}

impl AwsEnvironment {
    /// Takes what matters of `variables`: those of AWS, and which proxy to use. One that is empty
    /// counts as unset, as in boto3.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        home: Option<PathBuf>,
    ) -> Self {
        let matters = |name: &str| {
            let upper = name.to_uppercase();
            upper.starts_with("AWS_") || upper.ends_with("_PROXY") || upper == "SSL_CERT_FILE"
        };
        Self {
            variables: variables
                .into_iter()
                .filter(|(name, value)| matters(name) && !value.is_empty())
                .collect(),
            home,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The first of `names` that is set.
    pub(super) fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Whether `name` says yes.
    pub(super) fn says_yes(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// `path` with `~/` in front made the home directory.
    pub(super) fn expanded(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(path),
        }
    }

    /// The file that `variable` names, else `below` the home directory.
    pub(super) fn file(&self, variable: &str, below: &str) -> Option<PathBuf> {
        match self.get(variable) {
            Some(path) => Some(self.expanded(path)),
            None => self.home.as_ref().map(|home| home.join(below)),
        }
    }
}

impl std::fmt::Debug for AwsEnvironment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("AwsEnvironment").finish_non_exhaustive()
    }
}

impl reqsign_core::Env for AwsEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn vars(&self) -> HashMap<String, String> {
        self.variables.clone()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.home.clone()
    }
}
