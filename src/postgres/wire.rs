//! The stream to a server, plain or encrypted, which holds what the server says to bounds: the
//! client behind it keeps a message whole, and some of them for ever.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::client::TlsStream as Encrypted;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::oid::db::rfc5912 as oid;

use crate::error::{Error, ErrorKind, carried};
use crate::text::human_bytes;

/// One message: a row, mostly. What is read of a run's row ends at 64 MiB.
const MESSAGE: u64 = 72 << 20;
/// All that a server says until it is ready for the first statement.
const GREETING: u64 = 256 << 10;
/// Notices and notifications between two answers, which are of no use here.
const ASIDE: u64 = 16 << 20;
/// Settings that a server reports in the life of a connection; the client keeps each.
const REPORTED: u64 = 1 << 20;

/// What can be read from and written to.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A socket of either kind.
pub(super) type Socket = Box<dyn Duplex>;

enum Way {
    Plain(Socket),
    Encrypted(Box<Encrypted<Socket>>),
}

/// The stream.
pub(super) struct Wire {
    way: Way,
    framing: Framing,
}

impl Wire {
    pub(super) fn plain(socket: Socket) -> Self {
        Self {
            way: Way::Plain(socket),
            framing: Framing::default(),
        }
    }

    pub(super) fn encrypted(stream: Encrypted<Socket>) -> Self {
        Self {
            way: Way::Encrypted(Box::new(stream)),
            framing: Framing::default(),
        }
    }

    /// The version of TLS, in the words of its standard.
    pub(super) fn version(&self) -> Option<&'static str> {
        let Way::Encrypted(stream) = &self.way else {
            return None;
        };
        Some(match stream.get_ref().1.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLS 1.3",
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLS 1.2",
            _ => "TLS",
        })
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(match &mut this.way {
            Way::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Way::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        })?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(this.framing.pass(read).map_err(carried))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().way {
            Way::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Way::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().way {
            Way::Plain(socket) => Pin::new(socket).poll_flush(context),
            Way::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().way {
            Way::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Way::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl TlsStream for Wire {
    /// RFC 5929's `tls-server-end-point`: the certificate's digest, by its signature's own hash.
    fn channel_binding(&self) -> ChannelBinding {
        let Way::Encrypted(stream) = &self.way else {
            return ChannelBinding::none();
        };
        let certificates = stream.get_ref().1.peer_certificates();
        let digest = certificates
            .and_then(<[_]>::first)
            .and_then(|certificate| end_point(certificate));
        digest.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    match parsed.signature_algorithm.oid {
        oid::SHA_1_WITH_RSA_ENCRYPTION
        | oid::SHA_256_WITH_RSA_ENCRYPTION
        | oid::ECDSA_WITH_SHA_256 => Some(Sha256::digest(certificate).to_vec()),
        oid::SHA_384_WITH_RSA_ENCRYPTION | oid::ECDSA_WITH_SHA_384 => {
            Some(Sha384::digest(certificate).to_vec())
        }
        oid::SHA_512_WITH_RSA_ENCRYPTION | oid::ECDSA_WITH_SHA_512 => {
            Some(Sha512::digest(certificate).to_vec())
        }
        // Ed25519 has no hash of its own: neither has libpq a binding for it.
        _ => None,
    }
}

/// The client asks for encryption only through this; ours is made already, or not wanted.
pub(super) struct Made;

impl<S: TlsStream + Unpin> TlsConnect<S> for Made {
    type Stream = S;
    type Error = Infallible;
    type Future = Ready<Result<S, Infallible>>;

    fn connect(self, stream: S) -> Self::Future {
        ready(Ok(stream))
    }
}

impl<S: AsyncRead + AsyncWrite + TlsStream + Unpin> TlsStream for Borrowed<'_, S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.0.channel_binding()
    }
}

/// A stream that is wanted back afterwards.
pub(super) struct Borrowed<'a, S>(pub(super) &'a mut S);

impl<S: AsyncRead + Unpin> AsyncRead for Borrowed<'_, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.get_mut().0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Borrowed<'_, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.get_mut().0).poll_flush(context)
    }

    /// Leaves the stream open: a pooler forgets a cancellation whose sender is gone before it is done.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// Where in the protocol's messages a stream is.
