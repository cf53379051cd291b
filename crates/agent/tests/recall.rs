//! The `recall` tool finds what folds removed from the context.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;

use serde_json::json;
use test_bed::{TestBed, calls, model, says};
use waterline_agent::UserInput;
use waterline_memory::Memory;

/// Returns what the tool answered in the last turn.
async fn recalled(bed: &TestBed, arguments: serde_json::Value) -> String {
    let server = model(vec![calls("recall", arguments), says("done")]);
    let mut config = bed.config(&server);
    let memory = Memory::new(bed.directory.path().join("notes"));
    memory.remember("The anchorage is at Falmouth.", None).unwrap();
    config.session.memory = Some(Arc::new(memory));
    let mut agent = bed.open(config).await;
    agent.turn(UserInput::new("look it up")).await.unwrap();
    let story = bed.story("s");
    story.iter().rev().find_map(|line| line.strip_prefix("tool: ")).unwrap().to_owned()
}

#[tokio::test]
async fn fact_is_found_after_eleven_folds() {
    let bed = TestBed::new();
    let server = model((0..60).map(|_| says("and more ".repeat(80))).collect());
    let mut config = bed.config(&server);
    config.session.model.window = Some(4_000);
    let mut agent = bed.open(config).await;
    agent.turn(UserInput::new("The lighthouse keeper is called Morwenna.")).await.unwrap();
    agent.turn(UserInput::new("大门密码是4711")).await.unwrap();
    for step in 0..40 {
        let text = format!("step {step}: see src/file_{step}.rs {}", "with text ".repeat(60));
        agent.turn(UserInput::new(text)).await.unwrap();
    }
    drop(agent);
    assert!(bed.log().generations("s").unwrap().len() >= 11);
    let found =
        recalled(&bed, json!({"query": "What is the keeper of the lighthouse called?"})).await;
    let first = found.lines().take(2).collect::<Vec<_>>();
    assert!(
        first[0].starts_with("[message 1, user, ") && first[0].contains("lighthouse"),
        "{found}"
    );
    assert!(first[1].contains("Morwenna"), "{found}");
    let chinese = recalled(&bed, json!({"query": "大门密码是多少？"})).await;
    assert!(chinese.contains("4711"), "{chinese}");
    let around = recalled(&bed, json!({"expand": 2})).await;
    assert!(
        around.contains("[message 1, user]") && around.contains("[message 3, user]"),
        "{around}"
    );
}

#[tokio::test]
async fn memory_is_searched_too_and_the_running_turn_is_not() {
    let bed = TestBed::new();
    let found = recalled(&bed, json!({"query": "where is the anchorage?"})).await;
    let line = found.lines().find(|line| line.starts_with("[memory, MEMORY.md, 20")).unwrap();
    assert!(found.contains(&format!("{line}\nThe anchorage is at Falmouth.")), "{found}");
    let own = recalled(&bed, json!({"query": "look it up"})).await;
    assert!(!own.contains("[message 5"), "{own}");
    let wrong = recalled(&bed, json!({"expand": 99})).await;
    assert!(wrong.contains("There is no message 99"), "{wrong}");
}
