//! Writes a log with something of everything: the database that is kept for each format (`tests/formats`).
//!
//! `cargo run -p waterline-log --example format -- ADDRESS`
#![expect(clippy::print_stdout, reason = "it says what it wrote")]

use waterline::message::{Message, Part, Role};
use waterline::tokens::{Counter, Method};
use waterline_log::{Fold, Incoming, Log, Result, Session, Summary, Usage};

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let log = Log::open(&url)?;
    let incoming = |role, text: &str| {
        Incoming::of(&Message::new(role, vec![Part::text(text)]), &Counter::new(Method::Chars4, 1_000))
            .at(Some(1_767_225_600_000))
    };
    let mut main = log.create(Session { user: Some("ada".to_owned()), ..Session::new("main") })?;
    main.title = "Why does the build fail?".to_owned();
    main.state.todos = vec![serde_json::json!({"content": "fix it", "status": "pending"})];
    log.save(&main)?;
    let said = [
        incoming(Role::User, "Why does the build fail?"),
        incoming(Role::Assistant, "A value was moved."),
        incoming(Role::User, "数据库呢？"),
    ];
    log.append("main", main.tip, said.to_vec())?;
    let fork = log.fork("main", Some(1), Some("fork".to_owned()))?;
    log.append("fork", fork.tip, vec![incoming(Role::Assistant, "Because of E0382.")])?;
    let fold = Fold { reason: "auto".to_owned(), tokens_before: 900, tokens_after: 90, ..Fold::default() };
    log.note_fold("main", 2, 1, fold, Some(1_767_225_600_000))?;
    let summary = Summary {
        version: 0,
        start: 0,
        until: 2,
        target: None,
        generation: Some(1),
        text: "The build fails.".to_owned(),
        tokens: 4,
        original_tokens: 12,
        time: 0,
    };
    log.summarise("main", summary)?;
    log.checkpoint("main", serde_json::json!({"step": 1}))?;
    log.record_usage("main", Usage { position: 2, model: "m".to_owned(), input: 120, output: 7, ..Usage::default() })?;
    log.put_artifact("main", "text/plain", "a large…", b"a large output".to_vec())?;
    log.add_job("summary", Some("main"), "{}")?;
    log.set_preference("ada", "policy", Some("chat"))?;
    println!("wrote {url}");
    Ok(())
}
