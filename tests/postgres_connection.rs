//! How a real PostgreSQL is reached, and what is said when it is not.

mod common;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterrun::postgres::{Password, Server, Surroundings};
use afterrun::{Error, ErrorKind};
use common::postgres::{Cluster, PASSWORD, Pooler, USER, free_port};
use common::proxy::{Proxy, Way};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

fn around(home: Option<&Path>, variables: &[(&str, &str)]) -> Surroundings {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Surroundings::new(
        home.map(Into::into),
        Some(USER.into()),
        variables.iter().map(owned),
    )
}

fn server(url: &str) -> Arc<Server> {
    Server::new(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

async fn refusal(server: &Arc<Server>) -> Error {
    let error = match server.ping().await {
        Ok(answer) => panic!("{server:?} answers {answer:?}"),
        Err(error) => error,
    };
    let all = format!("{error} {error:?} {server:?}");
    assert!(!all.contains(PASSWORD) && !all.contains("hunter"), "{all}");
    assert!(!error.message().contains('\n'), "{error}");
    assert!(error.next_step().is_some(), "{error} says no next step");
    error
}

/// It is refused, with that in its one line.
async fn says(url: &str, words: &str) -> Error {
    let error = refusal(&server(url)).await;
    assert!(error.message().contains(words), "{url}: {error}");
    error
}

#[tokio::test]
async fn names_passwords_and_refusals() {
    let cluster = Cluster::start(&["max_connections=20"]);
    let (port, socket) = (cluster.port(), cluster.socket().display().to_string());
    cluster.create("agno");
    let answer = server(&cluster.url("agno"))
        .ping()
        .await
        .expect("an answer");
    assert_eq!(
        (answer.user.as_str(), answer.database.as_str()),
        (USER, "agno")
    );
    assert!(
        answer
            .version
            .starts_with(|digit: char| digit.is_ascii_digit()),
        "{answer:?}"
    );
    assert_eq!(
        (answer.encryption, answer.standby, answer.read_only),
        (None, false, false)
    );

    // By each form of a name, and each way that a password can come.
    let home = tempfile::tempdir().expect("a folder");
    let pgpass = home.path().join(".pgpass");
    let line = format!("*:{port}:agno:{USER}:{PASSWORD}\n");
    std::fs::write(&pgpass, line).expect("written");
    std::fs::set_permissions(&pgpass, std::fs::Permissions::from_mode(0o600)).expect("private");
    let services = format!("[prod]\nhost={socket}\nport={port}\ndbname=agno\n");
    std::fs::write(home.path().join(".pg_service.conf"), services).expect("written");
    let port_text = port.to_string();
    let variables = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port_text),
        ("PGDATABASE", "agno"),
    ];
    for (url, around) in [
        (
            format!("postgresql+psycopg://{USER}:{PASSWORD}@localhost:{port}/agno"),
            around(None, &[]),
        ),
        (
            format!("postgresql+asyncpg://{USER}:{PASSWORD}@/agno?host={socket}&port={port}"),
            around(None, &[]),
        ),
        (
            format!("host={socket} port={port} dbname=agno password='{PASSWORD}'"),
            around(None, &[]),
        ),
        (
            format!("postgresql://127.0.0.1:{port}/agno"),
            around(None, &[("PGPASSWORD", PASSWORD)]),
        ),
        (
            format!("postgresql://127.0.0.1:{port}/agno"),
            around(Some(home.path()), &[]),
        ),
        (
            "postgresql://".into(),
            around(Some(home.path()), &variables),
        ),
        (
            "postgresql://?service=prod".into(),
            around(Some(home.path()), &[]),
        ),
        // The first host is not there: the second is taken.
        (
            format!(
                "postgresql://{USER}:{PASSWORD}@127.0.0.1:{},127.0.0.1:{port}/agno",
                free_port()
            ),
            around(None, &[]),
        ),
        (
            format!(
                "postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/agno?target_session_attrs=read-write"
            ),
            around(None, &[]),
        ),
    ] {
        let server = Server::with_surroundings(&url, &around).expect("named");
        assert!(!server.needs_password(), "{url}");
        let answer = server
            .ping()
            .await
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(answer.database, "agno", "{url}");
    }

    // A password that comes later.
    let late = server(&format!("postgresql://{USER}@127.0.0.1:{port}/agno"));
    let error = refusal(&late).await;
    assert!(
        late.needs_password() && error.wants_password() && !error.is_lost(),
        "{error}"
    );
    assert!(
        error
            .message()
            .ends_with("the server asks for a password, and none is given"),
        "{error}"
    );
    late.supply(Password::new("hunter3").expect("a password"));
    let error = refusal(&late).await;
    assert!(
        error.wants_password()
            && error
                .message()
                .ends_with(&format!("the password for {USER} is wrong")),
        "{error}"
    );
    late.supply(Password::new(PASSWORD).expect("a password"));
    late.ping().await.expect("an answer");
    // A host's own password goes before one that is supplied, until the server refuses it.
    let own = server(&format!(
        "postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/agno"
    ));
    own.supply(Password::new("hunter3").expect("a password"));
    own.ping().await.expect("its own password");
    let wrong = server(&format!(
        "postgresql://{USER}:hunter3@127.0.0.1:{port}/agno"
    ));
    wrong.supply(Password::new(PASSWORD).expect("a password"));
    assert!(refusal(&wrong).await.wants_password());
    wrong.supply(Password::new(PASSWORD).expect("a password"));
    wrong.ping().await.expect("an answer");
    // A file that others may read is why there is none.
    std::fs::set_permissions(&pgpass, std::fs::Permissions::from_mode(0o644)).expect("open");
    let url = format!("postgresql://127.0.0.1:{port}/agno");
    let open = Server::with_surroundings(&url, &around(Some(home.path()), &[])).expect("named");
    let error = refusal(&open).await;
    assert!(
        error
            .next_step()
            .is_some_and(|hint| hint.contains("others may read it")),
        "{error:?}"
    );

    let at = |what: &str| format!("postgresql://{USER}:{PASSWORD}@{what}");
    let error = says(&at("no-such-host.invalid/agno"), "no-such-host.invalid").await;
    assert!(error.is_lost(), "{error}");
    let error = says(
        &at(&format!("127.0.0.1:{}/agno", free_port())),
        "refuses the connection",
    )
    .await;
    assert!(
        error.is_lost() && error.kind() == ErrorKind::Database,
        "{error}"
    );
    says(
        &at("/agno?host=/nowhere"),
        "there is no socket /nowhere/.s.PGSQL.5432",
    )
    .await;
    let error = says(
        &at(&format!("127.0.0.1:{port}/nothing")),
        "there is no database nothing",
    )
    .await;
    assert!(!error.is_lost(), "{error}");
    says(
        &format!("postgresql://nobody:hunter3@127.0.0.1:{port}/agno"),
        "the password for nobody is wrong",
    )
    .await;
    says(
        &at(&format!("127.0.0.1:{port}/agno?sslmode=require")),
        "does not speak TLS, which sslmode demands",
    )
    .await;
    says(
        &at(&format!("127.0.0.1:{port}/agno?channel_binding=require")),
        "offers no channel binding",
    )
    .await;
    says(
        &at(&format!(
            "127.0.0.1:{port}/agno?target_session_attrs=standby"
        )),
        "is a primary that can be written to",
    )
    .await;
    cluster.admit("host all all 127.0.0.1/32 reject");
    let error = says(
        &at(&format!("127.0.0.1:{port}/agno?sslmode=disable")),
        "pg_hba.conf",
    )
    .await;
    assert!(
        error
            .next_step()
            .is_some_and(|hint| hint.contains("sslmode=disable")),
        "{error:?}"
    );
    cluster.admit("host all all 127.0.0.1/32 scram-sha-256");
    cluster.sql(
        "postgres",
        "CREATE ROLE small LOGIN PASSWORD 'hunter4' CONNECTION LIMIT 0",
    );
    let error = says(
        &format!("postgresql://small:hunter4@127.0.0.1:{port}/agno"),
        "too many connections",
    )
    .await;
    assert!(error.is_lost(), "{error}");
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// A certificate and its key in PEM form; with a common name alone when there are no names.
    fn certify(&self, names: &[&str], common: &str, year: i32) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, common);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let made = params.signed_by(&key, &self.0).expect("a certificate");
        (made.pem(), key.serialize_pem())
    }
}

