//! Completion: commands and their arguments, names after `@`, files after `#`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::show::plain;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use waterline_agent::mention;

/// Maximum number of files offered.
const FILES: usize = 50;

/// The command that takes sessions.
const LOAD: &str = "load";

/// The start of a quoted file mention.
const QUOTED: &str = "#\"";

/// How long a list of sessions is reused: about as long as it takes to type one id.
const FRESH: Duration = Duration::from_secs(5);

/// What can be completed at the moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Commands, each with its description.
    pub commands: Vec<(String, String)>,
    /// Tools, skills and roles, each with its description.
    pub names: Vec<(String, String)>,
    /// The arguments of each command: `context`, `config policy`.
    pub arguments: Vec<(String, Vec<String>)>,
}

/// Lists the sessions, each with its title. This reads the log, so it is called only when a session
/// id is completed.
pub type ListSessions = Box<dyn Fn() -> Vec<(String, String)> + Send>;

/// Completes lines.
pub(super) struct Complete {
    known: Arc<Mutex<Known>>,
    sessions: Sessions,
}

impl Complete {
    pub(super) fn new(known: Arc<Mutex<Known>>, list: ListSessions) -> Self {
        Self { known, sessions: Sessions { list, cached: None } }
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
        let offer = |value: String, about: Option<String>, is_open: bool| Suggestion {
            value,
            description: about,
            span,
            append_whitespace: !is_open,
            ..Suggestion::default()
        };
        let named = |list: &[(String, String)], mark: &str, prefix: &str| -> Vec<Suggestion> {
            let matches = list.iter().filter(|(name, _)| name.starts_with(prefix));
            matches
                .map(|(name, about)| {
                    offer(plain(&format!("{mark}{name}")), Some(plain(about)), false)
                })
                .collect()
        };
        let found: Vec<Suggestion> = match word.chars().next() {
            Some('/') if start == 0 => named(&known.commands, "/", word.trim_start_matches('/')),
            Some('@') => named(&known.names, "@", word.trim_start_matches('@')),
            Some('#') => {
                let paths = files(word.trim_start_matches('#').trim_start_matches('"'));
                // A name with control characters or a quote is not offered.
                let paths =
                    paths.into_iter().filter(|path| plain(path) == *path && !path.contains('"'));
                let is_quoted = word.starts_with(QUOTED);
                paths
                    .map(|path| offer(mention_of(&path, is_quoted), None, path.ends_with('/')))
                    .collect()
            }
            _ => match command(before).as_deref() {
                Some(LOAD) => named(self.sessions.get(), "", word),
                Some(command) => {
                    let arguments = known
                        .arguments
                        .iter()
                        .filter(|(of, _)| of == command)
                        .flat_map(|(_, arguments)| arguments);
                    let matches = arguments.filter(|argument| argument.starts_with(word));
                    matches.map(|argument| offer(plain(argument), None, false)).collect()
                }
                None => Vec::new(),
            },
        };
        CompletionResult::fresh(found)
    }
}

/// Returns the start of a file mention whose quote is still open. Its name may contain spaces.
fn open_quote(typed: &str) -> Option<usize> {
    let (before, name) = typed.rsplit_once(QUOTED)?;
    let is_start = before.is_empty() || before.ends_with(char::is_whitespace);
    (is_start && !name.contains('"')).then_some(before.len())
}

/// Formats the mention of a file, quoted if its name needs it. The quote of a directory stays open,
/// because a name may follow.
fn mention_of(path: &str, is_quoted: bool) -> String {
    let bare = format!("#{path}");
    if !is_quoted && mention::files(&bare) == [path] {
        return bare;
    }
    let end = if path.ends_with('/') { "" } else { "\"" };
    format!("{QUOTED}{path}{end}")
}

/// Returns the command at the start of a line, without the slash.
fn command(line: &str) -> Option<String> {
    let words: Vec<&str> = line.strip_prefix('/')?.split_whitespace().collect();
    Some(words.join(" ").to_lowercase())
}

/// The sessions, cached for a short time.
struct Sessions {
    list: ListSessions,
    cached: Option<(Instant, Vec<(String, String)>)>,
}

impl Sessions {
    fn get(&mut self) -> &[(String, String)] {
        if self.cached.as_ref().is_some_and(|(since, _)| since.elapsed() > FRESH) {
            self.cached = None;
        }
        &self.cached.get_or_insert_with(|| (Instant::now(), (self.list)())).1
    }
}

/// Returns the files and directories whose path starts with `prefix`.
fn files(prefix: &str) -> Vec<String> {
    let (directory, name) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let at = if prefix.starts_with('/') && directory.is_empty() {
        "/"
    } else if directory.is_empty() {
        "."
    } else {
        directory
    };
    let entries = std::fs::read_dir(Path::new(at)).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let own = entry.file_name().to_string_lossy().into_owned();
            let is_hidden = own.starts_with('.') && !name.starts_with('.');
            let end = if entry.path().is_dir() { "/" } else { "" };
            let before = if prefix.contains('/') { format!("{directory}/") } else { String::new() };
            (own.starts_with(name) && !is_hidden).then(|| format!("{before}{own}{end}"))
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

    /// Returns the line after each suggestion for it.
    fn offered(complete: &mut Complete, line: &str) -> Vec<String> {
        let result = complete.complete(line, line.len());
        let accepted = |offer: &Suggestion| {
            line.get(..offer.span.start).unwrap_or_default().to_owned() + &offer.value
        };
        result.suggestions().iter().map(accepted).collect()
    }

    #[test]
    fn commands_and_their_arguments_are_completed() {
        let owned =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let known = Known {
            commands: vec![
                ("config".to_owned(), "settings".to_owned()),
                ("context".to_owned(), String::new()),
            ],
            names: vec![("read_file".to_owned(), String::new())],
            arguments: vec![
                ("context".to_owned(), owned(&["clear", "why", "pin", "undo"])),
                ("config policy".to_owned(), owned(&["auto", "chat"])),
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
    fn a_name_with_spaces_is_quoted() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("low tide.md"), "").unwrap();
        std::fs::write(directory.path().join("lowest.md"), "").unwrap();
        std::fs::create_dir(directory.path().join("the mill")).unwrap();
        let at = directory.path().to_str().unwrap();
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
    fn sessions_are_listed_on_demand_and_cached() {
        let listed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&listed);
        let list = move || {
            count.fetch_add(1, Ordering::Relaxed);
            vec![
                ("41c8ba524abf".to_owned(), "the tide".to_owned()),
                ("mill".to_owned(), String::new()),
            ]
        };
        let mut complete = Complete::new(Arc::default(), Box::new(list));
        assert!(offered(&mut complete, "/loa").is_empty());
        assert_eq!(listed.load(Ordering::Relaxed), 0);
        assert_eq!(offered(&mut complete, "/load "), ["/load 41c8ba524abf", "/load mill"]);
        assert_eq!(offered(&mut complete, "/load m"), ["/load mill"]);
        assert_eq!(listed.load(Ordering::Relaxed), 1);
    }
}
