//! URLs as they may be shown: without the password that may be in them.

use crate::text::visible;

/// `url` with a password in it replaced, and made safe to show.
#[must_use]
pub fn masked(url: &str) -> String {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = match rest.find(['/', '?']) {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            let authority = match authority.rsplit_once('@') {
                Some((who, host)) => match who.split_once(':') {
                    Some((user, _)) => format!("{user}:***@{host}"),
                    None => format!("{who}@{host}"),
                },
                None => authority.to_owned(),
            };
            let path = match path.split_once('?') {
                Some((path, query)) => {
                    let query: Vec<String> = query
                        .split('&')
                        .map(|item| match item.split_once('=') {
                            Some((key, _)) if is_secret(key) => format!("{key}=***"),
                            _ => item.to_owned(),
                        })
                        .collect();
                    format!("{path}?{}", query.join("&"))
                }
                None => path.to_owned(),
            };
            format!("{scheme}://{authority}{path}")
        }
        None => mask_words(url),
    };
    visible(&shown).into_owned()
}

/// Whether `url` holds what is not to be shown.
#[must_use]
pub fn holds_secret(url: &str) -> bool {
    masked(url) != visible(url)
}

/// libpq's `host=db password=secret`, whose values may be quoted.
fn mask_words(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (before, after) = rest.split_at(at + 1);
        shown.push_str(before);
        let key = before[..at].trim_end();
        let key = key.rsplit(char::is_whitespace).next().unwrap_or(key);
        let value = after.trim_start();
        shown.push_str(&after[..after.len() - value.len()]);
        let end = value_end(value);
        shown.push_str(if is_secret(key) { "***" } else { &value[..end] });
        rest = &value[end..];
    }
    shown + rest
}

/// Where a value ends that a quote or a backslash may make go on across blanks.
fn value_end(value: &str) -> usize {
    let quoted = value.starts_with('\'');
    let mut escaped = false;
    for (at, letter) in value.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match letter {
            '\\' => escaped = true,
            '\'' if quoted && at > 0 => return at + 1,
            letter if !quoted && letter.is_whitespace() => return at,
            _ => {}
        }
    }
    value.len()
}

fn is_secret(key: &str) -> bool {
    let key = decoded(key).to_lowercase();
    ["password", "secret", "token", "sslkey"]
        .iter()
        .any(|word| key.contains(word))
}

/// A name without its percent encoding, by which a secret would go by another name.
fn decoded(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked() {
        assert_eq!(
            masked("postgresql://app:hunter2@db/agno?sslmode=require"),
            "postgresql://app:***@db/agno?sslmode=require"
        );
        assert_eq!(
            masked("postgresql://app:p@ss:w@db:5432/agno"),
            "postgresql://app:***@db:5432/agno"
        );
        assert_eq!(
            masked("postgresql://db/agno?user=a&password=b"),
            "postgresql://db/agno?user=a&password=***"
        );
        assert_eq!(
            masked("postgresql://db/agno?pass%77ord=b&x=1"),
            "postgresql://db/agno?pass%77ord=***&x=1"
        );
        assert_eq!(masked("/plain/path"), "/plain/path");
        assert_eq!(
            masked("host=db password = 'a \\'b c' dbname=agno"),
            "host=db password = *** dbname=agno"
        );
        assert_eq!(masked("password=a\\ b user=x"), "password=*** user=x");
        assert_eq!(masked("/odd=path with=blanks"), "/odd=path with=blanks");
    }
}
