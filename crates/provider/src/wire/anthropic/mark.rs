//! Cache marks: where the prefix to cache ends. Anthropic accepts at most four, and caches nothing
//! without one.
//!
//! One mark follows the system prompt (and covers the tools before it), and one follows each of
//! the two newest messages that can carry one. The older of the two is where the previous call had
//! its mark, so its cache entry is found again. Marks are not stored with the context.

use waterline::json::{self, Fields};

use crate::wire::rendered::{Json, Rendered};

const MARKED_MESSAGES: usize = 2;

const MARK: (&str, &str) = ("cache_control", r#"{"type":"ephemeral"}"#);

pub(super) fn mark(context: &Rendered) -> Rendered {
    let mut marked = context.clone();
    marked.system = marked.system.map(|system| content(system.as_str()).map_or(system, Json::made));
    let mut left = MARKED_MESSAGES;
    for message in marked.messages.iter_mut().rev() {
        if left == 0 {
            break;
        }
        if let Some(json) = self::message(message.as_str()) {
            *message = Json::made(json);
            left -= 1;
        }
    }
    marked
}

fn message(text: &str) -> Option<String> {
    let fields = Fields::parse(text)?;
    let content = content(fields.get("content")?)?;
    Some(json::object(
        fields
            .iter()
            .map(|(name, value)| (name, if name == "content" { content.as_str() } else { value })),
    ))
}

/// Marks the last block of a content; `None` if that block cannot carry a mark.
fn content(text: &str) -> Option<String> {
    if let Some(lossy) = json::string(text) {
        let block = [("type", r#""text""#), ("text", text)].into_iter().chain([MARK]);
        return (!lossy.text.trim().is_empty()).then(|| json::array([json::object(block)]));
    }
    let blocks = json::elements(text)?;
    let (last, before) = blocks.split_last()?;
    let marked = block(last)?;
    Some(json::array(before.iter().copied().chain([marked.as_str()])))
}

/// Thinking and blank texts cannot carry a mark; an existing mark is kept.
fn block(text: &str) -> Option<String> {
    let fields = Fields::parse(text)?;
    let kind = fields.get("type").and_then(json::string)?.text;
    let is_blank =
        fields.get("text").and_then(json::string).is_some_and(|text| text.text.trim().is_empty());
    if kind.ends_with("thinking") || is_blank || fields.get(MARK.0).is_some() {
        return None;
    }
    Some(json::object(fields.iter().chain([MARK])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(system: Option<&str>, messages: &[&str]) -> Vec<String> {
        let json = |text: &&str| Json::made((*text).to_owned());
        let context = Rendered {
            system: system.map(|text| Json::made(text.to_owned())),
            messages: messages.iter().map(json).collect(),
        };
        let marked = mark(&context);
        marked.system.iter().chain(&marked.messages).map(|json| json.as_str().to_owned()).collect()
    }

    #[test]
    fn system_prompt_and_the_two_newest_messages_are_marked() {
        let user = r#"{"role":"user","content":"hi"}"#;
        let thinks = concat!(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"x","#,
            r#""signature":"s"}]}"#
        );
        let answer = concat!(
            r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","#,
            r#""text":"b"}]}"#
        );
        let found = marked(Some(r#""be brief""#), &[user, answer, thinks, user]);
        assert_eq!(
            found[0],
            r#"[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]"#
        );
        assert_eq!(found[1], user);
        assert_eq!(
            found[2],
            concat!(
                r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","#,
                r#""text":"b","cache_control":{"type":"ephemeral"}}]}"#
            )
        );
        assert_eq!(found[3], thinks);
        assert_eq!(
            found[4],
            concat!(
                r#"{"role":"user","content":[{"type":"text","text":"hi","#,
                r#""cache_control":{"type":"ephemeral"}}]}"#
            )
        );
    }

    #[test]
    fn at_most_four_marks_are_set() {
        let user = r#"{"role":"user","content":"hi"}"#;
        let found = marked(Some(r#""x""#), &[user; 9]).concat();
        assert_eq!(found.matches("cache_control").count(), 3);
    }
}