fn serve_with(cluster: &Cluster, (certificate, key): &(String, String)) {
    cluster.file("server.crt", certificate);
    cluster.file("server.key", key);
    cluster.sql_by_socket("SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(300));
}

#[tokio::test]
async fn encryption_is_as_the_mode_says() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let good = ours.certify(&["localhost", "127.0.0.1"], "localhost", 2090);
    let cluster = Cluster::start(&[]);
    let folder = cluster.socket().to_path_buf();
    serve_with(&cluster, &good);
    cluster.file("clients.crt", &ours.0.pem());
    for (name, value) in [
        ("ssl_cert_file", folder.join("server.crt")),
        ("ssl_key_file", folder.join("server.key")),
        ("ssl_ca_file", folder.join("clients.crt")),
    ] {
        cluster.sql_by_socket(&format!("ALTER SYSTEM SET {name} = '{}'", value.display()));
    }
    cluster.sql_by_socket("ALTER SYSTEM SET ssl = on");
    cluster.sql_by_socket("SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(500));

    let file = |name: &str, text: &str| cluster.file(name, text).display().to_string();
    let (right, wrong) = (
        file("right.crt", &ours.0.pem()),
        file("wrong.crt", &theirs.0.pem()),
    );
    let port = cluster.port();
    let url = |host: &str, query: &str| {
        format!("postgresql://{USER}:{PASSWORD}@{host}:{port}/postgres?{query}")
    };
    let encrypted = async |host: &str, query: &str| {
        let answer = server(&url(host, query)).ping().await;
        answer
            .unwrap_or_else(|error| panic!("{host} {query}: {error}"))
            .encryption
    };
    for (host, query, version) in [
        ("localhost", "sslmode=disable".to_owned(), None),
        ("localhost", "sslmode=allow".to_owned(), None),
        ("localhost", "sslmode=prefer".to_owned(), Some("TLS 1.3")),
        ("localhost", "sslmode=require".to_owned(), Some("TLS 1.3")),
        (
            "localhost",
            "sslmode=require&ssl_max_protocol_version=TLSv1.2".to_owned(),
            Some("TLS 1.2"),
        ),
        (
            "localhost",
            "sslmode=require&channel_binding=require".to_owned(),
            Some("TLS 1.3"),
        ),
        (
            "localhost",
            format!("sslmode=require&sslrootcert={right}"),
            Some("TLS 1.3"),
        ),
        (
            "localhost",
            format!("sslmode=verify-ca&sslrootcert={right}"),
            Some("TLS 1.3"),
        ),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={right}"),
            Some("TLS 1.3"),
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={right}"),
            Some("TLS 1.3"),
        ),
        // As in libpq, a file that is there is used, and what is not demanded goes without.
        (
            "localhost",
            format!("sslmode=prefer&sslrootcert={wrong}"),
            None,
        ),
    ] {
        assert_eq!(encrypted(host, &query).await, version, "{host} {query}");
    }
    let untrusted = "is not trusted";
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = says(
            &url("localhost", &format!("sslmode={mode}&sslrootcert={wrong}")),
            untrusted,
        )
        .await;
        assert!(!error.is_lost(), "{error}");
    }
    says(
        &url("localhost", "sslmode=verify-full&sslrootcert=system"),
        untrusted,
    )
    .await;

    // For another name: only the strictest mode looks at it.
    serve_with(
        &cluster,
        &ours.certify(&["db.example.org"], "db.example.org", 2090),
    );
    let full = format!("sslmode=verify-full&sslrootcert={right}");
    says(&url("localhost", &full), "is for another name").await;
    let by_address = format!("{full}&hostaddr=127.0.0.1");
    assert_eq!(
        encrypted("db.example.org", &by_address).await,
        Some("TLS 1.3")
    );
    let ca = format!("sslmode=verify-ca&sslrootcert={right}");
    assert_eq!(encrypted("localhost", &ca).await, Some("TLS 1.3"));
    // Named by the common name alone, as PostgreSQL's manual makes it.
    serve_with(&cluster, &ours.certify(&[], "localhost", 2090));
    assert_eq!(encrypted("localhost", &full).await, Some("TLS 1.3"));
    says(&url("127.0.0.1", &full), "is for another name").await;
    serve_with(&cluster, &ours.certify(&["localhost"], "localhost", 2020));
    for query in [&ca, &full] {
        says(&url("localhost", query), "has expired").await;
    }
    // Its own authority.
    let own = Authority::new("localhost");
    serve_with(&cluster, &(own.0.pem(), own.0.key().serialize_pem()));
    let itself = file("itself.crt", &own.0.pem());
    let full_itself = format!("sslmode=verify-full&sslrootcert={itself}");
    assert_eq!(encrypted("localhost", &full_itself).await, Some("TLS 1.3"));
    says(&url("localhost", &full), untrusted).await;

    // A server that demands TLS, and then a certificate.
    serve_with(&cluster, &good);
    cluster
        .admit("hostssl all all 127.0.0.1/32 scram-sha-256\nhostssl all all ::1/128 scram-sha-256");
    assert_eq!(
        encrypted("127.0.0.1", "sslmode=allow").await,
        Some("TLS 1.3")
    );
    let error = says(&url("127.0.0.1", "sslmode=disable"), "no encryption").await;
    assert!(
        error
            .next_step()
            .is_some_and(|hint| hint.contains("sslmode=disable")),
        "{error:?}"
    );
    cluster.admit("hostssl all all 127.0.0.1/32 cert");
    says(&url("127.0.0.1", "sslmode=require"), "client certificate").await;
    let (certificate, key) = ours.certify(&[], USER, 2090);
    let pair = format!(
        "sslcert={}&sslkey={}",
        file("me.crt", &certificate),
        file("me.key", &key)
    );
    let by_certificate =
        format!("postgresql://{USER}@127.0.0.1:{port}/postgres?sslmode=require&{pair}");
    server(&by_certificate)
        .ping()
        .await
        .expect("let in by a certificate");
    let (certificate, key) = theirs.certify(&[], USER, 2090);
    let pair = format!(
        "sslcert={}&sslkey={}",
        file("me.crt", &certificate),
        file("me.key", &key)
    );
    says(
        &url("127.0.0.1", &format!("sslmode=require&{pair}")),
        "does not accept the client's certificate",
    )
    .await;
}

