//! What can be completed: commands and what they take, names behind `@`, files behind `#`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::show::plain;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use waterline_agent::mention;

/// How many files are offered.
const FILES: usize = 50;

/// The command that takes sessions.
const LOAD: &str = "load";

/// How the mention of a file begins that stands between quotes.
const QUOTED: &str = "#\"";

/// How long sessions that were looked up are taken for all there are: as long as somebody writes
/// one.
const FRESH: Duration = Duration::from_secs(5);

/// What is known at the moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Commands, each with what it does.
    pub commands: Vec<(String, String)>,
    /// Tools, skills and roles.
    pub names: Vec<(String, String)>,
    /// What may stand behind the words of a command: `context`, `config policy`.
    pub arguments: Vec<(String, Vec<String>)>,
}

/// Looks up sessions, each with what it is about. Too much work to be done before anybody wants
/// one.
pub type Look = Box<dyn Fn() -> Vec<(String, String)> + Send>;

/// Completes lines.
pub(super) struct Complete {
    known: Arc<Mutex<Known>>,
    sessions: Sessions,
}

impl Complete {
    pub(super) fn new(known: Arc<Mutex<Known>>, look: Look) -> Self {
        Self { known, sessions: Sessions { look, seen: None } }
    }
}

impl Completer for Complete {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let typed = line.get(..position).unwrap_or(line);
        let blank = typed.char_indices().rev().find(|(_, c)| c.is_whitespace());
        let start =
            open_quote(typed).unwrap_or_else(|| blank.map_or(0, |(at, c)| at + c.len_utf8()));
        let (before, word) = typed.split_at_checked(start).unwrap_or((typed, ""));
        let span = Span::new(start, position);
        let known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let offer = |value: String, about: Option<String>, more: bool| Suggestion {
            value,
            description: about,
            span,
            append_whitespace: !more,
            ..Suggestion::default()
        };
        let named = |list: &[(String, String)], mark: &str, begun: &str| -> Vec<Suggestion> {
            let fits = list.iter().filter(|(name, _)| name.starts_with(begun));
            fits.map(|(name, about)| {
                offer(plain(&format!("{mark}{name}")), Some(plain(about)), false)
            })
            .collect()
        };
        let found: Vec<Suggestion> = match word.chars().next() {
            Some('/') if start == 0 => named(&known.commands, "/", word.trim_start_matches('/')),
            Some('@') => named(&known.names, "@", word.trim_start_matches('@')),
            Some('#') => {
                let paths = files(word.trim_start_matches('#').trim_start_matches('"'));
                // A name that would steer the terminal, or that ends at its quote, is not offered.
                let paths =
                    paths.into_iter().filter(|path| plain(path) == *path && !path.contains('"'));
                let is_quoted = word.starts_with(QUOTED);
                paths
                    .map(|path| offer(mention_of(&path, is_quoted), None, path.ends_with('/')))
                    .collect()
            }
            _ => match command(before).as_deref() {
                Some(LOAD) => named(self.sessions.seen(), "", word),
                Some(command) => {
                    let taken = known
                        .arguments
                        .iter()
                        .filter(|(of, _)| of == command)
                        .flat_map(|(_, words)| words);
                    let fits = taken.filter(|taken| taken.starts_with(word));
                    fits.map(|taken| offer(plain(taken), None, false)).collect()
                }
                None => Vec::new(),
            },
        };
        CompletionResult::fresh(found)
    }
}

/// Where the mention of a file begins whose quotes are still open, because its name may hold
/// blanks.
fn open_quote(typed: &str) -> Option<usize> {
    let (before, begun) = typed.rsplit_once(QUOTED)?;
    let begins = before.is_empty() || before.ends_with(char::is_whitespace);
    (begins && !begun.contains('"')).then_some(before.len())
}

/// A file as it is mentioned: between quotes where its name would not be read to its end without.
/// Those of a folder stay open, because something may follow.
fn mention_of(path: &str, is_quoted: bool) -> String {
    let bare = format!("#{path}");
    if !is_quoted && mention::files(&bare) == [path] {
        return bare;
    }
    let end = if path.ends_with('/') { "" } else { "\"" };
    format!("{QUOTED}{path}{end}")
}

/// The words of a command that a line begins with.
fn command(line: &str) -> Option<String> {
    let words: Vec<&str> = line.strip_prefix('/')?.split_whitespace().collect();
    Some(words.join(" ").to_lowercase())
}

/// Sessions, as far as they were looked up.
struct Sessions {
    look: Look,
    seen: Option<(Instant, Vec<(String, String)>)>,
}

