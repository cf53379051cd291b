//! What a server says, made fit to be shown and used: names that every model accepts, words without
//! hidden characters, reasons that a person can act on.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;

use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::approval::is_hidden;

/// How long the name of a tool may be: what the strictest provider takes.
const NAME_CHARS: usize = 64;

/// How many characters tell names apart that would be the same otherwise.
const MARK_CHARS: usize = 8;

/// The name of a server's tool, unlike those that are taken. One that cannot be used as it is gets
/// a mark of its own, whatever else the server offers: else a tool that comes tomorrow could take
/// the name that somebody agreed to for another one.
pub(super) fn name(server: &str, tool: &str, taken: &mut BTreeSet<String>) -> String {
    let whole = format!("{server}__{tool}");
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let plain: String = whole.chars().map(fit).collect();
    if plain == whole && plain.len() <= NAME_CHARS && taken.insert(plain.clone()) {
        return plain;
    }
    // Made of the name itself and not counted, so that it does not depend on what else the server
    // offers.
    let marked = |attempt: usize| {
        let mark = blake3::hash(format!("{whole} {attempt}").as_bytes()).to_hex();
        let kept = plain.chars().take(NAME_CHARS - MARK_CHARS - 1);
        kept.chain(['_']).chain(mark.chars().take(MARK_CHARS)).collect::<String>()
    };
    let mut attempt = 0;
    loop {
        let name = marked(attempt);
        if taken.insert(name.clone()) {
            return name;
        }
        attempt += 1;
    }
}

/// A text without what cannot be seen in it.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// The same, cut to so many characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut seen = text.chars().filter(|c| !is_hidden(*c));
    let mut kept: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// The innermost reason of an error, which is the one a person can act on.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    // What this one says of itself names the address, which may hold a secret, and it does not
    // count its cause as one.
    if let Some(StreamableHttpError::Client(request)) =
        error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
    {
        return request.source().map_or_else(|| "the request failed".to_owned(), reason);
    }
    if error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    {
        return "it has ended".to_owned();
    }
    error.source().map_or_else(|| error.to_string(), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_model_accepts_and_never_the_same() {
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
    fn the_name_of_a_long_one_does_not_depend_on_the_others() {
        let long = "x".repeat(100);
        let alone = name("demo", &long, &mut BTreeSet::new());
        let mut taken = BTreeSet::new();
        name("demo", &format!("{long}1"), &mut taken);
        assert_eq!(name("demo", &long, &mut taken), alone);
    }

    /// What somebody agreed to for `a_b` must not hold for an `a.b` that comes later.
    #[test]
    fn a_name_that_needs_no_change_is_never_lost_to_one_that_does() {
        let alone = name("demo", "a.b", &mut BTreeSet::new());
        let mut taken = BTreeSet::new();
        assert_eq!(name("demo", "a.b", &mut taken), alone);
        assert_eq!(name("demo", "a_b", &mut taken), "demo__a_b");
        assert_ne!(alone, "demo__a_b");
    }

    #[test]
    fn what_cannot_be_seen_is_taken_out_and_what_is_too_long_is_cut() {
        assert_eq!(plain("tide\u{1b}[31m\r\n\ttable\u{202e}\u{e0041}", 100), "tide[31m\n\ttable");
        assert_eq!(visible("t\u{200b}i\u{2060}d\u{feff}e\u{61c}"), "tide");
        assert_eq!(plain("höhe", 4), "höhe");
        assert_eq!(plain("höhen", 4), "höh…");
    }
}
