//! Sessions, their state, checkpoints and user preferences.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;
use waterline::message::Role;
use waterline_log::{
    CHECKPOINTS, Commit, Document, EraseTarget, FileRecord, Filter, LogError, NewArtifact,
    Relation, RewindTarget, Session, Tip, Usage, content_hash,
};

use crate::backend::{Backend, session, text_message, texts};
use crate::cases;

cases![
    session_fields_survive_a_reopen,
    tool_definitions_are_stored_once,
    a_commit_is_one_transaction,
    a_commit_to_a_modified_session_is_refused,
    s0_17_e13_sub_agents_have_separate_contexts,
    s0_63_a_session_is_found_by_an_id_prefix,
    s3_32_preferences_are_per_user,
    sessions_are_listed_by_last_use,
    s0_59_to_s0_61_a_checkpoint_after_every_step,
    s0_64_s4_41_a_checkpoint_restores_messages_and_state,
    the_oldest_checkpoint_is_restored_although_the_state_before_takes_its_place,
    a_move_is_taken_back_with_its_state,
    old_checkpoints_are_deleted_and_messages_are_not,
];

fn document(value: serde_json::Value) -> Document {
    serde_json::from_value(value).unwrap()
}

fn full() -> Document {
    document(json!({
        "todos": [{"content": "x", "status": "pending"}], "loops": 7, "nothing": null,
        "something_new": [1, 2.5, "数", {"deep": [[]]}],
    }))
}

fn session_fields_survive_a_reopen(backend: &dyn Backend) {
    let log = backend.open();
    let mut created = log
        .create(Session { user: Some("u".into()), model: Some("m".into()), ..Session::new("s") })
        .unwrap();
    assert_eq!(created.context_id, "main");
    created.state = full();
    created.local = document(json!({"approvals": ["run_bash_command ls"]}));
    created.workspace = Some("/w/1".into());
    created.imported = 3;
    created.title = "a title".into();
    created.policy = Some("chat".into());
    created.overrides.insert("window.turns".into(), "30".into());
    log.save(&created).unwrap();
    drop(log);
    let found = backend.open().session("s").unwrap();
    assert_eq!(found.state, full());
    assert_eq!(Session { active: created.active, ..found }, created);
    assert!(matches!(
        backend.open().save(&Session::new("missing")),
        Err(LogError::NoSession { .. })
    ));
}

fn tool_definitions_are_stored_once(backend: &dyn Backend) {
    let log = backend.open();
    let tools = vec![b'['; 20_000];
    for id in ["a", "b"] {
        session(&log, id, &["hi"]);
        log.set_tools(id, tools.clone()).unwrap();
    }
    let hash = log.session("a").unwrap().tools.unwrap();
    assert_eq!(log.session("b").unwrap().tools.as_ref(), Some(&hash));
    assert_eq!(log.fork("a", None, Some("f".into())).unwrap().tools.as_ref(), Some(&hash));
    assert_eq!(log.tools(&hash).unwrap(), tools);
    for id in ["a", "b"] {
        log.erase(&EraseTarget::Session(id.into())).unwrap();
    }
    assert_eq!(log.tools(&hash).unwrap(), tools, "the fork still has them");
    log.erase(&EraseTarget::Session("f".into())).unwrap();
    assert!(matches!(log.tools(&hash), Err(LogError::Missing { .. })));
    assert!(matches!(log.set_tools("missing", tools), Err(LogError::NoSession { .. })));
}

