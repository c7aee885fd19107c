//! A bucket of a real S3 protocol server in this process: `s3s` checks every signature and digest,
//! `s3s-fs` keeps objects as files. Answers that it never gives can be put in its mouth.
//!
//! What it does not check: the region, the time of a request, `If-Match`, and rights; a bucket that
//! is missing looks like a missing key.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use afterrun::checkpoint::{AwsEnvironment, S3CheckpointStore, S3Settings};
use base64::Engine as _;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::service::{S3ServiceBuilder, SharedS3Service};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub const BUCKET: &str = "checkpoints";
pub const KEY: &str = "AKIAAFTERRUNTEST0001";
pub const SECRET: &str = "hunter2/secret+key";

/// The server and its one bucket, gone with it.
pub struct Server {
    root: TempDir,
    address: SocketAddr,
    scheme: &'static str,
    mouth: Mouth,
    runtime: Option<tokio::runtime::Runtime>,
}

/// What is answered in place of the server, how often.
pub struct Answer {
    pub method: &'static str,
    /// A part of path and query.
    pub url: &'static str,
    pub times: usize,
    /// 0 never answers.
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Answer {
    /// An error with `code` and `more` in its body.
    pub fn error(method: &'static str, status: u16, code: &str, more: &str) -> Self {
        Self {
            method,
            url: "",
            times: usize::MAX,
            status,
            headers: Vec::new(),
            body: match code {
                "" => String::new(),
                code => format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code>{more}</Error>"),
            },
        }
    }

    pub fn at(mut self, url: &'static str) -> Self {
        self.url = url;
        self
    }

    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Server {
    /// By plain HTTP.
    pub fn start() -> Self {
        Self::serve(None)
    }

    /// By HTTPS for 127.0.0.1, and the certificate that signs itself.
    pub fn start_tls() -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("made");
        let key = made.signing_key.serialize_der().try_into().expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        (Self::serve(Some(acceptor)), made.cert.pem())
    }

    fn serve(tls: Option<TlsAcceptor>) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join(BUCKET)).expect("made");
        let files = s3s_fs::FileSystem::new(root.path()).expect("a store");
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(s3s::auth::SimpleAuth::from_single(KEY, SECRET));
        let mouth = Mouth {
            s3: service.build().into_shared(),
            answers: Arc::default(),
            asked: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        // Tests are on runtimes of their own: nothing here may wait.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("set");
        let address = listener.local_addr().expect("an address");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let serving = mouth.clone();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((socket, _)) = listener.accept().await {
                let (serving, tls) = (serving.clone(), tls.clone());
                tokio::spawn(async move {
                    let server = Builder::new(TokioExecutor::new());
                    match tls {
                        None => {
                            let io = TokioIo::new(socket);
                            let _ = server.serve_connection(io, serving).await;
                        }
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                let io = TokioIo::new(socket);
                                let _ = server.serve_connection(io, serving).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            root,
            address,
            scheme,
            mouth,
            runtime: Some(runtime),
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// `--store` for what is below `prefix`.
    pub fn url(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}?endpoint_url={}", self.endpoint())
    }

    /// The variables that let one in.
    pub fn variables() -> [(&'static str, &'static str); 3] {
        [
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ]
    }

    /// The store below `prefix`, let in by [`Server::variables`].
    pub fn store(&self, prefix: &str) -> S3CheckpointStore {
        open(&self.url(prefix), &Self::variables())
    }

    /// The file of the object `key`.
    pub fn object(&self, key: &str) -> PathBuf {
        self.root.path().join(BUCKET).join(key)
    }

    /// Puts an object there that was never sent, with these labels.
    pub fn plant(&self, key: &str, bytes: &[u8], labels: &[(&str, &str)]) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        self.plant_file(key, file.path(), labels);
    }

    /// The same with the bytes of a file, however many.
    pub fn plant_file(&self, key: &str, file: &Path, labels: &[(&str, &str)]) {
        let path = self.object(key);
        std::fs::create_dir_all(path.parent().expect("below")).expect("made");
        std::fs::copy(file, path).expect("copied");
        let labels: serde_json::Map<_, _> = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        let labels = serde_json::to_vec(&labels).expect("JSON");
        std::fs::write(self.labels(key), labels).expect("written");
    }

    /// The labels of the object `key`.
    pub fn labels(&self, key: &str) -> PathBuf {
        let encode = |text| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(text);
        let name = format!(
            ".bucket-{}.object-{}.metadata.json",
            encode(BUCKET),
            encode(key)
        );
        self.root.path().join(name)
    }

    /// Parts of uploads that are neither complete nor aborted.
    pub fn parts(&self) -> usize {
        let entries = std::fs::read_dir(self.root.path()).expect("listed");
        let part = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(".upload_id-");
        entries
            .flatten()
            .filter(|entry| part(&entry.file_name()))
            .count()
    }

    /// From now on.
    pub fn says(&self, answer: Answer) {
        self.mouth.answers.lock().expect("whole").push(answer);
    }

    /// Method, path and query of each request so far; with its range, where it has one.
    pub fn asked(&self) -> Vec<String> {
        self.mouth.asked.lock().expect("whole").clone()
    }

    /// How many requests were asked that begin with `what`.
    pub fn count(&self, what: &str) -> usize {
        self.asked()
            .iter()
            .filter(|one| one.starts_with(what))
            .count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The store at `url` with nothing around it but `variables`.
pub fn open(url: &str, variables: &[(&str, &str)]) -> S3CheckpointStore {
    let settings = S3Settings::from_url(url).expect("a URL");
    S3CheckpointStore::open(settings, &environment(variables, None)).expect("a store")
}

/// `variables` and a home directory.
pub fn environment(variables: &[(&str, &str)], home: Option<&Path>) -> AwsEnvironment {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    AwsEnvironment::new(variables.iter().map(owned), home.map(Path::to_owned))
}

#[derive(Clone)]
struct Mouth {
    s3: SharedS3Service,
    answers: Arc<Mutex<Vec<Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

type Served = Result<hyper::Response<s3s::Body>, s3s::S3Error>;

impl hyper::service::Service<hyper::Request<Incoming>> for Mouth {
    type Response = hyper::Response<s3s::Body>;
    type Error = s3s::S3Error;
    type Future = Pin<Box<dyn Future<Output = Served> + Send>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let url = request.uri().to_string();
        let range = request.headers().get("range");
        let range = range.map_or(String::new(), |range| {
            format!(" {}", range.to_str().unwrap_or("?"))
        });
        let asked = format!("{} {url}{range}", request.method());
        self.asked.lock().expect("whole").push(asked);
        let mut answers = self.answers.lock().expect("whole");
        let fits = answers.iter_mut().find(|answer| {
            answer.times > 0
                && answer.method == request.method().as_str()
                && url.contains(answer.url)
        });
        let Some(answer) = fits else {
            return self.s3.call(request);
        };
        answer.times -= 1;
        if answer.status == 0 {
            return Box::pin(std::future::pending());
        }
        let mut made = hyper::Response::builder().status(answer.status);
        for (name, value) in &answer.headers {
            made = made.header(*name, value);
        }
        let made = made
            .body(s3s::Body::from(answer.body.clone()))
            .expect("an answer");
        Box::pin(async move { Ok(made) })
    }
}
