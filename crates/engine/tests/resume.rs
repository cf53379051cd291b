//! A session that was put away and taken up again sends the same as one that never stopped.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use waterline::history::History;
use waterline::message::{Message, ToolCall};
use waterline::model::{Model, Models};
use waterline::plan::{Budget, FrozenSlot, Generation, Input, extend, plan};
use waterline::policy::Policy;
use waterline::tokens::{Counter, Method};
use waterline::validity;

static UNKNOWN: LazyLock<Arc<Model>> = LazyLock::new(|| Models::builtin().unknown());

fn counter() -> Counter {
    Counter::new(Method::Chars4, 1_000)
}

fn input<'a>(history: &'a History, generation: &'a Generation, policy: &'a Policy) -> Input<'a> {
    Input::new(history, generation, policy, Budget::of(2_000), &UNKNOWN)
}

fn sent(generation: &Generation, history: &History) -> Vec<String> {
    generation.context(history).map(|message| serde_json::to_string(message).unwrap()).collect()
}

/// What a step leaves behind, as JSON: what a store would keep.
fn stored(generation: &Generation, history: &History) -> String {
    serde_json::to_string(&(generation.head(), history.past(), generation.frozen(history, 0)))
        .unwrap()
}

fn message(kind: u8, at: usize, length: usize) -> Vec<Message> {
    let words = format!("src/file_{at}.rs {}", "word ".repeat(length));
    // Few ids, as small local models give them: the same again and again.
    let id = format!("call_{}", at % 3);
    match kind {
        0 => vec![Message::user(words)],
        1 => vec![Message::assistant(words)],
        2 => vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(&id, "read", format!("{{\"n\":{at}}}"))],
            ),
            Message::tool_result(&id, words),
        ],
        3 => vec![Message::assistant_with_calls("", [ToolCall::new(&id, "read", "{}")])],
        // A step larger than the window, in its arguments and in its result.
        5 => vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(
                    &id,
                    "write",
                    format!("{{\"text\":\"{}\"}}", words.repeat(4_000 / words.len() + 1)),
                )],
            ),
            Message::tool_result(&id, words.repeat(12_000 / words.len() + 1)),
        ],
        _ => vec![Message::system(words)],
    }
}

proptest! {
    #[test]
    fn a_session_taken_up_again_sends_what_it_would_have_sent(
        steps in proptest::collection::vec((0_u8..6, 1_usize..60), 1..60),
        more in proptest::collection::vec((0_u8..3, 1_usize..20), 1..4),
    ) {
        let policy = Policy::preset("auto").unwrap();
        let mut history = History::new(counter());
        let mut generation = Generation::new();
        for (at, (kind, length)) in steps.into_iter().enumerate() {
            history.extend(message(kind, at, length));
            let planned = plan(&input(&history, &generation, &policy));
            generation.freeze(&history, planned);
        }
        let (head, past, slots): (_, waterline::history::Past, Vec<FrozenSlot>) =
            serde_json::from_str(&stored(&generation, &history)).unwrap();
        let source = |index: usize| if index < past.messages { history.source(index).cloned() } else { None };
        let mut thawed = Generation::thaw(head, slots, source);
        let mut tail = History::behind(counter(), past, thawed.views(past.messages));
        tail.extend((past.messages..history.len()).filter_map(|index| history.source(index).cloned()));
        prop_assert_eq!(sent(&thawed, &tail), sent(&generation, &history));

        for (at, (kind, length)) in more.into_iter().enumerate() {
            let new = message(kind, 1_000 + at, length);
            history.extend(new.clone());
            tail.extend(new);
        }
        let whole = extend(&input(&history, &generation, &policy));
        let resumed = extend(&input(&tail, &thawed, &policy));
        prop_assert_eq!(whole.is_some(), resumed.is_some());
        if let (Some(whole), Some(resumed)) = (whole, resumed) {
            prop_assert_eq!(whole.tokens, resumed.tokens);
            prop_assert!(resumed.warnings.is_empty(), "{:?}", resumed.warnings);
            generation.freeze(&history, whole);
            thawed.freeze(&tail, resumed);
            prop_assert_eq!(validity::check(thawed.context(&tail)), Vec::new());
            let ids = |messages: Vec<String>| messages.into_iter().map(|m| unnamed(&m)).collect::<Vec<_>>();
            prop_assert_eq!(ids(sent(&thawed, &tail)), ids(sent(&generation, &history)));
        }
    }
}

/// An id that was used long ago, and is no longer in sight, may be used again: only there do the
/// two differ.
fn unnamed(message: &str) -> String {
    let mut text = message.to_owned();
    for id in 0..3 {
        for round in (2..40).rev() {
            text = text.replace(&format!("\"call_{id}_{round}\""), &format!("\"call_{id}\""));
        }
    }
    text
}
