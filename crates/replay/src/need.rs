//! What each call of a conversation needed, and which earlier messages had shown it.

use aho_corasick::{AhoCorasick, MatchKind};
use rustc_hash::FxHashMap;
use waterline::ledger::text_of;
use waterline::message::Message;

use crate::value;

/// The needs of a whole conversation.
#[derive(Debug, Default)]
pub struct Needs {
    /// The values, each once.
    pub values: Vec<String>,
    /// For each value the messages that show it, oldest first.
    pub places: Vec<Vec<usize>>,
    /// The calls that have values in their arguments, in order.
    pub calls: Vec<CallNeeds>,
}

/// What one call needed.
#[derive(Debug)]
pub struct CallNeeds {
    /// The message that makes the call.
    pub message: usize,
    /// The tool.
    pub tool: String,
    /// The values that had been seen before it.
    pub seen: Vec<usize>,
}

impl Needs {
    /// The needs of these messages.
    #[must_use]
    pub fn of(messages: &[&Message]) -> Self {
        let mut needs = Self::default();
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut calls: Vec<(usize, String, Vec<usize>)> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            for call in message.calls() {
                let values = value::of_arguments(&call.arguments);
                if values.is_empty() {
                    continue;
                }
                let ids = values.into_iter().map(|value| {
                    let next = known.len();
                    *known.entry(value).or_insert(next)
                });
                calls.push((at, call.name.clone(), ids.collect()));
            }
        }
        needs.values = vec![String::new(); known.len()];
        for (value, id) in known {
            if let Some(place) = needs.values.get_mut(id) {
                *place = value;
            }
        }
        needs.places = places(&needs.values, messages);
        for (message, tool, ids) in calls {
            let seen =
                ids.into_iter().filter(|&id| needs.last_place(id, message).is_some()).collect();
            needs.calls.push(CallNeeds { message, tool, seen });
        }
        needs
    }

    /// The newest message before `message` that shows a value.
    #[must_use]
    pub fn last_place(&self, value: usize, message: usize) -> Option<usize> {
        self.places_before(value, message).last().copied()
    }

    /// The messages before `message` that show a value.
    #[must_use]
    pub fn places_before(&self, value: usize, message: usize) -> &[usize] {
        let places = self.places.get(value).map_or(&[][..], Vec::as_slice);
        places.get(..places.partition_point(|&place| place < message)).unwrap_or_default()
    }
}

/// Every message is searched for all values at once.
fn places(values: &[String], messages: &[&Message]) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); values.len()];
    let searcher = AhoCorasick::builder().match_kind(MatchKind::Standard).build(values);
    // Too many values for one automaton is the only way this fails, at far more than a conversation
    // holds.
    let Ok(searcher) = searcher else { return places };
    for (at, message) in messages.iter().enumerate() {
        let text = text_of(message);
        for found in searcher.find_overlapping_iter(&text) {
            let Some(place) = places.get_mut(found.pattern().as_usize()) else { continue };
            if place.last() != Some(&at) {
                place.push(at);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline::message::ToolCall;

    #[test]
    fn a_value_is_seen_where_it_stands_also_inside_a_longer_word() {
        let messages = [
            Message::user("look at crates/a/src/lib.rs"),
            Message::assistant_with_calls(
                "",
                [ToolCall::new("1", "read", r#"{"path":"src\/lib.rs"}"#)],
            ),
            Message::tool_result("1", "fn load_all() {}"),
            Message::assistant_with_calls(
                "",
                [ToolCall::new("2", "grep", r#"{"pattern":"load_all","path":"src/new.rs"}"#)],
            ),
        ];
        let needs = Needs::of(&messages.iter().collect::<Vec<_>>());
        let shown: Vec<(usize, Vec<&str>)> = needs
            .calls
            .iter()
            .map(|call| {
                (call.message, call.seen.iter().map(|&id| needs.values[id].as_str()).collect())
            })
            .collect();
        assert_eq!(shown, [(1, vec!["src/lib.rs"]), (3, vec!["load_all"])]);
        assert_eq!(needs.last_place(needs.calls[0].seen[0], 3), Some(1));
    }
}
