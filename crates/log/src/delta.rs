//! The difference between two documents, by top-level key.

use serde::{Deserialize, Serialize};

use crate::session::{Document, text};

/// The keys to set and to remove.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Delta {
    #[serde(skip_serializing_if = "Document::is_empty")]
    set: Document,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drop: Vec<String>,
}

/// Returns the stored form of the changes from `before` to `after`: empty if there are none, and
/// `None` if it would not be much shorter than `after` itself.
pub(crate) fn between(before: &Document, after: &Document) -> Option<String> {
    let is_new = |(name, value): &(&String, &serde_json::Value)| before.get(*name) != Some(*value);
    let set: Document =
        after.iter().filter(is_new).map(|(name, value)| (name.clone(), value.clone())).collect();
    let drop: Vec<String> =
        before.keys().filter(|name| !after.contains_key(*name)).cloned().collect();
    if set.is_empty() && drop.is_empty() {
        return Some(String::new());
    }
    let delta = serde_json::to_string(&Delta { set, drop }).ok()?;
    (delta.len() < text(after).len() / 2).then_some(delta)
}

/// Applies a stored delta; `None` if it cannot be read.
pub(crate) fn apply(before: &Document, delta: &str) -> Option<Document> {
    let mut document = before.clone();
    if delta.is_empty() {
        return Some(document);
    }
    let Delta { set, drop } = serde_json::from_str(delta).ok()?;
    drop.iter().for_each(|name| std::mem::drop(document.remove(name)));
    document.extend(set);
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn document(value: Value) -> Document {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn applying_a_delta_gives_the_same_document() {
        let todos = json!([{"content": "x".repeat(200)}]);
        let before = document(json!({"loops": 3, "todos": todos, "role": "init", "gone": 1}));
        let after = document(json!({"loops": 4, "todos": todos, "role": null, "new": {"a": []}}));
        for (from, to) in [(&before, &after), (&after, &before), (&before, &before)] {
            let delta = between(from, to).unwrap();
            assert!(delta.len() < 80, "{delta}");
            assert_eq!(apply(from, &delta).as_ref(), Some(to));
        }
        assert_eq!(between(&Document::new(), &before), None, "the full document is as short");
        assert_eq!(apply(&before, "{"), None);
    }
}
