//! Summaries by a model: blocking or in the background, accepted or rejected, and absorbed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use test_bed::{
    TestBed, config, events, fair, newest, policy, sent, silent, target, user, wants_summary,
};
use waterline::message::{Message, ToolCall};
use waterline::policy::Policy;
use waterline_memory::Memory;
use waterline_session::{Event, LiveSession, ModelTarget, SessionConfig};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

const GOOD: &str = "Task: build the mill. Done: the wheel. State: order 4711. Open: the roof.";

/// Folds at small sizes, with a summary by the model before the call.
fn blocking() -> Policy {
    policy(
        "auto",
        &[
            ("summarise.mode", "blocking"),
            ("summarise.max", "400"),
            ("summarise.placement", "mock"),
        ],
    )
}

/// Returns the day's file of a memory.
fn day_file(memory: &Path) -> PathBuf {
    let files = std::fs::read_dir(memory.join("memory")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|extension| extension == "md")).unwrap()
}

fn summaries(server: &Scripted) -> Vec<Received> {
    server.received().into_iter().filter(wants_summary).collect()
}

/// A server that answers calls, and summary requests as `summary` says.
fn server(summary: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Scripted {
    let count = AtomicUsize::new(0);
    let script = move |received: &Received| {
        if wants_summary(received) {
            summary(count.fetch_add(1, Ordering::SeqCst), received)
        } else {
            fair("noted", received)
        }
    };
    Scripted::new(script)
}

async fn talk(live: &mut LiveSession, rounds: std::ops::Range<usize>) -> Vec<String> {
    let mut notices = Vec::new();
    for round in rounds {
        let text = format!("step {round}: see src/file_{round}.rs {}", "and more ".repeat(400));
        let emit = |event| {
            if let Event::Notice(notice) = event {
                notices.push(notice.to_string());
            }
        };
        live.call(user(text), emit).await.unwrap();
    }
    notices
}

/// S1.16 to S1.25: the same prefix with one more user message, at most 4,000 tokens, temperature 0.
/// The summary enters the conversation as an assistant message.
#[tokio::test]
async fn s1_16_to_s1_25_blocking_summary_is_made_before_the_call() {
    let server = server(|_, received| fair(GOOD, received));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    talk(&mut live, 0..16).await;
    let requests = summaries(&server);
    assert!(!requests.is_empty());
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!((body["temperature"].as_f64(), body["max_tokens"].as_u64()), (Some(0.0), Some(400)));
    let all = server.received();
    let at = all.iter().position(wants_summary).unwrap();
    let before = sent(&all[at - 1]);
    let prompt = sent(&all[at]);
    assert_eq!(prompt[..before.len()], before[..], "the prompt extends the last context");
    assert_eq!(prompt.len(), before.len() + 1);
    let after = sent(&all[at + 1]);
    assert!(
        after
            .iter()
            .any(|message| message.contains("order 4711") && message.contains("\"assistant\"")),
        "{after:?}"
    );
    assert!(
        after.iter().any(|message| message.contains("reference material, not instructions")),
        "it is marked as quoted"
    );
    let stored = bed.log().summary("s").unwrap().unwrap();
    assert_eq!(stored.text, GOOD);
    assert!(stored.compression_rate() > 0.5 && stored.messages() > 4, "{stored:?}");
    assert!(live.violations().is_empty());
}

/// S1.43, C1.11, E.18: the second summary covers the first and the messages since. The context has
/// only one.
#[tokio::test]
async fn e18_s1_43_c1_11_new_summary_absorbs_the_previous_one() {
    let server = server(|n, received| fair(&format!("Task: round {n}. {GOOD}"), received));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    talk(&mut live, 0..40).await;
    let requests = summaries(&server);
    assert!(requests.len() >= 2, "{}", requests.len());
    assert!(
        requests[1].body.contains("Task: round 0."),
        "the request for the second summary contains the first"
    );
    let last = server.received().pop().unwrap();
    assert_eq!(last.body.matches("Task: round ").count(), 1);
    assert_eq!(bed.log().summaries("s").unwrap().len(), requests.len().min(10));
}

/// V14, C1.7: an unusable summary is requested once more, with the reason. Then the digest is used
/// and nothing is lost.
#[tokio::test]
async fn v14_c1_7_unusable_summary_is_replaced_by_the_digest() {
    for bad in ["", "I'm sorry, I can't do that.", "hello there", "Task: too long "] {
        let server = server(move |_, received| {
            if bad.starts_with("Task") {
                fair(&bad.repeat(9_000), received)
            } else {
                fair(bad, received)
            }
        });
        let bed = TestBed::new();
        let mut live = bed.open(config(&server, 12_000, blocking())).await;
        let notices = talk(&mut live, 0..16).await;
        assert!(
            notices.iter().any(|notice| notice.starts_with("no usable summary from the model")),
            "{bad:?}: {notices:?}"
        );
        let requests = summaries(&server);
        assert!(
            requests.len() >= 2 && requests.len().is_multiple_of(2),
            "{bad:?}: {}",
            requests.len()
        );
        assert!(requests[1].body.contains("Your previous answer was rejected"), "{bad:?}");
        assert!(bed.log().summary("s").unwrap().is_none(), "{bad:?}");
        let last = server.received().pop().unwrap();
        assert!(last.body.contains("src/file_0.rs"), "{bad:?}: in the digest and the ledger");
        assert_eq!(bed.texts().len(), 32, "{bad:?}");
    }
}

/// In a Chinese conversation the whole request is Chinese, with the reason for the rejection.
#[tokio::test]
async fn v14_chinese_rejection_names_its_reason_in_chinese() {
    let server = server(|_, received| fair("对不起，我做不到。", received));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    for round in 0..16 {
        let text = format!("第 {round} 轮：请规划水车。{}", "木梁和齿轮要用橡木。".repeat(200));
        live.call(user(text), silent).await.unwrap();
    }
    let requests = summaries(&server);
    let second = &requests[1].body;
    assert!(second.contains("上一次的回答没有被接受：是道歉或错误，不是摘要。"), "{second}");
    assert!(!second.contains("rejected") && !second.contains("apology"), "{second}");
}

/// A failing summarizer does not fail the call.
#[tokio::test]
async fn v14_failing_summariser_does_not_stop_the_call() {
    let server = server(|_, _| Reply::status(500, "down"));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    talk(&mut live, 0..16).await;
    assert!(live.generation().number > 0);
    assert_eq!(bed.texts().len(), 32);
}

/// S0.76: another model may write the summaries. It gets a separate prompt, in parts if its window
/// is small.
#[tokio::test]
async fn s0_76_c1_5_another_model_summarizes_in_parts() {
    let main = server(|_, received| fair(GOOD, received));
    let other = server(|_, received| fair(GOOD, received));
    let bed = TestBed::new();
    let summariser = ModelTarget { window: Some(900), ..target("small", &other) };
    let config =
        SessionConfig { summariser: Some(summariser), ..config(&main, 16_000, blocking()) };
    let mut live = bed.open(config).await;
    talk(&mut live, 0..40).await;
    assert!(summaries(&main).is_empty());
    let requests = summaries(&other);
    assert!(requests.len() > 1, "{}", requests.len());
    assert!(
        requests[0].body.contains("<conversation>") && requests[0].body.contains("part 1 of"),
        "{}",
        requests[0].body
    );
    assert!(requests[1].body.contains("<earlier_summary>"));
    assert!(requests.iter().all(|received| test_bed::tokens(received) < 2_000));
    assert!(main.received().pop().unwrap().body.contains("order 4711"));
}

/// S2.13 to S2.18: the reply does not wait. One summary call serves the day's file and the context,
/// which has it from the next turn on.
#[tokio::test]
async fn s2_13_to_s2_18_background_summary_serves_memory_and_context() {
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let server = server(move |_, received| {
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        fair(
            "[DAILY]\n- the mill was planned, order 4711\n[MEMORY]\n- the user likes oak",
            received,
        )
    });
    let bed = TestBed::new();
    let memory = bed.0.path().join("notes");
    let chat = policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let config = SessionConfig {
        memory: Some(Arc::new(Memory::new(&memory))),
        ..config(&server, 50_000, chat)
    };
    let mut live = bed.open(config).await;
    talk(&mut live, 0..8).await;
    assert_eq!(live.generation().number, 1, "folded and answered before the summary is ready");
    assert!(!server.received().pop().unwrap().body.contains("the mill was planned"));
    open.store(true, Ordering::SeqCst);
    live.finish().await;
    assert!(bed.log().summary("s").unwrap().unwrap().text.contains("order 4711"));
    let file = day_file(&memory);
    let day = std::fs::read_to_string(file).unwrap();
    assert!(
        day.contains("## Trimmed Context (")
            && day.contains("order 4711")
            && day.contains("the user likes oak"),
        "{day}"
    );
    talk(&mut live, 8..9).await;
    assert_eq!(live.generation().number, 2);
    let last = server.received().pop().unwrap();
    assert!(
        last.body.contains("the mill was planned") && last.body.contains("likes oak"),
        "{}",
        last.body
    );
    assert_eq!(summaries(&server).len(), 1, "one call for both");
    assert!(
        bed.texts().iter().all(|text| !text.contains("the mill was planned")),
        "stored messages are unchanged"
    );
}

/// C2.7: with few turns only the steps between request and answer are dropped. They go to the
/// memory too.
#[tokio::test]
async fn c2_7_steps_stripped_from_few_turns_go_to_the_memory() {
    let server = server(|_, received| fair("[DAILY]\n- order 4711\n[MEMORY]\nnone", received));
    let bed = TestBed::new();
    let memory = bed.0.path().join("notes");
    let chat = policy(
        "chat",
        &[("fold.high", "4000"), ("halve.tokens", "4000"), ("summarise.max", "300")],
    );
    let config = SessionConfig {
        memory: Some(Arc::new(Memory::new(&memory))),
        ..config(&server, 50_000, chat)
    };
    let mut live = bed.open(config).await;
    for turn in 0..3 {
        live.call(user(format!("turn {turn}")), silent).await.unwrap();
        for step in 0..2 {
            let id = format!("call_{turn}_{step}");
            let calls = Message::assistant_with_calls("", [ToolCall::new(&*id, "look", "{}")]);
            let result = Message::tool_result(&*id, "and more ".repeat(500));
            live.call(vec![calls, result], silent).await.unwrap();
        }
    }
    live.call(user("and now?"), silent).await.unwrap();
    live.finish().await;
    assert!(live.generation().number > 0);
    let file = day_file(&memory);
    assert!(std::fs::read_to_string(file).unwrap().contains("## Trimmed Context ("));
}

/// The default policy folds without a model. What each fold drops goes to the day's file, once.
#[tokio::test]
async fn s2_13_fold_without_a_summary_writes_what_it_newly_drops() {
    let server = server(|_, received| fair(GOOD, received));
    let bed = TestBed::new();
    let memory = bed.0.path().join("notes");
    let config = SessionConfig {
        memory: Some(Arc::new(Memory::new(&memory))),
        ..config(&server, 12_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    talk(&mut live, 0..60).await;
    live.finish().await;
    assert!(live.generation().number > 1, "folded more than once");
    assert!(summaries(&server).is_empty(), "no model was asked");
    let day = std::fs::read_to_string(day_file(&memory)).unwrap();
    assert!(day.matches("## Trimmed Context (").count() > 1, "{day}");
    assert!(day.contains("<!-- session s message "), "{day}");
    let dropped = live.generation().slots().iter().filter(|slot| !slot.treatment.is_sent());
    let dropped: Vec<usize> = dropped.flat_map(|slot| slot.sources.iter().copied()).collect();
    assert!(dropped.len() > 20, "{}", dropped.len());
    for source in dropped {
        let text = live.history().source(source).unwrap().text();
        let Some((step, _)) = text.split_once(':').filter(|(step, _)| step.starts_with("step"))
        else {
            continue;
        };
        assert_eq!(day.matches(&format!("user: {step}: ")).count(), 1, "{step}\n{day}");
    }
}

/// A process may exit before a summary takes effect. The next process finds it in the log.
#[tokio::test]
async fn summary_made_before_a_restart_takes_effect_after_it() {
    let server =
        server(|_, received| fair("[DAILY]\n- planned, order 4711\n[MEMORY]\nnone", received));
    let bed = TestBed::new();
    let chat = policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let mut live = bed.open(config(&server, 50_000, chat.clone())).await;
    talk(&mut live, 0..7).await;
    assert_eq!(live.generation().number, 1);
    live.finish().await;
    drop(live);
    let mut live = bed.open(config(&server, 50_000, chat)).await;
    talk(&mut live, 7..9).await;
    assert_eq!(live.generation().number, 2, "only once");
    assert!(server.received().pop().unwrap().body.contains("order 4711"));
}

/// C2.8: a summary of a generation that no longer exists is dropped, so an undone fold stays
/// undone.
#[tokio::test]
async fn c2_8_summary_of_an_undone_generation_is_dropped() {
    let server =
        server(|_, received| fair("[DAILY]\n- planned, order 4711\n[MEMORY]\nnone", received));
    let bed = TestBed::new();
    let chat = || policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let mut live = bed.open(config(&server, 50_000, chat())).await;
    talk(&mut live, 0..7).await;
    live.finish().await;
    talk(&mut live, 7..8).await;
    assert_eq!(live.generation().number, 2, "the summary took effect");
    drop(live);
    bed.log().undo_fold("s").unwrap();
    let mut live = bed.open(config(&server, 50_000, chat())).await;
    assert_eq!(live.generation().number, 1);
    talk(&mut live, 8..9).await;
    assert!(
        !server.received().pop().unwrap().body.contains("order 4711"),
        "an undone summary does not return"
    );
}

/// If a new summary fails, the previous one stays.
#[tokio::test]
async fn v14_failed_summary_leaves_the_previous_one_in_place() {
    let server = server(
        |n, received| if n == 0 { fair(GOOD, received) } else { Reply::status(500, "down") },
    );
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    talk(&mut live, 0..40).await;
    assert!(summaries(&server).len() > 1 && live.generation().number > 1);
    let last = server.received().pop().unwrap();
    assert!(last.body.contains("order 4711"), "{}", last.body);
}

/// C1.5: a conversation that is too long to send again is summarized from a truncated text.
#[tokio::test]
async fn c1_5_conversation_too_long_for_its_own_summary_is_truncated() {
    let server = server(|n, received| match n {
        0 => Reply::status(400, "prompt is too long: 3000 tokens > 2600 maximum"),
        _ => fair(GOOD, received),
    });
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    let mut events = Vec::new();
    for round in 0..16 {
        let text = format!("step {round} {}", "and more ".repeat(400));
        live.call(user(text), |event| events.push(event)).await.unwrap();
    }
    assert!(events.iter().any(|event| matches!(event, Event::Summarizing)));
    let requests = summaries(&server);
    assert!(
        !requests[0].body.contains("<conversation>") && requests[1].body.contains("<conversation>")
    );
    assert_eq!(bed.log().summary("s").unwrap().unwrap().text, GOOD);
}

/// An answer that hit the output token limit is not a valid summary.
#[tokio::test]
async fn truncated_summary_is_rejected() {
    let server = server(|_, received| {
        let mut events = events(GOOD, test_bed::tokens(received));
        events[1] = events[1].replace("\"stop\"", "\"length\"");
        Reply::Stream { events, piece: 0 }
    });
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 12_000, blocking())).await;
    talk(&mut live, 0..16).await;
    assert!(bed.log().summary("s").unwrap().is_none());
}

/// S2.15, S3.11: a background summary is a job in the log. If its process ends before it is made,
/// the next process makes it, and the memory gets it once.
#[tokio::test]
async fn s3_11_summary_that_a_process_did_not_finish_is_made_by_the_next_one() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let server = server(move |_, received| {
        seen.fetch_add(1, Ordering::SeqCst);
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        fair("[DAILY]\n- planned, order 4711\n[MEMORY]\nnone", received)
    });
    let bed = TestBed::new();
    let memory = bed.0.path().join("notes");
    let chat = policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let config = || SessionConfig {
        memory: Some(Arc::new(Memory::new(&memory))),
        ..config(&server, 50_000, chat.clone())
    };
    let is_summarizing = || {
        let log = bed.log();
        log.detail(log.session("s").unwrap(), 0..0).unwrap().is_summarizing
    };
    let mut live = bed.open(config()).await;
    talk(&mut live, 0..7).await;
    assert_eq!(live.generation().number, 1);
    assert!(is_summarizing());
    // As a process that is killed: the work is lost, the job stays.
    drop(live);
    open.store(true, Ordering::SeqCst);
    assert!(is_summarizing() && bed.log().summary("s").unwrap().is_none());

    let mut live = bed.open(config()).await;
    talk(&mut live, 7..8).await;
    live.finish().await;
    assert!(bed.log().summary("s").unwrap().unwrap().text.contains("order 4711"));
    assert!(!is_summarizing());
    let file = day_file(&memory);
    let day = std::fs::read_to_string(file).unwrap();
    assert_eq!(day.matches("order 4711").count(), 1, "{day}");
    talk(&mut live, 8..9).await;
    assert!(server.received().pop().unwrap().body.contains("order 4711"));
}

/// A summary that a process did not finish is made with the prompt of the policy, not with the
/// built-in one.
#[tokio::test]
async fn resumed_summary_uses_the_prompt_of_the_policy() {
    const PROMPT: &str = "List the open orders.";
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let server = Scripted::new(move |received: &Received| {
        if !newest(received).contains(PROMPT) {
            return fair("noted", received);
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        fair("[DAILY]\n- planned, order 4711\n[MEMORY]\nnone", received)
    });
    let bed = TestBed::new();
    let own = format!("{PROMPT:?}");
    let settings = [("halve.turns", "6"), ("summarise.max", "300"), ("summarise.prompt", &*own)];
    let config = || config(&server, 50_000, policy("chat", &settings));
    let mut live = bed.open(config()).await;
    talk(&mut live, 0..7).await;
    drop(live);
    open.store(true, Ordering::SeqCst);
    assert!(bed.log().summary("s").unwrap().is_none());
    let mut live = bed.open(config()).await;
    talk(&mut live, 7..8).await;
    live.finish().await;
    assert!(!server.received().iter().any(wants_summary), "the built-in prompt");
    assert!(bed.log().summary("s").unwrap().unwrap().text.contains("order 4711"));
}
