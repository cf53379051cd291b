//! The configured MCP servers. Nothing here connects to them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use waterline_provider::address::bare;

/// Shorter words of a header are not redacted: they may occur in any text.
const SECRET_BYTES: usize = 8;

/// A configured server.
#[derive(Clone, Debug)]
pub struct Server {
    /// The configured name. The names of its tools start with it.
    pub name: String,
    /// How to connect to it.
    pub transport: Transport,
    /// The tools that may be used, by the server's names; `None` means all.
    pub tools: Option<Vec<String>>,
    /// The timeout for the connection and for each call.
    pub timeout: Duration,
}

/// How to connect to a server.
#[derive(Clone)]
#[non_exhaustive]
pub enum Transport {
    /// A program that is started; messages go over its standard input and output.
    Command {
        /// The program: a path, or a name to find in the `PATH` of `environment`.
        program: String,
        /// What the program is started with.
        arguments: Vec<String>,
        /// The complete environment: nothing is inherited.
        environment: BTreeMap<String, String>,
        /// The directory it starts in. Not the current directory, which may be untrusted: some
        /// programs run files they find there.
        directory: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        /// Where requests are posted.
        url: String,
        /// Headers sent with every request.
        headers: BTreeMap<String, String>,
    },
}

impl Transport {
    /// Removes the values of headers from a server's message. Some servers repeat a header when
    /// they reject it.
    pub(super) fn redacted(&self, text: &str) -> String {
        let Self::Http { headers, .. } = self else { return text.to_owned() };
        let words = headers.values().flat_map(|value| value.split_whitespace());
        let secrets = words.filter(|word| word.len() >= SECRET_BYTES);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[header]"))
    }
}

/// Written by hand, because the values may be secrets.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, arguments, environment, directory } => {
                let names: Vec<&String> = environment.keys().collect();
                let mut shown = f.debug_struct("Command");
                shown
                    .field("program", program)
                    .field("arguments", arguments)
                    .field("environment", &names);
                shown.field("directory", directory).finish()
            }
            Self::Http { url, headers } => {
                let names: Vec<&String> = headers.keys().collect();
                f.debug_struct("Http").field("url", &bare(url)).field("headers", &names).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let url = "https://me:hush-hush@tide.example/@crew/mcp?key=hush-hush".to_owned();
        let http = Transport::Http { url, headers: map("Authorization", "Bearer hush-hush") };
        let shown = format!("{http:?}");
        assert!(!shown.contains("hush"), "{shown}");
        assert!(
            shown.contains("https://tide.example/@crew/mcp") && shown.contains("Authorization"),
            "{shown}"
        );

        let environment = map("TIDE_KEY", "hush-hush");
        let command = Transport::Command {
            program: "tide".to_owned(),
            arguments: Vec::new(),
            environment,
            directory: PathBuf::from("/"),
        };
        let shown = format!("{command:?}");
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("TIDE_KEY"), "{shown}");
    }

    #[test]
    fn a_header_that_a_server_repeats_is_redacted() {
        let headers = map("Authorization", "Bearer hush-hush");
        let http = Transport::Http { url: "https://tide.example".to_owned(), headers };
        assert_eq!(http.redacted("Bearer: bad key hush-hush"), "Bearer: bad key [header]");
    }
}
