//! Sessions, their state, checkpoints, and what belongs to users.

use serde_json::json;
use waterline::message::{Message, Role, ToolCall};
use waterline_log::{CHECKPOINTS, Filter, Incoming, LogError, Relation, Session, State, turns_to_restore};

use crate::cases;
use crate::place::{Place, counter, one, parse, session, texts};

cases![
    s0_12_to_s0_25_s4_5_to_s4_14_the_whole_state_is_kept,
    s0_17_e13_sub_agents_have_contexts_of_their_own,
    s0_63_a_session_is_found_by_the_beginning_of_its_id,
    s3_32_settings_are_per_user,
    sessions_are_listed_by_use,
    e06_s2_27_s2_28_the_newest_turns_are_restored_as_texts,
    s0_59_to_s0_61_a_checkpoint_after_every_step,
    s0_64_s4_41_a_checkpoint_restores_messages_and_state,
    checkpoints_are_thinned_and_messages_are_not,
];

fn full() -> State {
    let text = json!({
        "images": [{"data": "aGk="}], "active_skill": "pdf", "allowed_tools": ["read_file"], "persistent_tools": ["now"],
        "mentioned_agents": ["@pdf"], "todos": [{"content": "x", "status": "pending"}], "loops": 7, "max_loops": 100,
        "model_pref": "vision", "workspace_path": "/w/1", "uploaded_files": [{"name": "a.csv", "size": 3}],
        "buffer_config": {"window": 20}, "scratchpad": ["step"], "pending_action": {"tool": "rm", "id": "c1"},
        "response_format": {"type": "json"}, "callbacks": ["on_llm_start"], "middlewares": [{"name": "call_limit"}],
        "auto_checkpoint": true, "run_id": "r-1", "tools": [{"name": "t"}], "something_new": [1, 2.5, "数"],
    });
    serde_json::from_value(text).unwrap()
}

fn s0_12_to_s0_25_s4_5_to_s4_14_the_whole_state_is_kept(place: &dyn Place) {
    let log = place.open();
    let mut made =
        log.create(Session { user: Some("u".into()), model: Some("m".into()), ..Session::new("s") }).unwrap();
    assert_eq!(made.context_id, "main");
    made.state = full();
    made.title = "a title".into();
    made.policy = Some("chat".into());
    made.overrides.insert("window.turns".into(), "30".into());
    log.save(&made).unwrap();
    drop(log);
    let found = place.open().session("s").unwrap();
    assert_eq!(found.state, full());
    assert_eq!(found.state.other["something_new"], json!([1, 2.5, "数"]));
    assert_eq!(Session { active: made.active, ..found }, made);
    assert!(matches!(place.open().save(&Session::new("nobody")), Err(LogError::NoSession { .. })));
}

fn s0_17_e13_sub_agents_have_contexts_of_their_own(place: &dyn Place) {
    let log = place.open();
    session(&log, "s", &["do it"]);
    let child = log.create_sub_agent("s").unwrap();
    let digits = child.context_id.strip_prefix("subagent-").unwrap();
    assert!(digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()), "{digits}");
    assert_eq!((child.id.as_str(), child.parent_context.as_deref()), (child.context_id.as_str(), Some("main")));
    assert_eq!((child.relation, child.tip.position()), (Relation::SubAgent, 0));
    let grandchild = log.create_sub_agent(&child.id).unwrap();
    assert_eq!(grandchild.parent_context, Some(child.context_id.clone()));
    log.append(&child.id, child.tip, vec![one(Role::User, "task")]).unwrap();
    assert_eq!(texts(&log, "s"), ["do it"]);
    let children = log.sessions(&Filter { parent: Some("s".into()), ..Filter::default() }).unwrap();
    assert_eq!(children.len(), 1);
    assert!(matches!(log.create_sub_agent("nobody"), Err(LogError::NoSession { .. })));
}

fn s0_63_a_session_is_found_by_the_beginning_of_its_id(place: &dyn Place) {
    let log = place.open();
    for id in ["abc1", "abc2", "Abd", "x"] {
        session(&log, id, &["hi"]);
    }
    assert_eq!(log.find("x").unwrap().id, "x");
    assert_eq!(log.find("abc2").unwrap().id, "abc2");
    assert_eq!(log.find("Ab").unwrap().id, "Abd");
    let several = log.find("ab");
    assert!(matches!(&several, Err(LogError::Ambiguous { matches, .. }) if matches.len() == 2), "{several:?}");
    assert!(matches!(log.find("q"), Err(LogError::NoSession { .. })));
}

fn s3_32_settings_are_per_user(place: &dyn Place) {
    let log = place.open();
    log.set_preference("u", "policy", Some("budget")).unwrap();
    log.set_preference("u", "policy", Some("chat")).unwrap();
    log.set_preference("u", "window.turns", Some("30")).unwrap();
    log.set_preference("v", "policy", Some("auto")).unwrap();
    log.set_preference("u", "window.turns", None).unwrap();
    assert_eq!(log.preferences("u").unwrap().into_iter().collect::<Vec<_>>(), [("policy".into(), "chat".into())]);
    assert_eq!(log.preferences("nobody").unwrap().len(), 0);
}