fn a_commit_is_one_transaction(backend: &dyn Backend) {
    let log = backend.open();
    let created = session(&log, "s", &["one"]);
    let before = log.writes();
    let commit = Commit {
        messages: vec![text_message(Role::Assistant, "two"), text_message(Role::User, "three")],
        changes: vec![Arc::new(|session| {
            session.title = "a title".into();
            session.state.insert("loops".into(), json!(1));
            Ok(())
        })],
        tools: Some(b"[]".to_vec()),
        usage: Some(Usage { model: "m".into(), input: 7, ..Usage::default() }),
        checkpoint: Some(json!({"step": 1})),
        preferences: vec![("u".into(), "factor".into(), "1.1".into())],
        artifacts: vec![artifact()],
        file_records: vec![file_record(created.tip)],
        ..Commit::default()
    };
    let stored = log.commit(&created, commit).unwrap();
    assert_eq!(log.writes() - before, 1);
    assert_eq!(log.session("s").unwrap(), stored);
    assert_eq!((stored.title.as_str(), stored.tip.position()), ("a title", 3));
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    assert_eq!(log.usage("s").unwrap()[0].position, 3);
    assert_eq!(log.tools(&stored.tools.unwrap()).unwrap(), b"[]");
    assert_eq!(log.preferences("u").unwrap()["factor"], "1.1");
    let checkpoint = log.checkpoints("s").unwrap().remove(0).checkpoint;
    assert_eq!((checkpoint.messages, checkpoint.state), (3, stored.state));
    assert_eq!(log.artifact(&artifact().hash()).unwrap(), b"a long result");
    assert_eq!(log.file_content(&content_hash(b"a file")).unwrap(), b"a file");
    log.rewind("s", RewindTarget::Position(1)).unwrap();
    let last = log.id_at(stored.tip).unwrap().unwrap();
    assert_eq!(log.file_changes_since("s", last).unwrap().undone, [b"a record"]);
}

fn artifact() -> NewArtifact {
    let bytes = b"a long result".to_vec();
    NewArtifact { media: "text/plain".into(), preview: "a long".into(), bytes }
}

fn file_record(at: Tip) -> FileRecord {
    let contents = vec![b"a file".to_vec()];
    FileRecord { session: "s".into(), at, record: b"a record".to_vec(), contents }
}

fn a_commit_to_a_modified_session_is_refused(backend: &dyn Backend) {
    let log = backend.open();
    let created = session(&log, "s", &["one"]);
    let commit = |text: &str| Commit {
        messages: vec![text_message(Role::User, text)],
        artifacts: vec![artifact()],
        file_records: vec![file_record(created.tip)],
        checkpoint: Some(json!({})),
        changes: vec![Arc::new(|session| {
            session.state.insert("loops".into(), json!(9));
            Ok(())
        })],
        ..Commit::default()
    };
    let first = Commit {
        changes: Vec::new(),
        artifacts: Vec::new(),
        file_records: Vec::new(),
        ..commit("two")
    };
    let moved = log.commit(&created, first).unwrap();
    let refused = log.commit(&created, commit("otherwise"));
    assert!(matches!(refused, Err(LogError::Conflict { position: 2, .. })), "{refused:?}");
    assert_eq!(
        (texts(&log, "s"), log.checkpoints("s").unwrap().len()),
        (vec!["one".into(), "two".into()], 1)
    );
    assert_eq!(log.session("s").unwrap().state, Document::new());
    let stats = log.stats().unwrap();
    assert_eq!((stats.artifacts, stats.file_versions), (0, 0));
    // Repeating a stored commit, as after a lost reply, does not store it twice.
    assert_eq!(log.commit(&created, commit("two")).unwrap().tip, moved.tip);
    assert_eq!(log.checkpoints("s").unwrap().len(), 1);
    // Once the session has moved on, the writer must first read what it does not know.
    log.commit(&moved, commit("three")).unwrap();
    let refused = log.commit(&created, commit("two"));
    assert!(matches!(refused, Err(LogError::Conflict { position: 3, .. })), "{refused:?}");
}

