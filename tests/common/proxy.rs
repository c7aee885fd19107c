//! A way to a server that can be slow, stall, or be cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What becomes of bytes on their way from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They pass.
    Open,
    /// So many pass every 10 ms.
    Drip(usize),
    /// None passes, and nobody hears why.
    Stalled,
    /// So many pass on each connection, then it ends.
    CutAfter(u64),
    /// So many pass on each connection, then none does.
    StalledAfter(u64),
    /// So many pass on all connections together, then each ends, and every new one too.
    BrokenAfter(u64),
}

/// A loopback port whose connections lead to another.
pub struct Proxy {
    port: u16,
    way: Arc<Mutex<Way>>,
    passed: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    /// Leads to `port` on the loopback.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let this = Self {
            port: listener.local_addr().expect("an address").port(),
            way: Arc::new(Mutex::new(Way::Open)),
            passed: Arc::default(),
            connections: Arc::default(),
            ended: Arc::default(),
        };
        let (way, passed) = (Arc::clone(&this.way), Arc::clone(&this.passed));
        let (ended, connections) = (Arc::clone(&this.ended), Arc::clone(&this.connections));
        thread::spawn(move || {
            for client in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port)))
                else {
                    continue;
                };
                connections.fetch_add(1, Ordering::SeqCst);
                lead(client, server, &way, &passed, &ended);
            }
        });
        this
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on.
    pub fn set(&self, way: Way) {
        *self.way.lock().expect("whole") = way;
    }

    /// Bytes that came from the server so far.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    /// Connections made so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn lead(
    client: TcpStream,
    server: TcpStream,
    way: &Arc<Mutex<Way>>,
    passed: &Arc<AtomicU64>,
    ended: &Arc<AtomicBool>,
) {
    let (Ok(mut from), Ok(mut to)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (way, passed, ended) = (Arc::clone(way), Arc::clone(passed), Arc::clone(ended));
    thread::spawn(move || {
        back(&server, &client, &way, &passed, &ended);
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

fn back(
    mut server: &TcpStream,
    mut client: &TcpStream,
    way: &Mutex<Way>,
    passed: &AtomicU64,
    ended: &AtomicBool,
) {
    let pause = Duration::from_millis(10);
    let _ = server.set_read_timeout(Some(pause));
    let (mut piece, mut here) = (vec![0; 64 * 1024], 0_u64);
    while !ended.load(Ordering::SeqCst) {
        let now = *way.lock().expect("whole");
        let most = match now {
            Way::Open => piece.len(),
            Way::Drip(most) => most.min(piece.len()),
            Way::Stalled => 0,
            Way::CutAfter(most) if here >= most => return,
            Way::BrokenAfter(most) if passed.load(Ordering::SeqCst) >= most => return,
            Way::BrokenAfter(most) => {
                let left = most - passed.load(Ordering::SeqCst).min(most);
                usize::try_from(left).unwrap_or(usize::MAX).min(piece.len())
            }
            Way::CutAfter(most) | Way::StalledAfter(most) => usize::try_from(most - here.min(most))
                .unwrap_or(usize::MAX)
                .min(piece.len()),
        };
        if most == 0 || matches!(now, Way::Drip(_)) {
            thread::sleep(pause);
        }
        if most == 0 {
            continue;
        }
        match server.read(&mut piece[..most]) {
            Ok(0) => return,
            Ok(count) => {
                here += count as u64;
                passed.fetch_add(count as u64, Ordering::SeqCst);
                if client.write_all(&piece[..count]).is_err() {
                    return;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}
