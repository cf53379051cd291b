//! The note that tells the model where it works: the working directory, the private directory, the
//! granted directories and the time. It is part of a user message, so that the system prompt is
//! the same in every session and stays in the provider's cache.

use waterline_sandbox::Workspace;

/// The first line of the note.
const START: &str = "<environment>";

/// The last line of the note.
const END: &str = "</environment>";

/// The first line of the note on changed instruction files.
pub(crate) const CHANGED_INSTRUCTIONS: &str = "<changed-instructions>";

/// The first line of the note on standing instructions.
pub(crate) const STANDING_INSTRUCTIONS: &str = "<standing-instructions>";

/// Separates the user's text from the notes after it. Both are one text, because some servers
/// accept only one per message.
pub(crate) const SEPARATOR: &str = "\n\n";

/// Returns a text of a message without the notes that the program added to it.
#[must_use]
pub fn without_notes(text: &str) -> &str {
    let starts = [START, CHANGED_INSTRUCTIONS, STANDING_INSTRUCTIONS]
        .iter()
        .filter_map(|note| text.find(&format!("{SEPARATOR}{note}\n")));
    starts.min().and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the lines that say where the agent works.
pub(crate) fn describe(workspace: &Workspace) -> String {
    let private = workspace.path();
    let directory = workspace.working_directory();
    let mut lines = match directory == private {
        true => {
            vec![format!("Working directory: {}. It is your private directory.", private.display())]
        }
        false => vec![
            format!("Working directory: {}", directory.display()),
            format!("Private directory: {}", private.display()),
        ],
    };
    let grants = workspace.grants().filter(|grant| grant.path != directory || !grant.writable);
    let granted: Vec<String> = grants
        .map(|grant| {
            format!("{}{}", grant.path.display(), if grant.writable { "" } else { " (read-only)" })
        })
        .collect();
    if !granted.is_empty() {
        lines.push(format!("Granted directories: {}", granted.join(", ")));
    }
    lines.join("\n")
}

/// Returns the working directory that a [description](describe) of an older session names; `None`
/// if it is the private directory. Newer sessions store the directory itself.
pub(crate) fn described_directory(description: &str) -> Option<&str> {
    let mut lines = description.lines();
    let directory = lines.next()?.strip_prefix("Working directory: ")?;
    lines.next().filter(|line| line.starts_with("Private directory: ")).map(|_| directory)
}

/// Returns how the model names a file of the private directory.
pub(crate) fn private_path(workspace: &Workspace, path: &str) -> String {
    match workspace.working_directory() == workspace.path() {
        true => path.to_owned(),
        false => workspace.path().join(path).display().to_string(),
    }
}

/// Returns the note for a message. `time` is the current time, if the model is given it.
pub(crate) fn note(description: &str, time: Option<&str>) -> String {
    let time = time.map(|time| format!("\nTime: {time}")).unwrap_or_default();
    format!("{START}\n{description}{time}\n{END}")
}

/// Returns whether a text has the note with this description.
pub(crate) fn is_noted(text: &str, description: &str) -> bool {
    text.match_indices(START).any(|(at, _)| {
        let note = text.get(at + START.len()..).and_then(|note| note.strip_prefix('\n'));
        let rest = note.and_then(|note| note.strip_prefix(description));
        rest.is_some_and(|rest| rest.starts_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use waterline_sandbox::Grant;

    use super::*;

    #[test]
    fn the_note_names_the_directories() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let [project, data] = ["project", "data"].map(|name| temp.join(name));
        [&project, &data].iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let private = temp.join("ws");
        let alone = Workspace::open(&private, "s", &[]).unwrap();
        assert_eq!(
            describe(&alone),
            format!("Working directory: {}. It is your private directory.", private.display())
        );
        let grants = [Grant::new(&project, true), Grant::new(&data, false)];
        let workspace = Workspace::open(&private, "s", &grants).unwrap().work_in(&project).unwrap();
        let expected = format!(
            "Working directory: {}\nPrivate directory: {}\nGranted directories: {} (read-only)",
            project.display(),
            private.display(),
            data.display()
        );
        assert_eq!(describe(&workspace), expected);
        assert_eq!(described_directory(&expected), project.to_str());
        assert_eq!(described_directory(&describe(&alone)), None);
        let note = note(&expected, Some("2026-11-16 12:00 +00:00, Monday"));
        assert!(note.contains("\nTime: 2026"), "{note}");
        assert_eq!(without_notes(&format!("hi{SEPARATOR}{note}")), "hi");
        assert!(is_noted(&format!("hi{SEPARATOR}{note}"), &expected));
        assert!(!is_noted(&note, "Working directory: /"));
        assert_eq!(without_notes("what does <environment> mean?"), "what does <environment> mean?");
    }
}
