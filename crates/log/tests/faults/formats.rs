//! Databases of older and newer formats, and files of other programs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use waterline_log::{Log, LogError};

use crate::writer::{filled, message, texts};

pub(crate) fn files_that_are_not_logs_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let refused = Log::open(&path.display().to_string());
    assert!(matches!(refused, Err(LogError::NotALog { .. })), "{refused:?}");
    let before = std::fs::read(&path).unwrap();
    assert!(Log::open(&path.display().to_string()).is_err());
    assert!(std::fs::read(&path).unwrap() == before, "the file is unchanged");
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "these are my notes, and they are longer than a page\n".repeat(200))
        .unwrap();
    assert!(matches!(Log::open(&text.display().to_string()), Err(LogError::NotALog { .. })));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("these are my notes"));
    assert!(matches!(
        Log::open(&directory.path().display().to_string()),
        Err(LogError::Open { .. })
    ));
    assert!(matches!(Log::open("mysql://host/db"), Err(LogError::InvalidUrl { .. })));
    assert!(matches!(Log::open(""), Err(LogError::InvalidUrl { .. })));
    let settings = Log::open("host=h password=secret-word").unwrap_err();
    assert!(
        matches!(settings, LogError::InvalidUrl { .. })
            && !settings.to_string().contains("secret-word")
    );
    for mistyped in ["me:secret-word@host/db", "postgres//me:secret-word@host/db"] {
        for scheme in ["", "sqlite:", "sqlite://"] {
            let refused = Log::open(&format!("{scheme}{mistyped}")).unwrap_err();
            let text = refused.to_string();
            assert!(matches!(refused, LogError::InvalidUrl { .. }), "{text}");
            assert!(!text.contains("secret-word"), "{text}");
        }
    }
    let slash = Log::open("postgresql:/me:secret-word@host/db").unwrap_err();
    assert!(
        matches!(slash, LogError::InvalidUrl { .. }) && !slash.to_string().contains("secret-word")
    );
    let missing = directory.path().join("no").join("such.db");
    assert!(matches!(Log::open(&missing.display().to_string()), Err(LogError::Open { .. })));
}

pub(crate) fn a_newer_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    drop(filled(&path, 1, 3));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE format SET version = 99")
        .unwrap();
    let refused = Log::open(&path.display().to_string()).unwrap_err().to_string();
    assert!(refused.contains("format 99") && refused.contains("newer waterline"), "{refused}");
}

/// The directory with databases of every format: `tests/formats/1.db` and so on.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("formats")
}

pub(crate) fn a_file_of_every_format_opens() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let copy = directory.path().join(name);
        std::fs::copy(fixtures().join(name), &copy).unwrap();
        Log::open(&copy.display().to_string()).unwrap()
    };
    // Format 1 has two databases: one with an agent session in the middle of a turn, one without.
    check(&open("1.db"));
    for name in ["1-agent.db", "2.db", "3.db", "4.db", "5.db", "6.db", "7.db"] {
        let log = open(name);
        check(&log);
        check_working(&log);
    }
    check_vectors(&open("5.db"));
    check_note_vectors(&open("6.db"));
    check_note_vectors(&open("7.db"));
    let formats = std::fs::read_dir(fixtures()).unwrap().flatten();
    let count =
        formats.filter(|file| file.path().extension().is_some_and(|end| end == "db")).count();
    assert_eq!(count, 8, "every fixture was opened");
}

/// Checks the vectors, which exist since format 5.
pub(crate) fn check_vectors(log: &Log) {
    let first = log.entries("main").unwrap()[0].id;
    assert_eq!(log.vectors(&[first]).unwrap()["encoder-1"][&first], [1.0, 0.0]);
}

/// Checks the vectors of memory files, which exist since format 6.
pub(crate) fn check_note_vectors(log: &Log) {
    check_vectors(log);
    let found = log.note_vectors("/memory", &[[7; 32]]).unwrap();
    assert_eq!(found["encoder-1"][&[7; 32]], [0.0, 1.0]);
}

