//! Why a statement failed.

use std::time::Duration;

use tokio_postgres::error::{DbError, Severity, SqlState};

use super::{below, cut, ours, words};
use crate::error::{Error, ErrorKind};
use crate::postgres::target::Target;
use crate::text::visible;

/// A statement, for what is said about its failure.
#[derive(Clone, Copy, Default)]
pub(in crate::postgres) struct Statement<'a> {
    pub(in crate::postgres) sql: &'a str,
    /// Its transaction may write.
    pub(in crate::postgres) writes: bool,
    /// It took that long, of what it may take.
    pub(in crate::postgres) took: Option<(Duration, Duration)>,
}

/// What became of a statement.
pub(in crate::postgres) fn statement(
    target: &Target,
    statement: Statement<'_>,
    error: tokio_postgres::Error,
) -> Error {
    let of = |kind, what: &str| Error::new(kind, format!("{}: {what}", target.shown));
    if let Some(ours) = ours(&error) {
        let said = of(ours.kind(), ours.message());
        return match ours.next_step() {
            Some(hint) => said.hint(hint),
            None => said,
        };
    }
    if let Some(answer) = error.as_db_error() {
        return answered(target, statement, answer).source(error);
    }
    let io = below(&error, |error| error.downcast_ref::<std::io::Error>());
    let is_tls = io.is_some_and(|io| {
        io.get_ref()
            .is_some_and(|inner| inner.is::<rustls::Error>())
    });
    if error.is_closed() || io.is_some_and(cut) || is_tls {
        return lost(target).source(error);
    }
    if let Some(io) = io.filter(|io| io.kind() == std::io::ErrorKind::TimedOut) {
        let what = format!("the connection is lost: {}", crate::error::reason(io));
        return of(ErrorKind::Timeout, &what).source(error).lost();
    }
    let text = error.to_string();
    let what = match below(&error, |error| Some(error.to_string())) {
        // A value that is not of the type that is read, and the like.
        Some(why) => format!("{}: {}", visible(&text), visible(&why)),
        None => visible(&text).into_owned(),
    };
    of(ErrorKind::Database, &what).source(error)
}

/// The connection ended under a statement.
pub(in crate::postgres) fn lost(target: &Target) -> Error {
    Error::new(
        ErrorKind::Database,
        format!("{}: the connection is lost", target.shown),
    )
    .hint("look whether the server runs and can be reached, then try again")
    .lost()
}

/// A server's answer to a statement.
fn answered(target: &Target, statement: Statement<'_>, answer: &DbError) -> Error {
    let said = words(answer);
    let of = |kind, what: &str| Error::new(kind, format!("{}: {what}", target.shown));
    let plain = || of(ErrorKind::Database, &said);
    let code = answer.code();
    let error = match code.code() {
        "42P01" => plain().hint("check the names of schema and tables, or whether Agno has ever used this database"),
        "3F000" => plain().hint("check the schema's name, or whether Agno has ever used this database"),
        "42703" => plain().hint("the tables are of another version of Agno, or none of Agno's"),
        "42501" => plain().hint(grant(target, statement, answer)),
        "57014" if timed_out(statement, answer) => {
            let most = statement.took.map_or(String::new(), |(_, most)| {
                format!(" within {} s", most.as_secs())
            });
            of(ErrorKind::Timeout, &format!("the database has not answered{most}, and the statement was given up"))
                .hint("ask for less at once, or look at what keeps the server busy")
        }
        "57014" => of(ErrorKind::Database, "the statement was cancelled at the server")
            .hint("an administrator did that, or a pooler; try again"),
        "55P03" => of(ErrorKind::Timeout, "a lock that somebody else holds was not given up in time")
            .hint("a migration may be under way; try again when it is done"),
        "25006" => plain().hint(
            "the server is a standby, or read-only by its settings: write to the primary, target_session_attrs=read-write finds it",
        ),
        "53300" => plain().hint("wait until others are done; afterrun uses at most 4 connections").lost(),
        "57P01" => of(ErrorKind::Database, "the connection is lost: an administrator ended it, or stops the server")
            .hint("try again when the server is back")
            .lost(),
        "57P02" => of(ErrorKind::Database, "the connection is lost: the server has crashed, and recovers")
            .hint("try again in a moment; look at the server's log")
            .lost(),
        "57P03" => plain().hint("the server starts, stops or recovers; try again in a moment").lost(),
        "53100" => plain().hint("make space on the server"),
        _ => plain().hint("look at the server's log"),
    };
    // A pooler says it only in the field that servers translate.
    let fatal = answer.severity() == "FATAL"
        || matches!(
            answer.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        );
    if fatal && !error.is_lost() && *code != SqlState::QUERY_CANCELED {
        return error
            .hint("the connection is closed by that; try again")
            .lost();
    }
    error
}

