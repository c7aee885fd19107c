//! What the sources of credentials may reach: files and HTTP answers of bounded length.

use std::time::Duration;

use bytes::Bytes;
use reqsign_core::{Context, Error, FileRead, HttpSend, Result};
use reqwest::Client;

use super::environment::AwsEnvironment;
use super::http::failure;
use crate::checkpoint::blocking;

/// Longer is no token, and no answer of a credentials service.
const LONGEST: u64 = 1 << 20;

/// The surroundings for one client, whose answers have to be there after `limit`; `sts` is where STS
/// is, when not at AWS.
pub(super) fn context(
    environment: &AwsEnvironment,
    client: Client,
    sts: Option<String>,
    limit: Duration,
) -> Context {
    Context::new()
        .with_env(environment.clone())
        .with_file_read(Files)
        .with_http_send(Http { client, sts, limit })
}

#[derive(Debug)]
struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        use std::io::Read as _;
        let path = path.to_owned();
        let read = move || {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path)?;
            file.take(LONGEST).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let read = blocking(move || Ok(read())).await;
        Ok(read.map_err(|error| Error::unexpected(error.to_string()))??)
    }
}

#[derive(Debug)]
struct Http {
    client: Client,
    sts: Option<String>,
    limit: Duration,
}

impl Http {
    /// The library knows STS at AWS alone; the signature is of the name it knows.
    fn url(&self, url: &http::Uri) -> String {
        match (&self.sts, url.host()) {
            (Some(sts), Some(host)) if host.starts_with("sts.") => {
                let path = url.path_and_query().map_or("/", |path| path.as_str());
                format!("{}{path}", sts.trim_end_matches('/'))
            }
            _ => url.to_string(),
        }
    }
}

impl HttpSend for Http {
    async fn http_send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>> {
        let (parts, body) = request.into_parts();
        let host = parts.uri.host().unwrap_or("the service").to_owned();
        let failed = |error: reqwest::Error| {
            Error::unexpected(failure(&host, &error).message()).set_retryable(false)
        };
        let sent = self
            .client
            .request(parts.method, self.url(&parts.uri))
            .headers(parts.headers)
            .timeout(self.limit)
            .body(body);
        let mut response = sent.send().await.map_err(failed)?;
        let mut answer = http::Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        let mut whole = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            whole.extend_from_slice(&piece);
            if whole.len() as u64 > LONGEST {
                return Err(Error::unexpected(format!("{host} answers more than 1 MiB")));
            }
        }
        Ok(answer.body(whole.into())?)
    }
}
