//! Generates conversations as irregular as real ones: unanswered calls, orphan and duplicate
//! results, missing and reused ids, invalid arguments, blank and null texts, system messages in the
//! middle, huge outputs, lone surrogates.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// One event of a conversation, independent of the wire.
#[derive(Clone, Debug)]
pub enum Event {
    /// A system message.
    System(Content),
    /// A user message.
    User(Content),
    /// A user message with an image.
    Image(Content),
    /// A user message with a part that only this wire has.
    WireSpecific,
    /// An assistant message.
    Assistant {
        /// The thinking, if any.
        thinking: Option<String>,
        /// What the assistant says besides its calls.
        content: Content,
        /// The tools that it calls.
        calls: Vec<CallEvent>,
    },
    /// A tool result.
    Result {
        /// The call's id.
        id: String,
        /// The name of the tool.
        name: String,
        /// What the tool returns.
        content: Content,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct CallEvent {
    /// The id, perhaps empty or used before.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, perhaps not JSON.
    pub arguments: String,
}

/// The text of a message, or its absence.
#[derive(Clone, Debug)]
pub enum Content {
    /// A text, which may be empty.
    Text(String),
    /// JSON null.
    Null,
    /// A text with half of a UTF-16 surrogate pair, which only an escape can express.
    Surrogate,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,8}( [a-z_/.0-9]{1,12}){0,12}",
        2 => "[\\PC]{1,40}",
        1 => "[数据库管理系统北京饭店，。 ]{1,30}",
        1 => Just(String::new()),
        1 => Just("  \n".to_owned()),
        1 => (50_usize..2_000).prop_map(|n| {
            "error in src/main.rs:12 at parse_line\n".repeat(n / 10 + 1)
        }),
        1 => (1_usize..12).prop_map(json_list),
    ]
}

fn json_list(count: usize) -> String {
    let item = |i: usize| format!(r#"{{"id":{i},"title":"item {i}","x":1.0}}"#);
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(","))
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        20 => text().prop_map(Content::Text),
        1 => Just(Content::Null),
        1 => Just(Content::Surrogate),
    ]
}

/// Generates few different ids, so that they collide, and sometimes an empty one.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0_u8..12).prop_map(|n| format!("call_{n}")),
        1 => Just(String::new()),
        1 => Just("odd id:1".to_owned()),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z/_.]{1,20}".prop_map(|path| {
            format!(r#"{{"path":"{path}","n":1.0,"big":1152921504606846976}}"#)
        }),
        1 => Just(String::new()),
        1 => Just("not json".to_owned()),
        1 => Just(r#"{"half":"\ud83d","whole":"\ud83d\ude00"}"#.to_owned()),
        1 => Just("[1,2]".to_owned()),
        1 => (100_usize..3_000).prop_map(|n| {
            format!(r#"{{"path":"a.rs","body":"{}"}}"#, "x = 1; ".repeat(n / 7))
        }),
    ]
}

fn call() -> impl Strategy<Value = CallEvent> {
    let name =
        prop_oneof![3 => Just("tool"), 2 => Just("other"), 1 => Just("")].prop_map(str::to_owned);
    (id(), name, arguments()).prop_map(|(id, name, arguments)| CallEvent { id, name, arguments })
}

fn result(id: String, name: String) -> impl Strategy<Value = Event> {
    let event = move |(content, is_error)| Event::Result {
        id: id.clone(),
        name: name.clone(),
        content,
        is_error,
    };
    (content(), any::<bool>()).prop_map(event)
}

/// Generates a regular step: calls and their results in any order. Sometimes a result is missing.
fn step() -> impl Strategy<Value = Vec<Event>> {
    (weighted(0.2, text()), content(), vec(call(), 1..4), any::<u8>()).prop_flat_map(
        |(thinking, content, calls, lost)| {
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
                    content: content.clone(),
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
        5 => content().prop_map(|content| vec![Event::User(content)]),
        1 => content().prop_map(|content| vec![Event::Image(content)]),
        1 => Just(vec![Event::WireSpecific]),
        8 => step(),
        4 => (weighted(0.1, text()), content()).prop_map(|(thinking, content)| {
            vec![Event::Assistant { thinking, content, calls: Vec::new() }]
        }),
        1 => content().prop_map(|content| vec![Event::System(content)]),
        1 => id().prop_flat_map(|id| result(id, "tool".to_owned())).prop_map(|result| vec![result]),
    ]
}

/// Generates a conversation of up to about `max` events, mostly as a real program would write it.
pub fn conversation(max: usize) -> impl Strategy<Value = Vec<Event>> {
    let opening = prop_oneof![
        3 => (text(), text()).prop_map(|(system, user)| {
            let system = Content::Text(format!("You are {system}"));
            let user = Content::Text(format!("Please {user}"));
            vec![Event::System(system), Event::User(user)]
        }),
        1 => text().prop_map(|user| vec![Event::User(Content::Text(user))]),
        1 => Just(Vec::new()),
    ];
    (opening, vec(events(), 0..max)).prop_map(|(mut all, rest)| {
        all.extend(rest.into_iter().flatten());
        all
    })
}
