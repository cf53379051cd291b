//! The title of a recorded conversation: the first sentence that its user wrote.

use waterline::message::{Message, Role};

/// Maximum number of characters in a title.
const MAX_CHARS: usize = 80;

/// How many of the user's messages are considered.
const MAX_MESSAGES: usize = 20;

/// Returns the first real line of the user's messages. Lines that a program wrote in the user's
/// name (tags with their content, commands, headings) are skipped unless there is nothing else.
pub(crate) fn title_of<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let texts: Vec<String> = messages
        .filter(|message| message.role == Role::User && message.has_text())
        .take(MAX_MESSAGES)
        .map(Message::text)
        .collect();
    let real = texts.iter().find_map(|text| first_sentence(text));
    let any = || texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let first_line = || any().find(|line| !line.is_empty()).map(str::to_owned);
    let line = real.or_else(first_line).unwrap_or_default();
    let truncated: String = line.chars().take(MAX_CHARS).collect();
    if truncated.len() < line.len() { truncated + "…" } else { truncated }
}

/// Returns the first line that the user wrote. If it only announces what follows, such as
/// "Implement the following plan:", the next line is added.
fn first_sentence(text: &str) -> Option<String> {
    let untagged = without_tags(text);
    let mut lines = untagged.iter().map(|line| line.trim_matches(['"', '\'']).trim());
    let first = lines.by_ref().find(|line| is_sentence(line))?;
    if !first.ends_with([':', '：']) {
        return Some(first.to_owned());
    }
    let next = lines.map(|line| line.trim_start_matches('#').trim()).find(|line| has_letter(line));
    Some(next.map_or_else(|| first.to_owned(), |next| format!("{first} {next}")))
}

/// Returns the lines outside of tags such as `<context>…</context>`.
fn without_tags(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(end) = &open {
            if line.contains(end.as_str()) {
                open = None;
            }
            continue;
        }
        match tag(line) {
            Some(name) => {
                let end = format!("</{name}>");
                // A tag without an end is only one line.
                if !line.contains(&end) && text.contains(&end) {
                    open = Some(end);
                }
            }
            None => lines.push(line),
        }
    }
    lines
}

/// Returns the name of the tag that a line starts with.
fn tag(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('<')?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-/".contains(c)))?;
    rest.get(..end).filter(|name| !name.is_empty())
}

fn is_sentence(line: &str) -> bool {
    has_letter(line) && !line.starts_with(['/', '#', '<', '`', '|'])
}

fn has_letter(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(texts: &[&str]) -> String {
        let messages: Vec<Message> = texts.iter().map(|text| Message::user(*text)).collect();
        title_of(messages.iter())
    }

    #[test]
    fn a_title_is_the_first_sentence_of_the_user() {
        let text = "<current_datetime>2026-05-04T10:00:00</current_datetime>\n\nWhy does it fail?";
        assert_eq!(title(&[text]), "Why does it fail?");
        assert_eq!(title(&["\"# Context\n\nThe parser is slow.\n"]), "The parser is slow.");
        assert_eq!(
            title(&["Implement the following plan:\n\n# Cache tokens\n\n1. …"]),
            "Implement the following plan: Cache tokens"
        );
        assert_eq!(title(&["<env>\nOS: linux\n</env>\n修复登录错误"]), "修复登录错误");
        assert_eq!(title(&["/clear", "<command>x</command>", "go on"]), "go on");
        assert_eq!(title(&["<command>x</command>"]), "<command>x</command>", "nothing else");
        assert_eq!(title(&["a < b is wrong"]), "a < b is wrong");
    }
}
