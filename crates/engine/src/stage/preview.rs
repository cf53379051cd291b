//! `preview`: reduces a long result. A JSON list keeps the number of its items and the first and
//! last of them, a JSON object its short values, and any other text its beginning and end.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::json::{self, Fields};
use crate::message::{Message, Truncated};
use crate::reason::Reason;
use crate::reduce;
use crate::setting::{Allowed, Key};
use crate::tokens::Counter;
use crate::truncate::{self, Shortened, Truncation, truncate};

pub(super) const SPEC: Spec = Spec {
    name: "preview",
    about: "reduce long results: lists to their first and last items, other texts to head and tail",
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
            Allowed::Texts,
            "fields that may hold the list, if the result is an object",
        ),
        Key::new(
            "fields",
            Allowed::Texts,
            "fields to keep of an item; if it has none of them, its first three",
        ),
        Key::new("gap", Allowed::Text, "text that replaces the omitted items; {n} is their number"),
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
    /// What replaces the items left out; `{n}` is their number.
    pub gap: String,
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
            gap: "... (+{n})".to_owned(),
        }
    }
}

/// The number of items shown from each end.
const ITEMS_PER_END: usize = 2;
const LONGEST_TEXT: usize = 100;

/// Fields of an object that are kept first: they say how a call went.
const STATUS_FIELDS: [&str; 8] =
    ["success", "ok", "status", "error", "message", "code", "total", "count"];

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
                // No text has more tokens than bytes, and counting is slow.
                let is_long =
                    text.len() > self.over_tokens && counter.text(text) > self.over_tokens;
                is_long.then(|| self.shorten(text, &counter, earlier)).flatten()
            })
        };
        for at in draft.newest_first().filter(|&at| at < whole_from) {
            if !draft.is_protected(at) {
                draft.shorten(at, Treatment::Preview, Reason::Preview, shorten);
            }
        }
    }
}

impl Preview {
    fn shorten(
        &self,
        text: &str,
        counter: &Counter,
        earlier: Option<&Truncated>,
    ) -> Option<Shortened> {
        let preview = self.preview(text, counter).or_else(|| self.outline(text, counter));
        match preview {
            Some(preview) => Some(Shortened::instead(preview, text, earlier)),
            None => self.head_and_tail(text, counter, earlier),
        }
    }

    /// Returns a JSON object with its short values, as many as fit, or a short list with the values
    /// of its items shortened.
    fn outline(&self, text: &str, counter: &Counter) -> Option<String> {
        if let Some(items) = json::elements(text) {
            return Some(json::array(items.into_iter().map(|item| self.value(item, counter))));
        }
        let fields = Fields::parse(text)?;
        let mut kept = vec![("compressed", "true".to_owned())];
        let left_out = self.add_fields(&mut kept, 0, fields.iter().collect(), counter);
        if left_out > 0 {
            kept.push(("omitted_fields", left_out.to_string()));
        }
        Some(json::object(kept))
    }

