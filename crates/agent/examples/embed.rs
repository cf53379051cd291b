//! The code of docs/library.md that no other example has: a session with a real endpoint, and an
//! agent with a middleware. Only the agent runs here, because an endpoint needs a key.
//!
//! `cargo run -p waterline-agent --example embed`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use waterline::Policy;
use waterline_agent::middleware::{HookContext, Hooked, Middleware, Verdict};
use waterline_agent::tool::Toolbox;
use waterline_agent::{Agent, AgentConfig, Unattended, UserInput};
use waterline_provider::Model;
use waterline_sandbox::Shell;
use waterline_session::{Endpoint, LiveSession, Log};
use waterline_session::{ModelTarget, Session, SessionConfig};
use waterline_testkit::script::says;
use waterline_testkit::scripted::Scripted;

/// Adds a note to each model call.
struct Patient;

impl Middleware for Patient {
    fn name(&self) -> &'static str {
        "patient"
    }

    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        context.ephemeral.push("[There is no hurry.]".to_owned()); // for this call only
        Ok(Verdict::Ok)
    }
}

/// Asks a real model. The session is created, or resumed.
async fn ask(key: &str) -> Result<(), Box<dyn Error>> {
    let log = Log::open("sessions.db")?;
    let endpoint = Endpoint::openai(key)?; // or anthropic, gemini; any Model
    let mut session = LiveSession::builder("gpt-4o", endpoint)
        .system("You are a careful engineer.")
        .policy("auto")
        .open(log, "my-session") // created, or resumed
        .await?;
    let answer = session.ask("Why does the build fail?").await?;
    println!("{} ({} of {} tokens)", answer.text(), session.prompt_tokens(), session.window());
    Ok(())
}

/// Runs one turn of an agent.
async fn turn(
    endpoint: impl Model + 'static,
    log: Log,
    workspaces: PathBuf,
) -> Result<String, Box<dyn Error>> {
    let shell = Shell::unconfined();
    let session_config =
        SessionConfig::new(ModelTarget::new("gpt-4o", endpoint), Policy::preset_with("auto", &[])?);
    let mut config = AgentConfig::new(session_config, Toolbox::new(Arc::new(shell)), workspaces);

    config.middleware.push(Arc::new(Patient));
    config.add("pii", &json!({"strategy": "mask"}))?; // by name, as in a config file

    let mut agent = Agent::open(log, "harbor", config, Arc::new(Unattended)).await?;
    let outcome = agent.turn(UserInput::new("How high is the tide at Dover?")).await?;
    Ok(outcome.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Ok(key) = std::env::var("WATERLINE_EXAMPLE_KEY") {
        return ask(&key).await;
    }
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    log.create(Session::new("harbor"))?;
    let model = Scripted::lines(vec![says("6.7 m at 11:42")]);
    println!("{}", turn(model, log, directory.path().join("workspaces")).await?);
    Ok(())
}
