//! What changed between two documents, key by key.

use serde::{Deserialize, Serialize};

use crate::session::{Document, text};

/// The keys of a document that another one has not, or has otherwise.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Delta {
    #[serde(skip_serializing_if = "Document::is_empty")]
    set: Document,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drop: Vec<String>,
}

/// What leads from `before` to `after`, as it is stored: nothing where they are the same, and
/// `None` where the whole of `after` is hardly longer.
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

/// The document that a stored delta leads to; `None` when it cannot be read.
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
    fn a_delta_leads_back_to_the_same_document() {
        let before = document(
            json!({"loops": 3, "todos": [{"content": "x".repeat(200)}], "role": "init", "gone": 1}),
        );
        let after = document(
            json!({"loops": 4, "todos": [{"content": "x".repeat(200)}], "role": null, "new": {"a": []}}),
        );
        for (from, to) in [(&before, &after), (&after, &before), (&before, &before)] {
            let delta = between(from, to).unwrap();
            assert!(delta.len() < 80, "{delta}");
            assert_eq!(apply(from, &delta).as_ref(), Some(to));
        }
        assert_eq!(between(&Document::new(), &before), None, "the whole is as short");
        assert_eq!(apply(&before, "{"), None);
    }
}
