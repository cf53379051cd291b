//! Consecutive calls against a model server with faults, on a real log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use test_bed::{
    TestBed, config, events, newest, policy, sent, silent, target, tokens, user, whole,
};
use waterline::message::Message;
use waterline_log::Session;
use waterline_provider::answer::Delta;
use waterline_provider::wire::{Shape, Tool};
use waterline_session::{
    Event, Level, LiveSession, ModelTarget, Price, Rates, SessionConfig, SessionError,
};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply, bytes};

/// Sends the deltas among the events of a call.
fn send_delta(sender: &tokio::sync::mpsc::UnboundedSender<Event>, event: Event) {
    if matches!(event, Event::Delta(_)) {
        drop(sender.send(event));
    }
}

#[tokio::test]
async fn call_stores_the_question_and_the_answer() {
    let server = Scripted::new(|_| whole("fine", 12));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let mut seen = Vec::new();
    let before = live.log().writes();
    let answer = live.call(user("how are you?"), |event| seen.push(event)).await.unwrap();
    assert_eq!(live.log().writes() - before, 2, "one flush before the request, one after it");
    assert_eq!(answer.messages[0].text(), "fine");
    assert!(
        matches!(
            seen.as_slice(),
            [Event::Sending { .. }, Event::Responds, Event::Delta(Delta::Text(text)), ..]
                if text == "fine"
        ),
        "{seen:?}"
    );
    assert_eq!(bed.texts(), ["how are you?", "fine"]);
    let usage = bed.log().usage("s").unwrap();
    assert_eq!((usage[0].position, usage[0].input, usage[0].output), (2, 12, 5));
    assert_eq!(bed.log().request_context("s").unwrap().unwrap().head.covered, 1);
}

/// Between folds every request is a prefix of the next, even across restarts.
#[tokio::test]
async fn contexts_only_grow_even_across_restarts() {
    let server = Scripted::new(|_| whole("yes", 50));
    let bed = TestBed::new();
    for round in 0..6 {
        // A new process each time.
        let mut live = bed.live(&server, 100_000).await;
        live.call(user(format!("question {round}")), silent).await.unwrap();
    }
    let requests: Vec<Vec<String>> = server.received().iter().map(sent).collect();
    assert_eq!(requests.last().unwrap().len(), 11);
    for pair in requests.windows(2) {
        assert_eq!(pair[1][..pair[0].len()], pair[0][..]);
    }
}

/// A server with a small window rejects prompts until one fits. The window is known from then on.
#[tokio::test]
async fn overflow_reveals_the_window_and_the_call_succeeds() {
    let server = Scripted::new(move |received| {
        let prompt = tokens(received);
        if prompt > 2_000 {
            let message = format!(
                "request ({prompt} tokens) exceeds the available context size (2000 tokens), try \
                 increasing it"
            );
            return Reply::status(400, json!({"error": {"message": message}}).to_string());
        }
        whole("done", prompt)
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    for round in 0..30 {
        live.call(
            user(format!("step {round}: look at src/file_{round}.rs {}", "and more ".repeat(60))),
            silent,
        )
        .await
        .unwrap();
    }
    assert!(live.window() <= 2_000, "{}", live.window());
    assert!(live.violations().is_empty(), "{:?}", live.violations());
    assert_eq!(bed.texts().len(), 60, "the stored history is unchanged");
    assert!(!bed.log().generations("s").unwrap().is_empty());
    let refused = server.received().iter().filter(|received| tokens(received) > 2_000).count();
    assert!(refused <= 3, "{refused} requests were too long");
    let last = server.received().pop().unwrap();
    assert!(last.body.contains("step 29"), "the newest message survives");
}

#[tokio::test]
async fn persistent_overflow_returns_the_providers_error() {
    let server = Scripted::new(|_| Reply::status(400, "prompt is too long: 9 tokens > 8 maximum"));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(user("hi"), silent).await.unwrap_err();
    assert!(matches!(&error, SessionError::Call(inner) if inner.overflow().is_some()), "{error}");
    assert_eq!(server.received().len(), 4, "three retries, each with a smaller context");
    assert_eq!(bed.texts(), ["hi"], "the message is stored");
}

#[tokio::test]
async fn transient_errors_are_retried() {
    let count = AtomicUsize::new(0);
    let server = Scripted::new(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::status(529, "overloaded"),
        1 => Reply::status(429, "slow down"),
        _ => whole("at last", 9),
    });
    let bed = TestBed::new();
    bed.live(&server, 10_000).await.call(user("hi"), silent).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "at last"]);
    let requests: Vec<Vec<String>> = server.received().iter().map(sent).collect();
    assert!(
        requests.iter().all(|request| *request == requests[0]),
        "each retry sends the same bytes"
    );
}

