//! Extracts values from a call's arguments: what the agent had to know to make the call.

use serde_json::Value;
use waterline::ledger::value;
use waterline::tokens::is_cjk;

/// Arguments that control how a tool runs, not what it works on.
const BOOKKEEPING: [&str; 13] = [
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "max_output_tokens",
    "max_lines",
    "head_limit",
    "limit",
    "offset",
    "initial_wait",
    "delay",
    "login",
    "description",
    "explanation",
];

/// The longest text that is searched for values. A longer one is the body of a file or a patch,
/// which the model writes and does not remember.
const MAX_TEXT_CHARS: usize = 400;

/// The minimum number of characters of a Chinese, Japanese or Korean word that counts as a value.
const MIN_CJK_CHARS: usize = 3;

/// Returns the distinct identifier-like words of a call's arguments, sorted.
#[must_use]
pub fn of_arguments(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_str(arguments) {
        Ok(value) => visit_leaves(&value, &mut |text| add_values(text, &mut found)),
        Err(_) => add_values(arguments, &mut found),
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn visit_leaves(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            let relevant = fields.iter().filter(|(key, _)| !BOOKKEEPING.contains(&key.as_str()));
            relevant.for_each(|(_, value)| visit_leaves(value, visit));
        }
        Value::Array(list) => list.iter().for_each(|value| visit_leaves(value, visit)),
        Value::String(text) => visit(text),
        Value::Number(number) => visit(&number.to_string()),
        Value::Bool(_) | Value::Null => {}
    }
}

fn add_values(text: &str, found: &mut Vec<String>) {
    if text.chars().nth(MAX_TEXT_CHARS).is_some() {
        return;
    }
    let is_value = |word: &&str| match word.chars().any(is_cjk) {
        true => word.chars().count() >= MIN_CJK_CHARS,
        false => value::kind(word).is_some(),
    };
    if text.chars().any(is_cjk) {
        let words = text.split(|c: char| c.is_whitespace() || "，。；、,;".contains(c));
        found.extend(words.filter(is_value).map(str::to_owned));
    } else {
        found.extend(value::words(text).filter(is_value).map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_all_arguments_except_bookkeeping() {
        let json = concat!(
            r#"{"file_path":"/srv/app/main.py","limit":20000,"#,
            r#""edits":[{"old":"load_all()","line":1042}],"on":true}"#,
        );
        assert_eq!(of_arguments(json), ["/srv/app/main.py", "1042", "load_all"]);
    }

    #[test]
    fn bodies_of_files_are_not_values() {
        let body = "call load_all ".repeat(40);
        assert_eq!(
            of_arguments(&serde_json::json!({"path": "src/a.rs", "content": body}).to_string()),
            ["src/a.rs"]
        );
    }

    #[test]
    fn arguments_that_are_not_json_have_values_too() {
        assert_eq!(of_arguments("cat src/a.rs:12"), ["src/a.rs:12"]);
    }

    #[test]
    fn chinese_names_are_values() {
        assert_eq!(
            of_arguments(r#"{"名称":"北京饭店，故宫 hotel src/a.rs"}"#),
            ["src/a.rs", "北京饭店"]
        );
        assert_eq!(
            of_arguments(&format!(
                r#"{{"content":"{}"}}"#,
                "// 计算潮汐窗口 const alpha ".repeat(30)
            )),
            [""; 0]
        );
    }
}
