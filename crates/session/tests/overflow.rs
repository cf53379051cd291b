//! Contexts that do not fit: rejected, silently truncated, or answered until the window is full;
//! and folding that does not help.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use test_bed::{TestBed, config, events, fair, newest, policy, silent, tokens, user, whole};
use waterline::message::{Message, Role, ToolCall};
use waterline::reason::Reason;
use waterline_memory::Memory;
use waterline_session::{Event, RetryReason, SessionConfig};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

fn day(bed: &TestBed) -> String {
    let directory = bed.0.path().join("notes/memory");
    let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    std::fs::read_to_string(file).unwrap()
}

/// S2.22 to S2.25, C2.6, E.19: memory first, then folds that keep less and less. Each is a recorded
/// generation, at most three.
#[tokio::test]
async fn s2_22_to_s2_25_e19_overflow_folds_harder_and_records_each_fold() {
    let limit = 1_500;
    let server = Scripted::new(move |received: &Received| {
        if tokens(received) > limit {
            // Without numbers, so the window must be guessed.
            return Reply::status(400, "Please reduce the length of the messages or completion.");
        }
        fair("done", received)
    });
    let bed = TestBed::new();
    let memory = Memory::new(bed.0.path().join("notes"));
    let config = SessionConfig {
        memory: Some(Arc::new(memory)),
        ..config(&server, 100_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    for round in 0..12 {
        live.call(
            user(format!("step {round}: see src/file_{round}.rs {}", "and more ".repeat(60))),
            silent,
        )
        .await
        .unwrap();
    }
    let log = bed.log();
    let folds = log.generations("s").unwrap();
    assert!(
        matches!(folds[0].fold.reasons.iter().next(), Some(Reason::Rejected { .. })),
        "{:?}",
        folds[0].fold.reasons
    );
    assert!(folds.iter().all(|fold| fold.fold.tokens_after < fold.fold.tokens_before));
    assert_eq!(bed.texts().len(), 24, "the stored history is unchanged");
    let text = day(&bed);
    assert!(text.contains("## Context Overflow Recovery (") && text.contains("step 0"), "{text}");
    assert!(live.violations().is_empty());
    assert!(newest(&server.received().pop().unwrap()).contains("step 11"));
}

/// Returns the bytes of the artifact that a request names.
fn named_artifact(bed: &TestBed, body: &str) -> Vec<u8> {
    let id = body.split_once("full text in artifact ").unwrap().1.split(' ').next().unwrap();
    let stored = bed.log().artifacts("s").unwrap();
    let named = stored.iter().find(|artifact| artifact.hash.starts_with(id)).unwrap();
    bed.log().artifact(&named.hash).unwrap()
}

/// E.20: a message larger than the window still gets an answer. Its full text is an artifact that
/// the context names.
#[tokio::test]
async fn e20_message_larger_than_the_window_is_truncated_with_an_artifact() {
    let server = Scripted::new(|received: &Received| fair("long, that was", received));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 2_000).await;
    let long =
        format!("begin {} end", (0..6_000).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
    live.call(user(&*long), silent).await.unwrap();
    let request = server.received().pop().unwrap();
    assert!(tokens(&request) < 2_600, "{}", tokens(&request));
    let text = newest(&request);
    assert!(text.contains("begin") && text.contains("end"), "head and tail: {text}");
    assert_eq!(named_artifact(&bed, &text), long.as_bytes());
    assert_eq!(bed.texts()[0], long, "stored unchanged");
    let before = server.received().len();
    live.call(user("and now?"), silent).await.unwrap();
    assert_eq!(server.received().len(), before + 1, "no loop");
}

/// A provider that silently reads only the end of a prompt is detected by its usage report.
#[tokio::test]
async fn silently_truncated_prompt_is_detected_and_folded() {
    let server =
        Scripted::new(|received: &Received| whole("invented", tokens(received).min(2_000)));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    let mut seen = Vec::new();
    for round in 0..12 {
        live.call(user(format!("step {round} {}", "and more ".repeat(150))), |event| {
            seen.push(event)
        })
        .await
        .unwrap();
    }
    let retried = seen
        .iter()
        .any(|event| matches!(event, Event::Retry { why: RetryReason::PromptTruncated, .. }));
    assert!(retried, "the truncation was detected");
    assert!(live.window() <= 2_000, "{}", live.window());
    assert!(tokens(&server.received().pop().unwrap()) <= 2_000, "the next prompt fits");
    assert_eq!(bed.texts().len(), 24);
}

/// If our counter counts twice as much as the provider, it is corrected. That is not a truncation.
#[tokio::test]
async fn wrong_counter_is_not_a_truncation() {
    let server = Scripted::new(|received: &Received| whole("fine", received.body.len() / 9));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    for round in 0..12 {
        live.call(user(format!("step {round} {}", "and more ".repeat(300))), silent).await.unwrap();
    }
    assert_eq!(live.window(), 100_000);
    assert_eq!(live.generation().number, 0, "nothing was folded");
}

/// An answer that ends because the window is full is not complete.
#[tokio::test]
async fn answer_that_fills_the_window_is_retried() {
    let count = AtomicUsize::new(0);
    let server = Scripted::new(move |received: &Received| {
        match count.fetch_add(1, Ordering::SeqCst) {
            8 => {
                let mut events = events("the beginning of", tokens(received));
                events[1] =
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "model_context_window_exceeded"}]})
                    .to_string();
                Reply::Stream { events, piece: 0 }
            }
            _ => fair("whole", received),
        }
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    for round in 0..9 {
        live.call(user(format!("step {round} {}", "and more ".repeat(100))), silent).await.unwrap();
    }
    assert_eq!(server.received().len(), 10);
    assert!(bed.texts().iter().all(|text| !text.contains("the beginning of")));
    assert_eq!(
        bed.log().search("beginning", None, 3).unwrap().len(),
        1,
        "it is kept on a side branch"
    );
}

