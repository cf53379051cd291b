//! Finds the values that each call of a conversation needed, and the earlier messages that showed
//! them.

use aho_corasick::{AhoCorasick, MatchKind};
use rustc_hash::FxHashMap;
use waterline::ledger::text_of;
use waterline::message::Message;

use crate::value;

/// The values needed in a conversation.
#[derive(Debug, Default)]
pub struct Needs {
    /// Each value once.
    pub values: Vec<String>,
    /// For each value, the messages that show it, oldest first.
    pub positions: Vec<Vec<usize>>,
    /// The calls with values in their arguments, in order.
    pub calls: Vec<CallNeeds>,
}

/// The values that one call needed.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallNeeds {
    /// The message that makes the call.
    pub message: usize,
    /// The name of the tool.
    pub tool: String,
    /// The values that earlier messages showed, as indexes into [`Needs::values`].
    pub seen: Vec<usize>,
}

impl Needs {
    /// Finds the needs of these messages.
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
            if let Some(slot) = needs.values.get_mut(id) {
                *slot = value;
            }
        }
        needs.positions = positions(&needs.values, messages);
        for (message, tool, ids) in calls {
            let seen =
                ids.into_iter().filter(|&id| needs.last_position(id, message).is_some()).collect();
            needs.calls.push(CallNeeds { message, tool, seen });
        }
        needs
    }

    /// Returns the newest message before `message` that shows a value.
    #[must_use]
    pub fn last_position(&self, value: usize, message: usize) -> Option<usize> {
        self.positions_before(value, message).last().copied()
    }

    /// Returns the messages before `message` that show a value.
    #[must_use]
    pub fn positions_before(&self, value: usize, message: usize) -> &[usize] {
        let positions = self.positions.get(value).map_or(&[][..], Vec::as_slice);
        positions.get(..positions.partition_point(|&at| at < message)).unwrap_or_default()
    }
}

/// Searches every message for all values at once.
fn positions(values: &[String], messages: &[&Message]) -> Vec<Vec<usize>> {
    let mut positions = vec![Vec::new(); values.len()];
    let searcher = AhoCorasick::builder().match_kind(MatchKind::Standard).build(values);
    // This fails only for far more values than a conversation has.
    let Ok(searcher) = searcher else { return positions };
    for (at, message) in messages.iter().enumerate() {
        let text = text_of(message);
        for found in searcher.find_overlapping_iter(&text) {
            let Some(list) = positions.get_mut(found.pattern().as_usize()) else { continue };
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use waterline::message::ToolCall;

    #[test]
    fn value_is_found_also_inside_a_longer_word() {
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
        assert_eq!(needs.last_position(needs.calls[0].seen[0], 3), Some(1));
    }
}
