//! The presets that are named after the seed documents, with a model: compaction of an agent that
//! works alone, the restart of a chat, and its overflow recovery.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use test_bed::{TestBed, config, fair, newest, policy, sent, silent, tokens, user, wants_summary};
use waterline::message::{Message, ToolCall};
use waterline_memory::Memory;
use waterline_session::{LiveSession, SessionConfig};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

/// Returns a step: a call and a result of `words` words.
fn step(at: usize, words: usize) -> Vec<Message> {
    let id = format!("call_{at}");
    let arguments = format!(r#"{{"path":"samples/{at}.json"}}"#);
    let calls = Message::assistant_with_calls("", [ToolCall::new(&*id, "read", arguments)]);
    vec![calls, Message::tool_result(&*id, "word ".repeat(words))]
}

/// Returns the roles of a request, and how many tool calls it has.
fn roles(received: &Received) -> (Vec<String>, usize) {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
    (messages.iter().map(|m| m["role"].as_str().unwrap().to_owned()).collect(), calls)
}

fn summary_of(round: usize) -> String {
    let object = json!({
        "generated_components": {"tools": [], "checkers": [], "samples": "12 of 15"},
        "evaluation_progress": {"current_iteration": round, "success_rate": "12/15 (80%)", "layer_status": "2"},
        "identified_issues": {"layer2_problems": [], "layer3_problems": [], "fix_attempts": []},
        "pending_work": ["return to Init: the roof needs approval"],
        "key_paths": {"execution_output_dir": "/srv/out/run_7"}
    });
    format!("Current progress.\n<compact_summary>{object}</compact_summary>")
}

/// S1.16, S1.42, S1.43, S1.45, S1.47, C1.1: an agent that works alone on one request is compacted
/// above its threshold, and only then. Paths and pending decisions of the summary reach the next
/// request.
#[tokio::test]
async fn s1_16_s1_42_s1_45_s1_47_an_agent_that_works_alone_is_compacted() {
    let server = Scripted::new(|received: &Received| {
        if wants_summary(received) {
            return fair(&summary_of(1), received);
        }
        fair("noted", received)
    });
    let bed = TestBed::new();
    let execute = policy("execute", &[("fold.high", "8000"), ("summarise.max", "600")]);
    let mut live = bed.open(config(&server, 100_000, execute)).await;
    live.call(user("Build what /srv/out/run_7/design.json says."), silent).await.unwrap();
    for at in 0..60 {
        live.call(step(at, 300), silent).await.unwrap();
    }
    let received = server.received();
    let requests: Vec<usize> =
        (0..received.len()).filter(|&at| wants_summary(&received[at])).collect();
    let folds = bed.log().generations("s").unwrap();
    assert!((2..=12).contains(&folds.len()), "{}", folds.len());
    assert_eq!(requests.len(), folds.len(), "one summary for each compaction");
    for fold in &folds {
        assert!(fold.fold.tokens_before > 8_000, "{:?}", fold.fold);
        assert!(fold.fold.tokens_after < 5_000, "{:?}", fold.fold);
    }
    let after = &received[requests[0] + 1];
    assert!(after.body.contains("return to Init: the roof needs approval"), "S1.47");
    assert!(after.body.contains("/srv/out/run_7"), "S1.45");
    assert!(sent(after)[0].contains("Build what /srv/out/run_7/design.json says."), "the task");
    assert!(newest(&received[requests[0]]).contains("If only the initial context"), "S1.42");
    assert!(received[requests[1]].body.contains("12/15 (80%)"), "S1.43: the previous summary");
}

/// A fold that drops nothing new takes the summary that there is, and calls no model for it.
#[tokio::test]
async fn a_fold_reuses_the_summary_that_covers_everything() {
    let server = Scripted::new(|received: &Received| match wants_summary(received) {
        true => fair("[DAILY]\n- planned, order 4711\n[MEMORY]\nnone", received),
        false => fair("noted", received),
    });
    let bed = TestBed::new();
    let chat = policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let mut live = bed.open(config(&server, 200_000, chat)).await;
    talk(&mut live, 0..7).await;
    live.finish().await;
    let long = Message::tool_result("call_1", "word ".repeat(6_000));
    let calls = Message::assistant_with_calls("", [ToolCall::new("call_1", "read", "{}")]);
    live.call(user("read it"), silent).await.unwrap();
    live.call(vec![calls, long], silent).await.unwrap();
    let before = live.generation().number;
    live.call(user("and now?"), silent).await.unwrap();
    assert_eq!(live.generation().number, before + 1, "S2.9: the long result is truncated");
    let last = server.received().pop().unwrap();
    assert!(last.body.contains("chars omitted") && last.body.contains("order 4711"));
    let count = server.received().iter().filter(|received| wants_summary(received)).count();
    assert_eq!(count, 1);
}

async fn talk(live: &mut LiveSession, turns: std::ops::Range<usize>) {
    for turn in turns {
        live.call(user(format!("question {turn} {}", "word ".repeat(80))), silent).await.unwrap();
    }
}

/// S2.26 to S2.28: after a restart a chat continues with the requests and answers of the latest
/// three turns. Nothing is lost: the log has all, and the fold can be undone.
#[tokio::test]
async fn s2_26_to_s2_28_a_restarted_chat_continues_with_the_latest_turns_as_texts() {
    let server = Scripted::new(|received: &Received| match wants_summary(received) {
        true => fair("[DAILY]\n- planned\n[MEMORY]\nnone", received),
        false => fair("answered", received),
    });
    let bed = TestBed::new();
    let chat = || config(&server, 200_000, policy("chat", &[]));
    let mut live = bed.open(chat()).await;
    for turn in 0..15 {
        live.call(user(format!("question {turn}")), silent).await.unwrap();
        live.call(step(turn, 100), silent).await.unwrap();
    }
    live.finish().await;
    drop(live);
    let mut live = bed.open(chat()).await;
    live.restore();
    live.call(user("and now?"), silent).await.unwrap();
    let last = server.received().pop().unwrap();
    let (roles, calls) = roles(&last);
    assert_eq!(calls, 0, "{}", last.body);
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    assert!(last.body.contains("question 12") && !sent(&last)[2].contains("question 12"));
    assert!(bed.texts().iter().any(|text| text == "question 0"), "the log has everything");
    live.finish().await;
    drop(live);
    bed.log().undo_fold("s").unwrap();
    let mut live = bed.open(chat()).await;
    live.call(user("go on"), silent).await.unwrap();
    assert!(server.received().pop().unwrap().body.contains("samples/0.json"));
}

/// Other policies resend byte for byte what was sent before the restart.
#[tokio::test]
async fn a_restart_changes_nothing_for_other_policies() {
    let server = Scripted::new(|received: &Received| fair("answered", received));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    talk(&mut live, 0..10).await;
    drop(live);
    let before = sent(&server.received().pop().unwrap());
    let mut live = bed.live(&server, 100_000).await;
    live.restore();
    talk(&mut live, 10..11).await;
    let after = sent(&server.received().pop().unwrap());
    assert_eq!(after[..before.len()], before[..]);
}

/// S2.22 to S2.25: a context that the provider refuses is summarized into the memory by a model;
/// then few turns stay.
#[tokio::test]
async fn s2_23_overflow_writes_memory_and_keeps_few_turns() {
    let is_small = Arc::new(AtomicBool::new(false));
    let small = Arc::clone(&is_small);
    let server = Scripted::new(move |received: &Received| match wants_summary(received) {
        true => fair("[DAILY]\n- the mill, order 4711\n[MEMORY]\n- the user likes oak", received),
        false if small.load(Ordering::SeqCst) && tokens(received) > 12_000 => {
            Reply::status(400, "Please reduce the length of the messages or completion.")
        }
        false => fair("answered", received),
    });
    let bed = TestBed::new();
    let memory = bed.0.path().join("notes");
    let config = SessionConfig {
        memory: Some(Arc::new(Memory::new(&memory))),
        ..config(&server, 200_000, policy("chat", &[]))
    };
    let mut live = bed.open(config).await;
    for turn in 0..8 {
        live.call(user(format!("question {turn} {}", "word ".repeat(900))), silent).await.unwrap();
    }
    live.call(user("word ".repeat(4_000)), silent).await.unwrap();
    live.call(user("read it"), silent).await.unwrap();
    let calls = Message::assistant_with_calls("", [ToolCall::new("c", "read", "{}")]);
    let result = Message::tool_result("c", "word ".repeat(3_600));
    live.call(vec![calls, result], silent).await.unwrap();
    is_small.store(true, Ordering::SeqCst);
    live.call(user("and now?"), silent).await.unwrap();
    // A summary for the memory may be requested at the same time.
    let last = server.received().into_iter().rfind(|received| !wants_summary(received)).unwrap();
    let (roles, _) = roles(&last);
    let users = roles.iter().filter(|role| *role == "user").count();
    assert!((2..=5).contains(&users), "{roles:?}");
    let files = std::fs::read_dir(memory.join("memory")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|it| it == "md")).unwrap();
    let day = std::fs::read_to_string(file).unwrap();
    assert!(day.contains("## Context Overflow Recovery (") && day.contains("order 4711"), "{day}");
    assert!(day.contains("the user likes oak"), "{day}");
}