#[tokio::test]
async fn a_restart_is_not_noticed_and_an_end_is() {
    let mut cluster = Cluster::start(&[]);
    let server = server(&cluster.url("postgres"));
    server.ping().await.expect("an answer");
    cluster.kill();
    let error = refusal(&server).await;
    assert!(error.is_lost(), "{error}");
    cluster.resume();
    server.ping().await.expect("it is back");
    // Connections that the server ends while they are idle are replaced without a word.
    cluster.sql(
        "postgres",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'afterrun'",
    );
    server.ping().await.expect("a new connection");
    let named = cluster.sql(
        "postgres",
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'afterrun'",
    );
    assert_eq!(named, "1");
    // No more than four at a time, however many ask.
    let asked: Vec<_> = (0..40)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { server.ping().await.map(drop) })
        })
        .collect();
    for one in asked {
        one.await.expect("no panic").expect("an answer");
    }
    let count = cluster.sql(
        "postgres",
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'afterrun'",
    );
    assert!(
        count.parse::<u32>().is_ok_and(|count| count <= 4),
        "{count}"
    );
}

#[tokio::test]
async fn slow_and_stalled_ways() {
    let cluster = Cluster::start(&[]);
    let proxy = Proxy::to(cluster.port());
    let url = format!(
        "postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/postgres?connect_timeout=2",
        proxy.port()
    );
    proxy.set(Way::Drip(20));
    server(&url).ping().await.expect("slow, and an answer");
    proxy.set(Way::Stalled);
    let begun = Instant::now();
    let error = refusal(&server(&url)).await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(
        error.is_lost() && error.message().contains("has not answered within 2 s"),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(8));
    // In the middle of logging in.
    for bytes in [1, 20, 200] {
        proxy.set(Way::CutAfter(bytes));
        let error = refusal(&server(&url)).await;
        assert!(error.is_lost(), "{bytes}: {error}");
    }
}

