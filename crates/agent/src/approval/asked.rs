//! A call that is looked at, and the texts of it that rules and patterns are held against.

use serde_json::Value;

use crate::tool::{Callable, Nature};

/// Tools whose `path` says what they work on.
const FILE_TOOLS: [&str; 6] = ["read_file", "write_file", "edit_file", "list_files", "find_files", "search_files"];

/// A call that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it does to the world.
    pub nature: Nature,
    /// Its arguments as JSON.
    pub arguments: &'a str,
    /// What tells the tool from another one of its name: what is agreed to once and for all holds for just this one.
    pub identity: Option<&'a str>,
}

impl Asked<'_> {
    /// The arguments as they will be used; none where they are no JSON.
    fn value(&self) -> Option<Value> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { self.arguments };
        serde_json::from_str(text).ok()
    }

    /// The whole as JSON, written in one way; as it is where it is no JSON.
    pub(super) fn whole(&self) -> String {
        self.value().map_or_else(|| self.arguments.to_owned(), |value| value.to_string())
    }

    /// Each text of the arguments as it will be used.
    pub(super) fn leaves(&self) -> Vec<String> {
        let Some(value) = self.value() else { return vec![self.arguments.to_owned()] };
        let mut texts = Vec::new();
        gather(&value, &mut texts);
        texts
    }

    /// What a word is looked for in: each text of the arguments, the path of a file put together anew, and the whole as JSON. So
    /// neither an escape nor a line break in the JSON hides a word.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = self.leaves();
        texts.extend(self.path());
        texts.push(self.whole());
        texts
    }

    /// The path that a file tool works on, put together anew: `a/../.git//hooks/./x` is `.git/hooks/x`.
    pub(super) fn path(&self) -> Option<String> {
        let value = self.value().filter(|_| FILE_TOOLS.contains(&self.tool))?;
        value.get("path")?.as_str().map(put_together)
    }

    /// What decides what a call does, which a rule must fit to let it run: the command, the path of a file, of any other tool every
    /// text. Words beside it, which no tool reads, earn nothing. There is always one.
    pub(super) fn deciding(&self) -> Vec<String> {
        if FILE_TOOLS.contains(&self.tool) {
            return vec![self.path().unwrap_or_default()];
        }
        if self.nature == Nature::Runs
            && let Some(value) = self.value()
            && let Some(command) = value.get("command").and_then(Value::as_str)
        {
            return vec![command.to_owned()];
        }
        let texts = self.leaves();
        if texts.is_empty() { vec![self.whole()] } else { texts }
    }
}

fn gather(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|inner| gather(inner, into)),
        Value::Object(fields) => fields.values().for_each(|inner| gather(inner, into)),
        _ => {}
    }
}

/// A path without what leads nowhere: empty parts, `.`, and `..` behind a folder.
fn put_together(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// What tells a tool that reaches outside from another one of its name, and from what it was: a hash of its name, of what it says of
/// itself and of what it takes. A server may change its tools from one day to the next; what was agreed to is not agreed to any more
/// then. None for other tools, which are part of this program.
#[must_use]
pub(crate) fn identity(tool: &dyn Callable) -> Option<String> {
    if tool.nature() != Nature::Reaches {
        return None;
    }
    let mut shown = serde_json::json!([tool.name(), tool.about(), tool.schema()]);
    // A server may name the fields in another order each time.
    shown.sort_all_objects();
    Some(blake3::hash(shown.to_string().as_bytes()).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_together_anew() {
        let paths = [
            (".git/./hooks/pre-commit", ".git/hooks/pre-commit"),
            (".git//hooks/x", ".git/hooks/x"),
            ("./x/../.git/hooks/x", ".git/hooks/x"),
            ("/srv/./a/../b/", "/srv/b"),
            ("../../a", "../../a"),
            ("a/../../b", "../b"),
            ("/..", "/.."),
            (".", ""),
            ("", ""),
        ];
        for (path, expected) in paths {
            assert_eq!(put_together(path), expected, "{path}");
        }
    }

    #[test]
    fn what_decides_is_the_command_the_path_or_every_text() {
        let deciding =
            |tool: &str, nature, arguments: &str| Asked { tool, nature, arguments, identity: None }.deciding();
        let command = r#"{"command": "ls", "why": "cargo test"}"#;
        assert_eq!(deciding("run_bash_command", Nature::Runs, command), ["ls"]);
        let file = r#"{"content": "outputs/ x", "path": "outputs/../a"}"#;
        assert_eq!(deciding("write_file", Nature::Writes, file), ["a"]);
        assert_eq!(deciding("list_files", Nature::Reads, "{}"), [""]);
        assert_eq!(deciding("t__x", Nature::Reaches, r#"{"a": "1", "b": [{"c": "2"}]}"#), ["1", "2"]);
        assert_eq!(deciding("t__x", Nature::Reaches, r#"{"a": 1}"#), [r#"{"a":1}"#]);
        assert_eq!(deciding("t__x", Nature::Reaches, "no JSON"), ["no JSON"]);
    }
}
