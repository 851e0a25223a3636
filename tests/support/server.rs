//! A server on loopback that does what a script says, byte by byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing in a test takes longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Closes the connection with a reset.
    Reset,
    /// Closes it in order.
    Close,
    /// Says nothing more, until the client has gone.
    Silence,
}

/// What a request is answered with.
pub type Reply = Vec<Step>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Which connection it came over, counted from 0.
    pub connection: usize,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: tokio::sync::Mutex<mpsc::Receiver<()>>,
    reached: tokio::sync::Mutex<mpsc::Receiver<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Script {
    replies: Mutex<Vec<Reply>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: mpsc::Sender<()>,
    reached: mpsc::Sender<()>,
}

impl Server {
    /// Answers each request with the next reply; the last one serves for all that follow.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::default();
        let (gone, was_gone) = mpsc::channel(64);
        let (reached, was_reached) = mpsc::channel(64);
        let replies = Mutex::new(replies);
        let script = Arc::new(Script { replies, seen: Arc::clone(&seen), gone, reached });
        let task = tokio::spawn(async move {
            for connection in 0.. {
                let Ok((socket, _)) = listener.accept().await else { return };
                tokio::spawn(serve(socket, connection, Arc::clone(&script)));
            }
        });
        let (gone, reached) =
            (tokio::sync::Mutex::new(was_gone), tokio::sync::Mutex::new(was_reached));
        Self { url, seen, gone, reached, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    /// Waits until a client has left a server that was silent.
    pub async fn client_gone(&self) {
        let gone = timeout(PATIENCE, async { self.gone.lock().await.recv().await });
        gone.await.expect("the client stays").expect("a server");
    }

    /// Waits until the server has become silent.
    pub async fn is_silent(&self) {
        let reached = timeout(PATIENCE, async { self.reached.lock().await.recv().await });
        reached.await.expect("the server goes on").expect("a server");
    }
}

async fn serve(mut socket: TcpStream, connection: usize, script: Arc<Script>) {
    let _ = socket.set_nodelay(true);
    while let Some(seen) = read_request(&mut socket, connection).await {
        script.seen.lock().expect("no panic").push(seen);
        let reply = {
            let mut replies = script.replies.lock().expect("no panic");
            if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() }
        };
        for step in reply {
            match step {
                Step::Send(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                Step::Reset => {
                    let _ = socket.set_zero_linger();
                    return;
                }
                Step::Close => return,
                Step::Silence => {
                    let _ = script.reached.send(()).await;
                    let mut rest = [0; 64];
                    let read = timeout(PATIENCE, socket.read(&mut rest)).await;
                    if matches!(read, Ok(Ok(0) | Err(_))) {
                        let _ = script.gone.send(()).await;
                    }
                    return;
                }
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream, connection: usize) -> Option<Seen> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.lines();
            let line = lines.next().unwrap_or_default().to_owned();
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(key, value)| (key.to_lowercase(), value.to_owned()))
                .collect();
            let length = headers.iter().find(|(key, _)| key == "content-length");
            let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                return Some(Seen { line, headers, body, connection });
            }
        }
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// The head of an answer whose body comes in pieces.
pub fn head(status: u16, kind: &str, extra: &str) -> Step {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{extra}transfer-encoding: chunked\r\n\r\n"
    );
    Step::Send(head.into_bytes())
}

pub fn piece(text: impl AsRef<[u8]>) -> Step {
    let text = text.as_ref();
    let mut bytes = format!("{:x}\r\n", text.len()).into_bytes();
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(b"\r\n");
    Step::Send(bytes)
}

pub fn end() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// A whole answer.
pub fn reply(status: u16, kind: &str, extra: &str, body: &str) -> Reply {
    match body {
        "" => vec![head(status, kind, extra), end()],
        body => vec![head(status, kind, extra), piece(body), end()],
    }
}

/// A stream of events, whole.
pub fn events(text: &str) -> Reply {
    reply(200, "text/event-stream", "", text)
}

/// A stream of events that goes on as `then` says.
pub fn events_then(text: &str, then: Step) -> Reply {
    vec![head(200, "text/event-stream; charset=utf-8", ""), piece(text), then]
}
