//! Formats a call for display: on one row with its result, or in full.

use anstyle::Style;
use serde_json::{Map, Value};
use waterline_agent::changes::FileDiff;
use waterline_agent::tool::{CallInfo, Capability, Subject};

use super::diff::{Diff, counts, row as row_of_file, rows_of};
use crate::foreign;
use crate::lang::list;
use crate::show::{plain, truncate, unhidden, width};
use crate::text;

/// Maximum number of changed files named below a command.
const MAX_NAMES: usize = 8;

/// The argument with the protected paths that a command changes.
const PROTECTED: &str = "protected";

/// The separator between a call and its result.
const ARROW: &str = " → ";

/// Returns the result of a call for display, and whether it failed. `todos` is the number of todos
/// if the call wrote them.
pub fn outcome(
    capability: Capability,
    todos: Option<usize>,
    text: &str,
    failed: bool,
) -> (String, bool) {
    let shown = match (capability, todos) {
        _ if failed => None,
        (_, Some(todos)) => Some((text!("call-todos", count = todos), false)),
        (Capability::Delegate, None) => sub_agent_result(text),
        _ => None,
    };
    shown.unwrap_or_else(|| (text.to_owned(), failed))
}

/// Returns the text of a sub-agent's result, out of the JSON that its caller gets.
fn sub_agent_result(text: &str) -> Option<(String, bool)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let failed = !value.get("ok")?.as_bool()?;
    let field = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let texts: Vec<&str> = [field("error"), field("result")].into_iter().flatten().collect();
    Some((texts.join("\n"), failed))
}

/// Returns the first line of a successful call's result. The tools' own lines are in the chosen
/// language: those of tools that write, and those in brackets. The rest is data.
pub fn first_line(capability: Capability, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_own =
        line.starts_with('[') || matches!(capability, Capability::Write | Capability::HandOff);
    if is_own { foreign::done(line) } else { line.to_owned() }
}

/// Formats a call and the start of its result within `columns`. The result gets up to half of the
/// space, however long the arguments are.
pub fn row(name: &str, arguments: &str, result: &str, columns: usize) -> String {
    let result = plain(result);
    let name = if arguments.is_empty() { plain(name) } else { format!("{} ", plain(name)) };
    let room = columns.saturating_sub(width(&name) + width(ARROW));
    let arguments = truncate(arguments, (room / 2).max(room.saturating_sub(width(&result))));
    let result = truncate(&result, room.saturating_sub(width(&arguments)));
    truncate(&format!("{name}{arguments}{ARROW}{result}"), columns)
}

/// A call as it is shown for approval or inspection, with style codes.
#[derive(Debug, Default)]
pub struct Shown {
    pub text: String,
    /// How many lines of a file are left out.
    pub hidden: usize,
}

/// Formats the whole call for approval or inspection, with at most `max_lines` lines of a file.
/// `tool` may have the context id of a sub-agent in front.
pub fn whole(tool: &str, arguments: &str, info: &CallInfo, max_lines: usize) -> Shown {
    let read = serde_json::from_str::<Value>(arguments).ok();
    let fields = read.as_ref().and_then(Value::as_object).cloned();
    fields.and_then(|fields| readable(tool, fields, info, max_lines)).unwrap_or_else(|| {
        let pretty = read.and_then(|value| serde_json::to_string_pretty(&value).ok());
        let text = unhidden(&format!("{tool} {}", pretty.unwrap_or_else(|| arguments.to_owned())));
        Shown { text, hidden: 0 }
    })
}

/// Formats the calls that are easier to read in another form than JSON. The model's text is
/// indented, so that it cannot pass for output of the program. The remaining arguments are shown as
/// JSON.
fn readable(
    tool: &str,
    mut fields: Map<String, Value>,
    info: &CallInfo,
    max_lines: usize,
) -> Option<Shown> {
    let mut head = tool.to_owned();
    let shown: Vec<&str> = match &info.subject {
        Subject::Command(command) => vec![command],
        Subject::Content { path, content } => vec![path, content],
        Subject::Edit { path, old, new } => vec![path, old, new],
        _ => return None,
    };
    fields.retain(|_, value| !value.as_str().is_some_and(|text| shown.contains(&text)));
    // The question names the protected paths below the call.
    fields.remove(PROTECTED);
    if let Some(path) = info.subject.path() {
        head = format!("{head} {path}");
    }
    let mut counted = None;
    let (body, hidden) = match (&info.subject, &info.diff) {
        (Subject::Content { .. } | Subject::Edit { .. }, Some(diff)) => {
            counted = Some((diff.added, diff.removed));
            rows_of(diff, max_lines)
        }
        (Subject::Command(command), _) => (rows(command, usize::MAX), 0),
        (Subject::Content { content, .. }, None) => {
            (rows(content, max_lines), content.lines().count().saturating_sub(max_lines))
        }
        (Subject::Edit { old, new, .. }, None) => {
            let diff = Diff::new(old, new);
            counted = Some((diff.added, diff.removed));
            (diff.rows().to_owned(), 0)
        }
        _ => return None,
    };
    if !fields.is_empty() {
        head = format!("{head} {}", Value::Object(fields));
    }
    let counted =
        counted.map(|(added, removed)| format!(" {}", counts(added, removed))).unwrap_or_default();
    Some(Shown { text: format!("{}{counted}{body}", plain(&unhidden(&head))), hidden })
}