fn s0_17_e13_sub_agents_have_separate_contexts(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["do it"]);
    let child = log.create_sub_agent("s").unwrap();
    let is_context_id = |id: &str| {
        let digits = id.strip_prefix("subagent-").unwrap_or_default();
        let is_digit = |b: u8| b.is_ascii_hexdigit() && !b.is_ascii_uppercase();
        digits.len() == 8 && digits.bytes().all(is_digit)
    };
    assert!(is_context_id(&child.context_id), "{}", child.context_id);
    let parent = log.session("s").unwrap();
    let ids: HashSet<String> =
        (0..10_000).map(|_| Session::sub_agent(&parent).context_id).collect();
    assert!(ids.iter().all(|id| is_context_id(id)));
    assert!(ids.len() > 9_990, "of 10,000 random ids hardly any are the same: {}", ids.len());
    assert_eq!(
        (child.id.as_str(), child.parent_context.as_deref()),
        (child.context_id.as_str(), Some("main"))
    );
    assert_eq!((child.relation, child.tip.position()), (Relation::SubAgent, 0));
    let grandchild = log.create_sub_agent(&child.id).unwrap();
    assert_eq!(grandchild.parent_context, Some(child.context_id.clone()));
    log.append(&child.id, child.tip, vec![text_message(Role::User, "task")]).unwrap();
    assert_eq!(texts(&log, "s"), ["do it"]);
    let children = log.sessions(&Filter { parent: Some("s".into()), ..Filter::default() }).unwrap();
    assert_eq!(children.len(), 1);
    assert!(matches!(log.create_sub_agent("missing"), Err(LogError::NoSession { .. })));
}

fn s0_63_a_session_is_found_by_an_id_prefix(backend: &dyn Backend) {
    let log = backend.open();
    for id in ["abc1", "abc2", "Abd", "x"] {
        session(&log, id, &["hi"]);
    }
    assert_eq!(log.find("x").unwrap().id, "x");
    assert_eq!(log.find("abc2").unwrap().id, "abc2");
    assert_eq!(log.find("Ab").unwrap().id, "Abd");
    let several = log.find("ab");
    assert!(
        matches!(&several, Err(LogError::Ambiguous { matches, .. }) if matches.len() == 2),
        "{several:?}"
    );
    assert!(matches!(log.find("q"), Err(LogError::NoSession { .. })));
}

fn s3_32_preferences_are_per_user(backend: &dyn Backend) {
    let log = backend.open();
    log.set_preference("u", "policy", Some("budget")).unwrap();
    log.set_preference("u", "policy", Some("chat")).unwrap();
    log.set_preference("u", "window.turns", Some("30")).unwrap();
    log.set_preference("v", "policy", Some("auto")).unwrap();
    log.set_preference("u", "window.turns", None).unwrap();
    assert_eq!(
        log.preferences("u").unwrap().into_iter().collect::<Vec<_>>(),
        [("policy".into(), "chat".into())]
    );
    assert_eq!(log.preferences("missing").unwrap().len(), 0);
}

fn sessions_are_listed_by_last_use(backend: &dyn Backend) {
    let log = backend.open();
    for id in ["a", "b", "c"] {
        log.create(Session { user: (id != "c").then(|| "u".to_owned()), ..Session::new(id) })
            .unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(3));
    let tip = log.session("a").unwrap().tip;
    log.append("a", tip, vec![text_message(Role::User, "hi")]).unwrap();
    let ids = |filter: &Filter| {
        log.sessions(filter).unwrap().into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&Filter::default())[0], "a");
    assert_eq!(ids(&Filter { user: Some("u".into()), ..Filter::default() }).len(), 2);
    assert_eq!(ids(&Filter { idle_since: Some(0), ..Filter::default() }).len(), 0);
    assert_eq!(ids(&Filter { idle_since: Some(i64::MAX), ..Filter::default() }).len(), 3);
}

fn s0_59_to_s0_61_a_checkpoint_after_every_step(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    let first = log.checkpoint("s", json!({"step": 1})).unwrap();
    let second = log.checkpoint("s", json!({"step": 2, "node": "planner"})).unwrap();
    assert_eq!(second.parent_checkpoint_id, Some(first.checkpoint_id.clone()));
    let stored = log.checkpoints("s").unwrap();
    assert_eq!(stored, [first, second]);
    assert_eq!(stored[0].thread_id, "s");
    assert_eq!(stored[1].metadata["node"], "planner");
    assert_eq!(stored[0].checkpoint.messages, 1);
    assert!(log.checkpoint("missing", json!(null)).is_err());
}