impl Sessions {
    fn seen(&mut self) -> &[(String, String)] {
        if self.seen.as_ref().is_some_and(|(since, _)| since.elapsed() > FRESH) {
            self.seen = None;
        }
        &self.seen.get_or_insert_with(|| (Instant::now(), (self.look)())).1
    }
}

/// The files and folders whose path begins so.
fn files(begun: &str) -> Vec<String> {
    let (folder, name) =
        begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    let at = if begun.starts_with('/') && folder.is_empty() {
        "/"
    } else if folder.is_empty() {
        "."
    } else {
        folder
    };
    let entries = std::fs::read_dir(Path::new(at)).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let own = entry.file_name().to_string_lossy().into_owned();
            let fits = own.starts_with(name) && (name.starts_with('.') || !own.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "" };
            let before = if begun.contains('/') { format!("{folder}/") } else { String::new() };
            fits.then(|| format!("{before}{own}{end}"))
        })
        .collect();
    found.sort();
    found.truncate(FILES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn none() -> Vec<(String, String)> {
        Vec::new()
    }

    /// What is offered for a line, and what stands there if it is taken.
    fn offered(complete: &mut Complete, line: &str) -> Vec<String> {
        let result = complete.complete(line, line.len());
        let taken = |offer: &Suggestion| {
            line.get(..offer.span.start).unwrap_or_default().to_owned() + &offer.value
        };
        result.suggestions().iter().map(taken).collect()
    }

    #[test]
    fn commands_and_what_they_take_are_completed() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let known = Known {
            commands: vec![
                ("config".to_owned(), "settings".to_owned()),
                ("context".to_owned(), String::new()),
            ],
            names: vec![("read_file".to_owned(), String::new())],
            arguments: vec![
                ("context".to_owned(), words(&["clear", "why", "pin", "undo"])),
                ("config policy".to_owned(), words(&["auto", "chat"])),
            ],
        };
        let mut complete = Complete::new(Arc::new(Mutex::new(known)), Box::new(none));
        let mut check = |line: &str, expected: &[&str]| {
            assert_eq!(offered(&mut complete, line), expected, "{line}")
        };
        check("/con", &["/config", "/context"]);
        check("/context ", &["/context clear", "/context why", "/context pin", "/context undo"]);
        check("/context p", &["/context pin"]);
        check("/CONTEXT  u", &["/CONTEXT  undo"]);
        check("/config policy c", &["/config policy chat"]);
        check("/context pin ", &[]);
        check("/status ", &[]);
        check("context ", &[]);
        check("see @read", &["see @read_file"]);
        check("/steer @read", &["/steer @read_file"]);
        check("", &[]);
    }

    #[test]
    fn a_name_with_blanks_is_completed_between_quotes() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("low tide.md"), "").unwrap();
        std::fs::write(place.path().join("lowest.md"), "").unwrap();
        std::fs::create_dir(place.path().join("the mill")).unwrap();
        let at = place.path().to_str().unwrap();
        let mut complete = Complete::new(Arc::default(), Box::new(none));
        let mut check = |line: String, expected: &[String]| {
            assert_eq!(offered(&mut complete, &line), expected, "{line}")
        };
        check(
            format!("see #{at}/low"),
            &[format!("see #\"{at}/low tide.md\""), format!("see #{at}/lowest.md")],
        );
        check(format!("see #\"{at}/low ti"), &[format!("see #\"{at}/low tide.md\"")]);
        check(format!("#{at}/the"), &[format!("#\"{at}/the mill/")]);
        check(format!("#\"{at}/low tide.md\" and"), &[]);
    }

    #[test]
    fn sessions_are_looked_up_when_one_is_wanted_and_not_at_every_key() {
        let looked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&looked);
        let look = move || {
            count.fetch_add(1, Ordering::Relaxed);
            vec![
                ("41c8ba524abf".to_owned(), "the tide".to_owned()),
                ("mill".to_owned(), String::new()),
            ]
        };
        let mut complete = Complete::new(Arc::default(), Box::new(look));
        assert!(offered(&mut complete, "/loa").is_empty());
        assert_eq!(looked.load(Ordering::Relaxed), 0);
        assert_eq!(offered(&mut complete, "/load "), ["/load 41c8ba524abf", "/load mill"]);
        assert_eq!(offered(&mut complete, "/load m"), ["/load mill"]);
        assert_eq!(looked.load(Ordering::Relaxed), 1);
    }
}
