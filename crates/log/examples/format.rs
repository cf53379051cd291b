//! Writes a log with data of every kind. The tests keep one such database per format
//! (`tests/formats`).
//!
//! `cargo run -p waterline-log --example format -- URL`
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::json;
use waterline::message::{Message, Part, Role};
use waterline::tokens::{Counter, Method};
use waterline_log::{Document, Fold, Incoming, Log, Result, Session, Summary, Usage};

fn incoming(role: Role, text: &str) -> Incoming {
    let message = Message::new(role, vec![Part::text(text)]);
    Incoming::of(&message, &Counter::new(Method::Chars4, 1_000)).at(Some(1_767_225_600_000))
}

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let log = Log::open(&url)?;
    let mut main = log.create(Session { user: Some("ada".to_owned()), ..Session::new("main") })?;
    main.title = "Why does the build fail?".to_owned();
    main.state = document(json!({"todos": [{"content": "fix it", "status": "pending"}]}));
    log.save(&main)?;
    let messages = [
        incoming(Role::User, "Why does the build fail?"),
        incoming(Role::Assistant, "A value was moved."),
        incoming(Role::User, "数据库呢？"),
    ];
    log.append("main", main.tip, messages.to_vec())?;
    let fork = log.fork("main", Some(1), Some("fork".to_owned()))?;
    log.append("fork", fork.tip, vec![incoming(Role::Assistant, "Because of E0382.")])?;
    let fold =
        Fold { reasons: "auto".into(), tokens_before: 900, tokens_after: 90, ..Fold::default() };
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
    log.add_summary("main", summary)?;
    log.checkpoint("main", json!({"step": 1}))?;
    let usage =
        Usage { position: 2, model: "m".to_owned(), input: 120, output: 7, ..Usage::default() };
    log.note_usage("main", vec![usage])?;
    log.put_artifact("main", "text/plain", "a large…", b"a large output".to_vec())?;
    log.replace_jobs("summary", "main", "{}")?;
    log.set_preference("ada", "policy", Some("chat"))?;
    let first = log.entries("main")?.first().map(|entry| (entry.id, vec![1.0, 0.0]));
    log.put_vectors("encoder-1", first.as_slice())?;
    log.put_note_vectors("encoder-1", "/memory", &[([7; 32], vec![0.0, 1.0])])?;
    write_working_session(&log)?;
    println!("wrote {url}");
    Ok(())
}

/// Writes the session of an agent that waits for an approval in the middle of a turn, with todos,
/// tools and checkpoints.
fn write_working_session(log: &Log) -> Result<()> {
    let mut session =
        log.create(Session { title: "Tidy up".to_owned(), ..Session::new("working") })?;
    let messages = [
        incoming(Role::System, "You help."),
        incoming(Role::User, "Tidy up."),
        incoming(Role::Assistant, "I will."),
    ];
    session.tip = log.append("working", session.tip, messages.to_vec())?.tip;
    session.state = document(json!({
        "active_skill": "pdf", "mentioned_agents": ["pdf"], "loops": 1, "max_loops": 9,
        "todos": [
            {"content": "measure", "status": "in_progress", "priority": "high"}, "call the office",
        ],
        "uploaded_files": [{"path": "uploads/a.md", "source": "a.md", "bytes": 3}],
        "buffer_config": {"window_size": 17}, "response_format": {"type": "json_object"},
        "model_pref": "vision", "scratchpad": ["step"], "role": "init", "transfers": 2, "pins": [2],
        "something_new": [1, 2.5, "数"],
    }));
    session.local = document(json!({
        "allowed_tools": ["fetch_url"], "approvals": ["run_bash_command ls"],
        "started": ["c0"], "cut": true, "workspace_of": "main", "roles": {"init": "working"},
        "hand_off": {"to": "build", "package": {"plan": "a.md"}, "done": true},
    }));
    session.workspace = Some("/w/working".to_owned());
    session.imported = 2;
    log.set_tools("working", tools().to_string().into_bytes())?;
    log.save(&session)?;
    log.checkpoint("working", json!({"step": 1, "after": "model", "source": "agent"}))?;
    session.state.insert("loops".to_owned(), json!(2));
    let pending = json!({"kind": "approval", "call_id": "c1", "tool": "run_bash_command",
        "arguments": "{\"command\":\"rm -r build\"}", "reason": "high risk", "may_always": true});
    session.state.insert("pending_action".to_owned(), pending);
    log.save(&session)?;
    log.checkpoint("working", json!({"step": 2, "after": "turn", "source": "agent"}))?;
    log.fork("working", Some(2), Some("working-fork".to_owned())).map(drop)
}

fn document(value: serde_json::Value) -> Document {
    serde_json::from_value(value).unwrap_or_default()
}

fn tools() -> serde_json::Value {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let json =
        format!(r#"{{"type":"function","function":{{"name":"read_file","parameters":{schema}}}}}"#);
    json!([{"name": "read_file", "description": "Reads a file.", "schema": schema, "json": json}])
}
