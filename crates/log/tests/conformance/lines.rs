//! Export and import, backup.

use serde_json::{Value, json};
use waterline::history::Past;
use waterline::message::{Message, Role};
use waterline::plan::{StoredSlot, StoredView};
use waterline_log::{
    Backup, ContextUpdate, Document, Filter, Fold, Imported, Incoming, Log, LogError, RewindTarget,
    Session, Summary, Usage,
};

use crate::backend::{Backend, counter, freeze, parse, record_usage, session, text_message, texts};
use crate::cases;

cases![
    an_import_gives_the_same_ids,
    a_second_import_adds_nothing,
    request_contexts_are_exported,
    an_import_does_not_undo_a_rewind,
    a_truncated_export_is_reported,
    a_changed_line_is_refused,
    invalid_exports_are_refused,
    an_import_extends_an_existing_session,
    an_import_brings_no_approvals,
    version_1_lines_bring_state_and_no_approvals,
    a_diverged_session_is_kept_and_the_import_forks,
    a_backup_is_made_while_others_write,
];

const TOOLS: &[u8] = br#"[{"name": "read_file"}]"#;

/// Fills a log with data of every kind.
fn full(log: &Log) {
    let mut created = session(log, "s", &["one", "two", "three", "four"]);
    created.state.insert("todos".into(), json!([{"content": "x"}]));
    created.title = "Title".into();
    created.user = Some("u".into());
    log.save(&created).unwrap();
    log.set_tools("s", TOOLS.to_vec()).unwrap();
    let bytes = Incoming::unread(Role::Tool, b"\xff\x00".to_vec(), &counter());
    log.append("s", created.tip, vec![bytes, text_message(Role::User, "数据库")]).unwrap();
    log.clear("s").unwrap();
    log.rewind("s", RewindTarget::Position(3)).unwrap();
    log.note_fold(
        "s",
        2,
        1,
        Fold { reasons: "auto".into(), tokens_before: 9, tokens_after: 3, ..Fold::default() },
        None,
    )
    .unwrap();
    let summary = Summary {
        version: 0,
        start: 0,
        until: 2,
        target: None,
        generation: Some(1),
        text: "sum".into(),
        tokens: 1,
        original_tokens: 4,
        time: 0,
    };
    log.add_summary("s", summary).unwrap();
    log.checkpoint("s", json!({"step": 1})).unwrap();
    record_usage(
        log,
        "s",
        Usage { position: 2, model: "m".into(), input: 10, output: 2, ..Usage::default() },
    )
    .unwrap();
    log.put_artifact("s", "text/plain", "large…", b"large output".to_vec()).unwrap();
    let fork = log.fork("s", Some(1), Some("f".into())).unwrap();
    log.append("f", fork.tip, vec![text_message(Role::Assistant, "fork")]).unwrap();
    let child = log.create_sub_agent("s").unwrap();
    log.append(&child.id, child.tip, vec![text_message(Role::User, "task")]).unwrap();
}

fn export(log: &Log, sessions: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    log.export(&sessions.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), &mut out).unwrap();
    out
}

fn import(log: &Log, lines: &[u8]) -> Result<Imported, LogError> {
    log.import(lines, parse, |_| ())
}

