//! A call that is looked at, and the texts of it that rules and patterns are held against.

use serde_json::Value;

use crate::tool::{CallInfo, Callable, Capability, Subject};

/// A call that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// What the tool says about the call.
    pub info: &'a CallInfo,
    /// The arguments, as JSON.
    pub arguments: &'a str,
    /// Tells the tool from another one of its name: an approval for good holds for just this one.
    pub identity: Option<&'a str>,
}

impl CallRequest<'_> {
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

    /// What a word is looked for in: each text of the arguments, the path of a file put together
    /// anew, and the whole as JSON. So neither an escape nor a line break in the JSON hides a word.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = self.leaves();
        texts.extend(self.path());
        texts.push(self.whole());
        texts
    }

    /// The path that a call works on, normalized: `a/../.git//hooks/./x` is `.git/hooks/x`.
    pub(super) fn path(&self) -> Option<String> {
        self.info.subject.path().map(put_together)
    }

    /// What decides what a call does, which a rule must fit to let it run: its subject, or every
    /// text where the tool names none. Arguments that no tool reads earn nothing. There is always
    /// one.
    pub(super) fn deciding(&self) -> Vec<String> {
        match &self.info.subject {
            Subject::Command(command) => return vec![command.clone()],
            Subject::Url(url) => return vec![url.clone()],
            subject => {
                if let Some(path) = subject.path() {
                    return vec![put_together(path)];
                }
            }
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

/// What tells a tool that reaches outside from another one of its name, and from what it was: a
/// hash of its name, of what it says of itself and of what it takes. A server may change its tools
/// from one day to the next; what was agreed to is not agreed to any more then. None for other
/// tools, which are part of this program.
#[must_use]
pub(crate) fn identity(tool: &dyn Callable) -> Option<String> {
    if tool.capability() != Capability::Network {
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
    fn what_decides_is_the_subject_or_every_text() {
        let deciding = |subject: Subject, arguments: &str| {
            let info = CallInfo { subject, ..CallInfo::default() };
            CallRequest { tool: "t", info: &info, arguments, identity: None }.deciding()
        };
        let command = r#"{"command": "ls", "why": "cargo test"}"#;
        assert_eq!(deciding(Subject::Command("ls".to_owned()), command), ["ls"]);
        let content = "outputs/ x".to_owned();
        let file = Subject::Content { path: "outputs/../a".to_owned(), content };
        assert_eq!(deciding(file, r#"{"content": "outputs/ x", "path": "outputs/../a"}"#), ["a"]);
        assert_eq!(deciding(Subject::Path(String::new()), "{}"), [""]);
        assert_eq!(deciding(Subject::Unknown, r#"{"a": "1", "b": [{"c": "2"}]}"#), ["1", "2"]);
        assert_eq!(deciding(Subject::Unknown, r#"{"a": 1}"#), [r#"{"a":1}"#]);
        assert_eq!(deciding(Subject::Unknown, "no JSON"), ["no JSON"]);
    }
}
