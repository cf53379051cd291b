//! What the memory promises: a rule of the first session is obeyed in the twentieth after eleven
//! folds, and a fact is found that was folded 400,000 tokens ago.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use test_bed::{Line, TestBed, calls, reply, says, sent};
use waterline_agent::{Agent, UserInput};
use waterline_log::Session;
use waterline_memory::Memory;
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::Received;

const RULE: &str = "From now on, sign every answer with Ahoy.";

/// Returns a model whose answers follow from its requests.
fn model(answer: impl Fn(&Received) -> Line + Send + Sync + 'static) -> Scripted {
    let turn = AtomicUsize::new(0);
    Scripted::new(move |received| {
        reply(received, &answer(received), turn.fetch_add(1, Ordering::SeqCst))
    })
}

async fn open(bed: &TestBed, id: &str, server: &Scripted, window: usize) -> Agent {
    if bed.log().session(id).is_err() {
        bed.log().create(Session::new(id)).unwrap();
    }
    let mut config = bed.config(server);
    config.session.model.window = Some(window);
    config.session.memory = Some(Arc::new(Memory::new(bed.directory.path().join("notes"))));
    config.apply_settings().unwrap();
    Agent::open(bed.log(), id, config, bed.watcher.clone()).await.unwrap()
}

/// Returns a model that signs its answers if its prompt has the rule, and only then.
fn obedient() -> Scripted {
    model(|received| {
        let prompt: String = sent(received).iter().map(ToString::to_string).collect();
        let obeys = prompt.contains(RULE) && !prompt.contains("This no longer applies");
        let signature = if obeys { "Ahoy." } else { "" };
        says(format!("{} {signature}", "The tide is as it was. ".repeat(20)))
    })
}

#[tokio::test]
async fn rule_of_session_one_is_obeyed_in_session_twenty_after_eleven_folds() {
    let bed = TestBed::new();
    let server = obedient();
    let mut first = open(&bed, "session-1", &server, 100_000).await;
    first.turn(UserInput::new(format!("Fix the clock. {RULE}"))).await.unwrap();
    drop(first);
    for number in 2..20 {
        let mut agent = open(&bed, &format!("session-{number}"), &server, 100_000).await;
        agent.turn(UserInput::new("How high is the tide?")).await.unwrap();
    }
    let mut last = open(&bed, "session-20", &server, 4_000).await;
    for step in 0..60 {
        let text = format!("Look at pier {step}. {}", "The gauge shows little. ".repeat(20));
        last.turn(UserInput::new(text)).await.unwrap();
    }
    drop(last);
    let folds = bed.log().generations("session-20").unwrap().len();
    assert!(folds >= 11, "{folds} folds");
    for number in 1..=20 {
        let answer = bed.story(&format!("session-{number}")).pop().unwrap();
        assert!(answer.ends_with("Ahoy."), "session {number}: {answer}");
    }
}

/// Returns a model that searches when it is asked for a name, and answers from what it finds.
fn searching() -> Scripted {
    model(|received| {
        let newest = sent(received).pop().unwrap();
        let text = newest["content"].to_string();
        if newest["role"] == "tool" {
            let name = ["Morwenna", "Demelza"].iter().find(|name| text.contains(**name));
            return says(name.map_or("I found no name.".to_owned(), |name| format!("{name} is.")));
        }
        if text.contains("Who keeps") {
            return calls("recall", json!({"query": "Who keeps the lighthouse?"}));
        }
        says("Noted.")
    })
}

#[tokio::test]
async fn fact_is_found_that_was_folded_400_000_tokens_ago() {
    let bed = TestBed::new();
    let server = searching();
    let mut agent = open(&bed, "s", &server, 20_000).await;
    // The policy keeps the first message as the task, so the fact is in the second one.
    agent.turn(UserInput::new("Copy the logbook.")).await.unwrap();
    agent.turn(UserInput::new("The keeper of the lighthouse is Morwenna.")).await.unwrap();
    for page in 0..170 {
        let line = format!("Page {page} of the logbook: wind from the west, {page} ships. ");
        agent.turn(UserInput::new(line.repeat(175))).await.unwrap();
    }
    let since = agent.live_mut().whole().await.unwrap().tokens();
    assert!(since > 400_000, "{since} tokens");
    let context: String =
        sent(server.received().last().unwrap()).iter().map(ToString::to_string).collect();
    assert!(!context.contains("Morwenna"), "it was folded");
    agent.turn(UserInput::new("Who keeps the lighthouse?")).await.unwrap();
    assert_eq!(bed.story("s").pop().unwrap(), "assistant: Morwenna is.");
}
