//! Prints an answer as it streams. Nothing is read from the model while the program prints.
//!
//! `cargo run -p waterline-session --example streaming`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use futures_util::StreamExt;
use waterline_session::{Delta, Event, LiveSession, Log, Message, Streamed};

#[path = "echo/mod.rs"]
mod echo;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    let mut session = LiveSession::builder("echo", echo::Echo).open(log, "streamed").await?;
    let mut events = session.stream(vec![Message::user("one word after the other")]);
    while let Some(event) = events.next().await {
        match event? {
            Streamed::Event(Event::Delta(Delta::Text(text))) => println!("delta: {text}"),
            Streamed::Event(other) => println!("event: {other:?}"),
            Streamed::Answer(answer) => println!("whole: {}", answer.text()),
            _ => {}
        }
    }
    Ok(())
}
