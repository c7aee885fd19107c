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
        None => crate::postgres::masked_keywords(url).unwrap_or_else(|| url.to_owned()),
    };
    visible(&shown).into_owned()
}

/// Whether `url` holds what is not to be shown.
#[must_use]
pub fn holds_secret(url: &str) -> bool {
    masked(url) != visible(url)
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
            "host=db password=*** dbname=agno"
        );
        assert_eq!(masked("/odd=path with=blanks"), "/odd=path with=blanks");
    }
}