/// How llama.cpp reports a tool call that it cannot parse.
fn unparsed_call() -> Reply {
    let message = "Failed to parse tool call arguments as JSON";
    Reply::status(500, json!({"error": {"code": 500, "message": message}}).to_string())
}

/// A model that writes a call wrongly does so again if it is asked the same. After one retry it is
/// told; the note is part of that call only.
#[tokio::test]
async fn model_is_told_that_its_call_could_not_be_parsed() {
    let is_told = |received: &Received| received.body.contains("could not parse your last tool");
    let server = Scripted::new(move |received| match is_told(received) {
        false if !received.body.contains("corrected") => unparsed_call(),
        _ => whole("corrected", 9),
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    live.call(user("hi"), silent).await.unwrap();
    live.call(user("more"), silent).await.unwrap();
    let told: Vec<bool> = server.received().iter().map(is_told).collect();
    assert_eq!(told, [false, false, true, false]);
    assert_eq!(bed.texts(), ["hi", "corrected", "more", "corrected"]);
}

#[tokio::test]
async fn fallback_model_takes_over_when_calls_cannot_be_parsed() {
    let broken = Scripted::new(|_| unparsed_call());
    let up = Scripted::new(|_| whole("here", 9));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![target("other", &up)],
        ..config(&broken, 10_000, policy("auto", &[]))
    };
    bed.open(config).await.call(user("hi"), silent).await.unwrap();
    assert_eq!((broken.received().len(), up.received().len()), (4, 1));
    assert!(!up.received()[0].body.contains("could not parse"), "it did not write that call");
    // Without another model, the number of attempts is bounded too.
    let bed = TestBed::new();
    let error = bed.live(&broken, 10_000).await.call(user("hi"), silent).await.unwrap_err();
    assert!(error.to_string().contains("parse tool call"), "{error}");
    assert_eq!(broken.received().len(), 8);
}

#[tokio::test]
async fn permanent_error_is_returned_at_once() {
    let server = Scripted::new(|_| Reply::status(401, r#"{"error":{"message":"no such key"}}"#));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(user("hi"), silent).await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), server.received().len()),
        ("authentication failed (401): no such key; check the API key", 1)
    );
}

/// If a stream is interrupted, the partial answer is kept on a side branch and the call is retried.
#[tokio::test]
async fn interrupted_answer_is_kept_and_retried() {
    let count = AtomicUsize::new(0);
    let server = Scripted::new(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let events = events("half an ans", 9);
            let at = bytes(&events[..1]).len() + 3;
            Reply::Cut { events, at }
        }
        _ => whole("whole answer", 9),
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    live.call(user("hi"), silent).await.unwrap();
    live.call(user("more"), silent).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "whole answer", "more", "whole answer"]);
    let log = bed.log();
    assert_eq!(log.search("half", None, 3).unwrap().len(), 1);
    assert_eq!(log.branches("s").unwrap().len(), 2);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    assert!(server.received().iter().all(|received| !received.body.contains("half an ans")));
}

#[tokio::test]
async fn empty_conversation_makes_no_call() {
    let server = Scripted::new(|_| whole("?", 1));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(Vec::new(), silent).await.unwrap_err();
    assert!(matches!(error, SessionError::Empty) && server.received().is_empty());
}