/// Whether a statement was ended by its time-out. The server's words are in its own language, so that
/// time decides where they do not.
fn timed_out(statement: Statement<'_>, answer: &DbError) -> bool {
    let long = statement
        .took
        .is_some_and(|(took, most)| took * 10 >= most * 9);
    long || answer.message().contains("timeout")
}

/// The right that is missing.
fn grant(target: &Target, statement: Statement<'_>, answer: &DbError) -> String {
    let user = quoted(&target.user);
    let Some((kind, name)) = denied(answer.message()) else {
        return format!("give {user} the right to it");
    };
    let rights = if statement.writes {
        "SELECT, INSERT, UPDATE, DELETE"
    } else {
        "SELECT"
    };
    match kind {
        "schema" => {
            let right = if statement.writes {
                "USAGE, CREATE"
            } else {
                "USAGE"
            };
            format!(
                "the user needs: GRANT {right} ON SCHEMA {} TO {user}",
                quoted(name)
            )
        }
        "database" => format!(
            "the user needs: GRANT CREATE ON DATABASE {} TO {user}",
            quoted(name)
        ),
        "sequence" => format!(
            "the user needs: GRANT USAGE ON SEQUENCE {} TO {user}",
            quoted(name)
        ),
        "function" => format!(
            "the user needs: GRANT EXECUTE ON FUNCTION {} TO {user}",
            quoted(name)
        ),
        _ => {
            let schema = schema(statement.sql, name).map_or(String::new(), |schema| schema + ".");
            format!(
                "the user needs: GRANT {rights} ON {schema}{} TO {user}",
                quoted(name)
            )
        }
    }
}

/// `permission denied for table agno_runs`, the one thing that says which.
fn denied(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("permission denied for ")?;
    let (kind, name) = rest.rsplit_once(' ')?;
    (!name.is_empty()).then_some((kind, name))
}

/// The quoted schema that stands before `name` in `sql`.
fn schema(sql: &str, name: &str) -> Option<String> {
    let quoted = format!(".\"{}\"", name.replace('"', "\"\""));
    let before = sql.get(..sql.find(&quoted)?)?;
    let name = before.strip_suffix('"')?;
    let begin = name.rfind('"')?;
    Some(self::quoted(&name[begin + 1..]))
}

/// `name` as an identifier that can be pasted, and shown.
pub(in crate::postgres) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", visible(&name.replace('"', "\"\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_that_is_denied_is_named_with_its_schema() {
        assert_eq!(
            denied("permission denied for table agno_runs"),
            Some(("table", "agno_runs"))
        );
        assert_eq!(denied("keine Berechtigung"), None);
        let sql = r#"SELECT 1 FROM "ai"."agno_sessions" JOIN "AI b"."agno_runs" USING (x)"#;
        assert_eq!(schema(sql, "agno_sessions").as_deref(), Some("ai"));
        assert_eq!(schema(sql, "agno_runs").as_deref(), Some("\"AI b\""));
        assert_eq!(schema(sql, "other"), None);
        assert_eq!(schema("", ""), None);
    }

    #[test]
    fn identifiers_are_quoted_where_they_must_be() {
        assert_eq!(quoted("app_1"), "app_1");
        assert_eq!(quoted("App\"x"), "\"App\"\"x\"");
        assert_eq!(quoted("1a"), "\"1a\"");
        assert_eq!(quoted("a\u{1b}b"), "\"a\\x1bb\"");
    }
}
