//! Parameters out of libpq's keyword strings: `host=db dbname='my agno'`.

use super::parameter::{self, wrong};
use super::url::Pair;
use crate::error::Result;

/// Whether `text` is a keyword string: it begins with a parameter that libpq knows.
pub(crate) fn is_keywords(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(name, _)| parameter::named(name.trim()).is_some())
}

/// Takes `text` apart as libpq does: values may stand in single quotes, and a backslash takes the
/// letter behind it as it is. No message quotes a value.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when it cannot be understood.
pub(crate) fn parse(text: &str) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((name, behind)) = rest.split_once('=') else {
            return Err(wrong("The database's keywords end without a \"=\"")
                .hint("write them as host=db dbname=agno, values with spaces in single quotes"));
        };
        let (value, behind) = value(behind.trim_start())?;
        if value.contains('\0') {
            return Err(wrong("The database's keywords have a zero byte"));
        }
        if !value.is_empty() {
            pairs.push((name.trim().to_owned(), value));
        }
        rest = behind.trim_start();
    }
    Ok(pairs)
}

/// The value that `text` begins with, and what stands behind it.
fn value(text: &str) -> Result<(String, &str)> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            letter if letter.is_ascii_whitespace() && !quoted => return Ok((value, &text[at..])),
            letter => value.push(letter),
        }
    }
    if quoted {
        return Err(wrong(
            "The database's keywords have a quote that is not closed",
        ));
    }
    Ok((value, ""))
}

/// `text` with the values of passwords replaced, for titles and messages; all of it when it cannot be
/// taken apart.
pub(crate) fn masked(text: &str) -> String {
    let Ok(pairs) = parse(text) else {
        return "***".into();
    };
    let mut shown = Vec::new();
    for (name, value) in pairs {
        let value = match name.as_str() {
            "password" | "sslpassword" | "scram_client_key" | "scram_server_key" => "***".into(),
            _ if value.contains([' ', '\'', '\\']) => {
                format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            _ => value,
        };
        shown.push(format!("{name}={value}"));
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).expect("keywords")
    }

    #[test]
    fn values_are_quoted_and_escaped_as_libpq_has_it() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs(r" host = db  dbname='my \'agno\' \\x' password=a\ b user= port=5433 "),
            [
                pair("host", "db"),
                pair("dbname", r"my 'agno' \x"),
                pair("password", "a b"),
                pair("user", "port=5433"),
            ]
        );
        assert_eq!(pairs("user='' dbname=x"), [pair("dbname", "x")]);
        for text in ["host", "host='db", "host=db port"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_keyword_string_is_told_from_a_path_and_masked() {
        assert!(is_keywords("host=db dbname=agno") && is_keywords("  service = prod"));
        assert!(!is_keywords("agno.sqlite") && !is_keywords("a=b.sqlite"));
        assert_eq!(
            masked("host=db password='hunter2 x' dbname='a b'"),
            "host=db password=*** dbname='a b'"
        );
        assert_eq!(masked("password='hunter2"), "***");
    }
}
