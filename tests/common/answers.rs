//! A little HTTP server that answers what it is told to: a stand-in for services of AWS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The server; its thread ends with the process.
pub struct Answers {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    /// `answer` gets a whole request, head and body, and makes status and body of it.
    pub fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(request) = read(&client) else {
                    continue;
                };
                let (status, body) = answer(&request);
                log.lock().expect("whole").push(request);
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&client).write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { port, asked }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("whole").clone()
    }
}

fn read(client: &TcpStream) -> Option<String> {
    let mut input = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        let end = line.trim().is_empty();
        head.push_str(&line);
        if end {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(format!("{head}{}", String::from_utf8_lossy(&body)))
}
