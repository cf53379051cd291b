//! One model call from end to end: a log, a model, a session, an answer. The model here only echoes
//! its input, so the example needs no network; `waterline_provider::http::Endpoint` calls a real
//! one.
//!
//! `cargo run -p waterline-session --example whole_call`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use waterline_session::{LiveSession, Log};

#[path = "echo/mod.rs"]
mod echo;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    let mut session = LiveSession::builder("echo", echo::Echo)
        .system("You are a careful engineer.")
        .open(log, "first")
        .await?;
    let answer = session.ask("Why does the build fail?").await?;
    println!("{}", answer.text());
    println!("{} messages are in the log", session.session().tip.position());
    println!("the prompt took {} of {} tokens", session.prompt_tokens(), session.window());
    Ok(())
}
