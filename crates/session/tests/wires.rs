//! The same on every wire: windows smaller than configured, tools, and answers that arrive.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use test_bed::{TestBed, config, policy, silent, target, user};
use waterline::message::{Message, Wire};
use waterline::model::{Model as About, ModelEntry, Models};
use waterline_provider::wire::Options;
use waterline_session::{LiveSession, ModelTarget, SessionConfig};
use waterline_testkit::model::Model;
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::Received;
use waterline_testkit::spoken::Spoken;

/// A model that calls a tool every other time.
fn server(model: Model) -> Scripted {
    let count = AtomicUsize::new(0);
    let script = move |received: &Received| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let call = (
            format!("call_{number}"),
            "look".to_owned(),
            json!({"path": format!("src/part_{number}.rs")}),
        );
        let calls = if number.is_multiple_of(2) { vec![call] } else { Vec::new() };
        model.reply(
            received,
            Spoken { text: format!("answer {number}"), calls, ..Spoken::default() },
        )
    };
    Scripted::on(model.wire, script)
}

async fn live(bed: &TestBed, server: &Scripted) -> LiveSession {
    let base = config(server, 100_000, policy("auto", &[]));
    let model = ModelTarget { window: Some(100_000), ..target("m", server) };
    bed.open(SessionConfig { model, ..base }).await
}

/// Runs forty steps of a conversation that is many times longer than the window.
async fn converse(live: &mut LiveSession) {
    let mut next = user("begin");
    for step in 0..40 {
        let answer = live.call(next, silent).await.unwrap();
        let calls: Vec<_> = answer.messages.iter().flat_map(Message::calls).cloned().collect();
        let text = format!("step {step}: {}", "some lines of output ".repeat(40));
        next = match calls.first() {
            Some(call) => {
                let mut result = Message::tool_result(&*call.id, text);
                if let waterline::message::Body::Result(result) = &mut result.parts[0].body {
                    result.name = Some(call.name.clone());
                }
                vec![result]
            }
            None => user(text),
        };
    }
}

#[tokio::test]
async fn window_is_learned_from_the_overflow_error_on_every_wire() {
    for wire in waterline_testkit::WIRES {
        let server = server(Model { wire, window: 3_000, refuses: true });
        let bed = TestBed::new();
        let mut live = live(&bed, &server).await;
        converse(&mut live).await;
        assert!(live.violations().is_empty(), "{wire}: {:?}", live.violations());
        assert!(live.window() <= 3_000, "{wire}: {}", live.window());
        let refused =
            server.received().iter().filter(|received| Model::tokens(received) > 3_000).count();
        assert!((1..=3).contains(&refused), "{wire}: {refused} requests were too long");
        assert!(live.generation().number > 2, "{wire}");
    }
}

#[tokio::test]
async fn silently_truncated_prompt_is_detected_on_every_wire() {
    for wire in waterline_testkit::WIRES {
        let server = server(Model { wire, window: 3_000, refuses: false });
        let bed = TestBed::new();
        let mut live = live(&bed, &server).await;
        converse(&mut live).await;
        assert!(live.window() <= 3_000, "{wire}: {}", live.window());
        let truncated =
            server.received().iter().filter(|received| Model::tokens(received) > 3_000).count();
        assert!((1..=4).contains(&truncated), "{wire}: {truncated} requests were truncated");
        assert!(live.violations().is_empty(), "{wire}");
    }
}

/// Each call is rejected once and retried by another process. Some of the parallel results are
/// larger than the window.
#[tokio::test]
async fn session_resumes_in_another_process_after_every_step_on_every_wire() {
    for wire in waterline_testkit::WIRES {
        let count = AtomicUsize::new(0);
        let model = Model { wire, window: 100_000, refuses: true };
        let script = move |received: &Received| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            if number.is_multiple_of(2) {
                return waterline_testkit::server::Reply::status(401, "not now");
            }
            let call = |at: usize| {
                (format!("call_{number}_{at}"), "look".to_owned(), json!({"path": "src/part.rs"}))
            };
            let spoken = Spoken {
                text: format!("answer {number}"),
                calls: (0..3).map(call).collect(),
                ..Spoken::default()
            };
            model.reply(received, spoken)
        };
        let server = Scripted::on(wire, script);
        let bed = TestBed::new();
        let mut next = user("begin");
        for step in 0..30 {
            let answer = loop {
                let model = ModelTarget { window: Some(3_000), ..target("m", &server) };
                let mut live = bed
                    .open(SessionConfig { model, ..config(&server, 3_000, policy("auto", &[])) })
                    .await;
                let outcome = live.call(std::mem::take(&mut next), silent).await;
                assert!(
                    live.violations().is_empty(),
                    "{wire}, step {step}: {:?}",
                    live.violations()
                );
                if let Ok(answer) = outcome {
                    break answer;
                }
            };
            let calls = answer.messages.iter().flat_map(Message::calls);
            next = calls
                .enumerate()
                .map(|(at, call)| {
                    let length = if (step + at).is_multiple_of(4) { 4_000 } else { 20 };
                    let mut result =
                        Message::tool_result(&*call.id, format!("line {step} ").repeat(length));
                    if let waterline::message::Body::Result(result) = &mut result.parts[0].body {
                        result.name = Some(call.name.clone());
                    }
                    result
                })
                .collect();
        }
    }
}

/// A wire that requires an output limit gets the one that is reserved in the window.
#[tokio::test]
async fn output_limit_is_that_of_the_model_where_one_is_required() {
    let known = |name: &str, output| {
        let mut entry = ModelEntry::new(name);
        entry.output = output;
        Models::builtin().with([entry]).resolve(name)
    };
    let anthropic = [
        (known("mine", Some(2_000)), None, 2_000),
        (known("claude-opus-4-6", None), None, 32_000),
        (known("claude-opus-4-6", None), Some(700), 700),
        (known("unheard-of", None), None, 8_192),
        (Models::builtin().unknown(), None, 8_192),
    ];
    for (about, own, expected) in anthropic {
        assert_eq!(sent_limit(Wire::ANTHROPIC, about, own).await, Some(expected));
    }
    assert_eq!(sent_limit(Wire::OPENAI_CHAT, known("mine", Some(2_000)), None).await, None);
}

/// Returns the output limit in a request to a model. `own` is the limit in the options.
async fn sent_limit(wire: Wire, about: Arc<About>, own: Option<usize>) -> Option<u64> {
    let server = server(Model { wire, window: 100_000, refuses: true });
    let bed = TestBed::new();
    let base = config(&server, 100_000, policy("auto", &[]));
    let model = ModelTarget { about, ..base.model.clone() };
    let options = Options { max_tokens: own, ..Options::default() };
    let mut live = bed.open(SessionConfig { model, options, ..base }).await;
    live.call(user("hello"), silent).await.unwrap();
    let body: Value = serde_json::from_str(&server.received()[0].body).unwrap();
    body["max_tokens"].as_u64()
}