#[derive(Default)]
struct Framing {
    header: Vec<u8>,
    /// What is left of a message's body.
    left: u64,
    greeted: bool,
    greeting: u64,
    aside: u64,
    reported: u64,
}

impl Framing {
    /// Looks at `bytes` on their way.
    fn pass(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        if !self.greeted {
            self.greeting += bytes.len() as u64;
        }
        while !bytes.is_empty() {
            if self.left > 0 {
                let step =
                    usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= step as u64;
                bytes = &bytes[step..];
                continue;
            }
            let step = (5 - self.header.len()).min(bytes.len());
            self.header.extend_from_slice(&bytes[..step]);
            bytes = &bytes[step..];
            if let &[tag, a, b, c, d] = self.header.as_slice() {
                self.header.clear();
                self.begun(tag, u64::from(u32::from_be_bytes([a, b, c, d])))?;
            }
        }
        if !self.greeted && self.greeting > GREETING {
            return Err(too_much("before the first statement", GREETING));
        }
        Ok(())
    }

    fn begun(&mut self, tag: u8, length: u64) -> Result<(), Error> {
        if length < 4 || (!self.greeted && length > GREETING) {
            return Err(no_postgres());
        }
        if length > MESSAGE {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "The database sends a row of {}, which is more than the {} that are read",
                    human_bytes(length),
                    human_bytes(MESSAGE)
                ),
            ));
        }
        self.left = length - 4;
        match tag {
            b'Z' => {
                self.greeted = true;
                self.aside = 0;
            }
            b'S' => self.reported += length,
            b'N' | b'A' => self.aside += length,
            _ => {}
        }
        if self.aside > ASIDE {
            return Err(too_much("of notices", ASIDE));
        }
        if self.reported > REPORTED {
            return Err(too_much("of settings", REPORTED));
        }
        Ok(())
    }
}

fn too_much(what: &str, most: u64) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!("The database sends more than {} {what}", human_bytes(most)),
    )
}

/// What answers is something else.
pub(super) fn no_postgres() -> Error {
    Error::new(
        ErrorKind::Database,
        "what answers there does not speak PostgreSQL's protocol",
    )
    .hint("check host and port")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u8, body: usize) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend(u32::try_from(body + 4).expect("short").to_be_bytes());
        bytes.resize(5 + body, b'x');
        bytes
    }

    fn fed(pieces: &[Vec<u8>]) -> Result<(), Error> {
        let mut framing = Framing::default();
        pieces.iter().try_for_each(|piece| framing.pass(piece))
    }

    #[test]
    fn what_a_server_says_is_bounded() {
        let ready = message(b'Z', 1);
        assert!(fed(&[message(b'R', 8), ready.clone(), message(b'D', 1 << 20)]).is_ok());
        // In pieces of any size it is the same.
        let whole: Vec<u8> = [ready.clone(), message(b'D', 1000), message(b'D', 0)].concat();
        for size in 1..9 {
            let pieces: Vec<Vec<u8>> = whole.chunks(size).map(<[u8]>::to_vec).collect();
            assert!(fed(&pieces).is_ok(), "{size}");
        }
        let refused = |pieces: &[Vec<u8>], kind: ErrorKind| {
            assert_eq!(fed(pieces).expect_err("too much").kind(), kind);
        };
        refused(
            &[b"HTTP/1.1 400 Bad Request\r\n".to_vec()],
            ErrorKind::Database,
        );
        refused(&[vec![b'R', 0, 0, 0, 3]], ErrorKind::Database);
        refused(&vec![message(b'N', 1000); 300], ErrorKind::Limit);
        let header = vec![b'D', 0x7f, 0xff, 0xff, 0xff];
        refused(&[ready.clone(), header], ErrorKind::Limit);
        let mut notices = vec![ready.clone()];
        notices.extend(vec![message(b'N', 1 << 20); 17]);
        refused(&notices, ErrorKind::Limit);
        let mut settings = vec![ready];
        settings.extend(vec![message(b'S', 100_000); 11]);
        refused(&settings, ErrorKind::Limit);
    }
}