/// After three retries the next model of the list is called, and stays the current one.
#[tokio::test]
async fn fallback_model_takes_over_when_the_first_keeps_failing() {
    let down = Scripted::new(|_| Reply::status(503, "overloaded"));
    let up = Scripted::new(|_| whole("here", 9));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![target("other", &up)],
        ..config(&down, 10_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    let mut seen = Vec::new();
    live.call(user("hi"), |event| seen.push(event)).await.unwrap();
    live.call(user("again"), silent).await.unwrap();
    assert_eq!((down.received().len(), up.received().len()), (4, 2), "three retries, then none");
    let fell_back = |event: &Event| matches!(event, Event::Model(model) if model == "other");
    assert!(seen.iter().any(fell_back), "{seen:?}");
    assert_eq!(bed.texts(), ["hi", "here", "again", "here"]);
    let models: Vec<String> =
        bed.log().usage("s").unwrap().into_iter().map(|usage| usage.model).collect();
    assert_eq!(models, ["other", "other"]);
}

/// An invalid request would fail with every model.
#[tokio::test]
async fn invalid_request_is_not_sent_to_the_fallback() {
    let down =
        Scripted::new(|_| Reply::status(400, r#"{"error":{"message":"no such parameter"}}"#));
    let up = Scripted::new(|_| whole("here", 9));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![target("other", &up)],
        ..config(&down, 10_000, policy("auto", &[]))
    };
    let error = bed.open(config).await.call(user("hi"), silent).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid request (400): no such parameter");
    assert!(up.received().is_empty());
}

/// A server that does not support the shape of an answer is called without it from then on, and
/// the user gets one notice.
#[tokio::test]
async fn rejected_shape_is_dropped_with_one_notice() {
    let server =
        Scripted::new(|received: &Received| match received.body.contains("response_format") {
            true => Reply::status(
                400,
                r#"{"error":{"message":"response_format: json_schema is not known here"}}"#,
            ),
            false => whole("{}", 9),
        });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let shape = Shape::Schema { schema: r#"{"type":"object"}"#.to_owned(), strict: None };
    live.answer_as(Some(shape.clone()), false);
    let mut seen = Vec::new();
    live.call(user("hi"), |event| seen.push(event)).await.unwrap();
    live.call(user("again"), |event| seen.push(event)).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "{}", "again", "{}"]);
    let had_shape: Vec<bool> =
        server.received().iter().map(|one| one.body.contains("response_format")).collect();
    assert_eq!(had_shape, [true, false, false]);
    let expected = "does not support structured output";
    let is_notice = |event: &&Event| matches!(event, Event::Notice(notice) if notice.to_string().contains(expected));
    assert_eq!(seen.iter().filter(is_notice).count(), 1, "{seen:?}");
    // Another error of a call with a shape is returned unchanged.
    let down =
        Scripted::new(|_| Reply::status(400, r#"{"error":{"message":"no such parameter"}}"#));
    let mut live = bed.live(&down, 10_000).await;
    live.answer_as(Some(shape), false);
    assert_eq!(
        live.call(user("hi"), silent).await.unwrap_err().to_string(),
        "invalid request (400): no such parameter"
    );
}

/// If a server cannot combine tools with a shape, the tools have priority until only the answer is
/// needed.
#[tokio::test]
async fn shape_is_not_sent_while_tools_are_needed() {
    let server = Scripted::new(|_| whole("{}", 9));
    let bed = TestBed::new();
    let tool = Tool { name: "look".to_owned(), description: None, schema: None };
    let mut live = bed
        .open(SessionConfig { tools: vec![tool], ..config(&server, 10_000, policy("auto", &[])) })
        .await;
    for insists in [false, true] {
        live.answer_as(Some(Shape::Object), insists);
        live.call(user("hi"), silent).await.unwrap();
    }
    live.answer_as(None, true);
    live.call(user("hi"), silent).await.unwrap();
    let had_shape: Vec<bool> =
        server.received().iter().map(|one| one.body.contains("json_object")).collect();
    assert_eq!(had_shape, [false, true, false]);
}

/// The partial answer of a cancelled call stays in the conversation, so the next message can refer
/// to it.
#[tokio::test]
async fn cancelled_answer_stays_with_a_marker() {
    let server = Scripted::new(|received: &Received| match newest(received).as_str() {
        "explain" => Reply::Stall { events: events("first the wheel", 9), after: 1 },
        _ => whole("whole", 9),
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::select! {
        answer = live.call(user("explain"), move |event| send_delta(&sender, event)) => panic!("{answer:?}"),
        _ = receiver.recv() => {}
    }
    live.keep_partial("[stopped]").await.unwrap();
    live.call(user("and then?"), silent).await.unwrap();
    assert!(server.received().pop().unwrap().body.contains("first the wheel\\n\\n[stopped]"));
    live.keep_partial("[stopped]").await.unwrap();
    assert_eq!(bed.texts().len(), 4, "without a partial answer nothing is kept: {:?}", bed.texts());
}

/// Dropping a call at any moment leaves a valid log, the session can continue, and the partial
/// answer is kept.
#[tokio::test]
async fn call_can_be_cancelled_at_any_moment() {
    let server = Scripted::new(|received: &Received| match newest(received).strip_prefix("try ") {
        Some(round) if round.len() == 1 => {
            Reply::Stall { events: events(&format!("half an ans{round}"), 9), after: 1 }
        }
        Some(_) => Reply::Hang,
        None => whole("whole", 9),
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    for round in 0..20_u64 {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let call = live.call(user(format!("try {round}")), move |event| send_delta(&sender, event));
        // The first half is cancelled after the first delta, the others earlier and earlier, down
        // to immediately.
        let cancelled = async {
            if round < 10 {
                receiver.recv().await;
            } else {
                tokio::time::sleep(std::time::Duration::from_micros((19 - round) * 300)).await;
            }
        };
        tokio::select! {
            biased;
            outcome = call => panic!("{outcome:?}"),
            () = cancelled => {}
        }
    }
    live.call(user("the last"), silent).await.unwrap();
    let log = bed.log();
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    let texts = bed.texts();
    assert_eq!(
        texts[..10],
        (0..10).map(|n| format!("try {n}")).collect::<Vec<_>>(),
        "the messages are stored"
    );
    assert_eq!(texts[texts.len() - 2..], ["the last", "whole"]);
    let kept = |n: usize| log.search(&format!("ans{n}"), None, 2).unwrap().len();
    assert_eq!(
        (0..10).map(kept).collect::<Vec<_>>(),
        [1; 10],
        "partial answers are kept on side branches"
    );
    assert!(server.received().iter().all(|received| !received.body.contains("half an ans")));
}

/// S4.24 to S4.33: both tracks end with the same messages, and the full track is the stored one.
#[tokio::test]
async fn s4_24_to_s4_33_full_track_keeps_everything_and_both_tracks_end_alike() {
    let server = Scripted::new(|_| whole("noted", 0));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 100_000, policy("dual-track", &[]))).await;
    for round in 0..40 {
        live.call(user(format!("message {round} {}", "and so on ".repeat(20))), silent)
            .await
            .unwrap();
        let last = server.received().pop().unwrap();
        assert!(newest(&last).starts_with(&format!("message {round} ")), "the new message is sent");
    }
    assert_eq!(bed.texts().len(), 80, "nothing is missing");
    assert!(live.generation().number > 0, "the other track was compressed");
    let last = server.received().pop().unwrap();
    assert!(sent(&last).len() <= 31, "{}", sent(&last).len());
    assert!(live.violations().is_empty());
}

#[tokio::test]
async fn usage_prices_and_levels_are_recorded() {
    let server = Scripted::new(|_| whole("fine", 900));
    let bed = TestBed::new();
    let mut config = config(&server, 1_000, policy("auto", &[]));
    config.model = ModelTarget {
        price: Some(Price::flat(Rates::from_input(3.0, &config.model.about))),
        ..config.model
    };
    let mut live = bed.open(config).await;
    assert_eq!(live.level(), Level::Normal);
    live.call(user("word ".repeat(400)), silent).await.unwrap();
    let usage = bed.log().usage("s").unwrap().remove(0);
    assert_eq!(usage.price, Some((900 + 5 * 5) * 3), "millionths");
    assert!(usage.latency.is_some());
    assert!(live.level() >= Level::Info, "{}", live.level());
}

/// A window that the provider reported applies to every later session that sets none.
#[tokio::test]
async fn reported_window_is_known_to_the_next_session() {
    let server = Scripted::new(|received: &Received| {
        let prompt = tokens(received);
        if prompt > 3_000 {
            return Reply::status(
                400,
                format!("prompt is too long: {prompt} tokens > 3000 maximum"),
            );
        }
        whole("done", prompt)
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 100_000).await;
    live.call(vec![Message::user("x y z ".repeat(4_000))], silent).await.unwrap();
    assert!(live.window() <= 3_000);
    bed.log().create(Session::new("other")).unwrap();
    let mut config = config(&server, 100_000, policy("auto", &[]));
    config.model.window = None;
    let other = LiveSession::open(bed.log(), "other", config).await.unwrap();
    assert!(other.window() <= 3_000, "{}", other.window());
}

/// If all models fail, the next call starts with the first model again.
#[tokio::test]
async fn first_model_is_called_again_after_all_models_failed() {
    let is_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = std::sync::Arc::clone(&is_up);
    let first = Scripted::new(move |_| {
        if switch.load(Ordering::SeqCst) { whole("back", 9) } else { Reply::status(401, "no") }
    });
    let second = Scripted::new(|_| Reply::status(401, "no"));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![target("other", &second)],
        ..config(&first, 10_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    live.call(user("hi"), silent).await.unwrap_err();
    is_up.store(true, Ordering::SeqCst);
    live.call(Vec::new(), silent).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "back"]);
}

/// Two processes in one session: the later one gets a conflict error, and its answer is kept.
#[tokio::test]
async fn answer_after_a_conflicting_append_is_kept_in_a_fork() {
    let bed = TestBed::new();
    let log = bed.log();
    let server = Scripted::new(move |received: &Received| {
        if newest(received) == "mine" {
            let tip = log.session("s").unwrap().tip;
            let counter = waterline::tokens::Counter::default();
            let other = waterline_log::Incoming::of(&Message::user("another process"), &counter);
            log.append("s", tip, vec![other]).unwrap();
        }
        whole("the answer", 9)
    });
    let mut live = bed.live(&server, 10_000).await;
    let error = live.call(user("mine"), silent).await.unwrap_err();
    assert!(
        matches!(error, SessionError::Log(waterline_log::LogError::Conflict { .. })),
        "{error}"
    );
    assert_eq!(bed.texts(), ["mine", "another process"]);
    assert_eq!(bed.log().search("answer", None, 3).unwrap().len(), 1, "nothing is lost");
    live.call(user("again"), silent).await.unwrap();
    assert_eq!(bed.texts(), ["mine", "another process", "again", "the answer"]);
}

/// Calls with one key reach the machine that has the common beginning of their prompts: sessions
/// of a project share a key, and it does not reveal the session.
#[tokio::test]
async fn sessions_with_the_same_prompt_share_the_key_of_the_cache() {
    let server = Scripted::new(|_| whole("fine", 0));
    let key_of = async |prompt: &str| {
        let bed = TestBed::new();
        let mut live = bed.live(&server, 100_000).await;
        let messages = vec![Message::system(prompt), Message::user(waterline_log::new_id())];
        live.call(messages, silent).await.unwrap();
        let body: Value = serde_json::from_str(&server.received().pop().unwrap().body).unwrap();
        body["prompt_cache_key"].as_str().unwrap().to_owned()
    };
    let first = key_of("in /home/me/secret").await;
    assert_eq!(first, key_of("in /home/me/secret").await);
    assert_ne!(first, key_of("elsewhere").await);
    assert!(!first.contains("secret") && first.len() < 40, "{first}");
}
