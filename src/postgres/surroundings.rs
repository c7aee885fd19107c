//! What libpq finds around a program: the account's home and name, and `PG*` variables. The library
//! looks at none of them by itself; whoever wants them taken in account hands them over.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The account's home and name, and the variables of its environment that libpq knows.
#[derive(Clone, Default)]
pub struct Surroundings {
    home: Option<PathBuf>,
    account: Option<String>,
    variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// What `home`, `account` and the variables say; of those only `PG…` are kept, and an empty one
    /// counts as absent.
    pub fn new(
        home: Option<PathBuf>,
        account: Option<String>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let kept = |(name, value): &(String, String)| name.starts_with("PG") && !value.is_empty();
        Self {
            home,
            account,
            variables: variables.into_iter().filter(kept).collect(),
        }
    }

    /// `~/NAME`, or below it.
    pub(super) fn at_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_deref().map(|home: &Path| home.join(name))
    }

    pub(super) fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A variable may be a password.
        out.debug_struct("Surroundings")
            .field("home", &self.home)
            .field("account", &self.account)
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_libpq_knows_is_kept_and_no_value_is_shown() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let around = Surroundings::new(
            Some("/home/app".into()),
            Some("app".into()),
            [
                pair("PGPASSWORD", "hunter2"),
                pair("PGHOST", ""),
                pair("SECRET", "x"),
            ],
        );
        assert_eq!(around.variable("PGPASSWORD"), Some("hunter2"));
        assert_eq!(around.variable("PGHOST"), None);
        assert_eq!(around.variable("SECRET"), None);
        let shown = format!("{around:?}");
        assert!(
            shown.contains("PGPASSWORD") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