fn an_import_gives_the_same_ids(backend: &dyn Backend) {
    let log = backend.open();
    full(&log);
    let lines = export(&log, &[]);
    let other = Log::open(&backend.other()).unwrap();
    let added = import(&other, &lines).unwrap();
    assert_eq!((added.messages, added.sessions), (8, 3));
    for id in ["s", "f"] {
        let (here, there) = (log.entries(id).unwrap(), other.entries(id).unwrap());
        assert_eq!(
            here.iter().map(|e| (e.id, &e.bytes, e.time)).collect::<Vec<_>>(),
            there.iter().map(|e| (e.id, &e.bytes, e.time)).collect::<Vec<_>>()
        );
    }
    let (here, there) = (log.session("s").unwrap(), other.session("s").unwrap());
    assert_eq!((&there.state, &there.tools), (&here.state, &here.tools));
    assert_eq!(there.imported, 6, "its messages were imported");
    assert_eq!(other.tools(&there.tools.unwrap()).unwrap(), TOOLS);
    assert_eq!(other.summaries("s").unwrap(), log.summaries("s").unwrap());
    assert_eq!(other.checkpoints("s").unwrap(), log.checkpoints("s").unwrap());
    assert_eq!(other.usage("s").unwrap(), log.usage("s").unwrap());
    assert_eq!(other.artifacts("s").unwrap(), log.artifacts("s").unwrap());
    assert_eq!(other.generations("s").unwrap(), log.generations("s").unwrap());
    other.forward("s", None).unwrap();
    assert_eq!((other.cleared("s").unwrap(), texts(&other, "s").len()), (6, 6));
    assert_eq!(other.search("数据", Some("s"), 3).unwrap().len(), 1);
    assert_eq!(other.verify(|_, _| ()).unwrap().problems, []);
    // Exporting again gives the same message lines.
    other.rewind("s", RewindTarget::Position(3)).unwrap();
    let named: Vec<String> =
        log.sessions(&Default::default()).unwrap().into_iter().map(|s| s.id).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let only = |lines: Vec<u8>| {
        let text = String::from_utf8(lines).unwrap();
        text.lines()
            .filter(|line| line.starts_with("{\"message\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(only(export(&other, &named)), only(export(&log, &named)));
}

fn a_second_import_adds_nothing(backend: &dyn Backend) {
    let log = backend.open();
    full(&log);
    let lines = export(&log, &[]);
    let before = log.stats().unwrap();
    assert_eq!(import(&log, &lines).unwrap(), Imported::default());
    let other = Log::open(&backend.other()).unwrap();
    import(&other, &lines).unwrap();
    let once = other.stats().unwrap();
    assert_eq!(import(&other, &lines).unwrap(), Imported::default());
    let size = |mut stats: waterline_log::Stats| {
        stats.database_bytes = 0;
        stats
    };
    assert_eq!(size(other.stats().unwrap()), size(once));
    assert_eq!(size(log.stats().unwrap()), size(before));
}

fn request_contexts_are_exported(backend: &dyn Backend) {
    let log = backend.open();
    let tip = session(&log, "s", &["one", "two"]).tip;
    let views =
        [StoredView::Source(0), StoredView::Made(Box::new(Message::assistant("two, shortened")))];
    let slot = json!({"sources": [0, 1], "treatment": "verbatim", "tokens": 7, "items": views});
    let slot: StoredSlot = serde_json::from_value(slot).unwrap();
    let fold =
        Fold { reasons: "full".into(), tokens_before: 9, tokens_after: 3, ..Fold::default() };
    let sent = |fold: Option<Fold>, number| {
        let head = json!({
            "number": number, "covered": 2, "tokens": 7, "messages": 2, "turns": 1,
        });
        ContextUpdate {
            cleared: 0,
            head: serde_json::from_value(head).unwrap(),
            past: Past { messages: 1, tokens: 4, system_tokens: 0, calls: 0 },
            slots: vec![slot.clone()],
            fold,
        }
    };
    let first = freeze(&log, &log.session("s").unwrap(), sent(None, 0)).unwrap();
    freeze(&log, &first, sent(Some(fold.clone()), 1)).unwrap();
    let other = Log::open(&backend.other()).unwrap();
    import(&other, &export(&log, &["s"])).unwrap();
    let (here, there) =
        (log.request_context("s").unwrap().unwrap(), other.request_context("s").unwrap().unwrap());
    assert_eq!((here.head, here.past), (there.head, there.past));
    assert_eq!(
        serde_json::to_string(&here.slots).unwrap(),
        serde_json::to_string(&there.slots).unwrap()
    );
    assert_eq!(other.generations("s").unwrap(), log.generations("s").unwrap());
    assert_eq!(other.generations("s").unwrap()[0].fold, fold);
    // Importing again does not redo a fold that was undone.
    other.undo_fold("s").unwrap();
    import(&other, &export(&log, &["s"])).unwrap();
    assert_eq!(other.request_context("s").unwrap().unwrap().head.number, 0);
    assert_eq!(tip.position(), 2);
}

fn an_import_does_not_undo_a_rewind(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let lines = export(&log, &["s"]);
    log.rewind("s", RewindTarget::Position(1)).unwrap();
    assert_eq!(import(&log, &lines).unwrap(), Imported::default());
    assert_eq!(texts(&log, "s"), ["one"]);
}

fn a_truncated_export_is_reported(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let lines = String::from_utf8(export(&log, &[])).unwrap();
    let other = Log::open(&backend.other()).unwrap();
    for count in 1..lines.lines().count() {
        let part: String = lines.lines().take(count).flat_map(|line| [line, "\n"]).collect();
        let refused = import(&other, part.as_bytes());
        assert!(
            matches!(&refused, Err(LogError::Line { cause, .. }) if cause.to_string().contains("truncated")),
            "{refused:?}"
        );
    }
    import(&other, lines.as_bytes()).unwrap();
    assert_eq!(texts(&other, "s").len(), 3);
}

fn a_changed_line_is_refused(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["pay 100", "done"]);
    let lines = String::from_utf8(export(&log, &[])).unwrap().replace("pay 100", "pay 900");
    let other = Log::open(&backend.other()).unwrap();
    let refused = import(&other, lines.as_bytes());
    assert!(
        matches!(&refused, Err(LogError::Line { line: 2, cause }) if cause.to_string().contains("changed")),
        "{refused:?}"
    );
    assert_eq!(other.stats().unwrap().messages, 0);
}

fn invalid_exports_are_refused(backend: &dyn Backend) {
    let log = backend.open();
    let is_refused =
        |lines: &str| matches!(import(&log, lines.as_bytes()), Err(LogError::Line { .. }));
    assert!(is_refused("{\"role\":\"user\"}\n"));
    assert!(is_refused("not json"));
    assert!(is_refused("{\"waterline\":99}\n"));
    assert!(is_refused("{\"waterline\":1}\n{\"message\":{\"id\":\"zz\"}}\n"));
    let orphan = format!(
        "{{\"waterline\":1}}\n{{\"session\":{{\"id\":\"s\",\"tip\":\"{}\",\"relation\":\"main\",\
         \"context_id\":\"main\",\"state\":{{}},\"created\":1,\"active\":1}}}}\n",
        "ab".repeat(32)
    );
    assert!(is_refused(&orphan));
    assert_eq!(import(&log, b"").unwrap(), Imported::default());
    assert_eq!(log.stats().unwrap().sessions, 0);
}

fn an_import_extends_an_existing_session(backend: &dyn Backend) {
    let log = backend.open();
    let tip = session(&log, "s", &["one", "two"]).tip;
    let other = Log::open(&backend.other()).unwrap();
    import(&other, &export(&log, &["s"])).unwrap();
    log.append("s", tip, vec![text_message(Role::User, "three")]).unwrap();
    let added = import(&other, &export(&log, &["s"])).unwrap();
    assert_eq!((added.messages, added.sessions, added.continued), (1, 0, 1));
    assert_eq!(texts(&other, "s"), ["one", "two", "three"]);
}

/// Of the local document of an imported session, only the time of the import is known.
fn assert_only_import_time(session: &waterline_log::Session) {
    assert!(session.local.keys().eq(["imported_at"]), "{:?}", session.local);
}

fn an_import_brings_no_approvals(backend: &dyn Backend) {
    let log = backend.open();
    let mut created = session(&log, "s", &["one", "two"]);
    created.state.insert("todos".into(), json!(["measure"]));
    created.local.insert("approvals".into(), json!(["run_bash_command"]));
    created.workspace = Some("/w/1".into());
    created.imported = 1;
    log.save(&created).unwrap();
    log.checkpoint("s", json!({})).unwrap();
    let lines = export(&log, &["s"]);
    let text = String::from_utf8_lossy(&lines);
    assert!(!text.contains("run_bash_command") && !text.contains("/w/1"), "{text}");
    let other = Log::open(&backend.other()).unwrap();
    import(&other, &lines).unwrap();
    let there = other.session("s").unwrap();
    assert_eq!((there.imported, &there.workspace), (2, &None));
    assert_only_import_time(&there);
    assert_eq!(there.state, created.state);
    let fork = log.fork("s", None, None).unwrap();
    assert_eq!(fork.local, Document::new(), "approvals stay with the parent");
    assert_eq!(
        (fork.imported, fork.state),
        (1, created.state),
        "the import count and the state are copied"
    );
    // When an import extends the session, earlier approvals are dropped.
    let mut known = other.session("s").unwrap();
    known.local.insert("approvals".into(), json!(["fetch_url"]));
    known.workspace = Some("/w/2".into());
    other.save(&known).unwrap();
    log.append("s", log.session("s").unwrap().tip, vec![text_message(Role::User, "three")])
        .unwrap();
    import(&other, &export(&log, &["s"])).unwrap();
    let there = other.session("s").unwrap();
    assert_eq!((there.imported, &there.workspace), (3, &None));
    assert_only_import_time(&there);
}

/// A file that claims approvals in an older format brings none.
fn version_1_lines_bring_state_and_no_approvals(backend: &dyn Backend) {
    let lines = include_bytes!("../formats/1-agent.jsonl");
    let log = backend.open();
    import(&log, lines).unwrap();
    let there = log.session("working").unwrap();
    assert_eq!((there.imported, &there.workspace), (3, &None));
    assert_only_import_time(&there);
    assert_eq!(there.state["todos"][1], "call the office");
    assert_eq!(there.state["something_new"], json!([1, 2.5, "数"]));
    assert!(!there.state.contains_key("approvals") && !there.state.contains_key("tools"));
    let tools: Value = serde_json::from_slice(&log.tools(&there.tools.unwrap()).unwrap()).unwrap();
    assert_eq!(tools[0]["name"], "read_file");
    let restored = log.checkpoints("working").unwrap();
    assert_eq!((restored.len(), &restored[1].checkpoint.state), (2, &there.state));
    assert!(!restored[0].checkpoint.state.contains_key("approvals"));
}

fn a_diverged_session_is_kept_and_the_import_forks(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    let other = Log::open(&backend.other()).unwrap();
    session(&other, "s", &["one", "otherwise"]);
    let added = import(&other, &export(&log, &["s"])).unwrap();
    assert_eq!((added.messages, added.forked), (1, vec!["s".to_owned()]));
    assert_eq!(texts(&other, "s"), ["one", "otherwise"]);
    let fork = other
        .sessions(&Filter { parent: Some("s".into()), ..Filter::default() })
        .unwrap()
        .remove(0);
    assert_eq!(texts(&other, &fork.id), ["one", "two"]);
    assert_eq!(import(&other, &export(&log, &["s"])).unwrap(), Imported::default());
}

fn a_backup_is_made_while_others_write(backend: &dyn Backend) {
    let log = backend.open();
    log.create(Session::new("s")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("backup");
    let writer = {
        let log = log.clone();
        std::thread::spawn(move || {
            let mut tip = log.session("s").unwrap().tip;
            for round in 0..200 {
                tip = log
                    .append("s", tip, vec![text_message(Role::User, &format!("round {round}"))])
                    .unwrap()
                    .tip;
            }
        })
    };
    let kind = log.backup(&file).unwrap();
    writer.join().unwrap();
    let copy = match kind {
        Backup::Database => Log::open(&file.display().to_string()).unwrap(),
        Backup::Lines => {
            let copy = Log::open(&backend.other()).unwrap();
            import(&copy, &std::fs::read(&file).unwrap()).unwrap();
            copy
        }
    };
    let (copied, all) = (texts(&copy, "s"), texts(&log, "s"));
    assert_eq!(all.len(), 200);
    assert_eq!(copied, all[..copied.len()]);
    assert_eq!(copy.verify(|_, _| ()).unwrap().problems, []);
    let nowhere = directory.path().join("no").join("such");
    assert!(log.backup(&nowhere).is_err());
    assert_eq!(
        std::fs::read_dir(directory.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().path() != file)
            .count(),
        if kind == Backup::Database { 2 } else { 0 },
        "only the copy and its -wal and -shm files"
    );
}
