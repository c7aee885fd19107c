//! What a server, or the way to it, answers instead of what was asked: in one line each, with what
//! to do next. Letters of the server's are made safe to show.

mod statement;
mod way;

use std::error::Error as _;

use tokio_postgres::error::{DbError, SqlState};

pub(super) use statement::{Statement, lost, statement};
pub(super) use way::{looked_up, silent, socket, tls};

use super::encryption::Mode;
use super::hosts::Host;
use super::target::Target;
use crate::error::{Error, ErrorKind};
use crate::text::visible;

/// No message of a server's is shown to a greater length.
const MAX_LETTERS: usize = 500;

/// A server's own words.
pub(super) fn words(error: &DbError) -> String {
    let text = error.message();
    let cut: String = text.chars().take(MAX_LETTERS).collect();
    let mut shown = visible(&cut).into_owned();
    if cut.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// `error`, or a failure below it, as one of ours: what the stream itself refused.
pub(super) fn ours(error: &tokio_postgres::Error) -> Option<&Error> {
    below(error, |error| {
        let io = error.downcast_ref::<std::io::Error>()?;
        io.get_ref()?.downcast_ref::<Error>()
    })
}

fn below<'a, T>(
    error: &'a tokio_postgres::Error,
    find: impl Fn(&'a (dyn std::error::Error + 'static)) -> Option<T>,
) -> Option<T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = find(error) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Why a session could not be begun on a stream that stands.
pub(super) fn session(
    target: &Target,
    host: &Host,
    encrypted: bool,
    has_password: bool,
    error: tokio_postgres::Error,
) -> Error {
    let whole = |what: String| format!("Cannot open {}: {what}", target.shown);
    if let Some(ours) = ours(&error) {
        return Error::new(ours.kind(), whole(ours.message().to_owned()))
            .hint(ours.next_step().unwrap_or("check host and port").to_owned());
    }
    if let Some(answer) = error.as_db_error() {
        return refused(target, encrypted, has_password, answer).source(error);
    }
    let rustls = below(&error, |error| {
        let io = error.downcast_ref::<std::io::Error>()?;
        io.get_ref()?.downcast_ref::<rustls::Error>()
    });
    if let Some(rustls) = rustls {
        return tls(target, host, rustls);
    }
    if !has_password && is(&error, "password missing") {
        return no_password(target);
    }
    if error.is_closed()
        || below(&error, |error| error.downcast_ref::<std::io::Error>()).is_some_and(cut)
    {
        return Error::new(
            ErrorKind::Database,
            whole(format!("{host} closed the connection before it answered")),
        )
        .hint("look at the server's log, then try again")
        .source(error)
        .lost();
    }
    if is(&error, "server did not use channel binding") {
        return Error::new(
            ErrorKind::Database,
            whole(format!(
                "{host} offers no channel binding, which is demanded"
            )),
        )
        .hint("channel_binding=require needs TLS and a SCRAM password on the server")
        .source(error);
    }
    if is(&error, "unsupported authentication method") || is(&error, "unsupported SASL mechanism") {
        return Error::new(
            ErrorKind::Unsupported,
            whole(format!(
                "{host} demands a way to log in that is not supported"
            )),
        )
        .hint("SCRAM, MD5 and plain passwords, certificates, peer and trust are")
        .source(error);
    }
    let text = error.to_string();
    if text.starts_with("authentication error") {
        // The server's proof that it knows the password is wrong, or it is no proof at all.
        return Error::new(
            ErrorKind::Database,
            whole(format!("{host} does not prove that it knows the password")),
        )
        .hint("check that this is the server you mean")
        .source(error);
    }
    Error::new(
        ErrorKind::Database,
        whole(format!("{host} answers what is not PostgreSQL's protocol")),
    )
    .hint("check host and port")
    .source(error)
}

/// The stream ended; what else an input error may be, it says itself.
fn cut(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    // The codec's word for an end in the middle of a message.
    let short = error.to_string() == "bytes remaining on stream";
    short
        || matches!(
            error.kind(),
            Kind::UnexpectedEof
                | Kind::ConnectionReset
                | Kind::BrokenPipe
                | Kind::ConnectionAborted
        )
}

fn is(error: &tokio_postgres::Error, words: &str) -> bool {
    error
        .source()
        .is_some_and(|source| source.to_string() == words)
}

fn no_password(target: &Target) -> Error {
    let hint = match &target.remark {
        Some(remark) => remark.clone(),
        None => "give it with PGPASSWORD, ~/.pgpass or the profile's password_command".into(),
    };
    Error::new(
        ErrorKind::Database,
        format!(
            "Cannot open {}: the server asks for a password, and none is given",
            target.shown
        ),
    )
    .hint(hint)
    .refused_password()
}

/// The server said why it will not have us.
fn refused(target: &Target, encrypted: bool, has_password: bool, answer: &DbError) -> Error {
    let (user, dbname) = (visible(&target.user), visible(&target.dbname));
    let of = |what: String| {
        Error::new(
            ErrorKind::Database,
            format!("Cannot open {}: {what}", target.shown),
        )
    };
    let code = answer.code();
    // PgBouncer has one code for all, and words in one language.
    let by_pooler = code.code() == "08P01" && answer.message().ends_with("authentication failed");
    if *code == SqlState::INVALID_PASSWORD || by_pooler {
        return of(format!("the password for {user} is wrong"))
            .hint("check the password and the user; a user that does not exist is answered alike")
            .refused_password();
    }
    if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        let error = of(words(answer));
        return if encrypted {
            error.hint("the server's pg_hba.conf decides who may come in, from where and how")
        } else if target.encryption.mode == Mode::Disable {
            error.hint("the server may demand TLS, and sslmode=disable turns it off: leave it out")
        } else {
            error.hint("the server's pg_hba.conf decides who may come in; or name another user")
        };
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        return of(format!("there is no database {dbname}"))
            .hint("name another one, or ask the server: psql -l");
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return of("the server has too many connections".into())
            .hint("wait until others are done, or raise max_connections; afterrun uses at most 4")
            .lost();
    }
    if *code == SqlState::CANNOT_CONNECT_NOW {
        return of(words(answer))
            .hint("the server starts, stops or recovers; try again in a moment")
            .lost();
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return of(words(answer)).hint(format!(
            "the user needs: GRANT CONNECT ON DATABASE {} TO {}",
            statement::quoted(&target.dbname),
            statement::quoted(&target.user)
        ));
    }
    let error = of(words(answer));
    match code.code() {
        // A pooler's answer to nearly everything.
        "08P01" if !has_password => error
            .hint("no password is given; the pooler may want one")
            .refused_password(),
        "08P01" => error.hint("it is a pooler's answer, perhaps: look at its log"),
        code if code.starts_with("57P") || code.starts_with("08") || code.starts_with("53") => {
            error.hint("try again in a moment").lost()
        }
        _ => error.hint("look at the server's log"),
    }
}
