//! The `@path` imports of an instruction file. Code does not count.

use std::path::{Component, Path, PathBuf};

/// An import that a file names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The path as the file names it.
    pub(super) name: String,
    /// The path in the project; `None` if it leads out.
    pub(super) path: Option<PathBuf>,
    /// Whether it can only be an import: other words of a text may begin with `@` too.
    pub(super) is_certain: bool,
}

/// The extensions of files that are imported. Such a word is not the name of a person or a package.
const EXTENSIONS: [&str; 4] = ["md", "mdc", "txt", "rst"];

/// Characters around a word that are not part of it.
const BEFORE: &[char] = &['(', '[', '"', '\'', '*', '<', '（', '“'];
const AFTER: &[char] =
    &['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '>', '。', '，', '；', '）', '”'];

/// Returns the imports of a file, in order. `file` is relative to the root of the project.
pub(super) fn imports(file: &Path, text: &str) -> Vec<Import> {
    let parent = file.parent().unwrap_or(Path::new(""));
    let mut found: Vec<Import> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                let words = without_code(line);
                found
                    .extend(words.split_whitespace().filter_map(|word| import(parent, word, line)));
            }
        }
    }
    found
}

/// Returns the import that a word of a line names, if it names one.
fn import(parent: &Path, word: &str, line: &str) -> Option<Import> {
    let name = word.trim_start_matches(BEFORE).strip_prefix('@')?.trim_end_matches(AFTER);
    if name.is_empty() || name.contains('@') {
        return None;
    }
    let is_path = ["./", "../", "~/", "/"].iter().any(|start| name.starts_with(start));
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let is_text = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    let is_line = line.strip_prefix('@') == Some(name) && name.contains(['.', '/']);
    let path = normalized(&parent.join(name));
    Some(Import { name: name.to_owned(), path, is_certain: is_path || is_text || is_line })
}

/// Returns a line without its code spans. A span is closed by as many backquotes as open it.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, from)) = rest.find('`').and_then(|at| rest.split_at_checked(at)) {
        let after = from.trim_start_matches('`');
        let marks = from.strip_suffix(after).unwrap_or_default();
        text.push_str(before);
        rest = match after.split_once(marks) {
            Some((_, next)) => {
                text.push(' ');
                next
            }
            None => after,
        };
    }
    text + rest
}

/// Returns a relative path without `.` and `..`, or `None` if it leads out of its directory.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) if name == "~" => return None,
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !parts.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_lines_and_not_in_code() {
        let text = "See @notes.md, and ask @alice.\n- @docs/style.md\n  @more.md\n\
                    (@a.txt) `@code.md` ``x @span.md`` mail@b.md\n```\n@block.md\n```\n@../out.md";
        let found = imports(Path::new("CLAUDE.md"), text);
        let paths: Vec<_> = found
            .iter()
            .filter(|import| import.is_certain)
            .map(|import| import.path.as_deref().and_then(Path::to_str))
            .collect();
        let expected = ["notes.md", "docs/style.md", "more.md", "a.txt"].map(Some);
        assert_eq!(paths, [&expected[..], &[None]].concat());
        let other: Vec<&str> =
            found.iter().filter(|import| !import.is_certain).map(|import| &*import.name).collect();
        assert_eq!(other, ["alice"]);
    }
}
