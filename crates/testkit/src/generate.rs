//! Conversations as odd as real ones: unanswered calls, orphan and doubled results, ids that are
//! missing or used twice, broken arguments, blank and null texts, system messages in the middle,
//! huge outputs, lone surrogates.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// One thing that happens in a conversation, before any wire writes it down.
#[derive(Clone, Debug)]
pub enum Event {
    /// A system message.
    System(Words),
    /// A user message.
    User(Words),
    /// A user message with a picture.
    Picture(Words),
    /// Something of the wire's own that the user sends.
    Own,
    /// An assistant message, with thinking, words and calls.
    Assistant {
        /// Thinking, where there is some.
        thinking: Option<String>,
        /// Words.
        words: Words,
        /// Calls.
        calls: Vec<CallEvent>,
    },
    /// A result.
    Result {
        /// The call's id.
        id: String,
        /// The tool that answers.
        name: String,
        /// The output.
        words: Words,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallEvent {
    /// Its id, perhaps empty or used before.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, perhaps no JSON.
    pub arguments: String,
}

/// A text, or the absence of one.
#[derive(Clone, Debug)]
pub enum Words {
    /// A text.
    Text(String),
    /// Null.
    Null,
    /// A text with half of a UTF-16 pair in it, as only an escape can write it.
    Surrogate,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,8}( [a-z_/.0-9]{1,12}){0,12}",
        2 => "[\\PC]{1,40}",
        1 => "[数据库管理系统北京饭店，。 ]{1,30}",
        1 => Just(String::new()),
        1 => Just("  \n".to_owned()),
        1 => (50_usize..2_000).prop_map(|n| "error in src/main.rs:12 at parse_line\n".repeat(n / 10 + 1)),
        1 => (1_usize..12).prop_map(|n| format!("[{}]", (0..n).map(|i| format!("{{\"id\":{i},\"title\":\"item {i}\",\"x\":1.0}}")).collect::<Vec<_>>().join(","))),
    ]
}

fn words() -> impl Strategy<Value = Words> {
    prop_oneof![20 => text().prop_map(Words::Text), 1 => Just(Words::Null), 1 => Just(Words::Surrogate)]
}

/// Few ids, so that they collide; sometimes none.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![8 => (0_u8..12).prop_map(|n| format!("call_{n}")), 1 => Just(String::new()), 1 => Just("odd id:1".to_owned())]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z/_.]{1,20}".prop_map(|path| format!("{{\"path\":\"{path}\",\"n\":1.0,\"big\":1152921504606846976}}")),
        1 => Just(String::new()),
        1 => Just("not json".to_owned()),
        1 => Just(r#"{"half":"\ud83d","whole":"\ud83d\ude00"}"#.to_owned()),
        1 => Just("[1,2]".to_owned()),
        1 => (100_usize..3_000).prop_map(|n| format!("{{\"path\":\"a.rs\",\"body\":\"{}\"}}", "x = 1; ".repeat(n / 7))),
    ]
}

fn call() -> impl Strategy<Value = CallEvent> {
    let name =
        prop_oneof![3 => Just("tool"), 2 => Just("other"), 1 => Just("")].prop_map(str::to_owned);
    (id(), name, arguments()).prop_map(|(id, name, arguments)| CallEvent { id, name, arguments })
}

fn result(id: String, name: String) -> impl Strategy<Value = Event> {
    let event = move |(words, is_error)| Event::Result {
        id: id.clone(),
        name: name.clone(),
        words,
        is_error,
    };
    (words(), any::<bool>()).prop_map(event)
}

/// A step as it should be: calls, and a result for each, in any order; some results are lost.
fn step() -> impl Strategy<Value = Vec<Event>> {
    (weighted(0.2, text()), words(), vec(call(), 1..4), any::<u8>()).prop_flat_map(
        |(thinking, words, calls, lost)| {
            let results: Vec<_> =
                calls.iter().map(|call| result(call.id.clone(), call.name.clone())).collect();
            results.prop_map(move |mut results| {
                if lost < 24 {
                    results.pop();
                }
                if lost % 2 == 0 {
                    results.reverse();
                }
                let mut events = vec![Event::Assistant {
                    thinking: thinking.clone(),
                    words: words.clone(),
                    calls: calls.clone(),
                }];
                events.extend(results);
                events
            })
        },
    )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop_oneof![
        5 => words().prop_map(|words| vec![Event::User(words)]),
        1 => words().prop_map(|words| vec![Event::Picture(words)]),
        1 => Just(vec![Event::Own]),
        8 => step(),
        4 => (weighted(0.1, text()), words()).prop_map(|(thinking, words)| vec![Event::Assistant { thinking, words, calls: Vec::new() }]),
        1 => words().prop_map(|words| vec![Event::System(words)]),
        1 => id().prop_flat_map(|id| result(id, "tool".to_owned())).prop_map(|result| vec![result]),
    ]
}

/// A conversation of up to about `most` events, mostly as a real program would write it.
pub fn conversation(most: usize) -> impl Strategy<Value = Vec<Event>> {
    let opening = prop_oneof![
        3 => (text(), text()).prop_map(|(system, user)| vec![Event::System(Words::Text(format!("You are {system}"))), Event::User(Words::Text(format!("Please {user}")))]),
        1 => text().prop_map(|user| vec![Event::User(Words::Text(user))]),
        1 => Just(Vec::new()),
    ];
    (opening, vec(events(), 0..most)).prop_map(|(mut all, rest)| {
        all.extend(rest.into_iter().flatten());
        all
    })
}
