//! Sanitizes text from MCP servers: tool names that every provider accepts, text without hidden
//! characters, and the relevant reason of an error.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;

use rmcp::transport::streamable_http_client::StreamableHttpError;
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_provider::connection_cause;

use crate::approval::is_hidden;

/// Maximum length of a tool name, as accepted by the strictest provider.
const NAME_CHARS: usize = 64;

/// Length of the hash that makes changed names unique.
const HASH_CHARS: usize = 8;

/// Returns a unique name for a server's tool. A name that must be changed always gets a hash, even
/// if it is not taken: otherwise a tool that the server adds later could get a name that was
/// approved for another tool.
pub(super) fn name(server: &str, tool: &str, taken: &mut BTreeSet<String>) -> String {
    let whole = format!("{server}__{tool}");
    let replace =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let plain: String = whole.chars().map(replace).collect();
    if plain == whole && plain.len() <= NAME_CHARS && taken.insert(plain.clone()) {
        return plain;
    }
    // A hash of the name instead of a counter, so that it does not depend on the server's other
    // tools.
    let hashed = |attempt: usize| {
        let hash = blake3::hash(format!("{whole} {attempt}").as_bytes()).to_hex();
        let kept = plain.chars().take(NAME_CHARS - HASH_CHARS - 1);
        kept.chain(['_']).chain(hash.chars().take(HASH_CHARS)).collect::<String>()
    };
    let mut attempt = 0;
    loop {
        let name = hashed(attempt);
        if taken.insert(name.clone()) {
            return name;
        }
        attempt += 1;
    }
}

/// Removes hidden characters.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// Removes hidden characters and truncates the text to `most` characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut visible = text.chars().filter(|c| !is_hidden(*c));
    let mut kept: String = visible.by_ref().take(most).collect();
    if visible.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Returns the innermost cause of an error, which is the most useful one for people.
pub(super) fn reason(error: &(dyn Error + 'static)) -> Phrase {
    // The message of this error contains the URL, which may hold a secret, and its `source` skips
    // the cause.
    if let Some(StreamableHttpError::Client(request)) =
        error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
    {
        return match request.source() {
            Some(_) => connection_cause(request),
            None => phrase!("server-request-failed", "the request failed"),
        };
    }
    if error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    {
        return phrase!("server-exited", "the server has exited");
    }
    error.source().map_or_else(|| error.to_string().into(), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        let mut taken = BTreeSet::new();
        assert_eq!(name("demo", "echo", &mut taken), "demo__echo");
        let replaced = name("my tide", "read.höhe", &mut taken);
        assert!(replaced.starts_with("my_tide__read_h_he_") && replaced.is_ascii(), "{replaced}");
        let long = "x".repeat(100);
        let names = [
            name("demo", "a.b", &mut taken),
            name("demo", "a_b", &mut taken),
            name("demo", &format!("{long}1"), &mut taken),
            name("demo", &format!("{long}2"), &mut taken),
            name("demo", "echo", &mut taken),
        ];
        assert_eq!(taken.len(), 7);
        for name in &names {
            assert!(name.len() <= 64 && name.starts_with("demo__"), "{name}");
            assert!(
                name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
                "{name}"
            );
        }
    }

    #[test]
    fn a_long_name_does_not_depend_on_other_tools() {
        let long = "x".repeat(100);
        let alone = name("demo", &long, &mut BTreeSet::new());
        let mut taken = BTreeSet::new();
        name("demo", &format!("{long}1"), &mut taken);
        assert_eq!(name("demo", &long, &mut taken), alone);
    }

    /// An approval for `a_b` must not apply to an `a.b` that is added later.
    #[test]
    fn a_valid_name_is_never_given_to_another_tool() {
        let alone = name("demo", "a.b", &mut BTreeSet::new());
        let mut taken = BTreeSet::new();
        assert_eq!(name("demo", "a.b", &mut taken), alone);
        assert_eq!(name("demo", "a_b", &mut taken), "demo__a_b");
        assert_ne!(alone, "demo__a_b");
    }

    #[test]
    fn hidden_characters_are_removed_and_long_text_is_truncated() {
        assert_eq!(plain("tide\u{1b}[31m\r\n\ttable\u{202e}\u{e0041}", 100), "tide[31m\n\ttable");
        assert_eq!(visible("t\u{200b}i\u{2060}d\u{feff}e\u{61c}"), "tide");
        assert_eq!(plain("höhe", 4), "höhe");
        assert_eq!(plain("höhen", 4), "höh…");
    }
}