/// Formats the files that a command changed on one line; `None` if it changed none.
pub fn changed_files(changes: &[FileDiff]) -> Option<String> {
    let name = |diff: &FileDiff| {
        let name = plain(&unhidden(&diff.path));
        match (diff.added, diff.removed) {
            (0, 0) => name,
            (added, removed) => format!("{name} {}", counts(added, removed)),
        }
    };
    let mut names: Vec<String> = changes.iter().take(MAX_NAMES).map(name).collect();
    if changes.len() > MAX_NAMES {
        names.push(text!("call-more-files", count = changes.len() - MAX_NAMES));
    }
    (!names.is_empty()).then(|| text!("call-changed", files = list(&names)))
}

/// Formats the first lines of a text, each with a line break before it.
fn rows(text: &str, max_lines: usize) -> String {
    text.lines().take(max_lines).map(|line| row_of_file(line, Style::new())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use waterline_agent::tool::{Toolbox, info_of};
    use waterline_sandbox::Shell;

    use super::*;

    /// Formats a call with the info of its tool.
    fn colored(tool: &str, arguments: &str, max_lines: usize) -> String {
        let tools = Toolbox::new(Arc::new(Shell::unconfined()));
        let bare = tool.rsplit_once(": ").map_or(tool, |(_, bare)| bare);
        let info = info_of(&**tools.find(bare).unwrap(), arguments);
        whole(tool, arguments, &info, max_lines).text
    }

    /// Formats a call without styles.
    fn shown(tool: &str, arguments: &Value, max_lines: usize) -> String {
        anstream::adapter::strip_str(&colored(tool, &arguments.to_string(), max_lines)).to_string()
    }

    #[test]
    fn a_result_gets_up_to_half_of_the_row() {
        assert_eq!(row("read", "a.txt", "4.2 m", 40), "read a.txt → 4.2 m");
        assert_eq!(row("list_files", "", "outputs/", 40), "list_files → outputs/");
        assert_eq!(
            row("run", &"x".repeat(50), "4.2 m", 30),
            format!("run {}… → 4.2 m", "x".repeat(17))
        );
        assert_eq!(row("run", &"x".repeat(50), &"y".repeat(50), 27), "run xxxxxxxxx… → yyyyyyyyy…");
        assert!(width(&row("a_very_long_name", "b", "c", 8)) <= 8);
    }

    #[test]
    fn todos_are_counted_and_a_sub_agent_result_is_shown_as_text() {
        assert_eq!(outcome(Capability::Write, Some(2), "[>] a\n[ ] b (high)", false).0, "2 tasks");
        assert_eq!(
            outcome(Capability::Write, None, "a todo has no content", true).0,
            "a todo has no content"
        );
        let json = |value: Value| outcome(Capability::Delegate, None, &value.to_string(), false);
        assert_eq!(
            json(serde_json::json!({"ok": true, "result": "4.2 m\nhigh"})),
            ("4.2 m\nhigh".to_owned(), false)
        );
        assert_eq!(
            json(serde_json::json!({"ok": false, "error": "no loops left"})),
            ("no loops left".to_owned(), true)
        );
        let truncated = "{\"ok\": tr… truncated";
        assert_eq!(
            outcome(Capability::Delegate, None, truncated, false),
            (truncated.to_owned(), false)
        );
    }

    #[test]
    fn a_command_is_shown_verbatim() {
        let call = serde_json::json!({"command": "cd a &&\n\trm -r b\u{1b}[2J", "timeout": 9});
        let expected = "run_bash_command {\"timeout\":9}\n  cd a &&\n      rm -r b\u{fffd}[2J";
        assert_eq!(shown("run_bash_command", &call, 20), expected);
        assert!(
            shown("a: run_bash_command", &call, 20)
                .starts_with("a: run_bash_command {\"timeout\":9}\n  cd a")
        );
    }

    #[test]
    fn a_file_is_shown_by_its_first_lines_and_an_edit_as_a_diff() {
        let call = serde_json::json!({"path": "a.txt", "content": "1\n2\n3\n4\n"});
        assert_eq!(shown("write_file", &call, 2), "write_file a.txt\n  1\n  2");
        let tools = Toolbox::new(Arc::new(Shell::unconfined()));
        let mut info = info_of(&**tools.find("write_file").unwrap(), &call.to_string());
        assert_eq!(whole("write_file", &call.to_string(), &info, 2).hidden, 2);
        info.diff = Some(FileDiff::new("a.txt", Some(b"1\n"), Some(b"1\n2\n3\n4\n")));
        let seen = whole("write_file", &call.to_string(), &info, 3);
        assert_eq!(
            (anstream::adapter::strip_str(&seen.text).to_string().as_str(), seen.hidden),
            ("write_file a.txt +3 −0\n  @@ -1,1 +1,4 @@\n    1\n  + 2", 2)
        );
        assert_eq!(shown("write_file", &call, usize::MAX), "write_file a.txt\n  1\n  2\n  3\n  4");
        let call = serde_json::json!({"path": "a.txt", "old": "low", "new": "high\ntide"});
        assert_eq!(
            shown("edit_file", &call, 20),
            "edit_file a.txt +2 −1\n  - low\n  + high\n  + tide"
        );
        let colored = colored("edit_file", &call.to_string(), 20);
        assert!(
            colored.contains("\u{1b}[31m- low\u{1b}[0m") && colored.contains("\u{1b}[32m+ tide"),
            "{colored:?}"
        );
    }

    #[test]
    fn anything_else_is_shown_as_json() {
        assert_eq!(
            shown("now", &serde_json::json!({"zone": "UTC"}), 20),
            "now {\n  \"zone\": \"UTC\"\n}"
        );
        assert_eq!(
            shown("write_file", &serde_json::json!({"path": 3}), 20),
            "write_file {\n  \"path\": 3\n}"
        );
        assert_eq!(colored("now", "no json\u{7}", 20), "now no json\u{fffd}");
    }
}
