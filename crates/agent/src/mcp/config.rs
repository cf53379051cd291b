//! Which servers there are, as the config names them. Nothing here speaks to anybody.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use waterline_provider::address::bare;

/// A shorter word of a header may be part of anything.
const SECRET_BYTES: usize = 8;

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it is called here. The names of its tools begin with it.
    pub name: String,
    /// Where it is.
    pub transport: Transport,
    /// Its tools that may be used, by the server's own names; without a list, all of them.
    pub tools: Option<Vec<String>>,
    /// How long it may take to be ready, and then to answer each call.
    pub timeout: Duration,
}

/// How a server is spoken to.
#[derive(Clone)]
pub enum Transport {
    /// A program that is started, over its input and output.
    Command {
        /// The program: a path, or a name to be found in the `PATH` below.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its whole environment: nothing else of ours is handed on.
        environment: BTreeMap<String, String>,
        /// The folder it starts in. Not the one where we are, which may be anybody's: some programs
        /// run what they find there.
        folder: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Sent with every request.
        headers: BTreeMap<String, String>,
    },
}

impl Transport {
    /// What a server says, without the headers it was sent, which some servers repeat when they
    /// refuse them.
    pub(super) fn redacted(&self, text: &str) -> String {
        let Self::Http { headers, .. } = self else { return text.to_owned() };
        let words = headers.values().flat_map(|value| value.split_whitespace());
        let secrets = words.filter(|word| word.len() >= SECRET_BYTES);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[header]"))
    }
}

/// By hand, because the values may be secrets.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, arguments, environment, folder } => {
                let names: Vec<&String> = environment.keys().collect();
                let mut shown = f.debug_struct("Command");
                shown
                    .field("program", program)
                    .field("arguments", arguments)
                    .field("environment", &names);
                shown.field("folder", folder).finish()
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
    fn a_server_is_shown_without_its_secrets() {
        let url = "https://me:hush-hush@tide.example/@crew/mcp?key=hush-hush".to_owned();
        let http = Transport::Http { url, headers: map("Authorization", "Bearer hush-hush") };
        let shown = format!("{http:?}");
        assert!(!shown.contains("hush"), "{shown}");
        assert!(
            shown.contains("https://tide.example/@crew/mcp") && shown.contains("Authorization"),
            "{shown}"
        );

        let environment = map("TIDE_KEY", "hush-hush");
        let (program, folder) = ("tide".to_owned(), PathBuf::from("/"));
        let command = Transport::Command { program, arguments: Vec::new(), environment, folder };
        let shown = format!("{command:?}");
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("TIDE_KEY"), "{shown}");
    }

    #[test]
    fn a_header_that_a_server_repeats_is_left_out() {
        let headers = map("Authorization", "Bearer hush-hush");
        let http = Transport::Http { url: "https://tide.example".to_owned(), headers };
        assert_eq!(http.redacted("Bearer: bad key hush-hush"), "Bearer: bad key [header]");
    }
}