/// Tool results that fill the window at each step: folds get harder, then the user is warned, and
/// every call succeeds.
#[tokio::test]
async fn ineffective_folds_get_harder_and_warn_once() {
    let call = |n: usize| {
        let chunk = json!({"index": 0, "id": format!("call_{n}"), "type": "function", "function": {"name": "look", "arguments": "{}"}});
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [chunk]}, "finish_reason": Value::Null}]})
    };
    let count = AtomicUsize::new(0);
    let server = Scripted::new(move |received: &Received| {
        let mut events = events("", tokens(received));
        events[0] = call(count.fetch_add(1, Ordering::SeqCst)).to_string();
        events[1] = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
            .to_string();
        Reply::Stream { events, piece: 0 }
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 3_000).await;
    let mut notices = 0;
    let mut retries: Vec<String> = Vec::new();
    let mut next = user("look at everything");
    for step in 0..14 {
        let answer = live
            .call(next, |event| match event {
                Event::Notice(_) => notices += 1,
                Event::Retry { why, .. } => retries.push(why.to_string()),
                _ => {}
            })
            .await
            .unwrap();
        let id = answer.messages[0].calls().next().unwrap().id.clone();
        let words: Vec<String> = (0..900).map(|n| format!("line_{step}_{n}")).collect();
        next = vec![Message::tool_result(id, words.join(" "))];
    }
    assert_eq!(notices, 1, "one warning");
    assert_eq!(server.received().len(), 14, "one request per call, but: {retries:?}");
    assert!(live.violations().is_empty(), "{:?}", live.violations());
    let folds = bed.log().generations("s").unwrap();
    assert!(
        folds.iter().flat_map(|fold| &fold.fold.reasons).any(|why| *why == Reason::NotEnough),
        "{folds:?}"
    );
    let roles: Vec<Role> =
        live.generation().context(live.history()).map(|message| message.role).collect();
    assert!(roles.contains(&Role::User), "the task is still in the context: {roles:?}");
}

/// Providers drop old thinking from the next prompt. That is not a truncation.
#[tokio::test]
async fn dropped_thinking_is_not_a_truncation() {
    let server = Scripted::new(|received: &Received| {
        // The server's report does not count thinking.
        let body: Value = serde_json::from_str(&received.body).unwrap();
        let chars: usize = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["content"].as_str().map_or(0, str::len))
            .sum();
        let mut events = events("yes", 2_000 + chars / 4);
        let thought = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "let me think ".repeat(400)}}]});
        events.insert(0, thought.to_string());
        Reply::Stream { events, piece: 0 }
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    for round in 0..8 {
        live.call(user(format!("step {round} {}", "and more ".repeat(60))), silent).await.unwrap();
    }
    assert_eq!(server.received().len(), 8, "no call was retried");
    assert_eq!((live.window(), live.generation().number), (100_000, 0));
}

/// An error without text may have had another reason, so the guessed window is dropped after the
/// call.
#[tokio::test]
async fn guessed_window_lasts_for_one_call() {
    let count = AtomicUsize::new(0);
    let server =
        Scripted::new(move |received: &Received| match count.fetch_add(1, Ordering::SeqCst) {
            5 => Reply::status(413, ""),
            _ => fair("fine", received),
        });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    for round in 0..6 {
        live.call(user(format!("step {round} {}", "and more ".repeat(200))), silent).await.unwrap();
    }
    assert!(live.window() < 100_000, "a guess, for this call: {}", live.window());
    live.call(user("and now?"), silent).await.unwrap();
    assert_eq!(live.window(), 100_000);
}

