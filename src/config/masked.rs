//! URLs as they may be shown: without the password that may be in them.

use crate::text::visible;

/// `url` with the passwords in it replaced, and made safe to show. What cannot be told from a password
/// is replaced as well: people write passwords with slashes and at signs as they are.
#[must_use]
pub fn masked(url: &str) -> String {
    visible(&replaced(url)).into_owned()
}

fn replaced(url: &str) -> String {
    if let Some(keywords) = crate::postgres::masked_keywords(url) {
        // The name of a database may be a URL.
        return match keywords.contains("://") {
            true => without_password(&keywords),
            false => keywords,
        };
    }
    let whole = without_password(url);
    match whole.split_once('?') {
        Some((before, query)) if url.contains("://") => {
            format!("{before}?{}", without_secrets(query))
        }
        _ => whole,
    }
}

/// Replaces what stands between the first colon, that of a scheme aside, and the last at sign.
fn without_password(url: &str) -> String {
    let is_path = url.starts_with(['/', '.', '~'])
        || ["file:///", "sqlite:///"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        || url.starts_with("sqlite+");
    match (colon(url), url.rfind('@')) {
        (Some(colon), Some(at)) if colon < at && !is_path => {
            format!("{}:***{}", &url[..colon], &url[at..])
        }
        _ => url.to_owned(),
    }
}

/// Where a name may be parted from its password.
fn colon(url: &str) -> Option<usize> {
    let is_scheme = |at: usize| {
        let name =
            url[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+.-".contains(c));
        url[at..].starts_with("://") && (name.is_empty() || name.ends_with(['=', '\'']))
    };
    let mut colons = url.match_indices(':').map(|(at, _)| at);
    colons.find(|at| !is_scheme(*at))
}

fn without_secrets(query: &str) -> String {
    let mut secret = false;
    let items = query.split('&').map(|item| match item.split_once('=') {
        Some((key, value)) => {
            secret = is_secret(key);
            match decoded(value) {
                _ if secret => format!("{key}=***"),
                value if replaced(&value) != value => format!("{key}={}", replaced(&value)),
                _ => item.to_owned(),
            }
        }
        // What follows an ampersand of the secret's own.
        None if secret => "***".to_owned(),
        None => item.to_owned(),
    });
    items.collect::<Vec<_>>().join("&")
}

/// Whether `url` holds what is not to be shown.
#[must_use]
pub fn holds_secret(url: &str) -> bool {
    masked(url) != visible(url)
}

fn is_secret(key: &str) -> bool {
    let key = decoded(key).to_lowercase();
    let parts = [
        "password",
        "passwd",
        "secret",
        "token",
        "sslkey",
        "scram_",
        "signature",
        "credential",
        "access_key",
        "accesskey",
        "api_key",
        "apikey",
    ];
    ["pass", "pwd", "sig", "key"].contains(&key.as_str())
        || parts.iter().any(|word| key.contains(word))
}

/// A text without its percent encoding, by which a secret would go by another name.
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

    #[test]
    fn a_password_is_masked_however_it_is_written() {
        for (url, shown) in [
            (
                "postgresql://app:pa/ssword@db/agno",
                "postgresql://app:***@db/agno",
            ),
            (
                "postgresql://app:pa?ssword@db/agno",
                "postgresql://app:***@db/agno",
            ),
            (
                "postgresql://app:p@ss/ssword@db/agno?x=1",
                "postgresql://app:***@db/agno?x=1",
            ),
            (
                "postgresql://app:p?x=1&pw@db/a?password=b",
                "postgresql://app:***@db/a?password=***",
            ),
            (
                "postgresql://app://pw@db/agno",
                "postgresql://app:***@db/agno",
            ),
            (
                "s3://b?endpoint_url=http://key:hunter2@h",
                "s3://b?endpoint_url=http://key:***@h",
            ),
            (
                "s3://b/p?region=r&endpoint_url=http%3A%2F%2Fkey%3Ahunter2%40h&x=1",
                "s3://b/p?region=r&endpoint_url=http://key:***@h&x=1",
            ),
            (
                "s3://b?endpoint_url=http://key:hunter2@h&secret=hunter2",
                "s3://b?endpoint_url=http://key:***@h&secret=***",
            ),
            (
                "s3://b?x=http://h:1/?token=hunter2",
                "s3://b?x=http://h:1/?token=***",
            ),
            (
                "postgresql://db/a?scram_client_key=k",
                "postgresql://db/a?scram_client_key=***",
            ),
            (
                "https://h/o?X-Amz-Signature=s&y=1",
                "https://h/o?X-Amz-Signature=***&y=1",
            ),
            (
                "https://h/o?password=a&b&y=1",
                "https://h/o?password=***&***&y=1",
            ),
            (
                "postgresql://app@db/agno?password=p@ss:w@x",
                "postgresql://app@db/agno?password=***",
            ),
            ("ftp://u:hunter2@x/y", "ftp://u:***@x/y"),
            ("u:hunter2@x/y", "u:***@x/y"),
            ("host=db password=a://b", "host=db password=***"),
            (
                "dbname=postgresql://u:hunter2@h/db",
                "dbname=postgresql://u:***@h/db",
            ),
        ] {
            assert_eq!(masked(url), shown);
            assert!(holds_secret(url), "{url}");
        }
        for plain in [
            "postgresql://app@db:5432/agno?sslmode=require",
            "postgresql://[::1]:5432/agno",
            "s3://b/p?endpoint_url=http://127.0.0.1:9000&region=x",
            "file:///a:b@c",
            "sqlite:////a:b@c",
            "/a:b@c",
            "postgres",
        ] {
            assert_eq!(masked(plain), plain);
            assert!(!holds_secret(plain), "{plain}");
        }
    }
}
