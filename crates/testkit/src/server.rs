//! A model server that follows a script: it replies at once, in pieces of any size, slowly, not at
//! all, or breaks off at any byte. Its HTTP is written by hand, because a proper server would not
//! send half a response.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request that the server received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The path with the query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The request body as text.
    pub body: String,
}

impl Received {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// How the server replies.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Streams events, in pieces of any size.
    Stream {
        /// The data of each event.
        events: Vec<String>,
        /// Bytes per piece; 0 sends everything at once.
        piece: usize,
    },
    /// Streams events slowly, with a pause before each.
    Slow {
        /// The data of each event.
        events: Vec<String>,
        /// How long to wait before each event.
        pause: Duration,
    },
    /// Streams events and closes the connection in the middle.
    Cut {
        /// The data of each event.
        events: Vec<String>,
        /// The number of bytes to send.
        at: usize,
    },
    /// Streams some events and then sends nothing more.
    Stall {
        /// The data of each event.
        events: Vec<String>,
        /// The number of events to send.
        after: usize,
    },
    /// Replies with a status.
    Status {
        /// The status code of HTTP.
        status: u16,
        /// Headers, one per line.
        headers: String,
        /// What the response contains, usually an error as JSON.
        body: String,
    },
    /// Replies with a status, announces a body and never sends it.
    Stuck(u16),
    /// Reads the request and never replies.
    Hang,
}

impl Reply {
    /// A reply that streams events at once.
    #[must_use]
    pub fn stream(events: &[&str]) -> Self {
        Self::Stream { events: owned(events), piece: 0 }
    }

    /// A reply with a status and a body.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Status { status, headers: String::new(), body: body.into() }
    }
}

/// Converts events to owned strings.
#[must_use]
pub fn owned(events: &[&str]) -> Vec<String> {
    events.iter().map(|event| (*event).to_owned()).collect()
}

/// Encodes events as an event stream.
#[must_use]
pub fn bytes(events: &[String]) -> Vec<u8> {
    events.iter().flat_map(|data| format!("data: {data}\n\n").into_bytes()).collect()
}

/// Decides how to reply to each request.
type Script = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

/// A running server. It stops with the runtime.
#[derive(Clone, Debug)]
pub struct Server {
    /// The server's address.
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Starts a server on a free port. `script` decides how to reply to each request.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let server =
            Self { url: format!("http://{}", listener.local_addr()?), received: Arc::default() };
        let received = Arc::clone(&server.received);
        let script: Script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let received = Arc::clone(&received);
                let script = Arc::clone(&script);
                tokio::spawn(async move {
                    // Some tests close the connection in the middle of a response.
                    drop(serve(stream, &received, script).await);
                });
            }
        });
        Ok(server)
    }

    /// Returns the requests received so far, without those that ask about the server itself.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        let received = self.received.lock().map(|received| received.clone()).unwrap_or_default();
        received.into_iter().filter(|received| !is_question(&received.path)).collect()
    }
}

/// Whether a request asks about the server: which models it has, and their windows.
pub(crate) fn is_question(path: &str) -> bool {
    ["/v1/models", "/props", "/api/v0/models", "/api/ps", "/api/show"].contains(&path)
}

async fn serve(
    mut stream: TcpStream,
    received: &Mutex<Vec<Received>>,
    script: Script,
) -> io::Result<()> {
    let request = read(&mut stream).await?;
    let copy = request.clone();
    // A script may block, so it runs on a separate thread.
    let reply =
        tokio::task::spawn_blocking(move || script(&copy)).await.map_err(io::Error::other)?;
    if let Ok(mut received) = received.lock() {
        received.push(request);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    match reply {
        Reply::Stream { events, piece } => {
            stream.write_all(head.as_bytes()).await?;
            write_pieces(&mut stream, &bytes(&events), piece).await?;
        }
        Reply::Slow { events, pause } => {
            stream.write_all(head.as_bytes()).await?;
            for event in &events {
                tokio::time::sleep(pause).await;
                stream.write_all(&bytes(std::slice::from_ref(event))).await?;
                stream.flush().await?;
            }
        }
        Reply::Cut { events, at } => {
            // The announced length is never reached, so the client notices that data is missing.
            let all = bytes(&events);
            let head = head.replace(
                "connection: close",
                &format!("content-length: {}\r\nconnection: close", all.len()),
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(all.get(..at).unwrap_or(&all)).await?;
        }
        Reply::Stall { events, after } => {
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&bytes(events.get(..after).unwrap_or(&events))).await?;
            stream.flush().await?;
            tokio::time::sleep(Duration::from_secs(3_600)).await;
        }
        Reply::Status { status, headers, body } => {
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            stream.write_all(text.as_bytes()).await?;
        }
        Reply::Stuck(status) => {
            stream
                .write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 100\r\n\r\n").as_bytes())
                .await?;
            stream.flush().await?;
            tokio::time::sleep(Duration::from_secs(3_600)).await;
        }
        Reply::Hang => tokio::time::sleep(Duration::from_secs(3_600)).await,
    }
    stream.shutdown().await
}

/// Writes bytes piece by piece, so that a character or an event may be split.
async fn write_pieces(stream: &mut TcpStream, bytes: &[u8], piece: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    for part in bytes.chunks(if piece == 0 { bytes.len().max(1) } else { piece }) {
        stream.write_all(part).await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn read(stream: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8_192];
    loop {
        let count = stream.read(&mut buffer).await?;
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let received = parse(head, body);
        let length =
            received.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        if count == 0 || bytes.len() >= head.len() + 4 + length {
            return Ok(received);
        }
    }
}

fn parse(head: &str, body: &str) -> Received {
    let mut lines = head.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Received { path, headers, body: body.to_owned() }
}
