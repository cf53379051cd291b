//! Variables: of the process, and of a `.env` file in the folder where the program runs. The process wins. The file may come with a
//! folder from somebody else, so only what cannot send a key elsewhere is taken from it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::OnceLock;

use waterline_sandbox::small_file;

/// The file.
pub const FILE: &str = ".env";

/// Keys that tell which provider somebody uses.
pub const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
pub const OPENAI_KEY: &str = "OPENAI_API_KEY";
pub const GEMINI_KEY: &str = "GEMINI_API_KEY";

/// The same, in the order in which they are looked for.
pub const PROVIDER_KEYS: [&str; 3] = [ANTHROPIC_KEY, OPENAI_KEY, GEMINI_KEY];

/// The key for an address of one's own.
pub const OWN_KEY: &str = "WATERLINE_API_KEY";

/// Variables that tell the language.
pub const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// What is taken from the file beside the providers' keys: the seeds' names, models and policies.
const TAKEN: [&str; 7] = [
    "MAX_MESSAGE_HISTORY",
    "AGENT_MAX_CONTEXT_TOKENS",
    "AGENT_MAX_CONTEXT_TURNS",
    "AGENT_MAX_STEPS",
    "WATERLINE_MODEL",
    "WATERLINE_POLICY",
    "WATERLINE_LANG",
];

static OF_FILE: OnceLock<Result<BTreeMap<String, String>, String>> = OnceLock::new();

/// Where a variable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The process has it.
    Process,
    /// The file has it.
    File,
}

/// Every variable that holds a key.
pub fn keys() -> impl Iterator<Item = &'static str> {
    PROVIDER_KEYS.into_iter().chain([OWN_KEY])
}

/// A variable that says something.
pub fn variable(name: &str) -> Option<String> {
    find(name).map(|(value, _)| value)
}

/// A variable, and where it was found.
pub fn find(name: &str) -> Option<(String, Origin)> {
    let process = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    process.map(|value| (value, Origin::Process)).or_else(|| {
        let value = of_file().as_ref().ok()?.get(name)?;
        Some((value.clone(), Origin::File)).filter(|(value, _)| !value.trim().is_empty())
    })
}

/// Whether the file, and not the process, says what a variable is.
pub fn is_of_file(name: &str) -> bool {
    matches!(find(name), Some((_, Origin::File)))
}

/// Why the file is there and is passed over.
pub fn trouble() -> Option<&'static str> {
    of_file().as_ref().err().map(String::as_str)
}

fn of_file() -> &'static Result<BTreeMap<String, String>, String> {
    OF_FILE.get_or_init(|| match small_file::read_inside(Path::new("."), Path::new(FILE)) {
        Ok(text) => Ok(read(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        // Some keep a folder of that name, which is about something else.
        Err(_) if Path::new(FILE).is_dir() => Ok(BTreeMap::new()),
        Err(error) => Err(error.to_string()),
    })
}

/// The lines `NAME=value`, with or without `export` and quotes. Those that are not taken are passed over.
fn read(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim();
        let quoted =
            ['"', '\''].into_iter().find_map(|mark| value.strip_prefix(mark)?.split_once(mark).map(|(inner, _)| inner));
        // Behind a value that is not quoted, a comment may follow.
        let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
        let name = name.trim();
        (TAKEN.contains(&name) || PROVIDER_KEYS.contains(&name)).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S0.29: the seeds' settings from a file.
    #[test]
    fn s0_29_the_file_is_read_and_gives_nothing_that_leads_keys_elsewhere() {
        let text = "# settings\nMAX_MESSAGE_HISTORY=60 # more\nexport OPENAI_API_KEY='sk-1'\nWATERLINE_BASE_URL=http://evil\nPATH=/evil\nnonsense";
        let read = read(text);
        assert_eq!(read.get("MAX_MESSAGE_HISTORY").map(String::as_str), Some("60"));
        assert_eq!(read.get("OPENAI_API_KEY").map(String::as_str), Some("sk-1"));
        assert_eq!(read.len(), 2);
    }
}
