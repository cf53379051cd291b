//! Errors of parsers, which describe them in English only.

use serde_json::error::Category;

use crate::foreign::{self, foreign};
use crate::text;

/// Longer lines of a file are not quoted.
const MAX_QUOTE: usize = 300;

/// Returns the text of an error in a TOML file.
pub fn toml_file_error(error: &toml::de::Error) -> String {
    toml_error(error.to_string().trim_end())
}

/// Returns the text of a TOML error, whose first line has the position and whose last lines have
/// the reason. The lines between them quote the file.
pub fn toml_error(error: &str) -> String {
    let position = error.split_once("TOML parse error at line ").and_then(|(prefix, rest)| {
        let (line, rest) = rest.split_once(", column ")?;
        let (column, rest) = rest.split_once('\n')?;
        Some((prefix, line, column, rest))
    });
    let Some((prefix, line, column, rest)) = position else { return reason(error) };
    let is_quote = |line: &&str| {
        line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|')
    };
    // A file of one long line, such as JSON, is not quoted whole.
    let is_long = rest.lines().filter(is_quote).any(|line| line.len() > MAX_QUOTE);
    let quoted: Vec<&str> = rest.lines().filter(is_quote).filter(|_| !is_long).collect();
    let reasons: Vec<String> =
        rest.lines().filter(|line| !is_quote(line) && !line.is_empty()).map(reason).collect();
    let heading = text!("error-toml-at", line = line, column = column);
    let lines = [format!("{prefix}{heading}")]
        .into_iter()
        .chain(quoted.into_iter().map(str::to_owned))
        .chain(reasons);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the reason of a TOML error. Serde makes the sentences that are known here.
fn reason(text: &str) -> String {
    let quoted = |rest: &str| rest.split('`').next().unwrap_or_default().to_owned();
    if let Some(rest) = text.strip_prefix("unknown field `") {
        let known = rest.split_once("expected ").map_or("", |(_, known)| known);
        return text!("error-toml-unknown-key", key = quoted(rest), known = foreign(known));
    }
    if let Some(rest) = text.strip_prefix("missing field `") {
        return text!("error-toml-missing-key", key = quoted(rest));
    }
    if let Some(rest) = text.strip_prefix("invalid type: ")
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        return text!("error-toml-type", found = foreign(found), expected = foreign(expected));
    }
    match text {
        "duplicate key" => text!("error-toml-duplicate"),
        other => match foreign::find(other) {
            Some(known) => known,
            None => text!("error-toml-other", reason = other),
        },
    }
}

/// Returns the text of a JSON error, with its position if it has one.
pub fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let cause = foreign(text.split(" at line ").next().unwrap_or_default());
    let what = match error.classify() {
        Category::Syntax | Category::Eof => text!("parse-not-json", cause = cause),
        Category::Data | Category::Io => cause,
    };
    match error.line() {
        0 => what,
        line => {
            let (line, column) = (line.to_string(), error.column().to_string());
            text!("parse-at", line = line, column = column, text = what)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toml_error_keeps_its_quotation() {
        let error = "stages = [".parse::<toml::Table>().unwrap_err().to_string();
        let shown = toml_error(error.trim_end());
        let first = error.lines().next().unwrap_or_default();
        assert!(shown.starts_with(&text!("error-toml-at", line = "1", column = column(first))));
        assert!(shown.contains("1 | stages = ["), "{shown}");
        assert!(shown.lines().count() >= 4, "{shown}");
        assert_eq!(
            toml_error("something else"),
            text!("error-toml-other", reason = "something else")
        );
    }

    fn column(first: &str) -> &str {
        first.rsplit(' ').next().unwrap_or_default()
    }
}
