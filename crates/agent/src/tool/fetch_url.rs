//! `fetch_url`: a page of the web as text. Off unless the user switches it on, and never to
//! addresses of this machine or its network: a page must not be able to send the model there.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

/// How much is read of a page.
const PAGE_BYTES: usize = 2_000_000;

/// How long it may take.
const TIME: Duration = Duration::from_secs(30);

/// Elements that begin a line, and end one.
const LINES: [&str; 16] = [
    "p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "pre", "title", "head",
    "header",
];

/// Fetches pages.
#[derive(Debug, Default)]
pub(super) struct FetchUrl {
    /// Lets it reach this machine and its network. Only tests do.
    private: bool,
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The address, with http or https.
    url: String,
}

impl Tool for FetchUrl {
    type Arguments = Arguments;
    const NAME: &'static str = "fetch_url";
    const ABOUT: &'static str = "Fetch a page of the web as text.";
    const CAPABILITY: Capability = Capability::Network;
    const ENABLED_BY_DEFAULT: bool = false;

    fn subject(arguments: &Value) -> Subject {
        text(arguments, "url").map_or(Subject::Unknown, Subject::Url)
    }

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let work = self.fetch(&arguments.url);
        let text = tokio::time::timeout(TIME, work).await;
        text.map_err(|_| Failure::transient(format!("{} took too long", arguments.url)))?
            .map(Output::text)
    }
}

impl FetchUrl {
    /// The page as text.
    async fn fetch(&self, address: &str) -> Result<String, Failure> {
        let url = Url::parse(address)
            .map_err(|error| Failure::new(format!("{address:?} is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Failure::new("only http and https are fetched"));
        }
        let client = self.client(&url).await?;
        let answer = client
            .get(url.clone())
            .send()
            .await
            .map_err(|error| Failure::transient(error.without_url().to_string()))?;
        let status = answer.status();
        if status.is_redirection() {
            let to = answer
                .headers()
                .get("location")
                .and_then(|to| to.to_str().ok())
                .unwrap_or("nowhere");
            return Err(Failure::new(format!("the page says it is at {to}; fetch that instead")));
        }
        let kind = answer
            .headers()
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if !(kind.is_empty()
            || ["text/", "json", "xml", "javascript"].iter().any(|text| kind.contains(text)))
        {
            return Err(Failure::new(format!("the page is no text but {kind}")));
        }
        let mut bytes = Vec::new();
        let mut stream = answer.bytes_stream();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(
                &piece.map_err(|error| Failure::transient(error.without_url().to_string()))?,
            );
            if bytes.len() > PAGE_BYTES {
                bytes.truncate(PAGE_BYTES);
                break;
            }
        }
        let body = String::from_utf8_lossy(&bytes);
        let text = if kind.contains("html") { words(&body) } else { body.into_owned() };
        if status.is_success() { Ok(text) } else { Err(Failure::new(format!("{status}\n{text}"))) }
    }

    /// A client that connects to the address that was looked at, and to no other.
    async fn client(&self, url: &Url) -> Result<reqwest::Client, Failure> {
        let host = url.host_str().ok_or_else(|| Failure::new("the address names no host"))?;
        let port = url.port_or_known_default().unwrap_or(443);
        let bare = host.trim_matches(['[', ']']);
        let found = tokio::net::lookup_host((bare, port))
            .await
            .map_err(|error| Failure::transient(format!("{host}: {error}")))?;
        let allowed: Vec<SocketAddr> =
            found.filter(|address| self.private || is_public(address.ip())).collect();
        if allowed.is_empty() {
            return Err(Failure::new(format!(
                "{host} is an address of this machine or its network; it is not fetched"
            )));
        }
        let builder = waterline_provider::address::client()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        builder
            .resolve_to_addrs(host, &allowed)
            .build()
            .map_err(|error| Failure::new(error.to_string()))
    }
}

/// Whether an address is somebody's on the internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            // Shared between customers of a provider, for protocols, relays to IPv6, for measuring:
            // nobody's on the internet.
            let special = matches!(
                v4.octets(),
                [100, 64..128, ..]
                    | [192, 0, 0, _]
                    | [192, 88, 99, _]
                    | [198, 18..20, ..]
                    | [0, ..]
                    | [240..=255, ..]
            );
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast())
                && !(v4.is_documentation() || v4.is_unspecified() || special)
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(IpAddr::V4(v4)),
            None => {
                // Addresses that stand for others: translated, tunnelled (6to4, Teredo), or of the
                // old form.
                let stands_for = matches!(
                    v6.segments(),
                    [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] | [0, 0, 0, 0, 0, 0, ..]
                );
                // Of a site, for documents, for routing, to be thrown away.
                let special = matches!(
                    v6.segments(),
                    [0xfec0..=0xfeff, ..]
                        | [0x2001, 0xdb8, ..]
                        | [0x3fff, 0..0x1000, ..]
                        | [0x5f00, ..]
                        | [0x100, 0, 0, 0, ..]
                );
                let local =
                    v6.is_unique_local() || v6.is_unicast_link_local() || stands_for || special;
                !(v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || local)
            }
        },
    }
}