    /// Adds the values of fields, shortened, as many as fit: first those that say how the call
    /// went. They start at `at`. Returns how many did not fit.
    fn add_fields<'t>(
        &self,
        kept: &mut Vec<(&'t str, String)>,
        mut at: usize,
        mut fields: Vec<(&'t str, &str)>,
        counter: &Counter,
    ) -> usize {
        let rank = |name: &str| STATUS_FIELDS.iter().position(|known| *known == name);
        fields.sort_by_key(|(name, _)| rank(name).unwrap_or(STATUS_FIELDS.len()));
        let mut left_out = 0;
        for (name, value) in fields {
            kept.insert(at, (name, self.value(value, counter)));
            if counter.text(&json::object(kept.iter().map(|(k, v)| (*k, v)))) > self.over_tokens {
                kept.remove(at);
                left_out += 1;
            } else {
                at += 1;
            }
        }
        left_out
    }

    /// Returns a value inside an object or a short list: texts shortened, long lists as their ends.
    fn value(&self, value: &str, counter: &Counter) -> String {
        if let Some(items) = json::elements(value) {
            return self.ends(&items).unwrap_or_else(|| short(value));
        }
        match Fields::parse(value) {
            Some(fields) => match fields.iter().count() {
                0 => value.to_owned(),
                keys if value.len() > LONGEST_TEXT => self
                    .preview(value, counter)
                    .unwrap_or_else(|| json::quote(&format!("{{… {keys} fields}}"))),
                _ => value.to_owned(),
            },
            None => short(value),
        }
    }

    /// Returns the first and the last items of a list of more than four.
    fn ends(&self, list: &[&str]) -> Option<String> {
        let left_out = list.len().checked_sub(2 * ITEMS_PER_END).filter(|&n| n > 0)?;
        let first = list.iter().take(ITEMS_PER_END).map(|item| self.item(item));
        let last = list.iter().skip(list.len() - ITEMS_PER_END).map(|item| self.item(item));
        let gap = json::quote(&self.gap.replace("{n}", &left_out.to_string()));
        Some(json::array(first.chain([gap]).chain(last)))
    }

    /// Returns two thirds of the allowed tokens from the beginning of a text, one third from its
    /// end.
    fn head_and_tail(
        &self,
        text: &str,
        counter: &Counter,
        earlier: Option<&Truncated>,
    ) -> Option<Shortened> {
        let lengths = std::iter::successors(Some(self.over_tokens.saturating_mul(4)), |chars| {
            Some(chars * 3 / 4)
        });
        let mut candidates = lengths.take_while(|&chars| chars >= 16).filter_map(|chars| {
            truncate(text, &Truncation::new(chars * 2 / 3, chars / 3).after(earlier))
        });
        candidates.find(|shortened| counter.text(&shortened.text) <= self.over_tokens)
    }

    /// Returns the preview of a JSON result, or `None` if it is not a list of more than four items
    /// (S3.21–S3.24). Other fields of the object that has the list stay if they fit: they may say
    /// that the call failed, or that there are more pages.
    #[must_use]
    pub fn preview(&self, text: &str, counter: &Counter) -> Option<String> {
        let fields = Fields::parse(text).unwrap_or_default();
        let listed = self
            .lists
            .iter()
            .find_map(|name| Some((name.as_str(), json::elements(fields.get(name)?)?)));
        let (list_name, list) = match listed {
            Some(listed) => listed,
            None => ("", json::elements(text)?),
        };
        let preview = self.ends(&list)?;
        let total = fields.get("total").map_or_else(|| list.len().to_string(), str::to_owned);
        let success = fields.get("success").map(|value| ("success", value.to_owned()));
        let mut kept: Vec<(&str, String)> = success.into_iter().collect();
        kept.push(("total", total));
        let others = kept.len();
        kept.extend([("items_preview", preview), ("compressed", "true".to_owned())]);
        let is_other = |name: &str| !["success", "total", list_name].contains(&name);
        let rest = fields.iter().filter(|(name, _)| is_other(name)).collect();
        self.add_fields(&mut kept, others, rest, counter);
        Some(json::object(kept))
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

    /// The stage as the preset `budget` has it.
    fn stage() -> Preview {
        let policy = crate::policy::Policy::preset("budget").unwrap();
        let table: toml::Table = policy.text().parse().unwrap();
        table["preview"].clone().try_into().unwrap()
    }

    fn preview(text: &str) -> Option<String> {
        stage().preview(text, &chars4())
    }

    fn chars4() -> Counter {
        Counter::new(crate::tokens::Method::Chars4, 1_000)
    }

    /// Returns what becomes of a result in a fold.
    fn reduced(text: &str) -> Option<String> {
        let counter = chars4();
        let stage = stage();
        let shorten = |text: &str, earlier: Option<&Truncated>| {
            (counter.text(text) > stage.over_tokens)
                .then(|| stage.shorten(text, &counter, earlier))
                .flatten()
        };
        let message = reduce::results(&Message::tool_result("1", text), &counter, shorten)?;
        message.results().next().map(|result| result.text())
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
            concat!(
                r#"{"success":true,"total":20,"items_preview":[{"id":0,"title":"t0"},{"id":1,"#,
                r#""title":"t1"},"... (省略 16 项)",{"id":18,"title":"t18"},{"id":19,"#,
                r#""title":"t19"}],"compressed":true}"#
            )
        );
    }

    /// S3.21: how the call went stays, also if the list is a field of an object inside.
    #[test]
    fn s3_21_a_list_keeps_the_fields_next_to_it() {
        let list = items(20);
        let text = format!(
            r#"{{"status":"failed","error":"disk full","count":100,"items":{list},"errors":["e1"],"next":"p2"}}"#
        );
        let short = preview(&text).unwrap();
        assert!(
            short.starts_with(
                r#"{"total":20,"status":"failed","error":"disk full","count":100,"errors":["e1"],"next":"p2","items_preview":["#
            ),
            "{short}"
        );
        let inside = reduced(&format!(r#"{{"success":true,"data":{{"items":{list}}}}}"#)).unwrap();
        assert!(inside.contains(r#""data":{"total":20,"items_preview":[{"id":0,"#), "{inside}");
        let long = "word ".repeat(1_000);
        let text = format!(r#"{{"note":"{long}","items":{list}}}"#);
        assert!(chars4().text(&preview(&text).unwrap()) <= 200);
    }

    /// E.9: four items stay, five lose one. Empty lists, other values and broken JSON stay.
    #[test]
    fn c3_8_the_key_fields_are_settings() {
        let items = json::array((0..20).map(|id| format!(r#"{{"id":{id},"sku":"s{id}"}}"#)));
        let text = format!(r#"{{"rows":{items}}}"#);
        let own = Preview { lists: vec!["rows".into()], fields: vec!["sku".into()], ..stage() };
        let shown = own.preview(&text, &chars4()).unwrap();
        assert!(shown.contains(r#""items_preview":[{"sku":"s0"},{"sku":"s1"},"#), "{shown}");
        assert!(!preview(&text).unwrap_or_default().contains("items_preview"), "not by default");
    }

    #[test]
    fn e09_short_lists_and_other_values_have_no_preview() {
        assert_eq!(preview(&items(4)), None);
        assert!(preview(&items(5)).unwrap().contains("... (省略 1 项)"));
        assert_eq!(preview("[]"), None);
        assert_eq!(preview(r#"{"a":1}"#), None);
        assert_eq!(preview("[1,2,3"), None);
        assert_eq!(preview("\"text\""), None);
    }

    /// S3.25: a list of 250 tokens becomes one of at most 100.
    #[test]
    fn s3_25_a_list_of_250_tokens_becomes_100() {
        let item = |id: usize| {
            let text = format!("event {id} at the harbour");
            format!(r#"{{"id":{id},"title":"{text}","start_time":"2026-11-16T08:20"}}"#)
        };
        let text =
            format!(r#"{{"success":true,"total":13,"items":{}}}"#, json::array((0..13).map(item)));
        assert!((240..=260).contains(&chars4().text(&text)), "{}", chars4().text(&text));
        assert!(chars4().text(&reduced(&text).unwrap()) <= 100);
    }

    /// S3.21: an object keeps its status and short values; long texts and lists inside are reduced.
    #[test]
    fn s3_21_objects_keep_status_and_short_values() {
        let long = "a long story ".repeat(100);
        let text = format!(
            r#"{{"name":"mill","body":"{long}","rows":[1,2,3,4,5,6,7],"owner":{{"a":"{long}","b":1}},"success":false,"error":"no water"}}"#
        );
        let short = reduced(&text).unwrap();
        assert!(
            short
                .starts_with(r#"{"success":false,"error":"no water","name":"mill","body":"a long"#),
            "{short}"
        );
        assert!(short.contains(r#""rows":[1,2,"... (省略 3 项)",6,7]"#), "{short}");
        assert!(
            short.contains(r#""owner":"{… 2 fields}""#) && short.contains(r#""compressed":true"#),
            "{short}"
        );
        assert!(chars4().text(&short) <= 200 && json::is_object(&short), "{short}");
        assert_eq!(reduced(&short), None, "applied twice it stays the same");
        let many = json::object((0..300).map(|n| (format!("k{n}"), "\"value\"".to_owned())));
        let short = reduced(&many).unwrap();
        assert!(chars4().text(&short) <= 210 && short.contains("omitted_fields"), "{short}");
    }

    /// S3.21: a text that is not JSON keeps its beginning and its end within the limit.
    #[test]
    fn s3_21_other_texts_keep_head_and_tail() {
        let text = format!("begin {} end", "word ".repeat(2_000));
        let short = reduced(&text).unwrap();
        assert!(short.starts_with("begin word") && short.ends_with("word  end"), "{short}");
        assert!(short.contains("chars omitted"), "{short}");
        assert!((120..=200).contains(&chars4().text(&short)), "{}", chars4().text(&short));
    }

    /// S3.20: a result of 200 tokens stays, one of 201 is reduced.
    #[test]
    fn s3_20_results_over_200_tokens_are_reduced() {
        let list = |tokens: usize| {
            let item = r#"{"id":1,"title":"a"}"#;
            let start = format!("[{item},{item},{item},{item},{item},\"");
            format!("{start}{}\"]", "x".repeat(4 * tokens - start.len() - 2))
        };
        assert_eq!((chars4().text(&list(200)), chars4().text(&list(201))), (200, 201));
        assert_eq!(reduced(&list(200)), None);
        assert!(reduced(&list(201)).unwrap().contains("items_preview"));
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
        let counter = Counter::default();
        let shorten = |text: &str, _: Option<&Truncated>| {
            preview(text).map(|short| Shortened::instead(short, text, None))
        };
        assert!(reduce::results(&message, &counter, shorten).is_none());
    }
}