/// S2.24: after an overflow, long texts of users keep 9,000 characters and at most five turns stay,
/// although the long texts are of users and no earlier stage truncates or drops them.
#[tokio::test]
async fn s2_24_an_overflow_truncates_long_texts_of_users() {
    for turns in [4, 7] {
        let is_small = Arc::new(AtomicBool::new(false));
        let small = Arc::clone(&is_small);
        let server = Scripted::new(move |received: &Received| {
            if small.load(Ordering::SeqCst) && tokens(received) > 12_000 {
                return Reply::status(400, "Please reduce the length of the messages.");
            }
            fair("answered", received)
        });
        let bed = TestBed::new();
        let mut live = bed.open(config(&server, 200_000, policy("chat", &[]))).await;
        for turn in 0..turns {
            let text = format!("question {turn} {}", "word ".repeat(3_400 + 60 * turn));
            live.call(user(text), silent).await.unwrap();
        }
        is_small.store(true, Ordering::SeqCst);
        live.call(user("and now?"), silent).await.unwrap();
        let last: Value = serde_json::from_str(&server.received().pop().unwrap().body).unwrap();
        let messages = last["messages"].as_array().unwrap().iter();
        let texts: Vec<&str> = messages
            .filter(|message| message["role"] == "user")
            .map(|message| message["content"].as_str().unwrap())
            .collect();
        assert!((3..=5).contains(&texts.len()), "{turns}: {}", texts.len());
        let lengths: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
        // The digest of what was dropped is in front of the oldest one. If only a part of its turn
        // fits into the window, it is truncated further.
        assert!(lengths.iter().all(|&length| length < 11_000), "{turns}: {lengths:?}");
        let others = &lengths[1..lengths.len() - 1];
        assert!(others.iter().all(|&length| length >= 9_000), "{turns}: {lengths:?}");
        assert_eq!(texts.last(), Some(&"and now?"));
    }
}

