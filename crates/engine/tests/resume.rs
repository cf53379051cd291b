//! A session that was stored and resumed sends the same as one that never stopped.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use waterline::history::History;
use waterline::message::{Message, ToolCall};
use waterline::model::{Model, Models};
use waterline::plan::{
    Action, Budget, FoldLevel, FoldRequest, Generation, Input, StoredSlot, extend, plan,
};
use waterline::policy::Policy;
use waterline::reason::Reasons;
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

/// Returns what a store would keep after a step, as JSON.
fn stored(generation: &Generation, history: &History) -> String {
    serde_json::to_string(&(generation.head(), history.past(), generation.stored(history, 0)))
        .unwrap()
}

fn message(kind: u8, at: usize, length: usize) -> Vec<Message> {
    let text = format!("src/file_{at}.rs {}", "word ".repeat(length));
    // A few ids repeat, as with small local models.
    let id = format!("call_{}", at % 3);
    match kind {
        0 => vec![Message::user(text)],
        1 => vec![Message::assistant(text)],
        2 => vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(&id, "read", format!("{{\"n\":{at}}}"))],
            ),
            Message::tool_result(&id, text),
        ],
        3 => vec![Message::assistant_with_calls("", [ToolCall::new(&id, "read", "{}")])],
        // A step larger than the window, in its arguments and in its result.
        5 => vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(
                    &id,
                    "write",
                    format!("{{\"text\":\"{}\"}}", text.repeat(4_000 / text.len() + 1)),
                )],
            ),
            Message::tool_result(&id, text.repeat(12_000 / text.len() + 1)),
        ],
        _ => vec![Message::system(text)],
    }
}

proptest! {
    #[test]
    fn a_resumed_session_sends_what_it_would_have_sent(
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
        let (head, past, slots): (_, waterline::history::Past, Vec<StoredSlot>) =
            serde_json::from_str(&stored(&generation, &history)).unwrap();
        let source = |index: usize| {
            if index < past.messages { history.source(index).cloned() } else { None }
        };
        let mut thawed = Generation::restore(head, slots, source);
        let mut tail = History::after(counter(), past, thawed.views(past.messages));
        let newest = past.messages..history.len();
        tail.extend(newest.filter_map(|index| history.source(index).cloned()));
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
            let without_suffixes = |messages: Vec<String>| -> Vec<String> {
                messages.iter().map(|message| without_id_suffixes(message)).collect()
            };
            prop_assert_eq!(
                without_suffixes(sent(&thawed, &tail)),
                without_suffixes(sent(&generation, &history))
            );
        }
    }
}

/// Removes the suffixes of renamed ids. Only these may differ: an id that is no longer shown may be
/// used again.
fn without_id_suffixes(message: &str) -> String {
    let mut text = message.to_owned();
    for id in 0..3 {
        for suffix in (2..40).rev() {
            text = text.replace(&format!("\"call_{id}_{suffix}\""), &format!("\"call_{id}\""));
        }
    }
    text
}

const OLD_VALUE: &str = "deploy/zeta_key.pem";

fn texts(generation: &Generation, history: &History) -> String {
    generation.context(history).map(Message::text).collect::<Vec<_>>().join("\n")
}

/// Returns the history as a process reads it that resumes a very long session: without the texts of
/// older messages that are not shown.
fn reread(history: &History, generation: &Generation, newest: usize) -> History {
    let sent = generation.slots().iter().filter(|slot| slot.treatment.is_sent());
    let shown: Vec<usize> = sent.flat_map(|slot| slot.sources.iter().copied()).collect();
    let mut reread = History::new(counter());
    for index in 0..history.len() {
        let message = history.source(index).unwrap();
        match shown.contains(&index) || index + newest >= history.len() {
            true => reread.append(message.clone()),
            false => {
                reread.append_unread(message.role, history.message_tokens(index));
                index
            }
        };
    }
    let listed = generation.slots().iter().flat_map(|slot| &slot.listed);
    reread.remember_values(listed.map(String::as_str));
    reread
}

/// The first message, which every fold shows, is read too: the value must not count as shown in it.
#[test]
fn a_fold_after_resuming_lists_an_old_value_again() {
    let policy = Policy::preset_with("auto", &[("summarise.stable".into(), "0".into())]).unwrap();
    let mut history = History::of(counter(), [Message::user("the task")]);
    let mut generation = Generation::new();
    let mut folds = 0;
    for at in 0..60 {
        let value = if at < 3 { OLD_VALUE } else { "the rest" };
        history.extend(message(0, at, 20));
        history.append(Message::assistant(format!("{value} {}", "word ".repeat(40))));
        let planned = plan(&input(&history, &generation, &policy));
        folds += usize::from(planned.action != Action::Extend);
        generation.freeze(&history, planned);
    }
    assert!(folds > 1 && texts(&generation, &history).contains(OLD_VALUE), "{folds}");
    let resumed = reread(&history, &generation, 20);
    assert!(resumed.has_unread());
    let reasons = Reasons::from("test");
    let requested = FoldRequest::new(FoldLevel::ByPolicy, &reasons);
    let request =
        Input { requested_fold: Some(requested), ..input(&resumed, &generation, &policy) };
    let folded = plan(&request);
    assert_ne!(folded.action, Action::Extend);
    generation.freeze(&resumed, folded);
    assert!(texts(&generation, &resumed).contains(OLD_VALUE));
}