fn sessions_are_listed_by_use(place: &dyn Place) {
    let log = place.open();
    for id in ["a", "b", "c"] {
        log.create(Session { user: (id != "c").then(|| "u".to_owned()), ..Session::new(id) }).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(3));
    let tip = log.session("a").unwrap().tip;
    log.append("a", tip, vec![one(Role::User, "hi")]).unwrap();
    let ids = |filter: &Filter| log.sessions(filter).unwrap().into_iter().map(|session| session.id).collect::<Vec<_>>();
    assert_eq!(ids(&Filter::default())[0], "a");
    assert_eq!(ids(&Filter { user: Some("u".into()), ..Filter::default() }).len(), 2);
    assert_eq!(ids(&Filter { idle_since: Some(0), ..Filter::default() }).len(), 0);
    assert_eq!(ids(&Filter { idle_since: Some(i64::MAX), ..Filter::default() }).len(), 3);
}

fn s0_59_to_s0_61_a_checkpoint_after_every_step(place: &dyn Place) {
    let log = place.open();
    session(&log, "s", &["one"]);
    let first = log.checkpoint("s", json!({"step": 1})).unwrap();
    let second = log.checkpoint("s", json!({"step": 2, "node": "planner"})).unwrap();
    assert_eq!(second.parent_checkpoint_id, Some(first.checkpoint_id.clone()));
    let stored = log.checkpoints("s").unwrap();
    assert_eq!(stored, [first, second]);
    assert_eq!(stored[0].thread_id, "s");
    assert_eq!(stored[1].metadata["node"], "planner");
    assert_eq!(stored[0].checkpoint.messages, 1);
    assert!(log.checkpoint("nobody", json!(null)).is_err());
}

fn s0_64_s4_41_a_checkpoint_restores_messages_and_state(place: &dyn Place) {
    let log = place.open();
    let mut made = session(&log, "s", &["one", "two"]);
    made.state = full();
    log.save(&made).unwrap();
    let kept = log.checkpoint("s", json!({})).unwrap();
    log.append("s", made.tip, vec![one(Role::User, "three")]).unwrap();
    made.state.todos.clear();
    log.save(&made).unwrap();
    let restored = log.restore("s", &kept.checkpoint_id).unwrap();
    assert_eq!(restored.state, full());
    assert_eq!(texts(&log, "s"), ["one", "two"]);
    // What came after is not lost.
    log.forward("s", None).unwrap();
    assert_eq!(texts(&log, "s"), ["one", "two", "three"]);
    assert!(matches!(log.restore("s", "nothing"), Err(LogError::Missing { .. })));
}

fn checkpoints_are_thinned_and_messages_are_not(place: &dyn Place) {
    let log = place.open();
    let mut tip = session(&log, "s", &["start"]).tip;
    for step in 0..CHECKPOINTS + 10 {
        tip = log.append("s", tip, vec![one(Role::User, &format!("step {step}"))]).unwrap().tip;
        log.checkpoint("s", json!({"step": step})).unwrap();
    }
    let kept = log.checkpoints("s").unwrap();
    assert_eq!(kept.len() as u64, CHECKPOINTS);
    assert_eq!(kept[0].metadata["step"], 10);
    assert_eq!(texts(&log, "s").len() as u64, CHECKPOINTS + 11);
}

/// E.6: max_turns 20→3, 18→3, 24→4, 30→5, 6→3 (C2.10: rounded down).
fn e06_s2_27_s2_28_the_newest_turns_are_restored_as_texts(place: &dyn Place) {
    assert_eq!([20, 18, 24, 30, 6, 0].map(turns_to_restore), [3, 3, 4, 5, 3, 3]);
    let log = place.open();
    let made = log.create(Session::new("s")).unwrap();
    let mut incoming = Vec::new();
    for turn in 0..6 {
        incoming.push(one(Role::User, &format!("question {turn}")));
        incoming.push(one(Role::Assistant, &format!("looking {turn}")));
        incoming.push(Incoming::of(&Message::assistant_with_calls("", [ToolCall::new("c", "read", "{}")]), &counter()));
        incoming.push(Incoming::of(&Message::tool_result("c", "a file"), &counter()));
        incoming.push(one(Role::Assistant, &format!("answer {turn}")));
    }
    log.append("s", made.tip, incoming).unwrap();
    let shown: Vec<String> =
        log.recent_turns("s", turns_to_restore(20), parse).unwrap().iter().map(Message::text).collect();
    assert_eq!(shown, ["question 3", "answer 3", "question 4", "answer 4", "question 5", "answer 5"]);
    assert_eq!(log.recent_turns("s", 99, parse).unwrap().len(), 12);
}
