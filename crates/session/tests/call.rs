//! One call after the other, against a model server with faults, on a real log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use test_bed::{
    TestBed, candidate, config, events, newest, policy, sent, silent, tokens, user, whole,
};
use waterline::message::Message;
use waterline_log::Session;
use waterline_provider::answer::Delta;
use waterline_provider::wire::{Shape, Tool};
use waterline_session::{Event, Level, LiveSession, ModelTarget, SessionConfig, SessionError};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply, bytes};

#[tokio::test]
async fn a_call_is_stored_before_and_after() {
    let server = Scripted::new(|_| whole("fine", 12));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let mut heard = Vec::new();
    let answer = live.call(user("how are you?"), |event| heard.push(event)).await.unwrap();
    assert_eq!(
        (answer.messages[0].text().as_str(), heard[0].clone()),
        ("fine", Event::Delta(Delta::Text("fine".into())))
    );
    assert_eq!(bed.texts(), ["how are you?", "fine"]);
    let usage = bed.log().usage("s").unwrap();
    assert_eq!((usage[0].position, usage[0].input, usage[0].output), (2, 12, 5));
    assert_eq!(bed.log().thaw("s").unwrap().unwrap().head.covered, 1);
}

/// Between folds every request is a prefix of the next, also across a restart.
#[tokio::test]
async fn contexts_only_grow_and_a_restart_changes_nothing() {
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

/// A server with a small window: refused until the prompt fits, and the window is known from then
/// on.
#[tokio::test]
async fn an_overflow_teaches_the_window_and_the_call_comes_through() {
    let server = Scripted::new(move |received| {
        let prompt = tokens(received);
        if prompt > 2_000 {
            let message = format!(
                "request ({prompt} tokens) exceeds the available context size (2000 tokens), try increasing it"
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
    assert_eq!(bed.texts().len(), 60, "stored history is untouched");
    assert!(!bed.log().generations("s").unwrap().is_empty());
    let refused = server.received().iter().filter(|received| tokens(received) > 2_000).count();
    assert!(refused <= 3, "{refused} requests were too long");
    let last = server.received().pop().unwrap();
    assert!(last.body.contains("step 29"), "the newest message survives");
}

#[tokio::test]
async fn an_overflow_that_stays_is_the_providers_own_error() {
    let server = Scripted::new(|_| Reply::status(400, "prompt is too long: 9 tokens > 8 maximum"));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(user("hi"), silent).await.unwrap_err();
    assert!(matches!(&error, SessionError::Call(inner) if inner.overflow().is_some()), "{error}");
    assert_eq!(server.received().len(), 3, "two tries more");
    assert_eq!(bed.texts(), ["hi"], "what was said is stored");
}

#[tokio::test]
async fn what_passes_is_waited_for() {
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
    assert!(requests.iter().all(|request| *request == requests[0]), "the same bytes each time");
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once() {
    let server = Scripted::new(|_| Reply::status(401, r#"{"error":{"message":"no such key"}}"#));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(user("hi"), silent).await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), server.received().len()),
        ("status 401: no such key", 1)
    );
}

/// A stream that dies midway: what came is kept beside the session's way, and the call is made
/// again.
#[tokio::test]
async fn a_broken_answer_is_kept_and_asked_for_again() {
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
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
    assert!(server.received().iter().all(|received| !received.body.contains("half an ans")));
}

#[tokio::test]
async fn nothing_to_send_is_no_call() {
    let server = Scripted::new(|_| whole("?", 1));
    let bed = TestBed::new();
    let error = bed.live(&server, 10_000).await.call(Vec::new(), silent).await.unwrap_err();
    assert!(matches!(error, SessionError::Empty) && server.received().is_empty());
}

/// After three tries the next model of the list is asked, and it is the one that is asked from then
/// on.
#[tokio::test]
async fn another_model_takes_over_when_one_keeps_failing() {
    let down = Scripted::new(|_| Reply::status(503, "overloaded"));
    let up = Scripted::new(|_| whole("here", 9));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![candidate("other", &up)],
        ..config(&down, 10_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    let mut heard = Vec::new();
    live.call(user("hi"), |event| heard.push(event)).await.unwrap();
    live.call(user("again"), silent).await.unwrap();
    assert_eq!(
        (down.received().len(), up.received().len()),
        (4, 2),
        "three tries more, then no more"
    );
    assert!(heard.contains(&Event::Model("other".into())), "{heard:?}");
    assert_eq!(bed.texts(), ["hi", "here", "again", "here"]);
    let models: Vec<String> =
        bed.log().usage("s").unwrap().into_iter().map(|usage| usage.model).collect();
    assert_eq!(models, ["other", "other"]);
}

/// A request that is wrong is wrong everywhere.
#[tokio::test]
async fn a_wrong_request_is_not_taken_elsewhere() {
    let down =
        Scripted::new(|_| Reply::status(400, r#"{"error":{"message":"no such parameter"}}"#));
    let up = Scripted::new(|_| whole("here", 9));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![candidate("other", &up)],
        ..config(&down, 10_000, policy("auto", &[]))
    };
    let error = bed.open(config).await.call(user("hi"), silent).await.unwrap_err();
    assert_eq!(error.to_string(), "status 400: no such parameter");
    assert!(up.received().is_empty());
}

/// A server that does not take the shape of an answer is asked without it, from then on, and the
/// user is told once.
#[tokio::test]
async fn a_shape_that_is_refused_is_left_out() {
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
    let mut heard = Vec::new();
    live.call(user("hi"), |event| heard.push(event)).await.unwrap();
    live.call(user("again"), |event| heard.push(event)).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "{}", "again", "{}"]);
    let had_it: Vec<bool> =
        server.received().iter().map(|one| one.body.contains("response_format")).collect();
    assert_eq!(had_it, [true, false, false]);
    let told = heard.iter().filter(
        |event| matches!(event, Event::Notice(text) if text.contains("asked for in words")),
    );
    assert_eq!(told.count(), 1, "{heard:?}");
    // Another error with it is that error.
    let down =
        Scripted::new(|_| Reply::status(400, r#"{"error":{"message":"no such parameter"}}"#));
    let mut live = bed.live(&down, 10_000).await;
    live.answer_as(Some(shape), false);
    assert_eq!(
        live.call(user("hi"), silent).await.unwrap_err().to_string(),
        "status 400: no such parameter"
    );
}

/// Tools that a server would take away for a shape are worth more than the shape, until nothing but
/// the answer is wanted.
#[tokio::test]
async fn a_shape_waits_until_tools_are_done_with() {
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
    let had_it: Vec<bool> =
        server.received().iter().map(|one| one.body.contains("json_object")).collect();
    assert_eq!(had_it, [false, true, false]);
}

/// What came of an answer that a person stopped stays in the conversation: the next one can be
/// about it.
#[tokio::test]
async fn an_answer_that_was_stopped_stays_with_a_mark() {
    let server = Scripted::new(|received: &Received| match newest(received).as_str() {
        "explain" => Reply::Stall { events: events("first the wheel", 9), after: 1 },
        _ => whole("whole", 9),
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    tokio::select! {
        answer = live.call(user("explain"), move |event| drop(tell.send(event))) => panic!("{answer:?}"),
        _ = told.recv() => {}
    }
    live.keep_partial("[stopped]").await.unwrap();
    live.call(user("and then?"), silent).await.unwrap();
    assert!(server.received().pop().unwrap().body.contains("first the wheel\\n\\n[stopped]"));
    live.keep_partial("[stopped]").await.unwrap();
    assert_eq!(bed.texts().len(), 4, "with nothing heard nothing is kept: {:?}", bed.texts());
}

/// A call that is dropped at any moment leaves a valid log, and the session goes on; what was heard
/// of the answer is kept.
#[tokio::test]
async fn a_call_can_be_given_up_at_any_moment() {
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
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let call = live.call(user(format!("try {round}")), move |event| drop(tell.send(event)));
        // The first half is given up when something was heard, the others earlier and earlier, down
        // to at once.
        let heard = async {
            if round < 10 {
                told.recv().await;
            } else {
                tokio::time::sleep(std::time::Duration::from_micros((19 - round) * 300)).await;
            }
        };
        tokio::select! {
            biased;
            outcome = call => panic!("{outcome:?}"),
            () = heard => {}
        }
    }
    live.call(user("the last"), silent).await.unwrap();
    let log = bed.log();
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
    let texts = bed.texts();
    assert_eq!(
        texts[..10],
        (0..10).map(|n| format!("try {n}")).collect::<Vec<_>>(),
        "what was said is stored"
    );
    assert_eq!(texts[texts.len() - 2..], ["the last", "whole"]);
    let kept = |n: usize| log.search(&format!("ans{n}"), None, 2).unwrap().len();
    assert_eq!(
        (0..10).map(kept).collect::<Vec<_>>(),
        [1; 10],
        "what was heard is kept, beside the way"
    );
    assert!(server.received().iter().all(|received| !received.body.contains("half an ans")));
}

/// S4.24 to S4.33: whatever is sent, both tracks end with the same messages, and the full one is
/// what is stored.
#[tokio::test]
async fn s4_24_to_s4_33_the_full_track_keeps_everything_and_the_other_ends_alike() {
    let server = Scripted::new(|_| whole("noted", 0));
    let bed = TestBed::new();
    let mut live = bed.open(config(&server, 100_000, policy("dual-track", &[]))).await;
    for round in 0..40 {
        live.call(user(format!("message {round} {}", "and so on ".repeat(20))), silent)
            .await
            .unwrap();
        let last = server.received().pop().unwrap();
        assert!(
            newest(&last).starts_with(&format!("message {round} ")),
            "what is new is in what is sent"
        );
    }
    assert_eq!(bed.texts().len(), 80, "nothing is missing");
    assert!(live.generation().number > 0, "and yet it was compressed");
    let last = server.received().pop().unwrap();
    assert!(sent(&last).len() <= 31, "{}", sent(&last).len());
    assert!(live.violations().is_empty());
}

#[tokio::test]
async fn usage_prices_and_levels_are_told() {
    let server = Scripted::new(|_| whole("fine", 900));
    let bed = TestBed::new();
    let mut config = config(&server, 1_000, policy("auto", &[]));
    config.model = ModelTarget { price: Some(3.0), ..config.model };
    let mut live = bed.open(config).await;
    assert_eq!(live.level(), Level::Normal);
    live.call(user("word ".repeat(400)), silent).await.unwrap();
    let usage = bed.log().usage("s").unwrap().remove(0);
    assert_eq!(usage.price, Some((900 + 5 * 5) * 3), "millionths");
    assert!(usage.latency.is_some());
    assert!(live.level() >= Level::Info, "{}", live.level());
}

/// What a provider taught about a model holds in every later session.
#[tokio::test]
async fn a_window_that_was_learned_is_known_to_the_next_session() {
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
    let other =
        LiveSession::open(bed.log(), "other", config(&server, 100_000, policy("auto", &[])))
            .await
            .unwrap();
    assert!(other.window() <= 3_000, "{}", other.window());
}

/// When nobody answers, the next call begins with the first model again.
#[tokio::test]
async fn after_all_models_failed_the_first_is_asked_again() {
    let is_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = std::sync::Arc::clone(&is_up);
    let first = Scripted::new(move |_| {
        if switch.load(Ordering::SeqCst) { whole("back", 9) } else { Reply::status(401, "no") }
    });
    let second = Scripted::new(|_| Reply::status(401, "no"));
    let bed = TestBed::new();
    let config = SessionConfig {
        fallback: vec![candidate("other", &second)],
        ..config(&first, 10_000, policy("auto", &[]))
    };
    let mut live = bed.open(config).await;
    live.call(user("hi"), silent).await.unwrap_err();
    is_up.store(true, Ordering::SeqCst);
    live.call(Vec::new(), silent).await.unwrap();
    assert_eq!(bed.texts(), ["hi", "back"]);
}

/// Two processes in one session: the one that comes too late is told, and its answer is kept.
#[tokio::test]
async fn an_answer_that_comes_too_late_is_kept_in_a_fork() {
    let bed = TestBed::new();
    let log = bed.log();
    let server = Scripted::new(move |received: &Received| {
        if newest(received) == "mine" {
            let tip = log.session("s").unwrap().tip;
            let counter = waterline::tokens::Counter::default();
            let other = waterline_log::Incoming::of(&Message::user("somebody else"), &counter);
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
    assert_eq!(bed.texts(), ["mine", "somebody else"]);
    assert_eq!(bed.log().search("answer", None, 3).unwrap().len(), 1, "nothing is lost");
    live.call(user("again"), silent).await.unwrap();
    assert_eq!(bed.texts(), ["mine", "somebody else", "again", "the answer"]);
}
