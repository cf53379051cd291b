//! The values of a call's arguments: what the agent had to know to make it.

use serde_json::Value;
use waterline::ledger::value;
use waterline::tokens::is_cjk;

/// Arguments that say how a tool was run, not on what.
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

/// A longer text is the body of a file or a patch: made, not remembered.
const LONGEST: usize = 400;

/// Chinese, Japanese and Korean words of so many characters are values.
const SHORTEST_CJK: usize = 3;

/// The identifier-like words of a call's arguments, each once.
#[must_use]
pub fn of_arguments(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_str(arguments) {
        Ok(value) => leaves(&value, &mut |text| take(text, &mut found)),
        Err(_) => take(arguments, &mut found),
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn leaves(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            let telling = fields.iter().filter(|(key, _)| !BOOKKEEPING.contains(&key.as_str()));
            telling.for_each(|(_, value)| leaves(value, visit));
        }
        Value::Array(list) => list.iter().for_each(|value| leaves(value, visit)),
        Value::String(text) => visit(text),
        Value::Number(number) => visit(&number.to_string()),
        Value::Bool(_) | Value::Null => {}
    }
}

fn take(text: &str, found: &mut Vec<String>) {
    if text.chars().nth(LONGEST).is_some() {
        return;
    }
    let is_word = |word: &&str| match word.chars().any(is_cjk) {
        true => word.chars().count() >= SHORTEST_CJK,
        false => value::kind(word).is_some(),
    };
    if text.chars().any(is_cjk) {
        let words = text.split(|c: char| c.is_whitespace() || "，。；、,;".contains(c));
        found.extend(words.filter(is_word).map(str::to_owned));
    } else {
        found.extend(value::words(text).filter(is_word).map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_from_every_argument_that_says_on_what() {
        let json = r#"{"file_path":"/srv/app/main.py","limit":20000,"edits":[{"old":"load_all()","line":1042}],"on":true}"#;
        assert_eq!(of_arguments(json), ["/srv/app/main.py", "1042", "load_all"]);
    }

    #[test]
    fn bodies_of_files_are_made_not_remembered() {
        let body = "call load_all ".repeat(40);
        assert_eq!(
            of_arguments(&serde_json::json!({"path": "src/a.rs", "content": body}).to_string()),
            ["src/a.rs"]
        );
    }

    #[test]
    fn arguments_that_are_no_json_are_words_too() {
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
