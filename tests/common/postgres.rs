//! A private PostgreSQL cluster: on a loopback port and a socket of its own, as an unprivileged
//! user when we are root, gone with the test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Who owns the cluster.
pub const USER: &str = "afterrun";
/// Their password.
pub const PASSWORD: &str = "hunter2-secret";

/// A running cluster.
pub struct Cluster {
    home: TempDir,
    port: u16,
    server: Option<Child>,
    settings: Vec<String>,
}

impl Cluster {
    /// Makes and starts one; `settings` are `name=value` of postgresql.conf.
    pub fn start(settings: &[&str]) -> Self {
        let home = tempfile::Builder::new()
            .prefix("arpg-")
            .tempdir_in("/tmp")
            .expect("a folder");
        let mut this = Self {
            port: free_port(),
            home,
            server: None,
            settings: settings.iter().map(|one| (*one).to_owned()).collect(),
        };
        let secret = this.path("password");
        fs::write(&secret, PASSWORD).expect("written");
        if let Some(user) = unprivileged() {
            for path in [this.home.path(), &secret] {
                std::os::unix::fs::chown(path, Some(user.0), Some(user.1)).expect("given away");
            }
        }
        let data = this.path("data");
        let made = command("initdb")
            .args(["-U", USER, "--auth=scram-sha-256", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--no-instructions", "-D"])
            .arg(&data)
            .arg("--pwfile")
            .arg(&secret)
            .current_dir(this.home.path())
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{made:?}");
        this.resume();
        this
    }

    /// Starts the server again after [`Cluster::kill`].
    pub fn resume(&mut self) {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.path("log"))
            .expect("a log");
        let mut server = command("postgres");
        server.arg("-D").arg(self.path("data"));
        let fixed = [
            format!("port={}", self.port),
            "listen_addresses=127.0.0.1".into(),
            format!("unix_socket_directories={}", self.home.path().display()),
            "fsync=off".into(),
            "autovacuum=off".into(),
            "shared_buffers=32MB".into(),
        ];
        for setting in fixed.iter().chain(&self.settings) {
            server.args(["-c", setting]);
        }
        let child = server
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("postgres runs");
        self.server = Some(child);
        let begun = Instant::now();
        while self.try_sql("postgres", "SELECT 1").is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{}",
                fs::read_to_string(self.path("log")).unwrap_or_default()
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// Ends the server at once, with every connection to it.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            // SIGQUIT is PostgreSQL's immediate shutdown; its children go, too.
            let pid = rustix::process::Pid::from_child(&server);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
            let _ = server.wait();
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &Path {
        self.home.path()
    }

    /// `database` by TCP, with user and password.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// A new empty database.
    pub fn create(&self, database: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {database}"));
        self.url(database)
    }

    /// A private file of the cluster's own user, beside its socket.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("private");
        if let Some((user, group)) = unprivileged() {
            std::os::unix::fs::chown(&path, Some(user), Some(group)).expect("given away");
        }
        path
    }

    /// Who may come in, as pg_hba.conf has it, from the next connection on; the owner always may.
    pub fn admit(&self, rules: &str) {
        let own = format!("local all {USER} scram-sha-256\n");
        fs::write(self.path("data/pg_hba.conf"), format!("{own}{rules}\n")).expect("written");
        self.sql_by_socket("SELECT pg_reload_conf()");
        sleep(Duration::from_millis(300));
    }

    /// As [`Cluster::sql`] on the database `postgres`, by the socket.
    pub fn sql_by_socket(&self, script: &str) -> String {
        let done = Command::new(program("psql"))
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                script,
            ])
            .arg(format!(
                "host={} port={} user={USER} dbname=postgres",
                self.home.path().display(),
                self.port
            ))
            .env("PGPASSWORD", PASSWORD)
            .output()
            .expect("psql runs");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Runs a script and answers what it printed, unaligned, without headers.
    pub fn sql(&self, database: &str, script: &str) -> String {
        self.try_sql(database, script).expect("a script that works")
    }

    fn try_sql(&self, database: &str, script: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), script).expect("written");
        let done = Command::new(program("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(file.path())
            .arg(self.url(database))
            .output()
            .expect("psql runs");
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&done.stderr).into_owned())
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A pooler in transaction mode.
pub struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    /// None when the program is absent.
    pub fn to(cluster: &Cluster) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];
        let program = program
            .iter()
            .map(PathBuf::from)
            .find(|path| path.exists())?;
        let port = free_port();
        let users = cluster.file("users.txt", &format!("\"{USER}\" \"{PASSWORD}\"\n"));
        let config = format!(
            "[databases]\n* = host=127.0.0.1 port={} pool_size=2\n[pgbouncer]\nlisten_addr=127.0.0.1\n\
             listen_port={port}\npool_mode=transaction\nauth_type=scram-sha-256\nauth_file={}\n\
             unix_socket_dir=\n",
            cluster.port(),
            users.display()
        );
        let config = cluster.file("pgbouncer.ini", &config);
        let child = command(program.to_str()?)
            .arg(config)
            .current_dir(cluster.socket())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pgbouncer runs");
        let this = Self { child, port };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "pgbouncer does not listen"
            );
            sleep(Duration::from_millis(50));
        }
        Some(this)
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.wait();
    }
}

/// A port that nobody listens at.
pub fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
    probe.local_addr().expect("an address").port()
}

/// A program of PostgreSQL's: the newest version's, else on the path.
pub fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let newest = versions
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse::<u32>().ok()?,
                entry.path(),
            ))
        })
        .map(|(version, path)| (version, path.join("bin").join(name)))
        .filter(|(_, path)| path.exists())
        .max();
    newest.map_or_else(|| PathBuf::from(name), |(_, path)| path)
}

/// A command that runs as the cluster does.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(program(name));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C");
    if let Some((user, group)) = unprivileged() {
        command.uid(user).gid(group);
    }
    command
}

/// The account that a cluster runs as when we are root, which PostgreSQL refuses to be.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").expect("accounts");
    let of = |name: &str| {
        accounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            match fields[..] {
                [account, _, user, group, ..] if account == name => {
                    Some((user.parse().ok()?, group.parse().ok()?))
                }
                _ => None,
            }
        })
    };
    of("postgres").or_else(|| of("nobody"))
}
