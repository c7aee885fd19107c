//! How a database is named: every form, every source, and what is wrong with a name.

#[allow(dead_code, unused_qualifications)]
#[path = "../../tests/common/postgres.rs"]
mod cluster;
mod transactions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use hosts::Place;

fn around(variables: &[(&str, &str)]) -> Surroundings {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Surroundings::new(None, Some("account".into()), variables.iter().map(owned))
}

fn target(url: &str) -> Target {
    Target::new(url, &around(&[])).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn refused(url: &str) -> Error {
    match Target::new(url, &around(&[])) {
        Ok(target) => panic!("{url} is {target:?}"),
        Err(error) => error,
    }
}

fn password(target: &Target) -> Option<&str> {
    target.passwords[0].as_ref().map(Password::expose)
}

/// Every form leads to user, hosts, database and password, and to what is shown.
#[test]
fn urls_and_keywords_name_the_same() {
    for (text, shown, hosts, secret) in [
        (
            "postgresql://",
            "postgresql://account@/account",
            "/var/run/postgresql/.s.PGSQL.5432 /tmp/.s.PGSQL.5432",
            None,
        ),
        (
            "postgres://db",
            "postgresql://account@db/account",
            "db:5432",
            None,
        ),
        (
            "postgresql://app:hunter2@db:5433/agno",
            "postgresql://app@db:5433/agno",
            "db:5433",
            Some("hunter2"),
        ),
        (
            "postgresql://app:p%40ss%2Fw%3A@db/agno",
            "postgresql://app@db/agno",
            "db:5432",
            Some("p@ss/w:"),
        ),
        (
            "postgresql://app:p@ss@db/agno",
            "postgresql://app@db/agno",
            "db:5432",
            Some("p@ss"),
        ),
        (
            "postgresql://app@[::1]:5433/agno",
            "postgresql://app@[::1]:5433/agno",
            "[::1]:5433",
            None,
        ),
        (
            "postgresql://app@a,b:5433,[::1]/agno",
            "postgresql://app@a,b:5433,[::1]/agno",
            "a:5432 b:5433 [::1]:5432",
            None,
        ),
        (
            "postgresql://app@%2Fvar%2Frun%2Fpg/agno",
            "postgresql://app@/agno?host=/var/run/pg",
            "/var/run/pg/.s.PGSQL.5432",
            None,
        ),
        (
            "postgresql:///agno?host=/run/pg&port=5433",
            "postgresql://account@/agno?host=/run/pg&port=5433",
            "/run/pg/.s.PGSQL.5433",
            None,
        ),
        (
            "postgresql:///agno?port=5433",
            "postgresql://account@/agno?port=5433",
            "/var/run/postgresql/.s.PGSQL.5433 /tmp/.s.PGSQL.5433",
            None,
        ),
        (
            "postgresql://db/agno?user=app&password=hunter2&dbname=other",
            "postgresql://app@db/other",
            "db:5432",
            Some("hunter2"),
        ),
        (
            "postgresql://db/agno?hostaddr=127.0.0.1",
            "postgresql://account@db/agno",
            "db:5432",
            None,
        ),
        (
            "postgresql+psycopg://app:hunter2@db/agno?prepare_threshold=0",
            "postgresql://app@db/agno",
            "db:5432",
            Some("hunter2"),
        ),
        (
            "postgresql+psycopg2://app@/agno?host=a:1&host=b:2",
            "postgresql://app@a:1,b:2/agno",
            "a:1 b:2",
            None,
        ),
        (
            "postgresql+psycopg_async:///agno?host=/run/pg",
            "postgresql://account@/agno?host=/run/pg",
            "/run/pg/.s.PGSQL.5432",
            None,
        ),
        (
            "postgresql+asyncpg://app@db/agno?ssl=require&command_timeout=3",
            "postgresql://app@db/agno",
            "db:5432",
            None,
        ),
        (
            "host=db port=5433 user=app dbname='my agno' password='hunter 2'",
            "postgresql://app@db:5433/my%20agno",
            "db:5433",
            Some("hunter 2"),
        ),
        (
            "host=a,b port=1",
            "postgresql://account@a:1,b:1/account",
            "a:1 b:1",
            None,
        ),
        (
            "postgresql://us%22er@db/%D1%84",
            "postgresql://us%22er@db/\u{444}",
            "db:5432",
            None,
        ),
    ] {
        let found = target(text);
        let named: Vec<String> = found.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(found.shown, shown, "{text}");
        assert_eq!(named.join(" "), hosts, "{text}");
        assert_eq!(password(&found), secret, "{text}");
        assert!(!format!("{found:?}").contains("hunter"), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_and_no_password_is() {
    for (text, said) in [
        (
            "postgresql://app:pa/hunter2@db/agno",
            "The database URL cannot be understood: \"@\" stands behind the host",
        ),
        (
            "postgresql://app:hunter2/agno",
            "The database URL's port is no number from 1 to 65535",
        ),
        (
            "postgresql://app:hunter2?x@db/agno",
            "The database URL cannot be understood: \"@\" stands behind the host",
        ),
        (
            "postgresql://db/x?hunter2",
            "The database URL has a parameter without a value",
        ),
        (
            "postgresql://app:%zzhunter2@db/agno",
            "The database URL has a \"%\" without two hexadecimal digits in its password",
        ),
        (
            "postgresql://app:%00@db/agno",
            "The database URL has a zero byte in its password",
        ),
        (
            "postgresql://app:%ff@db/agno",
            "The database URL's password is not UTF-8",
        ),
        (
            "postgresql://db:0/agno",
            "The database URL's port is no number from 1 to 65535",
        ),
        (
            "postgresql://db:70000/agno",
            "The database URL's port is no number from 1 to 65535",
        ),
        (
            "postgresql://a:1,b/x?port=1,2,3",
            "3 ports do not go with 2 hosts",
        ),
        (
            "postgresql://a,b/x?hostaddr=::1",
            "2 hosts do not go with 1 addresses of hostaddr",
        ),
        ("postgresql://db/x?hostaddr=db", "hostaddr is no IP address"),
        (
            "postgresql://[::1/x",
            "The database URL has a \"[\" without its \"]\"",
        ),
        (
            "postgresql://[::1]5/x",
            "The database URL has letters between \"]\" and \":\"",
        ),
        (
            "postgresql://::1/x",
            "The database URL has more than one \":\" in a host",
        ),
        (
            "postgresql://@%40abstract/x",
            "host is an abstract socket, which is not supported",
        ),
        (
            "postgresql+psycopgg://db/x",
            "The database URL names a driver that is not known",
        ),
        (
            "postgresql://db/x?sslmod=require",
            "Unknown parameter sslmod in the database URL",
        ),
        (
            "postgresql://db/x?prepare_threshold=0",
            "Unknown parameter prepare_threshold in the database URL",
        ),
        (
            "postgresql://db/x?hunter2%20x=1",
            "Unknown parameter in the database URL",
        ),
        (
            "postgresql://db/x?sslmode=requir",
            "sslmode is \"requir\" in the database URL: it can be disable, allow, prefer, require, verify-ca, verify-full",
        ),
        (
            "postgresql://db/x?connect_timeout=soon",
            "connect_timeout is \"soon\" in the database URL: it is a whole number",
        ),
        (
            "postgresql://db/x?target_session_attrs=primry",
            "target_session_attrs is \"primry\" in the database URL: it can be any, read-write, read-only, primary, standby, prefer-standby",
        ),
        (
            "postgresql://db/x?sslrootcert=system&sslmode=require",
            "sslmode in the database URL is too weak for sslrootcert=system: anybody has a certificate of the system's authorities",
        ),
        (
            "postgresql://db/x?sslnegotiation=direct",
            "sslmode is too weak for sslnegotiation=direct",
        ),
        (
            "postgresql://db/x?requirepeer=root",
            "requirepeer in the database URL cannot be kept here",
        ),
        (
            "postgresql://db/x?sslpassword=hunter2",
            "sslpassword in the database URL cannot be kept here",
        ),
        (
            "postgresql://db/x?gssencmode=require",
            "gssencmode=require cannot be kept: encryption here is TLS",
        ),
        (
            "postgresql://db/x?service=nowhere",
            "The service nowhere is defined nowhere",
        ),
        (
            "host=db password='hunter2",
            "The database's keywords have a quote that is not closed",
        ),
        ("agno.sqlite", "This names no PostgreSQL database"),
    ] {
        let error = refused(text);
        assert_eq!(error.message(), said, "{text}");
        assert!(
            matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported),
            "{text}"
        );
        assert!(!format!("{error:?}").contains("hunter2"), "{text}");
    }
    for (text, hint) in [
        ("postgresql://db/x?sslmod=require", "did you mean sslmode?"),
        ("postgresql://db/x?sslmode=requir", "did you mean require?"),
        (
            "postgresql+psycopgg://db/x",
            "did you mean postgresql+psycopg://?",
        ),
    ] {
        assert_eq!(refused(text).next_step(), Some(hint), "{text}");
    }
}

#[test]
fn the_url_goes_before_the_service_and_that_before_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    let services = folder.path().join("services");
    fs::write(
        &services,
        "[prod]\nhost=service\nport=1\nuser=service\nsslmode=disable\n",
    )
    .expect("written");
    let services = services.display().to_string();
    let all = [
        ("PGSERVICEFILE", services.as_str()),
        ("PGHOST", "variable"),
        ("PGUSER", "variable"),
        ("PGDATABASE", "variable"),
        ("PGPASSWORD", "hunter2"),
        ("PGSSLMODE", "require"),
        ("PGCONNECT_TIMEOUT", "3"),
        ("PGAPPNAME", "mine"),
    ];
    let named = Target::new("postgresql://url/?service=prod", &around(&all)).expect("named");
    assert_eq!(named.shown, "postgresql://service@url:1/variable");
    assert_eq!(named.encryption.mode, Mode::Disable);
    assert_eq!(named.connect, Some(Duration::from_secs(3)));
    assert_eq!(named.application, "mine");
    assert_eq!(password(&named), Some("hunter2"));
    let bare = Target::new("postgresql://", &around(&all)).expect("named");
    assert_eq!(bare.shown, "postgresql://variable@variable/variable");
    assert_eq!(bare.encryption.mode, Mode::Require);
    let mut service = all.to_vec();
    service.push(("PGSERVICE", "prod"));
    let chosen = Target::new("postgresql://", &around(&service)).expect("named");
    assert_eq!(chosen.shown, "postgresql://service@service:1/variable");
    let wrong = Target::new("postgresql://", &around(&[("PGSSLMODE", "full")])).expect_err("wrong");
    assert!(
        wrong
            .message()
            .starts_with("sslmode is \"full\" in PGSSLMODE: "),
        "{wrong}"
    );
    let wrong = Target::new("postgresql://", &around(&[("PGPORT", "x")])).expect_err("wrong");
    assert_eq!(
        wrong.message(),
        "port is \"x\" in PGPORT: it is a number from 1 to 65535"
    );
}

#[test]
fn without_surroundings_only_the_url_counts() {
    let error = Server::new("postgresql://db/agno").expect_err("nobody");
    assert_eq!(error.message(), "No database user is named");
    let server = Server::new("postgresql://app@db/agno").expect("named");
    assert_eq!(server.describe(), "postgresql://app@db/agno");
    assert!(server.needs_password());
    server.supply(Password::new("hunter2").expect("a password"));
    assert!(!server.needs_password());
    assert!(!format!("{server:?}").contains("hunter2"));
    assert!(
        !Server::new("postgresql://app:x@db/agno")
            .expect("named")
            .needs_password()
    );
    assert!(
        Server::new("postgresql://app:@db/agno")
            .expect("named")
            .needs_password()
    );
}

fn home(pgpass: &str, mode: u32) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join(".pgpass");
    fs::write(&file, pgpass).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("changed");
    home
}

fn at_home(url: &str, home: &Path, variables: &[(&str, &str)]) -> Target {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let around = Surroundings::new(
        Some(home.into()),
        Some("me".into()),
        variables.iter().map(owned),
    );
    Target::new(url, &around).expect("named")
}

#[test]
fn the_password_file_is_asked_last_and_for_each_host() {
    let home = home(
        "a:5432:agno:app:first\nb:*:*:*:second\nlocalhost:*:*:*:socket\n",
        0o600,
    );
    let found = at_home("postgresql://app@a,b,c/agno", home.path(), &[]);
    let passwords: Vec<Option<&str>> = found
        .passwords
        .iter()
        .map(|one| one.as_ref().map(Password::expose))
        .collect();
    assert_eq!(passwords, [Some("first"), Some("second"), None]);
    for url in [
        "postgresql://",
        "postgresql:///x?host=/tmp",
        "postgresql:///x?host=/var/run/postgresql",
    ] {
        assert_eq!(
            password(&at_home(url, home.path(), &[])),
            Some("socket"),
            "{url}"
        );
    }
    assert_eq!(
        password(&at_home("postgresql:///x?host=/run/x", home.path(), &[])),
        None
    );
    let given = at_home("postgresql://app:url@a/agno", home.path(), &[]);
    assert_eq!(password(&given), Some("url"));
    let variable = at_home(
        "postgresql://app@a/agno",
        home.path(),
        &[("PGPASSWORD", "variable")],
    );
    assert_eq!(password(&variable), Some("variable"));
    let nowhere = at_home(
        "postgresql://app@a/agno",
        home.path(),
        &[("PGPASSFILE", "/nowhere")],
    );
    assert_eq!(
        (password(&nowhere), nowhere.remark.as_deref()),
        (None, None)
    );
}

#[test]
fn a_password_file_for_all_to_read_is_remarked() {
    let home = home("*:*:*:*:hunter2\n", 0o644);
    let found = at_home("postgresql://app@a/agno", home.path(), &[]);
    assert_eq!(password(&found), None);
    let remark = found.remark.expect("a remark");
    assert!(
        remark.ends_with("is not used: others may read it; chmod 600 makes it private"),
        "{remark}"
    );
}

#[test]
fn modes_and_drivers_have_libpqs_meanings() {
    for (url, mode) in [
        ("postgresql://db", Mode::Prefer),
        ("postgresql://db?ssl=true", Mode::Require),
        ("postgresql+asyncpg://db?ssl=verify-full", Mode::VerifyFull),
        ("postgresql+asyncpg://db?ssl=false", Mode::Disable),
        ("postgresql://db?requiressl=1", Mode::Require),
        ("postgresql://db?sslrootcert=system", Mode::VerifyFull),
    ] {
        assert_eq!(target(url).encryption.mode, mode, "{url}");
    }
    assert_eq!(target("postgresql://db?connect_timeout=0").connect, None);
    assert_eq!(target("postgresql://db").application, "afterrun");
    assert_eq!(target("postgresql://db?keepalives=0").keepalive, None);
    assert_eq!(
        target("postgresql+psycopg://db?options=-c+x%3D1")
            .options
            .as_deref(),
        Some("-c x=1")
    );
    assert_eq!(
        target("postgresql://db?options=-c+x").options.as_deref(),
        Some("-c+x")
    );
    let host = &target("postgresql://db?hostaddr=127.0.0.1").hosts[0];
    assert_eq!(host.name.as_deref(), Some("db"));
    assert_eq!(host.place, Place::Address([127, 0, 0, 1].into()));
}

#[test]
fn a_file_that_was_named_must_be_there_and_a_key_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let client = |query: &str| {
        target(&format!("postgresql://db/x?{query}"))
            .encryption
            .client()
    };
    assert!(client("sslmode=require").is_ok());
    let missing = client(&format!("sslrootcert={}", path("no"))).expect_err("missing");
    assert!(
        missing.message().ends_with("no does not exist"),
        "{missing}"
    );
    let nowhere = client("sslmode=verify-ca").expect_err("nowhere");
    assert_eq!(nowhere.message(), "No root certificate file is named");
    fs::write(folder.path().join("text"), "hunter2").expect("written");
    let text = client(&format!("sslrootcert={}", path("text"))).expect_err("no PEM");
    assert!(
        text.message().ends_with("holds no certificate in PEM form"),
        "{text}"
    );
    let made = rcgen::generate_simple_self_signed(["db".to_owned()]).expect("a certificate");
    fs::write(folder.path().join("crt"), made.cert.pem()).expect("written");
    let key = folder.path().join("key");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let both = format!("sslcert={}&sslkey={}", path("crt"), path("key"));
    for (mode, fine) in [(0o600, true), (0o644, false), (0o666, false)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("changed");
        assert_eq!(client(&both).is_ok(), fine, "{mode:o}");
    }
}

proptest! {
    /// Whatever is given as a name, it is understood or refused, and a password in it stays out of both.
    #[test]
    fn no_name_panics(text in "(postgres(ql)?(\\+[a-z0-9]{0,9})?://)?\\PC{0,60}") {
        if let Ok(server) = Server::new(&text) {
            prop_assert!(!server.describe().chars().any(char::is_control));
        }
        let _ = keywords::parse(&text);
        let _ = keywords::masked(&text);
    }

    #[test]
    fn a_password_is_never_quoted(secret in "[!-~]{8,30}") {
        prop_assume!(!"postgresql://app@db/agno?sslmode=require".contains(&secret));
        for url in [
            format!("postgresql://app:{secret}@db/agno"),
            format!("postgresql://db/agno?password={secret}"),
            format!("host=db user=app password={secret}"),
        ] {
            match Server::with_surroundings(&url, &around(&[])) {
                Ok(server) => prop_assert!(!format!("{server:?} {:?}", server.target).contains(&secret), "{url}"),
                Err(error) => prop_assert!(!format!("{error} {error:?}").contains(&secret), "{url}: {error:?}"),
            }
        }
    }
}
