//! One conversation, three ways: append, fork, rewind, redo, and compare what they share.
//!
//! `cargo run -p waterline-log --example fork_and_rewind`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use waterline::message::{Message, Part, Role};
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, Session, To};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let log = Log::open(&format!("sqlite:{}", directory.path().join("log.db").display()))?;
    let counter = Counter::new(Method::Chars4, 1_000);
    let said =
        |role, text: &str| Incoming::of(&Message::new(role, vec![Part::text(text)]), &counter);

    let start = log.create(Session::new("main"))?;
    let messages = vec![
        said(Role::User, "Why does the build fail?"),
        said(Role::Assistant, "A value was moved."),
        said(Role::User, "Fix it with a clone."),
        said(Role::Assistant, "Done: it is cloned now."),
    ];
    let written = log.append("main", start.tip, messages)?;
    println!("main has {} messages", written.tip.position());

    // A fork shares the first two messages with its origin; nothing is copied.
    let fork = log.fork("main", Some(2), Some("borrow".to_owned()))?;
    log.append("borrow", fork.tip, vec![said(Role::User, "Fix it by borrowing.")])?;
    let both = log.compare("main", "borrow")?;
    let main = both.left.position();
    let borrow = both.right.position();
    println!("main has {main} messages, borrow {borrow}; they share {}", both.shared);

    // Going back loses nothing: what was left is still there to return to.
    let back = log.rewind("main", To::Turns(1))?;
    println!("one turn back, main has {} messages", back.tip.position());
    let again = log.redo("main")?;
    println!("redone, main has {} messages again", again.tip.position());

    // Appending after a rewind begins another branch of the same session.
    let back = log.rewind("main", To::Turns(1))?;
    log.append("main", back.tip, vec![said(Role::User, "Explain it first.")])?;
    for branch in log.branches("main")? {
        println!("a branch with {} messages", branch.tip.position());
    }
    Ok(())
}
