//! `preview`: reduces a long JSON result to its status, the number of its items, and the first and
//! last of them.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::json::{self, Fields};
use crate::message::Message;
use crate::reduce;
use crate::setting::{Allowed, Key};
use crate::truncate;
use crate::truncate::Shortened;

pub(super) const SPEC: Spec = Spec {
    name: "preview",
    about: "reduce long JSON results to their first and last items",
    keys: &[
        Key::new("on", Allowed::Flag, "whether to reduce results at all"),
        Key::new(
            "over_tokens",
            Allowed::Whole(1, 1_000_000),
            "reduce results with more tokens than this",
        ),
        Key::new(
            "keep_turns",
            Allowed::Whole(0, 1_000),
            "number of newest turns whose results stay whole",
        ),
        Key::new(
            "lists",
            Allowed::Words,
            "fields that may hold the list, if the result is an object",
        ),
        Key::new(
            "fields",
            Allowed::Words,
            "fields to keep of an item; if it has none of them, its first three",
        ),
    ],
    build: build::<Preview>,
};

/// How JSON results are reduced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preview {
    /// Whether to reduce results at all.
    pub on: bool,
    /// Reduce results with more tokens than this.
    pub over_tokens: usize,
    /// The number of newest turns whose results stay whole.
    pub keep_turns: usize,
    /// The fields that may hold the list, if the result is an object.
    pub lists: Vec<String>,
    /// The fields to keep of an item.
    pub fields: Vec<String>,
}

impl Default for Preview {
    fn default() -> Self {
        let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        Self {
            on: true,
            over_tokens: 200,
            keep_turns: 1,
            lists: owned(&["items", "data", "events", "todos", "reminders", "results", "groups"]),
            fields: owned(&["id", "title", "name", "type", "start", "status"]),
        }
    }
}

/// The number of items shown from each end.
const ITEMS_PER_END: usize = 2;
const LONGEST_TEXT: usize = 100;

impl Stage for Preview {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if !self.on {
            return;
        }
        let counter = *draft.history.counter();
        let turns = draft.history.turns();
        let whole_from =
            turns.get(turns.len().saturating_sub(self.keep_turns)).copied().unwrap_or(usize::MAX);
        let shorten = |message: &Message| {
            reduce::results(message, &counter, |text, earlier| {
                // Parsing comes first: most long results are not JSON, and counting is slower.
                let preview =
                    self.preview(text).filter(|_| counter.text(text) > self.over_tokens)?;
                Some(Shortened::instead(preview, text, earlier))
            })
        };
        for at in draft.newest_first().filter(|&at| at < whole_from) {
            if !draft.is_protected(at) {
                draft.reduce(at, Treatment::Preview, "a long JSON result as a preview", shorten);
            }
        }
    }
}

impl Preview {
    /// Returns the preview of a JSON result, or `None` if it is not a list of more than four items
    /// (S3.21–S3.24).
    #[must_use]
    pub fn preview(&self, text: &str) -> Option<String> {
        let fields = Fields::parse(text).unwrap_or_default();
        let list = self.lists.iter().find_map(|name| fields.get(name).and_then(json::elements));
        let list = list.or_else(|| json::elements(text))?;
        let left_out = list.len().checked_sub(2 * ITEMS_PER_END).filter(|&n| n > 0)?;
        let first = list.iter().take(ITEMS_PER_END).map(|item| self.item(item));
        let last = list.iter().skip(list.len() - ITEMS_PER_END).map(|item| self.item(item));
        let gap = json::quote(&format!("... (+{left_out})"));
        let preview = json::array(first.chain([gap]).chain(last));
        let success = fields.get("success").map(|value| ("success", value.to_owned()));
        Some(json::object(success.into_iter().chain([
            ("total", fields.get("total").map_or_else(|| list.len().to_string(), str::to_owned)),
            ("items_preview", preview),
            ("compressed", "true".to_owned()),
        ])))
    }

    fn item(&self, item: &str) -> String {
        let Some(fields) = Fields::parse(item) else { return short(item) };
        let known: Vec<_> =
            fields.iter().filter(|(key, _)| self.fields.iter().any(|field| field == key)).collect();
        let shown = if known.is_empty() { fields.iter().take(3).collect() } else { known };
        json::object(shown.into_iter().map(|(key, value)| (key, short(value))))
    }
}

fn short(value: &str) -> String {
    match json::string(value) {
        Some(text) => json::quote(&truncate::line(&text.text, LONGEST_TEXT)),
        None if value.len() > LONGEST_TEXT => json::quote(&truncate::line(value, LONGEST_TEXT)),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(text: &str) -> Option<String> {
        let stage = Preview { fields: vec!["id".into(), "title".into()], ..Preview::default() };
        stage.preview(text)
    }

    fn items(n: usize) -> String {
        json::array((0..n).map(|id| format!(r#"{{"id":{id},"title":"t{id}","start_time":"x"}}"#)))
    }

    /// E.9, S3.22–S3.24: twenty items → two, a gap of sixteen, two; items reduced to id and title.
    #[test]
    fn e09_twenty_items() {
        let text = format!(r#"{{"success":true,"total":20,"items":{}}}"#, items(20));
        assert_eq!(
            preview(&text).unwrap(),
            r#"{"success":true,"total":20,"items_preview":[{"id":0,"title":"t0"},{"id":1,"title":"t1"},"... (+16)",{"id":18,"title":"t18"},{"id":19,"title":"t19"}],"compressed":true}"#
        );
    }

    /// E.9: four items stay, five lose one. Empty lists, other values and broken JSON stay.
    #[test]
    fn e09_short_lists_and_other_values_have_no_preview() {
        assert_eq!(preview(&items(4)), None);
        assert!(preview(&items(5)).unwrap().contains("... (+1)"));
        assert_eq!(preview("[]"), None);
        assert_eq!(preview(r#"{"a":1}"#), None);
        assert_eq!(preview("[1,2,3"), None);
        assert_eq!(preview("\"text\""), None);
    }

    /// Numbers keep their text; items without a known field keep their first three.
    #[test]
    fn numbers_are_not_reformatted() {
        let list = json::array((0..6).map(|n| format!(r#"{{"x":{n}.0,"y":1e3,"z":2,"w":3}}"#)));
        assert!(preview(&list).unwrap().contains(r#"{"x":0.0,"y":1e3,"z":2}"#));
    }

    /// C3.10: a preview that is not smaller is not used.
    #[test]
    fn c3_10_a_larger_preview_is_not_used() {
        let message = Message::tool_result("1", "[1,2,3,4,5]");
        let counter = crate::tokens::Counter::default();
        let shorten = |text: &str, _: Option<&crate::message::Truncated>| {
            preview(text).map(|short| Shortened::instead(short, text, None))
        };
        assert!(reduce::results(&message, &counter, shorten).is_none());
    }
}
