//! Errors of parsers and of the operating system. Their libraries describe them in English only,
//! so that other languages have texts for the usual ones and quote the rest.

use std::io::ErrorKind;

use serde_json::error::Category;

use crate::text;

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
    let quoted: Vec<&str> = rest.lines().filter(is_quote).collect();
    let reasons: Vec<String> =
        rest.lines().filter(|line| !is_quote(line) && !line.is_empty()).map(reason).collect();
    let heading = text!("error-toml-at", line = line, column = column);
    format!("{prefix}{heading}\n{}\n{}", quoted.join("\n"), reasons.join("\n"))
}

/// Returns the reason of a TOML error. Serde makes the sentences that are known here.
fn reason(text: &str) -> String {
    let quoted = |rest: &str| rest.split('`').next().unwrap_or_default().to_owned();
    if let Some(rest) = text.strip_prefix("unknown field `") {
        let known = rest.split_once("expected ").map_or("", |(_, known)| known);
        return text!("error-toml-unknown-key", key = quoted(rest), known = known);
    }
    if let Some(rest) = text.strip_prefix("missing field `") {
        return text!("error-toml-missing-key", key = quoted(rest));
    }
    if let Some(rest) = text.strip_prefix("invalid type: ")
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        return text!("error-toml-type", found = found, expected = expected);
    }
    match text {
        "duplicate key" => text!("error-toml-duplicate"),
        other => text!("error-toml-other", reason = other),
    }
}

/// Returns the text of a JSON error.
pub fn json_error(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        Category::Eof => "end",
        Category::Data => "data",
        Category::Io => "io",
        Category::Syntax => "syntax",
    };
    text!("error-json", kind = kind, text = error.to_string())
}

/// Returns the text of an error of the operating system.
pub fn io_error(error: &std::io::Error) -> String {
    let kind = match error.kind() {
        ErrorKind::NotFound => "not-found",
        ErrorKind::PermissionDenied => "permission-denied",
        ErrorKind::AlreadyExists => "already-exists",
        ErrorKind::IsADirectory => "is-a-directory",
        ErrorKind::NotADirectory => "not-a-directory",
        ErrorKind::StorageFull => "storage-full",
        ErrorKind::ReadOnlyFilesystem => "read-only",
        ErrorKind::ConnectionRefused => "connection-refused",
        ErrorKind::TimedOut => "timed-out",
        ErrorKind::BrokenPipe => "broken-pipe",
        _ => "other",
    };
    text!("error-system", kind = kind, text = error.to_string())
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