fn s0_64_s4_41_a_checkpoint_restores_messages_and_state(backend: &dyn Backend) {
    let log = backend.open();
    let mut created = session(&log, "s", &["one", "two"]);
    created.state = full();
    log.save(&created).unwrap();
    let kept = log.checkpoint("s", json!({})).unwrap();
    log.append("s", created.tip, vec![text_message(Role::User, "three")]).unwrap();
    created.state = document(json!({"todos": [], "another": 1}));
    created.local = document(json!({"approvals": ["run_bash_command ls"]}));
    log.save(&created).unwrap();
    let later = log.checkpoint("s", json!({})).unwrap();
    let restored = log.restore("s", &kept.checkpoint_id, None).unwrap();
    assert_eq!(restored.state, full());
    assert_eq!(restored.local, created.local, "restoring does not change approvals");
    assert_eq!(log.restore("s", &later.checkpoint_id, None).unwrap().state, created.state);
    log.restore("s", &kept.checkpoint_id, None).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two"]);
    // Later messages are not lost.
    log.forward("s", None).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    assert!(matches!(log.restore("s", "nothing", None), Err(LogError::Missing { .. })));
}

fn the_oldest_checkpoint_is_restored_although_the_state_before_takes_its_place(
    backend: &dyn Backend,
) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    for _ in 0..waterline_log::CHECKPOINTS {
        log.checkpoint("s", json!({})).unwrap();
    }
    log.rewind("s", RewindTarget::Messages(1)).unwrap();
    let ids = || -> Vec<String> {
        log.checkpoints("s").unwrap().into_iter().map(|kept| kept.checkpoint_id).collect()
    };
    let before = ids();
    assert!(log.restore("s", "missing", Some(json!({}))).is_err());
    assert_eq!(ids(), before, "a failed restore stores nothing");
    log.restore("s", &before[0], Some(json!({"after": "restore"}))).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two"]);
    let kept = log.checkpoints("s").unwrap();
    assert_eq!((kept.len(), &kept[0].checkpoint_id), (before.len(), &before[1]));
    assert_eq!(kept.last().unwrap().checkpoint.messages, 1);
}

fn a_move_is_taken_back_with_its_state(backend: &dyn Backend) {
    let log = backend.open();
    let mut created = session(&log, "s", &["one", "a", "two", "b"]);
    created.state = document(json!({"todos": ["measure"]}));
    log.save(&created).unwrap();
    let kept = log.checkpoint("s", json!({})).unwrap();
    log.rewind("s", RewindTarget::Turns(1)).unwrap();
    log.save(&Session { state: document(json!({})), ..created.clone() }).unwrap();
    let before = log.session("s").unwrap();
    // The checkpoint is later than the session, so that it is no rewind.
    let restored = log.restore("s", &kept.checkpoint_id, None).unwrap();
    assert_eq!((restored.tip.position(), &restored.state), (4, &created.state));
    let back = log.take_back(&before).unwrap();
    assert_eq!(Session { active: before.active, ..back }, before);
    assert_eq!(log.redo("s").unwrap().tip.position(), 4, "the rewind, not the move taken back");
}

fn old_checkpoints_are_deleted_and_messages_are_not(backend: &dyn Backend) {
    let log = backend.open();
    let mut tip = session(&log, "s", &["start"]).tip;
    let state = |step: u64| {
        // One key is constant, one changes each time, and a large one appears now and then.
        let todos = vec!["measure the tide"; usize::from(step % 7 == 3) * 9];
        document(json!({"role": "init", "loops": step, "todos": todos}))
    };
    for step in 0..CHECKPOINTS + 10 {
        tip = log
            .append("s", tip, vec![text_message(Role::User, &format!("step {step}"))])
            .unwrap()
            .tip;
        log.save(&Session { state: state(step), ..log.session("s").unwrap() }).unwrap();
        log.checkpoint("s", json!({"step": step})).unwrap();
    }
    let kept = log.checkpoints("s").unwrap();
    assert_eq!(kept.len() as u64, CHECKPOINTS);
    assert_eq!(kept[0].metadata["step"], 10);
    for (checkpoint, step) in kept.iter().zip(10..) {
        assert_eq!(checkpoint.checkpoint.state, state(step), "{step}");
    }
    assert_eq!(texts(&log, "s").len() as u64, CHECKPOINTS + 11);
}
