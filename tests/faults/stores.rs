//! The objects of a small world in a folder, in PostgreSQL and in a bucket.

use std::path::PathBuf;

use afterrun::checkpoint::{CheckpointStore, PostgresCheckpointStore};
use afterrun::postgres::Server;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::common::postgres::Cluster;
use crate::common::{Place, s3};
use crate::scene::{Scene, row_data, run_id};

const PREFIX: &str = "kept";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Postgres,
    S3,
}

pub const KINDS: [Kind; 3] = [Kind::File, Kind::Postgres, Kind::S3];

/// What becomes of an object behind the store's back.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// Its first byte is another.
    Flipped,
    /// Its last byte is gone.
    Shorter,
    Gone,
}

/// Three stores that hold the same objects.
pub struct Stores {
    pub scene: Scene,
    pub cluster: Cluster,
    pub server: s3::Server,
    pub runtime: Runtime,
}

impl Stores {
    pub fn of(scene: Scene) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let this = Self {
            cluster: Cluster::start(&[]),
            server: s3::Server::start(),
            runtime,
            scene,
        };
        let mut objects: Vec<PathBuf> = std::fs::read_dir(this.scene.store())
            .expect("listed")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        objects.sort();
        let (postgres, s3) = (this.postgres(), this.server.store(PREFIX));
        for object in objects {
            this.runtime.block_on(postgres.put(&object)).expect("put");
            this.runtime.block_on(s3.put(&object)).expect("put");
        }
        this
    }

    pub fn postgres(&self) -> PostgresCheckpointStore {
        let server = Server::new(&self.cluster.url("postgres")).expect("a URL");
        let table = PostgresCheckpointStore::DEFAULT_TABLE;
        PostgresCheckpointStore::new(server, "ai", table).expect("names")
    }

    /// `--store` for it; by `port` in place of the server's own, where there is one.
    pub fn url(&self, kind: Kind, port: Option<u16>) -> String {
        let by = |url: String, own: u16| match port {
            Some(port) => url.replace(&format!(":{own}"), &format!(":{port}")),
            None => url,
        };
        match kind {
            Kind::File => self.scene.store().to_str().expect("UTF-8").to_owned(),
            Kind::Postgres => by(self.cluster.url("postgres"), self.cluster.port()),
            Kind::S3 => by(self.server.url(PREFIX), self.server.port()),
        }
    }

    /// `--db` and `--store`, then `words`.
    pub fn words(&self, url: &str, words: &[&str]) -> Vec<String> {
        let mut all = self.scene.words(words);
        all[3] = url.to_owned();
        all
    }

    /// The file that a bucket's object is.
    pub fn key(&self, digest: &str) -> PathBuf {
        self.server.object(&format!("{PREFIX}/{digest}.tar.gz"))
    }

    pub fn damage(&self, kind: Kind, run: usize, damage: Damage) {
        let digest = self.scene.stored(run);
        let digest = digest
            .file_name()
            .expect("a name")
            .to_str()
            .expect("UTF-8")
            .to_owned();
        let path = match kind {
            Kind::File => self.scene.store().join(&digest),
            Kind::S3 => self.key(&digest),
            Kind::Postgres => {
                let table = "ai.agno_sandbox_checkpoints";
                let script = match damage {
                    Damage::Flipped => {
                        format!(
                            "UPDATE {table}_chunks SET data = set_byte(data, 0, 7) WHERE sha256 = '{digest}'"
                        )
                    }
                    Damage::Shorter => format!(
                        "UPDATE {table}_chunks SET data = substr(data, 1, length(data) - 1) WHERE sha256 = '{digest}'"
                    ),
                    Damage::Gone => format!("DELETE FROM {table} WHERE sha256 = '{digest}'"),
                };
                self.cluster.sql("postgres", &script);
                return;
            }
        };
        let mut bytes = std::fs::read(&path).expect("read");
        match damage {
            Damage::Flipped => bytes[0] ^= 1,
            Damage::Shorter => drop(bytes.pop()),
            Damage::Gone => {}
        }
        std::fs::remove_file(&path).expect("removed");
        if !matches!(damage, Damage::Gone) {
            std::fs::write(&path, bytes).expect("written");
        }
    }
}

/// A place from which the bucket may be asked.
pub fn place() -> Place {
    let place = Place::new();
    let folder = place.path("../home/.aws");
    std::fs::create_dir(&folder).expect("made");
    let text = format!(
        "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
        s3::KEY,
        s3::SECRET
    );
    std::fs::write(folder.join("credentials"), text).expect("written");
    place
}

/// A run whose stored bytes are what its row says, and no archive.
pub fn add_no_archive(scene: &Scene, run: usize) {
    let reference = scene.object(b"these bytes are no archive");
    scene.row(&run_id(run), run, &row_data(&reference).to_string());
}

/// A completed run that committed nothing.
pub fn add_without(scene: &Scene, run: usize) {
    scene.row(
        &run_id(run),
        run,
        &json!({"agent_name": "Engineer"}).to_string(),
    );
}