/// A program that is no PostgreSQL, or one of bad will: it answers the request for encryption with
/// `N`, and then sends `bytes` again and again.
fn pretender(bytes: Vec<u8>, times: usize) -> u16 {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 1024];
            if stream.read(&mut asked).is_err() || stream.write_all(b"N").is_err() {
                continue;
            }
            let _ = stream.read(&mut asked);
            for _ in 0..times {
                if stream.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = stream.read(&mut asked);
        }
    });
    port
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[tag], &length[..], body].concat()
}

#[tokio::test]
async fn what_is_no_server_or_a_bad_one() {
    let old = [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x009.6.24\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    let login = message(b'R', &[0; 4]);
    let notice = message(
        b'N',
        &[b"SNOTICE\0C00000\0M", "x".repeat(4000).as_bytes(), b"\0\0"].concat(),
    );
    let settings = [
        login.clone(),
        message(b'S', &[&[b'a'; 200_000][..], b"\0b\0"].concat()),
    ]
    .concat();
    for (bytes, times, words) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            1,
            "does not speak PostgreSQL's protocol",
        ),
        (old, 1, "the server is PostgreSQL 9.6.24"),
        ([login, notice].concat(), 100_000, ""),
        (settings, 100_000, ""),
        (
            message(b'R', &[0, 0, 0, 7]),
            1,
            "demands a way to log in that is not supported",
        ),
        (
            message(
                b'E',
                b"SFATAL\0VFATAL\0C57P03\0Mthe database \x1b[31mstarts\0\0",
            ),
            1,
            "the database \\x1b[31mstarts",
        ),
    ] {
        let port = pretender(bytes, times);
        let url = format!("postgresql://app:hunter5@127.0.0.1:{port}/agno?connect_timeout=5");
        let error = says(&url, words).await;
        assert_ne!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    // Something else answers the request for encryption.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        use std::io::Write;
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.write_all(b"SSH-2.0-x\r\n");
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let url = format!("postgresql://app@127.0.0.1:{port}/agno");
    let error = refusal(&server(&url)).await;
    assert_eq!(error.kind(), ErrorKind::Database, "{error}");
}

#[tokio::test]
async fn a_pooler_in_transaction_mode_may_stand_between() {
    let mut cluster = Cluster::start(&[]);
    let Some(pooler) = Pooler::to(&cluster) else {
        eprintln!("skipped: there is no pgbouncer; it is in the system's package of that name");
        return;
    };
    let url = format!(
        "postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/postgres",
        pooler.port()
    );
    let server = server(&url);
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { server.ping().await.map(drop) })
        })
        .collect();
    for one in asked {
        one.await.expect("no panic").expect("an answer");
    }
    cluster.kill();
    let error = refusal(&server).await;
    assert!(!error.wants_password(), "{error}");
    cluster.resume();
    let begun = Instant::now();
    while let Err(error) = server.ping().await {
        // The pooler waits a moment before it tries the server again.
        assert!(begun.elapsed() < Duration::from_secs(30), "{error}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let wrong = format!(
        "postgresql://{USER}:hunter6@127.0.0.1:{}/postgres",
        pooler.port()
    );
    assert!(says(&wrong, "").await.wants_password());
}