/// Of parallel results, the truncated one has an artifact with its full text.
#[tokio::test]
async fn each_truncated_result_has_its_own_artifact() {
    let server = Scripted::new(|received: &Received| fair("fine", received));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 2_000).await;
    let call = |id: &str| {
        Message::assistant_with_calls("", [ToolCall::new(id, "look", "{}")]).parts.remove(0)
    };
    let calls = Message::new(Role::Assistant, vec![call("a"), call("b")]);
    let long: Vec<String> = (0..4_000).map(|n| format!("b_{n}")).collect();
    let results = [Message::tool_result("a", "short"), Message::tool_result("b", long.join(" "))];
    let mut new = user("look at both");
    new.push(calls);
    new.extend(results);
    live.call(new, silent).await.unwrap();
    let body = server.received().pop().unwrap().body;
    assert_eq!(named_artifact(&bed, &body), long.join(" ").as_bytes());
}

/// An output that `cap` truncates on arrival names its artifact, and the log has it.
#[tokio::test]
async fn capped_output_has_an_artifact_with_its_full_text() {
    let server = Scripted::new(|received: &Received| fair("fine", received));
    let bed = TestBed::new();
    let text = "name = \"capped\"\nabout = \"\"\nstages = [\"repair\", \"cap\", \"window\"]\n[cap]\nmax = 300\n";
    let capped = waterline::policy::Policy::read(text, &[]).unwrap();
    let mut live = bed.open(config(&server, 50_000, capped)).await;
    let long: Vec<String> = (0..4_000).map(|n| format!("b_{n}")).collect();
    let mut new = user("look");
    new.extend([
        Message::assistant_with_calls("", [ToolCall::new("a", "look", "{}")]),
        Message::tool_result("a", long.join(" ")),
    ]);
    live.call(new, silent).await.unwrap();
    let body = server.received().pop().unwrap().body;
    assert_eq!(named_artifact(&bed, &body), long.join(" ").as_bytes());
    assert_eq!(bed.log().artifacts("s").unwrap().len(), 1);
}

/// A server that always reports few prompt tokens must not lead to prompts above the window.
#[tokio::test]
async fn low_usage_reports_do_not_widen_the_window() {
    for honest in [true, false] {
        let server = Scripted::new(move |received: &Received| {
            whole(&"an answer ".repeat(20), if honest { tokens(received) } else { 100 })
        });
        let bed = TestBed::new();
        let mut live = bed.live(&server, 6_000).await;
        for round in 0..60 {
            live.call(user(format!("step {round}: {}", "and more ".repeat(60))), silent)
                .await
                .unwrap();
        }
        let largest = server.received().iter().map(tokens).max().unwrap();
        assert!(largest <= 6_000, "honest: {honest}, largest prompt: {largest}");
    }
}

/// An answer that is dropped because the window was full was paid for.
#[tokio::test]
async fn the_usage_of_a_dropped_answer_is_recorded() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let server = Scripted::new(move |received: &Received| {
        let mut events = events("an answer", tokens(received));
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            events[1] = events[1].replace("stop", "model_context_window_exceeded");
        }
        Reply::Stream { events, piece: 0 }
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 6_000).await;
    live.call(user("look at it ".repeat(200)), silent).await.unwrap();
    let usage = bed.log().usage("s").unwrap();
    assert_eq!((calls.load(Ordering::SeqCst), usage.len()), (2, 2));
    assert!(usage.iter().all(|call| call.input > 0), "{usage:?}");
}

/// What one refusal showed is kept for other sessions, but the user may know better: the server
/// may have been restarted with a larger window.
#[tokio::test]
async fn a_window_that_the_user_sets_wins_until_the_server_refuses_again() {
    let limit = Arc::new(AtomicUsize::new(8_192));
    let current = Arc::clone(&limit);
    let server = Scripted::new(move |received: &Received| {
        let limit = current.load(Ordering::SeqCst);
        if tokens(received) > limit {
            return Reply::status(400, format!("maximum context length is {limit} tokens"));
        }
        fair("done", received)
    });
    let bed = TestBed::new();
    let unset = |server: &Scripted| {
        let mut config = config(server, 20_000, policy("auto", &[]));
        config.model.window = None;
        config
    };
    let mut first = bed.open(config(&server, 20_000, policy("auto", &[]))).await;
    first.call(user("word ".repeat(12_000)), silent).await.unwrap();
    assert_eq!(first.learned_window(), Some(8_192));
    assert!(first.window() < 8_192, "{}", first.window());
    drop(first);
    let second = bed.open(unset(&server)).await;
    assert_eq!(second.learned_window(), Some(8_192), "without a setting it is still known");
    drop(second);
    let mut third = bed.open(config(&server, 20_000, policy("auto", &[]))).await;
    assert_eq!((third.learned_window(), third.window()), (None, 20_000));
    third.call(user("and now?"), silent).await.unwrap();
    assert_eq!(third.window(), 20_000);
    limit.store(100, Ordering::SeqCst);
    drop(third.call(user("word ".repeat(500)), silent).await);
    assert_eq!(third.learned_window(), Some(100));
}