/// The words of a page.
fn words(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if LINES.contains(&name.as_str()) {
            text.push('\n');
        }
        // What a script or a style sheet holds is nothing to read; without an end it is all that is
        // left.
        let is_hidden = !tag.starts_with('/') && ["script", "style"].contains(&name.as_str());
        let tail = if is_hidden { behind(tag, &name).unwrap_or_default() } else { tag };
        rest = tail.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let plain = text
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"");
    let plain = plain.replace("&#39;", "'").replace("&amp;", "&");
    let lines = plain.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut kept: Vec<String> = lines.collect();
    kept.dedup_by(|line, before| line.is_empty() && before.is_empty());
    kept.join("\n").trim().to_owned()
}

/// What stands from the end tag of an element on, in whatever letters it is written.
fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once("</") {
        if tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return Some(tag);
        }
        rest = tag;
    }
    None
}

#[cfg(test)]
mod tests {
    use waterline_testkit::server::{Reply, Server};

    use super::*;

    async fn fetch(server: &Server, path: &str) -> Result<String, String> {
        let tool = FetchUrl { private: true };
        tool.fetch(&format!("{}{path}", server.url)).await.map_err(|failure| failure.text)
    }

    #[tokio::test]
    async fn a_page_is_fetched_as_text_and_what_is_none_is_refused() {
        let server = Server::start(|received| {
            let (status, headers, body) = match received.path.as_str() {
                "/page" => (
                    200,
                    "content-type: text/html; charset=utf-8\r\n",
                    "<h1>Tide</h1><p>4.2&nbsp;m</p>",
                ),
                "/plain" => (200, "content-type: text/plain\r\n", "1 < 2"),
                "/picture" => (200, "content-type: image/png\r\n", "png"),
                "/moved" => (302, "location: http://elsewhere.example/\r\n", ""),
                _ => (404, "content-type: text/html\r\n", "<p>there is no such page"),
            };
            Reply::Status { status, headers: headers.to_owned(), body: body.to_owned() }
        });
        let server = server.await.unwrap();
        assert_eq!(fetch(&server, "/page").await.unwrap(), "Tide\n\n4.2 m");
        assert_eq!(fetch(&server, "/plain").await.unwrap(), "1 < 2");
        assert_eq!(
            fetch(&server, "/picture").await.unwrap_err(),
            "the page is no text but image/png"
        );
        assert!(
            fetch(&server, "/moved")
                .await
                .unwrap_err()
                .contains("http://elsewhere.example/; fetch that instead")
        );
        let missing = fetch(&server, "/nowhere").await.unwrap_err();
        assert!(
            missing.starts_with("404") && missing.ends_with("\nthere is no such page"),
            "{missing}"
        );
        let before = server.received().len();
        let refused = FetchUrl::default().fetch(&format!("{}/page", server.url)).await.unwrap_err();
        assert!(refused.text.contains("127.0.0.1 is an address of this machine"), "{refused:?}");
        assert!(FetchUrl::default().fetch("file:///etc/passwd").await.is_err());
        assert_eq!(server.received().len(), before, "nobody asked");
    }

    #[test]
    fn the_words_of_a_page_are_left() {
        let page = "<html><style>p{}</style><h1>Tide&nbsp;tables</h1><script>var a = '<p>';</script><p>High   &amp; low</p></html>";
        assert_eq!(words(page), "Tide tables\n\nHigh & low");
        let shouted = "<LINK rel=icon><STYLE>p{}</Style>high <SCRIPT>if (a </b/.test('<p>')) {}</SCRIPT>tide<BR/>low<script>x";
        assert_eq!(words(shouted), "high tide\nlow");
        assert_eq!(words("one<link><path>two<li>three</li>"), "onetwo\nthree");
    }

    #[test]
    fn addresses_of_this_machine_and_its_network_are_not_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "feff::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:198.18.0.1",
            "64:ff9b::7f00:1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "192.0.1.1",
            "192.88.98.1",
            "198.17.255.255",
            "198.20.0.1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
