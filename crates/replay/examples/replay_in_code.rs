//! Replays a recorded conversation under two policies, to see how much each would have remembered
//! and what it would have cost.
//!
//! `cargo run -p waterline-replay --example replay_in_code [SESSION_FILE]`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::ops::ControlFlow;

use waterline::message::{Message, ToolCall, Wire};
use waterline::model::Models;
use waterline::policy::Policy;
use waterline::tokens::Method;
use waterline_replay::{Prices, ReplayConfig, replay};
use waterline_transcript::{Source, Transcript, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = ReplayConfig {
        policies: vec![Policy::preset("tail")?, Policy::preset("auto")?],
        windows: vec![1_000],
        prices: Prices::named("cached", &Models::builtin()).ok_or("no such price list")?,
        model: None,
        models: Models::builtin(),
        method: Some(Method::Chars4),
        trace: false,
        learn: false,
    };
    for transcript in transcripts()? {
        println!("{}", transcript.id);
        for outcome in replay(transcript, &config, |_context| {}) {
            println!(
                "  {:<5} retained {:>5.1}% of the values that calls needed, \
                 at {:.2} times the cost of sending everything",
                outcome.policy,
                outcome.counters.retained() * 100.0,
                outcome.counters.cost(),
            );
        }
    }
    Ok(())
}

/// Reads the conversations of a file in any supported format; without one, returns an example.
fn transcripts() -> Result<Vec<Transcript>, Box<dyn std::error::Error>> {
    let Some(file) = std::env::args_os().nth(1) else { return Ok(vec![example()]) };
    let mut found = Vec::new();
    read(&Source::File(file.into()), |transcript| {
        found.push(transcript);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// An order id in the first result, then much irrelevant output, and at the end a call that needs
/// the id.
fn example() -> Transcript {
    let mut transcript = Transcript::new("an order".to_owned(), Wire::OPENAI_CHAT);
    transcript.push(Message::user("Please ship my order."));
    transcript.push(Message::assistant_with_calls(
        "",
        [ToolCall::new("find", "find", r#"{"name": "anna"}"#)],
    ));
    transcript.push(Message::tool_result("find", "the order is W-7044921"));
    for at in 0..12 {
        let id = format!("wait-{at}");
        transcript
            .push(Message::assistant_with_calls("", [ToolCall::new(id.clone(), "wait", "{}")]));
        transcript.push(Message::tool_result(id, "nothing new here. ".repeat(40)));
    }
    transcript.push(Message::assistant_with_calls(
        "",
        [ToolCall::new("ship", "ship", r#"{"order": "W-7044921"}"#)],
    ));
    transcript.push(Message::tool_result("ship", "shipped"));
    transcript
}
