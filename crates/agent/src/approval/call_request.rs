//! A call that may need approval, and its texts that rules and patterns are matched against.

use serde_json::Value;

use crate::describe::normalize_path;
use crate::tool::{CallInfo, Callable, Capability, Subject};

/// A call that may need approval.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallRequest<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The tool's description of the call.
    pub info: &'a CallInfo,
    /// The arguments, as JSON.
    pub arguments: &'a str,
    /// The identity of the tool. A stored approval applies only to a tool with the same identity.
    pub identity: Option<&'a str>,
}

impl<'a> CallRequest<'a> {
    /// Creates a request for the call of a tool without an identity.
    #[must_use]
    pub const fn new(tool: &'a str, info: &'a CallInfo, arguments: &'a str) -> Self {
        Self { tool, info, arguments, identity: None }
    }

    /// Returns the parsed arguments, or `None` if they are not JSON.
    fn value(&self) -> Option<Value> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { self.arguments };
        serde_json::from_str(text).ok()
    }

    /// Returns all arguments as normalized JSON, or unchanged if they are not JSON.
    pub(super) fn whole(&self) -> String {
        self.value().map_or_else(|| self.arguments.to_owned(), |value| value.to_string())
    }

    /// Returns each string in the arguments, unescaped.
    pub(super) fn leaves(&self) -> Vec<String> {
        let Some(value) = self.value() else { return vec![self.arguments.to_owned()] };
        let mut texts = Vec::new();
        gather(&value, &mut texts);
        texts
    }

    /// Returns the texts to search: each string, the normalized path, and the whole as JSON. So
    /// neither an escape nor a line break in the JSON can hide anything.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = self.leaves();
        texts.extend(self.path());
        texts.push(self.whole());
        texts
    }

    /// Returns the normalized path of the call: `a/../.git//hooks/./x` becomes `.git/hooks/x`.
    pub(super) fn path(&self) -> Option<String> {
        self.info.subject.path().map(normalize_path)
    }

    /// Returns the texts that decide what the call does, which a rule that allows it must match:
    /// its subject, or every string if the tool names no subject. Never empty.
    pub(super) fn deciding(&self) -> Vec<String> {
        match &self.info.subject {
            Subject::Command(command) => return vec![command.clone()],
            Subject::Url(url) => return vec![url.clone()],
            subject => {
                if let Some(path) = subject.path() {
                    return vec![normalize_path(path)];
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

/// Returns the identity of a tool from a server: a hash of its name, description and schema. A
/// server may change its tools at any time; approvals for the old tool must not apply to the new
/// one. Returns `None` for tools that are part of this program.
#[must_use]
pub(crate) fn identity(tool: &dyn Callable) -> Option<String> {
    if tool.capability() != Capability::Network {
        return None;
    }
    let mut definition = serde_json::json!([tool.name(), tool.about(), tool.schema()]);
    // A server may list the fields in a different order each time.
    definition.sort_all_objects();
    Some(blake3::hash(definition.to_string().as_bytes()).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized() {
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
            assert_eq!(normalize_path(path), expected, "{path}");
        }
    }

    #[test]
    fn deciding_texts_are_the_subject_or_every_string() {
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
        assert_eq!(deciding(Subject::Unknown, "not JSON"), ["not JSON"]);
    }
}
