//! An HTTP proxy that connects only to listed hosts. It runs in the supervisor of a command, and
//! the command can reach nothing else.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::host::split_port;
use super::{Host, is_public};

/// The largest head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Maximum number of connections at a time.
const MAX_CONNECTIONS: usize = 200;

const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Headers that are for the proxy, or that it sets itself.
const OWN_HEADERS: [&str; 5] =
    ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];

/// Accepts connections until the process ends.
pub(crate) fn serve(listener: &TcpListener, hosts: &[Host]) {
    let hosts: Arc<[Host]> = hosts.into();
    let open = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming().flatten() {
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let hosts = Arc::clone(&hosts);
        let open = Arc::clone(&open);
        std::thread::spawn(move || {
            // A client that has disconnected needs no answer.
            let _ = handle(client, &hosts);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// A request to the proxy.
struct Request {
    is_connect: bool,
    host: String,
    port: u16,
    /// What is sent to the server first.
    start: Vec<u8>,
}

fn handle(mut client: TcpStream, hosts: &[Host]) -> std::io::Result<()> {
    client.set_read_timeout(Some(HEAD_TIMEOUT))?;
    let Some(request) = read_head(&mut client)?.and_then(|(head, rest)| parse(&head, rest)) else {
        return refuse(&mut client, "400 Bad Request", "the proxy cannot parse this request");
    };
    let Request { is_connect, host, port, start } = request;
    let address = match resolve(&host, port, hosts) {
        Ok(addresses) => addresses,
        Err(why) => return refuse(&mut client, "403 Forbidden", &why),
    };
    let connected =
        address.iter().find_map(|at| TcpStream::connect_timeout(at, CONNECT_TIMEOUT).ok());
    let Some(mut server) = connected else {
        return refuse(&mut client, "502 Bad Gateway", &format!("cannot connect to {host}:{port}"));
    };
    client.set_read_timeout(None)?;
    if is_connect {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    }
    server.write_all(&start)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let upward = std::thread::spawn(move || {
        drop(std::io::copy(&mut from_client, &mut to_server));
        drop(to_server.shutdown(Shutdown::Write));
    });
    drop(std::io::copy(&mut server, &mut client));
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
    drop(upward.join());
    Ok(())
}

/// Returns the addresses of a host that a command may connect to, or why there are none. The
/// addresses are used as they are, so that a second lookup cannot lead elsewhere.
fn resolve(host: &str, port: u16, hosts: &[Host]) -> Result<Vec<SocketAddr>, String> {
    if !hosts.iter().any(|allowed| allowed.allows(host, port)) {
        return Err(format!("{host}:{port} is not in the list of allowed hosts"));
    }
    let found = (host, port).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
    let is_allowed = |address: &SocketAddr| {
        is_public(address.ip())
            || hosts.iter().any(|allowed| allowed.allows_private(address.ip(), port))
    };
    let allowed: Vec<SocketAddr> = found.filter(is_allowed).collect();
    match allowed.is_empty() {
        true => Err(format!("{host} has a private or local address, which is not listed")),
        false => Ok(allowed),
    }
}

/// Reads the head of a request. Returns it, and the bytes after it.
fn read_head(client: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
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

fn refuse(client: &mut TcpStream, status: &str, why: &str) -> std::io::Result<()> {
    let length = why.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{why}\n"
    )
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
    fn only_listed_hosts_are_resolved() {
        let hosts =
            |list: &[&str]| list.iter().map(|host| host.parse().unwrap()).collect::<Vec<_>>();
        assert!(resolve("127.0.0.1", 80, &hosts(&["localhost"])).unwrap_err().contains("not in"));
        assert!(resolve("localhost", 80, &hosts(&["localhost"])).is_ok());
        assert!(resolve("localhost", 8080, &hosts(&["localhost"])).is_err());
        let named = hosts(&["169.254.169.254"]);
        assert!(resolve("169.254.169.254", 80, &named).is_ok());
        assert!(resolve("127.0.0.1", 80, &hosts(&["*.0.1x", "127.0.0.1:9"])).is_err());
    }
}
