//! The text that the user wrote: without code, and without the tags that client programs add.

/// The longest name of a client tag.
const LONGEST_TAG: usize = 100;

/// Returns a text without code fences and client tags. The text ends at one that is not closed.
pub(super) fn without_code_and_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '<']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        kept.push_str(before);
        rest = match after_code_or_tag(from) {
            Some(after) => {
                kept.push(' ');
                after
            }
            None => {
                let mut characters = from.chars();
                kept.extend(characters.next());
                characters.as_str()
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// Returns what follows the fence or tag that a text starts with.
fn after_code_or_tag(text: &str) -> Option<&str> {
    if let Some(code) = text.strip_prefix("```") {
        return Some(code.split_once("```").map_or("", |(_, after)| after));
    }
    let text = text.strip_prefix('<')?;
    let end = text.bytes().take(LONGEST_TAG).position(|byte| byte == b'>')?;
    let name = text.get(..end).filter(|name| is_client_tag(name))?;
    let content = text.get(end..)?;
    Some(content.split_once(&format!("</{name}>")).map_or("", |(_, after)| after))
}

fn is_client_tag(name: &str) -> bool {
    let has = |prefix: &str, letters: &[char]| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            let is_letter = |letter: char| letter.is_ascii_lowercase() || letters.contains(&letter);
            !rest.is_empty() && rest.chars().all(is_letter)
        })
    };
    name == "system-reminder"
        || name.starts_with("local-command")
        || has("command-", &[])
        || has("ide_", &['_'])
}
