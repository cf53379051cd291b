//! An agent with a custom tool. The model is a stand-in, so the example needs no network, unless
//! there is a key in `WATERLINE_EXAMPLE_KEY`.
//!
//! ```console
//! $ cargo run -p waterline-agent --example own_tool
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline::{Message, ToolCall};
use waterline_agent::tool::{Capability, Failure, Output, Tool, ToolContext};
use waterline_agent::{Agent, Endpoint, Log};
use waterline_provider::{Answer, Event, EventStream, Model, Request, Stop};

/// Looks up the height of the next high tide.
struct Tide;

/// The arguments. The doc comments become the descriptions in the tool's JSON schema.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The harbor.
    harbor: String,
}

impl Tool for Tide {
    type Arguments = Arguments;
    const NAME: &'static str = "tide";
    const ABOUT: &'static str = "Look up the height of the next high tide.";
    // It only reads, so the user is not asked, and it may run at the same time as other calls.
    const CAPABILITY: Capability = Capability::Read;

    /// Returns how a call is displayed, after the tool's name.
    fn summary(arguments: &Value) -> String {
        format!("at {}", arguments["harbor"].as_str().unwrap_or("?"))
    }

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        match arguments.harbor.as_str() {
            "Dover" => Ok(Output::text("6.7 m at 11:42")),
            other => Err(Failure::new(format!("no tide table for {other}"))),
        }
    }
}

/// A model that calls the tool, then repeats its result. A program would use an [`Endpoint`]
/// instead, as [`ask`] does.
struct Harbormaster;

impl Model for Harbormaster {
    fn call(&self, request: Request<'_>) -> EventStream {
        let result = request.messages.last().and_then(|message| message.results().next());
        let message = match result {
            Some(result) => Message::assistant(format!("High tide is {}.", result.text())),
            None => {
                let call = ToolCall::new("call_1", Tide::NAME, r#"{"harbor": "Dover"}"#);
                Message::assistant_with_calls("", [call])
            }
        };
        let stop = if result.is_some() { Stop::End } else { Stop::Calls };
        let answer = Answer { messages: vec![message], stop, ..Answer::default() };
        Box::pin(stream::iter([Ok(Event::Answer(answer))]))
    }
}

/// Asks a real model.
async fn ask(key: &str) -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::open("sessions.db")?;
    let mut agent = Agent::builder(log, "workspaces", "gpt-4o", Endpoint::openai(key)?)?
        .policy("auto")
        .tool(Tide)? // a tool of your own
        .session("harbor") // created, or resumed
        .open()
        .await?;
    let outcome = agent.turn("How high is the tide at Dover?").await?;
    println!("{}", outcome.text);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Ok(key) = std::env::var("WATERLINE_EXAMPLE_KEY") {
        return ask(&key).await;
    }
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    let workspaces = directory.path().join("workspaces");
    let mut agent = Agent::builder(log, workspaces, "harbormaster", Harbormaster)?
        .policy("auto")
        .tool(Tide)?
        .session("harbor")
        .open()
        .await?;
    let outcome = agent.turn("How high is the tide at Dover?").await?;
    println!("{} ({} model calls)", outcome.text, outcome.steps);
    assert_eq!((outcome.text.as_str(), outcome.steps), ("High tide is 6.7 m at 11:42.", 2));
    Ok(())
}
