//! A password, which is handed to the server and shown to nobody.

use std::fmt;

/// A password; its `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The password that `text` is; none when it is empty, as libpq has it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(Self(text))
    }

    /// Its letters, for the server alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Password(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown_and_an_empty_one_is_none() {
        let password = Password::new("hunter2").expect("a password");
        assert_eq!(format!("{password:?}"), "Password(***)");
        assert_eq!(password.expose(), "hunter2");
        assert_eq!(Password::new(""), None);
    }
}
