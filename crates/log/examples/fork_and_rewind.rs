//! Appends to a session, forks it, compares the two, rewinds, redoes and lists branches.
//!
//! `cargo run -p waterline-log --example fork_and_rewind`
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use waterline::message::{Message, Part, Role};
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, RewindTarget, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&format!("sqlite:{}", directory.path().join("log.db").display()))?;
    let counter = Counter::new(Method::Chars4, 1_000);
    let message =
        |role, text: &str| Incoming::of(&Message::new(role, vec![Part::text(text)]), &counter);

    let start = log.create(Session::new("main"))?;
    let messages = vec![
        message(Role::User, "Why does the build fail?"),
        message(Role::Assistant, "A value was moved."),
        message(Role::User, "Fix it with a clone."),
        message(Role::Assistant, "Done: it is cloned now."),
    ];
    let written = log.append("main", start.tip, messages)?;
    println!("main has {} messages", written.tip.position());

    // A fork shares the first two messages with its parent; no message is copied.
    let fork = log.fork("main", Some(2), Some("borrow".to_owned()))?;
    log.append("borrow", fork.tip, vec![message(Role::User, "Fix it by borrowing.")])?;
    let both = log.compare("main", "borrow")?;
    let main = both.left.position();
    let borrow = both.right.position();
    println!("main has {main} messages, borrow {borrow}; they share {}", both.shared);

    // A rewind loses no messages: `redo` returns to them.
    let back = log.rewind("main", RewindTarget::Turns(1))?;
    println!("one turn back, main has {} messages", back.tip.position());
    let again = log.redo("main")?;
    println!("redone, main has {} messages again", again.tip.position());

    // Appending after a rewind starts another branch of the same session.
    let back = log.rewind("main", RewindTarget::Turns(1))?;
    log.append("main", back.tip, vec![message(Role::User, "Explain it first.")])?;
    for branch in log.branches("main")? {
        println!("a branch with {} messages", branch.tip.position());
    }
    Ok(())
}
