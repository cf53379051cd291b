//! An HTTP proxy that connects only to listed hosts. It runs in the supervisor of a command, and
//! the command can reach nothing else.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::host::split_port;
use super::{Host, RefusedHosts, is_public};

/// The largest head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Maximum number of concurrent connections, and of further ones that get an error response.
const MAX_CONNECTIONS: usize = 200;
const MAX_REFUSED: usize = 50;

const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a client may keep sending after its answer, and how much of that is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_DRAINED_BYTES: u64 = 1024 * 1024;

/// Headers that are for the proxy, or that it sets itself.
const OWN_HEADERS: [&str; 5] =
    ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];

/// Accepts connections until the process ends. Hosts that are not listed are added to `refused`.
pub(crate) fn serve(listener: &TcpListener, hosts: &[Host], refused: &RefusedHosts) {
    let hosts: Arc<[Host]> = hosts.into();
    let open = Arc::new(AtomicUsize::new(0));
    for mut client in listener.incoming().flatten() {
        let earlier = open.fetch_add(1, Ordering::Relaxed);
        if earlier >= MAX_CONNECTIONS + MAX_REFUSED {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let hosts = Arc::clone(&hosts);
        let refused = refused.clone();
        let open = Arc::clone(&open);
        std::thread::spawn(move || {
            // A client that has disconnected needs no answer.
            let _ = match earlier < MAX_CONNECTIONS {
                true => handle(client, &hosts, &refused, HEAD_TIMEOUT),
                false => refuse(&mut client, UNAVAILABLE, "the proxy has too many connections"),
            };
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// A request that is not forwarded.
struct Refused {
    status: &'static str,
    why: String,
    /// The entry that would allow it.
    missing: Option<Host>,
}

const FORBIDDEN: &str = "403 Forbidden";
const TIMED_OUT: &str = "408 Request Timeout";
const BAD_GATEWAY: &str = "502 Bad Gateway";
const UNAVAILABLE: &str = "503 Service Unavailable";

/// A request to the proxy.
struct Request {
    is_connect: bool,
    host: String,
    port: u16,
    /// What is sent to the server first.
    start: Vec<u8>,
}

fn handle(
    mut client: TcpStream,
    hosts: &[Host],
    refused: &RefusedHosts,
    head_timeout: Duration,
) -> io::Result<()> {
    client.set_read_timeout(Some(head_timeout))?;
    let head = match read_head(&mut client) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return refuse(&mut client, TIMED_OUT, "the request is not complete");
        }
        head => head?,
    };
    let Some(request) = head.and_then(|(head, rest)| parse(&head, rest)) else {
        return refuse(&mut client, "400 Bad Request", "the proxy cannot parse this request");
    };
    let Request { is_connect, host, port, start } = request;
    let address = match resolve(&host, port, hosts) {
        Ok(addresses) => addresses,
        Err(Refused { status, why, missing }) => {
            missing.iter().for_each(|host| refused.add(host));
            return refuse(&mut client, status, &why);
        }
    };
    let connected =
        address.iter().find_map(|at| TcpStream::connect_timeout(at, CONNECT_TIMEOUT).ok());
    let Some(mut server) = connected else {
        return refuse(&mut client, BAD_GATEWAY, &format!("cannot connect to {host}:{port}"));
    };
    client.set_read_timeout(None)?;
    if is_connect {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    }
    server.write_all(&start)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let upward = std::thread::spawn(move || {
        drop(io::copy(&mut from_client, &mut to_server));
        drop(to_server.shutdown(Shutdown::Write));
    });
    drop(io::copy(&mut server, &mut client));
    drop(server.shutdown(Shutdown::Both));
    // This also ends the other direction, which may be waiting for the client.
    let closed = close_after_drain(&client);
    drop(upward.join());
    closed
}

/// Returns the addresses of a host that a command may connect to, or why there are none. The
/// addresses are used as they are, so that a second lookup cannot lead elsewhere.
fn resolve(host: &str, port: u16, hosts: &[Host]) -> Result<Vec<SocketAddr>, Refused> {
    let forbidden =
        |why: String, name: &str| Refused { status: FORBIDDEN, why, missing: Host::of(name, port) };
    if !hosts.iter().any(|allowed| allowed.allows(host, port)) {
        let why = format!("{host}:{port} is not in the list of allowed hosts");
        return Err(forbidden(why, host));
    }
    // The host is allowed, so that another list would not help.
    let unknown =
        |error| Refused { status: BAD_GATEWAY, why: format!("{host}: {error}"), missing: None };
    let found = (host, port).to_socket_addrs().map_err(unknown)?;
    let is_allowed = |address: &SocketAddr| {
        is_public(address.ip())
            || hosts.iter().any(|allowed| allowed.allows_private(address.ip(), port))
    };
    let (allowed, others): (Vec<SocketAddr>, Vec<SocketAddr>) = found.partition(is_allowed);
    if allowed.is_empty() {
        let why = format!("{host} has a private or local address, which is not listed");
        let address = others.first().map(|address| address.ip().to_string());
        return Err(forbidden(why, &address.unwrap_or_default()));
    }
    Ok(allowed)
}

/// Reads the head of a request. Returns it, and the bytes after it.
fn read_head(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < MAX_HEAD_BYTES {
        let count = client.read(&mut buffer)?;
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
        if count == 0 {
            break;
        }
    }
    Ok(None)
}

fn parse(head: &str, rest: Vec<u8>) -> Option<Request> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = split_port(target)?;
        return Some(Request { is_connect: true, host: host.to_owned(), port: port?, start: rest });
    }
    let target = target.strip_prefix("http://")?;
    let (authority, path) = target.split_at(target.find(['/', '?']).unwrap_or(target.len()));
    let (host, port) = split_port(authority)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // One request for each connection: the next one could name another host.
    let mut start =
        format!("{method} {slash}{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    for line in lines.filter(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !OWN_HEADERS.contains(&name.as_str()) {
            start.push_str(line);
            start.push_str("\r\n");
        }
    }
    start.push_str("\r\n");
    let mut start = start.into_bytes();
    start.extend(rest);
    let port = port.unwrap_or(80);
    Some(Request { is_connect: false, host: host.to_owned(), port, start })
}

fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{why}\n"
    )?;
    close_after_drain(client)
}

/// Closes a connection after the answer. Closing a socket with unread bytes resets the connection,
/// and the client, which may still be sending, would not see the whole answer.
fn close_after_drain(client: &TcpStream) -> io::Result<()> {
    let drained = client
        .shutdown(Shutdown::Write)
        .and_then(|()| client.set_read_timeout(Some(DRAIN_TIMEOUT)))
        .and_then(|()| io::copy(&mut client.take(MAX_DRAINED_BYTES), &mut io::sink()));
    client.shutdown(Shutdown::Both)?;
    drained.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_and_rewritten() {
        let request =
            parse("CONNECT crates.io:443 HTTP/1.1\r\nHost: x\r\n\r\n", Vec::new()).unwrap();
        assert!(request.is_connect && request.host == "crates.io" && request.port == 443);
        let head = "GET http://a.org:81/x?y HTTP/1.1\r\nHost: b.org\r\nAccept: */*\r\n\r\n";
        let request = parse(head, b"body".to_vec()).unwrap();
        assert_eq!((request.host.as_str(), request.port), ("a.org", 81));
        assert_eq!(
            String::from_utf8(request.start).unwrap(),
            "GET /x?y HTTP/1.1\r\nHost: a.org:81\r\nConnection: close\r\nAccept: */*\r\n\r\nbody"
        );
        for head in ["GET / HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n", "x\r\n\r\n"] {
            assert!(parse(head, Vec::new()).is_none(), "{head}");
        }
    }

    #[test]
    fn refused_client_reads_the_answer_after_sending_more() {
        let (address, refused) = proxy(Vec::new());
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"CONNECT crates.io:443 HTTP/1.1\r\n\r\n").unwrap();
        let answer = answer_while_sending(&mut client);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.ends_with("is not in the list of allowed hosts\n"), "{answer}");
        assert_eq!(refused.take(), ["crates.io"]);
    }

    /// Returns the address of a proxy that forwards to these hosts, and what it refuses.
    fn proxy(hosts: Vec<Host>) -> (SocketAddr, RefusedHosts) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let refused = RefusedHosts::default();
        let kept = refused.clone();
        std::thread::spawn(move || serve(&listener, &hosts, &kept));
        (address, refused)
    }

    /// Sends more after the answer begins, and returns the whole answer.
    fn answer_while_sending(client: &mut TcpStream) -> String {
        let mut answer = vec![0; 12];
        client.read_exact(&mut answer).unwrap();
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(50));
            client.write_all(&[b'x'; 10_000]).unwrap();
        }
        client.shutdown(Shutdown::Write).unwrap();
        client.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn client_reads_the_answer_of_a_server_that_closes_first() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = server.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut connection = server.accept().unwrap().0;
            connection.read_exact(&mut [0; 5]).unwrap();
            connection.write_all(b"the tide is high").unwrap();
        });
        let mut client = TcpStream::connect(proxy(vec![host.parse().unwrap()]).0).unwrap();
        write!(client, "CONNECT {host} HTTP/1.1\r\n\r\nhello").unwrap();
        let answer = answer_while_sending(&mut client);
        assert!(answer.ends_with("the tide is high"), "{answer}");
    }

    #[test]
    fn client_beyond_the_limit_reads_why_it_is_refused() {
        let (address, _) = proxy(Vec::new());
        let connect = |_| TcpStream::connect(address).unwrap();
        let _open: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(connect).collect();
        let answer = answer_while_sending(&mut connect(0));
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.ends_with("too many connections\n"), "{answer}");
    }

    #[test]
    fn client_that_sends_its_request_too_slowly_reads_why_it_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"CONNECT crates.io").unwrap();
        let accepted = listener.accept().unwrap().0;
        std::thread::spawn(move || {
            handle(accepted, &[], &RefusedHosts::default(), Duration::from_millis(50))
        });
        let answer = answer_while_sending(&mut client);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }

    #[test]
    fn only_listed_hosts_are_resolved() {
        let hosts =
            |list: &[&str]| list.iter().map(|host| host.parse().unwrap()).collect::<Vec<_>>();
        assert!(
            resolve("127.0.0.1", 80, &hosts(&["localhost"])).unwrap_err().why.contains("not in")
        );
        assert!(resolve("localhost", 80, &hosts(&["localhost"])).is_ok());
        let missing = |name, port, list: &[&str]| {
            resolve(name, port, &hosts(list)).unwrap_err().missing.unwrap().to_string()
        };
        assert_eq!(missing("localhost", 8080, &["localhost"]), "localhost:8080");
        assert_eq!(missing("b.org", 80, &["a.org"]), "b.org");
        let named = hosts(&["169.254.169.254"]);
        assert!(resolve("169.254.169.254", 80, &named).is_ok());
        assert!(resolve("127.0.0.1", 80, &hosts(&["*.0.1x", "127.0.0.1:9"])).is_err());
    }
}
