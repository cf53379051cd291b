//! What can be completed: commands, names behind `@`, files behind `#`.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::show::plain;
use reedline::{Completer, CompletionResult, Span, Suggestion};

/// How many files are offered.
const FILES: usize = 50;

/// What is known at the moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Commands, each with what it does.
    pub commands: Vec<(String, String)>,
    /// Tools, skills and roles.
    pub names: Vec<(String, String)>,
}

/// Completes lines.
pub(super) struct Complete(pub(super) Arc<Mutex<Known>>);

impl Completer for Complete {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let typed = line.get(..position).unwrap_or(line);
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = typed.get(start..).unwrap_or_default();
        let span = Span::new(start, position);
        let known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let offer = |value: String, about: Option<String>, more: bool| Suggestion {
            value,
            description: about,
            span,
            append_whitespace: !more,
            ..Suggestion::default()
        };
        let named = |list: &[(String, String)], mark: char, begun: &str| -> Vec<Suggestion> {
            let fits = list.iter().filter(|(name, _)| name.starts_with(begun));
            fits.map(|(name, about)| offer(plain(&format!("{mark}{name}")), Some(plain(about)), false)).collect()
        };
        let found: Vec<Suggestion> = match word.chars().next() {
            Some('/') if start == 0 => named(&known.commands, '/', word.trim_start_matches('/')),
            Some('@') => named(&known.names, '@', word.trim_start_matches('@')),
            Some('#') => {
                let paths = files(word.trim_start_matches('#'));
                // A name that would steer the terminal, or that ends at its blank, is not offered.
                let paths = paths.into_iter().filter(|path| plain(path) == *path && !path.contains(' '));
                paths.map(|path| offer(format!("#{path}"), None, path.ends_with('/'))).collect()
            }
            _ => Vec::new(),
        };
        CompletionResult::fresh(found)
    }
}

/// The files and folders whose path begins so.
fn files(begun: &str) -> Vec<String> {
    let (folder, name) = begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
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