/// S0.37, S3.20, S4.35: a policy that folds with every call by its rules keeps what they say. Only
/// a context that stays full gets smaller and smaller.
#[tokio::test]
async fn s0_37_folds_with_every_call_do_not_get_harder() {
    let server = Scripted::new(|received: &Received| fair("answered", received));
    let counts = async |preset: &str, settings: &[(&str, &str)], calls: Vec<Vec<Message>>| {
        let bed = TestBed::new();
        let mut live = bed.open(config(&server, 100_000, policy(preset, settings))).await;
        let before = server.received().len();
        for call in calls {
            live.call(call, silent).await.unwrap();
        }
        let received = server.received();
        received[before..].iter().map(|received| roles(received).0.len()).collect::<Vec<_>>()
    };
    let talk = |words: usize| -> Vec<Vec<Message>> {
        (0..30).map(|turn| user(format!("question {turn} {}", "word ".repeat(words)))).collect()
    };
    let window = counts("window", &[("window.messages", "10")], talk(1)).await;
    assert_eq!(window[5..], [9; 25], "each ends with a question");
    let dual = counts("dual-track", &[], talk(300)).await;
    assert!(dual[15..].iter().all(|&count| (15..=22).contains(&count)), "{dual:?}");
    let request = [user("Build the mill.")];
    let work = request.into_iter().chain((0..30).map(|at| step(at, 300))).collect();
    let budget = counts("budget", &[], work).await;
    let expected: Vec<usize> = (0..=30).map(|at| 1 + 3 * at).collect();
    assert_eq!(budget, expected, "results get shorter, and every step stays");
}
