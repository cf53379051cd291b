//! A custom tool in an agent with a scripted model.
//!
//! ```console
//! $ cargo run -p waterline-agent --example own_tool
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use waterline::policy::Policy;
use waterline_agent::tool::{Capability, Failure, Output, Tool, ToolContext, Toolbox};
use waterline_agent::{Agent, AgentConfig, Unattended, UserInput};
use waterline_log::{Log, Session};
use waterline_sandbox::Shell;
use waterline_session::{ModelTarget, SessionConfig};
use waterline_testkit::script::{calls, says};
use waterline_testkit::scripted::Scripted;

/// Looks up the height of the next high tide.
struct Tide;

/// The arguments. The doc comments become the descriptions in the tool's JSON schema.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The harbour.
    harbour: String,
}

impl Tool for Tide {
    type Arguments = Arguments;
    const NAME: &'static str = "tide";
    const ABOUT: &'static str = "Look up the height of the next high tide.";
    // It only reads, so the user is not asked, and it may run at the same time as other calls.
    const CAPABILITY: Capability = Capability::Read;

    /// Returns how a call is displayed, after the tool's name.
    fn summary(arguments: &Value) -> String {
        format!("at {}", arguments["harbour"].as_str().unwrap_or("?"))
    }

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        match arguments.harbour.as_str() {
            "Dover" => Ok(Output::text("6.7 m at 11:42")),
            other => Err(Failure::new(format!("no tide table for {other}"))),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A model that calls the tool, then answers. A program would use a
    // `waterline_provider::http::Endpoint` here.
    let model = Scripted::lines(vec![
        calls("tide", json!({"harbour": "Dover"})),
        says("High tide is 6.7 m, at 11:42."),
    ]);
    let session_config =
        SessionConfig::new(ModelTarget::new("scripted", model), Policy::preset_with("auto", &[])?);

    let directory = tempfile::tempdir()?;
    let mut config = AgentConfig::new(
        session_config,
        Toolbox::new(Arc::new(Shell::unconfined())),
        directory.path().join("workspaces"),
    );
    config.toolbox.add(Arc::new(Tide))?;

    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    log.create(Session::new("harbour"))?;
    let mut agent = Agent::open(log, "harbour", config, Arc::new(Unattended)).await?;
    let outcome = agent.turn(UserInput::new("How high is the tide at Dover?")).await?;
    println!("{} ({} model calls)", outcome.text, outcome.steps);
    assert_eq!((outcome.text.as_str(), outcome.steps), ("High tide is 6.7 m, at 11:42.", 2));
    Ok(())
}
