//! A server for many clients: each sends its whole conversation with every call, and the registry
//! finds its session in the log.
//!
//! `cargo run -p waterline-session --example serve_many`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use waterline_session::{
    Log, Message, ModelTarget, Policy, SessionConfig, SessionError, Sessions, Submitted,
};

#[path = "echo/mod.rs"]
mod echo;

/// One request of a client. Returns the answer.
async fn serve(
    sessions: &Sessions,
    user: &str,
    conversation: Vec<Message>,
) -> Result<Message, SessionError> {
    let config = SessionConfig::new(ModelTarget::new("echo", echo::Echo), Policy::preset("auto")?);
    let Submitted { mut live, new, how, .. } =
        sessions.submit(Some(user), conversation, config).await?;
    println!("{user}: {how:?}, {} new messages", new.len());
    let answer = live.call(new, |_| ()).await?;
    Ok(answer.messages.into_iter().next_back().unwrap_or_else(|| Message::assistant("")))
}

/// A client that sends two messages, the second with all that came before.
async fn client(sessions: Sessions, user: String) -> Result<String, SessionError> {
    let mut conversation = vec![Message::user(format!("I am {user}"))];
    conversation.push(serve(&sessions, &user, conversation.clone()).await?);
    conversation.push(Message::user("and again"));
    Ok(serve(&sessions, &user, conversation).await?.text())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;
    // At most 100 sessions in memory, each until it was idle for ten minutes.
    let sessions = Sessions::new(log, 100, Duration::from_secs(600));
    let clients: Vec<_> = ["ada", "bob", "cleo"]
        .map(|user| tokio::spawn(client(sessions.clone(), user.to_owned())))
        .into();
    for client in clients {
        println!("{}", client.await??);
    }
    println!("{sessions:?}");
    Ok(())
}