/// Checks the session of an agent that waits for an approval, with todos, tools and checkpoints.
pub(crate) fn check_working(log: &Log) {
    let session = log.session("working").unwrap();
    let state = json!({
        "active_skill": "pdf", "mentioned_agents": ["pdf"], "loops": 2, "max_loops": 9,
        "todos": [
            {"content": "measure", "status": "in_progress", "priority": "high"}, "call the office",
        ],
        "uploaded_files": [{"path": "uploads/a.md", "source": "a.md", "bytes": 3}],
        "buffer_config": {"window_size": 17}, "response_format": {"type": "json_object"},
        "model_pref": "vision", "scratchpad": ["step"], "role": "init", "transfers": 2, "pins": [2],
        "something_new": [1, 2.5, "数"],
        "pending_action": {"kind": "approval", "call_id": "c1", "tool": "run_bash_command",
            "arguments": "{\"command\":\"rm -r build\"}", "reason": "high risk",
            "may_always": true},
    });
    let local = json!({
        "allowed_tools": ["fetch_url"], "approvals": ["run_bash_command ls"],
        "started": ["c0"], "cut": true, "workspace_of": "main", "roles": {"init": "working"},
        "hand_off": {"to": "build", "package": {"plan": "a.md"}, "done": true},
    });
    assert_eq!(Value::from(session.state.clone()), state);
    assert_eq!(Value::from(session.local), local);
    assert_eq!((session.workspace.as_deref(), session.imported), (Some("/w/working"), 2));
    let tools: Value =
        serde_json::from_slice(&log.tools(&session.tools.unwrap()).unwrap()).unwrap();
    assert_eq!(
        (tools[0]["name"].as_str(), tools[0]["description"].as_str()),
        (Some("read_file"), Some("Reads a file."))
    );
    let fork = log.session("working-fork").unwrap();
    assert_eq!(
        (fork.workspace.as_deref(), fork.imported, fork.local.len()),
        (Some("/w/working"), 2, 0)
    );
    let checkpoints = log.checkpoints("working").unwrap();
    assert_eq!((checkpoints.len(), checkpoints[0].metadata["after"].as_str()), (2, Some("model")));
    assert_eq!(checkpoints[1].checkpoint.state, session.state);
    let restored = log.restore("working", &checkpoints[0].checkpoint_id, None).unwrap();
    assert_eq!(
        (restored.state["loops"].as_u64(), restored.state.get("pending_action")),
        (Some(1), None)
    );
    assert_eq!(restored.tip, session.tip);
}

/// Checks the data that every fixture has. `cargo run -p waterline-log --example format` writes it.
pub(crate) fn check(log: &Log) {
    assert_eq!(
        texts(log, "main").unwrap(),
        ["Why does the build fail?", "A value was moved.", "数据库呢？"]
    );
    assert_eq!(texts(log, "fork").unwrap(), ["Why does the build fail?", "Because of E0382."]);
    assert_eq!(log.session("main").unwrap().state["todos"].as_array().unwrap().len(), 1);
    assert_eq!(log.summary("main").unwrap().unwrap().text, "The build fails.");
    assert_eq!(log.generations("main").unwrap().len(), 1);
    assert_eq!(log.checkpoints("main").unwrap().len(), 1);
    assert_eq!(log.usage("main").unwrap()[0].input, 120);
    assert_eq!(log.artifact(&log.artifacts("main").unwrap()[0].hash).unwrap(), b"a large output");
    assert_eq!(log.jobs(None).unwrap().len(), 1);
    assert_eq!(log.preferences("ada").unwrap()["policy"], "chat");
    assert_eq!(log.search("数据", None, 5).unwrap().len(), 1);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    let tip = log.session("main").unwrap().tip;
    log.append("main", tip, vec![message("one more")]).unwrap();
    assert_eq!(texts(log, "main").unwrap().len(), 4);
}
