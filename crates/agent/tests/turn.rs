//! Turns, from the user's input to their end.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use test_bed::{Line, TestBed, bash, calls, model, says, sent, tools};
use waterline::message::{Body, Message, Part, Role, ToolCall};
use waterline::model::Models;
use waterline::policy::Policy;
use waterline_agent::state::edit;
use waterline_agent::{
    Agent, AgentError, ApprovalReply, EndReason, Ending, Event, Local, Observer, Source, State,
    UserInput, Waiting,
};
use waterline_log::{Incoming, Log, Options, Session};
use waterline_provider::wire::parse_stored;
use waterline_testkit::scripted::Scripted;

#[tokio::test]
async fn a_turn_calls_tools_until_there_is_an_answer() {
    let bed = TestBed::new();
    let server = model(vec![
        calls("write_file", json!({"path": "outputs/a.txt", "content": "tide 4.2 m"})),
        Line::Calls(vec![
            ("read_file", json!({"path": "outputs/a.txt"})),
            ("list_files", json!({"path": "outputs"})),
        ]),
        says("The tide is 4.2 m."),
    ]);
    let mut agent = bed.agent(&server).await;
    let outcome = agent.turn(UserInput::new("measure")).await.unwrap();
    assert_eq!(
        (outcome.ending, outcome.text.as_str(), outcome.steps),
        (Ending::Done, "The tide is 4.2 m.", 3)
    );
    assert_eq!(
        bed.story("s"),
        [
            "user: measure",
            "assistant: calls write_file",
            "tool: Created outputs/a.txt (10 bytes)",
            "assistant: calls read_file | calls list_files",
            "tool: tide 4.2 m",
            "tool: a.txt (10 bytes)",
            "assistant: The tide is 4.2 m."
        ]
    );
    let checkpoints = bed.log().checkpoints("s").unwrap();
    let after: Vec<&str> =
        checkpoints.iter().filter_map(|checkpoint| checkpoint.metadata["after"].as_str()).collect();
    assert_eq!(
        after,
        ["model", "tools", "model", "tools", "model"],
        "the last step's checkpoint is the turn's"
    );
    assert_eq!(bed.log().session("s").unwrap().title, "measure");
    assert!(!agent.is_open().unwrap());
    assert!(matches!(agent.resume().await, Err(AgentError::NothingToResume)));
}

/// Sections G and S2.6: at the limit the model is asked for a report, with an ephemeral message.
#[tokio::test]
async fn s2_6_at_the_step_limit_a_report_is_requested_with_an_ephemeral_message() {
    let bed = TestBed::new();
    // A step is one call of the model, however many tools it calls.
    let lines = (0..15).map(|n| {
        Line::Calls(vec![("read_file", json!({"path": format!("f{n}")})), ("now", json!({}))])
    });
    let lines: Vec<Line> = lines.collect();
    let server = model([lines, vec![says("I came half way.")]].concat());
    let mut config = bed.config(&server);
    config.limits.steps = Some(4);
    let mut agent = bed.open(config).await;
    let outcome = agent.turn(UserInput::new("read them all")).await.unwrap();
    assert!(
        matches!(&outcome.ending, Ending::Limit(why) if *why == EndReason::TurnCalls(4)),
        "{outcome:?}"
    );
    let received = server.received();
    assert_eq!(received.len(), 5, "four steps and the report");
    let last = sent(&received[4]).last().unwrap()["content"].to_string();
    assert!(last.contains("must stop now") && last.contains("Summarize"), "{last}");
    // The model called a tool instead: it is not run, and the turn still ends.
    assert!(
        bed.story("s").last().unwrap().contains("Not run: the turn must end"),
        "{:?}",
        bed.story("s")
    );
    let next = agent.turn(UserInput::new("continue")).await.unwrap();
    assert_eq!(next.ending, Ending::Limit(EndReason::TurnCalls(4)));
    assert!(
        !server
            .received()
            .iter()
            .skip(5)
            .take(4)
            .any(|request| request.body.contains("must stop now"))
    );
}

/// S0.45: the context of the report is truncated like that of any call, and its calls have results.
#[tokio::test]
async fn s0_45_the_context_of_the_report_is_truncated_too() {
    let bed = TestBed::new();
    let lines: Vec<Line> =
        (0..12).map(|n| calls("read_file", json!({"path": format!("f{n}")}))).collect();
    let server = model([lines, vec![says("I came half way.")]].concat());
    let mut config = bed.config(&server);
    config.limits.steps = Some(12);
    let window = [("window.messages".to_owned(), "10".to_owned())];
    config.session.policy = Policy::preset_with("window", &window).unwrap();
    let mut agent = bed.open(config).await;
    agent.turn(UserInput::new("read them all")).await.unwrap();
    let report = sent(server.received().last().unwrap());
    assert!(report.last().unwrap()["content"].to_string().contains("must stop now"));
    let roles: Vec<&str> = report.iter().map(|message| message["role"].as_str().unwrap()).collect();
    // The system prompt and the request for the report come on top.
    assert!(roles.len() <= 10 + 2, "{roles:?}");
    let count = |role: &str| roles.iter().filter(|found| **found == role).count();
    assert_eq!(count("assistant"), count("tool"), "{roles:?}");
    assert!(count("tool") >= 2, "{roles:?}");
}

#[tokio::test]
async fn a_truncated_answer_is_continued() {
    let bed = TestBed::new();
    let server = model(vec![Line::Cut("The tide ".to_owned()), says("is 4.2 m.")]);
    let mut agent = bed.agent(&server).await;
    let outcome = agent.turn(UserInput::new("measure")).await.unwrap();
    assert_eq!(outcome.text, "The tide is 4.2 m.");
    assert!(
        sent(&server.received()[1]).last().unwrap()["content"]
            .to_string()
            .contains("Continue exactly where it stopped")
    );
    assert_eq!(bed.story("s"), ["user: measure", "assistant: The tide ", "assistant: is 4.2 m."]);
}

#[tokio::test]
async fn a_loop_of_equal_calls_ends_the_turn() {
    let bed = TestBed::new();
    let server = model(vec![calls("now", json!({})); 9]);
    let outcome = bed.agent(&server).await.turn(UserInput::new("what time?")).await.unwrap();
    assert!(
        matches!(&outcome.ending, Ending::Limit(why) if why.to_string().contains("5 times in a row")),
        "{outcome:?}"
    );
    assert_eq!(server.received().len(), 6, "five calls and the report");
}

/// S4.9: an answer matches its schema, or is requested once more.
#[tokio::test]
async fn s4_9_an_answer_must_match_its_schema_and_is_repaired_once() {
    let bed = TestBed::new();
    let server = model(vec![
        says("about four"),
        says("{\"metres\": 4.2}"),
        says("four"),
        says("still four"),
    ]);
    let mut agent = bed.agent(&server).await;
    let schema = metres();
    let outcome = agent.turn(with_schema("how high?", schema.clone())).await.unwrap();
    assert_eq!((outcome.ending, outcome.text.contains("4.2")), (Ending::Done, true));
    let first = sent(&server.received()[0]).last().unwrap()["content"].to_string();
    assert!(
        first.contains("matches this schema") && first.contains("this message only"),
        "{first}"
    );
    // With the field, a server that imitates OpenAI may keep the model from calling tools, so it is
    // sent only with the second attempt.
    let bodies: Vec<Value> = server
        .received()
        .iter()
        .map(|received| serde_json::from_str(&received.body).unwrap())
        .collect();
    assert_eq!(bodies[0]["response_format"], Value::Null);
    assert_eq!(bodies[1]["response_format"]["json_schema"]["schema"], schema);
    let wrong = agent.turn(with_schema("and now?", schema)).await.unwrap();
    assert!(matches!(&wrong.ending, Ending::Halted(EndReason::Schema(_))), "{wrong:?}");
}

fn metres() -> Value {
    json!({"type": "object", "required": ["metres"], "properties": {"metres": {"type": "number"}}})
}

/// Returns an input whose answer must match a schema.
fn with_schema(text: &str, schema: Value) -> UserInput {
    UserInput { schema: Some(schema), ..UserInput::new(text) }
}

#[tokio::test]
async fn an_answer_with_a_schema_is_bare_json_and_the_schema_ends_with_its_turn() {
    let bed = TestBed::new();
    let server = model(vec![says("```json\n{\"metres\": 4.2}\n```"), says("as you like")]);
    let mut agent = bed.agent(&server).await;
    let outcome = agent.turn(with_schema("how high?", metres())).await.unwrap();
    assert_eq!((outcome.ending, outcome.text.as_str()), (Ending::Done, "{\"metres\": 4.2}"));
    assert_eq!(bed.state("s").schema, None);
    let free = agent.turn(UserInput::new("and in words?")).await.unwrap();
    assert_eq!((free.ending, free.text.as_str()), (Ending::Done, "as you like"));
}

#[tokio::test]
async fn an_invalid_schema_is_rejected_before_the_model_is_called() {
    let bed = TestBed::new();
    let server = model(vec![]);
    let mut agent = bed.agent(&server).await;
    for schema in [json!({"type": 12}), json!("x")] {
        let error = agent.turn(with_schema("how high?", schema)).await.unwrap_err();
        assert!(
            matches!(&error, AgentError::Setting(why) if why.as_str().contains("invalid answer schema")),
            "{error}"
        );
    }
    assert!(server.received().is_empty() && bed.story("s").is_empty(), "{:?}", bed.story("s"));
}

#[tokio::test]
async fn a_schema_survives_a_question_and_a_hand_off() {
    let bed = TestBed::new();
    let asks = calls("ask_human", json!({"question": "Which harbor?"}));
    let server = model(vec![asks, says("north"), says("{\"metres\": 4}")]);
    let mut agent = bed.agent(&server).await;
    let outcome = agent.turn(with_schema("how high?", metres())).await.unwrap();
    assert!(matches!(outcome.ending, Ending::Waiting(_)), "{outcome:?}");
    // In another process the next message answers the question, and the answer of the turn matches
    // the schema.
    let outcome = bed.agent(&server).await.turn(UserInput::new("the northern one")).await.unwrap();
    assert_eq!((outcome.ending, outcome.text.as_str()), (Ending::Done, "{\"metres\": 4}"));
    let mut session = bed.log().session("s").unwrap();
    assert_eq!(State::of(&session).unwrap().schema, None);

    edit(&mut session, |state, _| state.schema = Some(metres())).unwrap();
    let there =
        waterline_agent::role::transfer(&bed.log(), &session, "execute", &json!({})).unwrap();
    assert_eq!(State::of(&there.session).unwrap().schema, Some(metres()));
    assert_eq!(bed.state("s").schema, None);
}

#[tokio::test]
async fn an_answer_that_is_truncated_repeatedly_ends_at_a_limit() {
    let bed = TestBed::new();
    let server = model(vec![Line::Cut("on ".to_owned()); 9]);
    let outcome = bed.agent(&server).await.turn(UserInput::new("count")).await.unwrap();
    assert!(matches!(&outcome.ending, Ending::Limit(EndReason::OutputTokens(4))), "{outcome:?}");
    assert_eq!((outcome.text.as_str(), server.received().len()), ("on on on on ", 4));
}

/// An answer is empty if the model returned nothing, or hit the token limit before any text.
#[tokio::test]
async fn an_empty_answer_is_retried_once_and_then_stops_the_turn() {
    let bed = TestBed::new();
    let truncated = || Line::Cut(String::new());
    let server = model(vec![
        says(""),
        says("four"),
        truncated(),
        says("five"),
        says(""),
        says(""),
        truncated(),
        truncated(),
    ]);
    let mut agent = bed.agent(&server).await;
    for (at, expected) in [(1, "four"), (3, "five")] {
        let outcome = agent.turn(UserInput::new("how high?")).await.unwrap();
        assert_eq!(
            (outcome.ending, outcome.text.as_str(), outcome.steps),
            (Ending::Done, expected, 2)
        );
        let last = sent(&server.received()[at]).last().unwrap()["content"].to_string();
        assert!(last.contains("Answer now") && !last.contains("Continue exactly"), "{last}");
    }
    assert!(!bed.story("s").join("\n").contains("Answer now"), "the message is ephemeral");
    for expected in ["an empty answer", "before any answer text"] {
        let outcome = agent.turn(UserInput::new("and now?")).await.unwrap();
        assert!(
            matches!(&outcome.ending, Ending::Halted(why) if why.to_string().contains(expected)),
            "{outcome:?}"
        );
    }
    assert_eq!(server.received().len(), 8);
}

#[tokio::test]
async fn steering_messages_are_added_before_the_next_step() {
    let bed = TestBed::new();
    let server = model(vec![calls("now", json!({})), says("as you wish")]);
    let mut agent = bed.agent(&server).await;
    bed.watcher.steering.lock().unwrap().push_back("in UTC please".to_owned());
    agent.turn(UserInput::new("what time?")).await.unwrap();
    assert_eq!(bed.story("s")[..2], ["user: what time?", "user: in UTC please"]);
}

/// S0.13, S0.14: the tool list never changes; a disabled tool is refused when it is called, and a
/// mention allows it.
#[tokio::test]
async fn s0_13_the_tool_list_is_stable_and_a_disabled_tool_is_refused() {
    let bed = TestBed::new();
    let server = model(vec![
        bash("echo hi"),
        says("it is off"),
        calls(
            "call_tool",
            json!({"name": "run_bash_command", "arguments": {"command": "echo hi"}}),
        ),
        says("now it ran"),
    ]);
    let mut config = bed.config(&server);
    config.toolbox.switch("run_bash_command", false).unwrap();
    let mut agent = bed.open(config).await;
    agent.turn(UserInput::new("say hi")).await.unwrap();
    assert!(
        bed.story("s")[2].contains("Not run: run_bash_command is disabled"),
        "{:?}",
        bed.story("s")
    );
    let input = UserInput {
        tools: vec!["run_bash_command".to_owned()],
        ..UserInput::new("use @run_bash_command")
    };
    agent.turn(input).await.unwrap();
    assert_eq!(bed.story("s")[6], "tool: hi");
    let lists: Vec<Vec<String>> = server.received().iter().map(tools).collect();
    assert!(
        lists.iter().all(|list| *list == lists[0])
            && !lists[0].contains(&"run_bash_command".to_owned()),
        "{lists:?}"
    );
}

#[tokio::test]
async fn a_disabled_tool_is_not_named_in_the_system_prompt() {
    for is_enabled in [true, false] {
        let bed = TestBed::new();
        let server = model(vec![says("hello")]);
        let mut config = bed.config(&server);
        config.toolbox.switch("recall", is_enabled).unwrap();
        bed.open(config).await.turn(UserInput::new("hi")).await.unwrap();
        let named = server.received()[0].body.contains("use recall to search");
        assert_eq!(named, is_enabled);
    }
}

#[tokio::test]
async fn a_denial_is_a_result_and_always_is_remembered() {
    let bed = TestBed::new();
    let risky = || bash("rm -r build");
    let server =
        model(vec![risky(), says("not done"), risky(), says("done"), risky(), says("done again")]);
    let mut agent = bed.agent(&server).await;
    bed.watcher
        .replies
        .lock()
        .unwrap()
        .extend([ApprovalReply::Deny(Some("not today".to_owned())), ApprovalReply::AllowAlways]);
    agent.turn(UserInput::new("clean up")).await.unwrap();
    assert!(
        bed.story("s")[2].contains("failed: Denied by the user: not today"),
        "{:?}",
        bed.story("s")
    );
    agent.turn(UserInput::new("now do")).await.unwrap();
    agent.turn(UserInput::new("and again")).await.unwrap();
    let requests = bed.watcher.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 2, "the third is covered by the second");
    assert!(requests[0].reason.to_string().contains("medium risk"), "{requests:?}");
    assert!(bed.local("s").approvals.concat().contains("rm -r build"));
}

#[tokio::test]
async fn a_call_without_a_timely_approval_is_not_run() {
    let bed = TestBed::new();
    let server = model(vec![bash("git push"), says("not pushed")]);
    let mut config = bed.config(&server);
    config.approval.time = Some(Duration::from_millis(50));
    bed.open(config).await.turn(UserInput::new("publish")).await.unwrap();
    assert!(bed.story("s")[2].contains("Not run: no approval within"), "{:?}", bed.story("s"));
}

#[tokio::test]
async fn a_critical_call_cannot_be_approved_with_always() {
    let bed = TestBed::new();
    let server = model(vec![bash("rm -rf /"), says("not done")]);
    bed.watcher.replies.lock().unwrap().push_back(ApprovalReply::AllowAlways);
    bed.agent(&server).await.turn(UserInput::new("clean up")).await.unwrap();
    assert!(bed.story("s")[2].contains("failed: Denied by the user"), "{:?}", bed.story("s"));
}

#[tokio::test]
async fn a_deferred_approval_ends_the_turn_until_it_is_resumed() {
    let bed = TestBed::new();
    let server = model(vec![bash("rm -r build; echo gone > outputs/x"), says("done")]);
    bed.watcher.replies.lock().unwrap().push_back(ApprovalReply::Deferred);
    let outcome = bed.agent(&server).await.turn(UserInput::new("clean up")).await.unwrap();
    assert!(matches!(outcome.ending, Ending::Waiting(Waiting::Approval(_))), "{outcome:?}");
    assert!(!bed.workspace().join("outputs/x").exists());
    bed.watcher.replies.lock().unwrap().push_back(ApprovalReply::Allow);
    let outcome = bed.agent(&server).await.resume().await.unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    assert!(bed.workspace().join("outputs/x").exists());
}

#[tokio::test]
async fn failures_within_one_answer_count() {
    let bed = TestBed::new();
    let many = (0..30).map(|n| ("read_file", json!({"path": format!("f{n}")}))).collect();
    let server = model(vec![Line::Calls(many), says("I give up.")]);
    bed.agent(&server).await.turn(UserInput::new("read them")).await.unwrap();
    let story = bed.story("s");
    let run = story.iter().filter(|line| line.contains("does not exist")).count();
    assert!((6..=8).contains(&run), "three are run at a time: {story:?}");
    assert!(
        story
            .iter()
            .any(|line| line.contains("times in a row and is blocked until you call another tool")),
        "{story:?}"
    );
}

/// Two processes in one session: the second is refused while the first works, and later continues
/// after it.
#[tokio::test]
async fn one_process_at_a_time_works_in_a_session() {
    let bed = TestBed::new();
    let wait = bash("while [ ! -e go ]; do sleep 0.02; done");
    let server = model(vec![wait, says("first"), says("second")]);
    let mut one = bed.agent(&server).await;
    let mut other = bed.agent(&server).await;
    let (first, ()) = tokio::join!(one.turn(UserInput::new("wait")), async {
        while !bed.story("s").iter().any(|line| line.contains("calls run_bash_command")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let second = other.turn(UserInput::new("and now?")).await;
        assert!(matches!(second, Err(AgentError::InUse { .. })), "{second:?}");
        std::fs::write(bed.workspace().join("go"), "").unwrap();
    });
    assert_eq!(first.unwrap().text, "first");
    assert_eq!(other.turn(UserInput::new("and now?")).await.unwrap().text, "second");
    let request = sent(&server.received()[2]).iter().map(Value::to_string).collect::<String>();
    assert!(request.contains("first") && request.contains("and now?"), "{request}");
}

/// Changes of another process are not overwritten.
#[tokio::test]
async fn a_stale_state_overwrites_nothing() {
    let bed = TestBed::new();
    let todo = calls("todo_write", json!({"todos": [{"content": "measure", "status": "pending"}]}));
    let server = model(vec![todo, says("noted")]);
    let mut one = bed.agent(&server).await;
    let mut stale = bed.agent(&server).await;
    one.turn(UserInput::new("plan it")).await.unwrap();
    let change = |session: &mut Session| session.title = "other".to_owned();
    let refused = stale.live_mut().change(change).await;
    assert!(refused.is_err(), "it is based on an old tip");
    assert!(stale.live_mut().load_foreign_changes().await.unwrap());
    stale.live_mut().change(change).await.unwrap();
    let stored = bed.log().session("s").unwrap();
    assert_eq!((stored.title.as_str(), bed.state("s").todos.len()), ("other", 1));
}

#[tokio::test]
async fn a_question_survives_a_restart() {
    let bed = TestBed::new();
    let server = model(vec![
        calls("ask_human", json!({"question": "Which harbor?", "choices": ["north", "south"]})),
        says("North it is."),
    ]);
    let outcome = bed.agent(&server).await.turn(UserInput::new("plan the trip")).await.unwrap();
    assert!(matches!(
        &outcome.ending,
        Ending::Waiting(Waiting::Question(asked)) if asked.question == "Which harbor?"
    ));
    // In another process, the next message is the answer.
    let mut agent = bed.agent(&server).await;
    assert!(agent.is_open().unwrap());
    let outcome = agent.turn(UserInput::new("north")).await.unwrap();
    assert_eq!(outcome.text, "North it is.");
    assert_eq!(bed.story("s")[1..3], ["assistant: calls ask_human", "tool: north"]);
    assert_eq!(bed.state("s").pending, None);
}

#[tokio::test]
async fn a_large_output_becomes_an_artifact_before_it_is_sent() {
    let bed = TestBed::new();
    let server = model(vec![
        bash("seq 1 60000"),
        calls("read_artifact", json!({"artifact": "?"})),
        says("long"),
    ]);
    let mut agent = bed.agent(&server).await;
    agent.turn(UserInput::new("count")).await.unwrap();
    let artifacts = bed.log().artifacts("s").unwrap();
    assert_eq!(artifacts.len(), 1);
    let handle: String = artifacts[0].hash.chars().take(16).collect();
    let result = &bed.story("s")[2];
    assert!(
        result.len() < 40_000 && result.contains(&format!("full text in artifact {handle}")),
        "{}",
        result.len()
    );
    assert!(result.ends_with("60000"));
    assert!(server.received()[1].body.len() < 60_000);
    assert!(bed.story("s")[4].contains("No artifact"));
}

/// Also in a small window: a part that is too long would itself become an artifact, and so on.
#[tokio::test]
async fn a_part_of_an_artifact_is_never_truncated() {
    let bed = TestBed::new();
    let text: String = (1..=2_000).map(|n| format!("high tide at the mill {n}\n")).collect();
    std::fs::create_dir_all(bed.workspace()).unwrap();
    std::fs::write(bed.workspace().join("long.txt"), &text).unwrap();
    let handle: String = blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect();
    let server = model(vec![
        calls("read_file", json!({"path": "long.txt"})),
        calls("read_artifact", json!({"artifact": handle})),
        calls("read_artifact", json!({"artifact": handle, "find": "mill 1"})),
        says("long"),
    ]);
    let mut config = bed.config(&server);
    config.session.model.window = Some(18_000);
    bed.open(config).await.turn(UserInput::new("read it")).await.unwrap();
    let story = bed.story("s");
    assert!(story[2].contains(&format!("full text in artifact {handle}")), "{story:?}");
    assert!(
        story[4].starts_with("tool: [characters 0 to ")
            && story[4].contains("of 52893; continue with from: ")
    );
    assert!(story[6].starts_with("tool: 1: high tide at the mill 1\n10: high"), "{story:?}");
    assert!(story[6].contains("\n[more matching lines; continue with from: "), "{story:?}");
    assert!(!story[4].contains("omitted") && !story[6].contains("omitted"), "{story:?}");
    assert_eq!(bed.log().artifacts("s").unwrap().len(), 1);
}

#[tokio::test]
async fn todos_are_state_and_are_repeated_in_each_turn() {
    let bed = TestBed::new();
    let todos = json!({"todos": [
        {"content": "buy rope", "status": "in_progress"},
        {"content": "pack", "status": "completed"},
    ]});
    let two = json!({"todos": [
        {"content": "a", "status": "in_progress"},
        {"content": "b", "status": "in_progress"},
    ]});
    let server = model(vec![
        calls("todo_write", two),
        calls("todo_write", todos),
        says("noted"),
        says("yes"),
    ]);
    let mut agent = bed.agent(&server).await;
    agent.turn(UserInput::new("plan")).await.unwrap();
    assert!(bed.story("s")[2].contains("at most one may be"));
    assert_eq!(bed.state("s").todos.len(), 2);
    agent.turn(UserInput::new("and?")).await.unwrap();
    let messages = sent(&server.received()[3]);
    let last = messages.last().unwrap()["content"].to_string();
    assert!(last.contains("buy rope") && !last.contains("pack"), "{last}");
    assert!(!bed.story("s").join("\n").contains("open tasks"), "it is ephemeral");
}

#[tokio::test]
async fn earlier_messages_can_be_recalled() {
    let bed = TestBed::new();
    let server = model(vec![
        says("noted"),
        calls("recall", json!({"query": "door code"})),
        says("4711"),
        calls("recall", json!({"query": "zebra"})),
    ]);
    let mut agent = bed.agent(&server).await;
    agent.turn(UserInput::new("The door code of the mill is 4711.")).await.unwrap();
    agent.turn(UserInput::new("what was it?")).await.unwrap();
    assert!(
        bed.story("s")[4].contains("]\nThe door code of the mill is 4711.\n\n[message 2"),
        "{:?}",
        bed.story("s")
    );
    agent.turn(UserInput::new("and the zebra?")).await.unwrap();
    assert!(bed.story("s")[8].contains("no message before this turn"), "{:?}", bed.story("s"));
}

/// The part of a result that was never sent is found too, with the artifact that has the rest.
#[tokio::test]
async fn truncated_results_can_be_recalled() {
    let bed = TestBed::new();
    let text: String = (1..=9_000).map(|n| format!("module_{n} compiled\n")).collect();
    std::fs::create_dir_all(bed.workspace()).unwrap();
    std::fs::write(bed.workspace().join("long.txt"), &text).unwrap();
    let handle: String = blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect();
    let server = model(vec![
        calls("read_file", json!({"path": "long.txt"})),
        says("long"),
        calls("recall", json!({"query": "module_5123"})),
        says("it was compiled"),
    ]);
    let mut agent = bed.agent(&server).await;
    agent.turn(UserInput::new("read it")).await.unwrap();
    assert!(!bed.story("s")[2].contains("module_5123"));
    agent.turn(UserInput::new("what about that module?")).await.unwrap();
    let found = &bed.story("s")[6];
    assert!(found.contains("[message 3, tool, "), "{found}");
    assert!(found.contains(&format!(", artifact {handle}; matches: ")), "{found}");
    assert!(found.contains("module_5123 compiled"), "{found}");
}

#[tokio::test]
async fn the_model_can_request_a_fold() {
    let bed = TestBed::new();
    let long = "tide ".repeat(3_000);
    let noted = vec![says("noted"); 4];
    let server = model(
        [
            noted,
            vec![calls("compact_context", json!({"reason": "part one is done"})), says("lighter")],
        ]
        .concat(),
    );
    let mut agent = bed.agent(&server).await;
    for n in 0..4 {
        agent.turn(UserInput::new(format!("{n} {long}"))).await.unwrap();
    }
    agent.turn(UserInput::new("make room")).await.unwrap();
    let generations = bed.log().generations("s").unwrap();
    assert_eq!(
        generations.last().unwrap().fold.reasons.to_string(),
        "requested by the model: part one is done"
    );
    let received = server.received();
    assert!(received[5].body.len() < received[4].body.len() * 4 / 5);
}

/// Some servers restart their call ids in each answer.
#[tokio::test]
async fn calls_with_repeated_ids_keep_their_results() {
    let bed = TestBed::new();
    let lines = std::sync::Mutex::new(vec![
        says("both seen"),
        calls("now", json!({"zone": "UTC"})),
        calls("list_files", json!({})),
    ]);
    let server = Scripted::new(move |received| {
        let line = lines.lock().unwrap().pop().unwrap_or_else(|| says("done"));
        test_bed::reply(received, &line, 0)
    });
    bed.agent(&server).await.turn(UserInput::new("look")).await.unwrap();
    let last = sent(&server.received()[2]);
    let results: Vec<String> = last
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(
        results.len() == 2 && results[0].contains("outputs/") && results[1].contains("+00:00"),
        "{last:#?}"
    );
}

/// Small models misspell tool names and write empty arguments in several forms.
#[tokio::test]
async fn a_similar_tool_is_suggested_and_empty_arguments_are_accepted() {
    let bed = TestBed::new();
    let three = vec![("List_Files", json!({})), ("list_files", Value::Null), ("bash", json!({}))];
    let server = model(vec![Line::Calls(three), says("done")]);
    bed.agent(&server).await.turn(UserInput::new("look")).await.unwrap();
    let story = bed.story("s");
    assert_eq!(story[2], "tool: failed: Unknown tool \"List_Files\". Did you mean list_files?");
    assert!(story[3].contains("outputs/"), "{story:?}");
    assert!(
        story[4].contains("Unknown tool \"bash\". Available tools: read_file, write_file,"),
        "{story:?}"
    );
    assert!(!story[4].contains("fetch_url"), "it is disabled: {story:?}");
}

/// Invalid JSON is reported to the model; nothing is run on a guess.
#[tokio::test]
async fn invalid_json_arguments_are_refused_and_not_guessed() {
    let bed = TestBed::new();
    let first = std::sync::atomic::AtomicBool::new(true);
    let server = Scripted::new(move |received| {
        if !first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return test_bed::reply(received, &says("sorry"), 1);
        }
        match test_bed::reply(received, &bash("echo hi"), 0) {
            waterline_testkit::server::Reply::Stream { events, piece } => {
                let events =
                    events.iter().map(|event| event.replace("echo hi\\\"}", "echo h")).collect();
                waterline_testkit::server::Reply::Stream { events, piece }
            }
            other => other,
        }
    });
    bed.agent(&server).await.turn(UserInput::new("greet")).await.unwrap();
    assert!(bed.story("s")[2].contains("The arguments are not valid JSON"), "{:?}", bed.story("s"));
}

/// A cleared session gets its system prompt again.
#[tokio::test]
async fn a_cleared_session_starts_with_its_prompt() {
    let bed = TestBed::new();
    let server = model(vec![says("one"), says("two")]);
    bed.agent(&server).await.turn(UserInput::new("first")).await.unwrap();
    bed.log().clear("s").unwrap();
    bed.agent(&server).await.turn(UserInput::new("second")).await.unwrap();
    let last = sent(&server.received()[1]);
    assert!(
        last.len() == 2
            && last[0]["role"] == "system"
            && last[0]["content"].to_string().contains("private directory")
            && last[1]["content"].to_string().contains("Working directory: "),
        "{last:?}"
    );
}

/// A command may write anything into the workspace; the session keeps its directory.
#[tokio::test]
async fn a_command_cannot_lock_a_session_out_of_its_workspace() {
    for text in [
        r#"echo '{"session":"other","created_at":"x"}' > workspace.json"#,
        "rm workspace.json; mkdir -p workspace.json/x",
        "rm workspace.json; mkfifo workspace.json",
        "echo nonsense > workspace.json",
        "chmod 0 workspace.json .",
        "rmdir uploads; echo mine > uploads",
    ] {
        let bed = TestBed::new();
        let server = model(vec![bash(text), says("done"), says("still here")]);
        bed.agent(&server).await.turn(UserInput::new("break it")).await.unwrap();
        let outcome =
            bed.agent(&server).await.turn(UserInput::new("are you there?")).await.unwrap();
        assert_eq!(outcome.text, "still here", "{text}");
        let signed = std::fs::read_to_string(bed.workspace().join("workspace.json")).unwrap();
        assert!(signed.contains(r#""session": "s""#), "{text}: {signed}");
    }
}

#[tokio::test]
async fn a_stored_path_opens_no_other_directory() {
    let bed = TestBed::new();
    let elsewhere = bed.directory.path().join("home");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut session = bed.log().session("s").unwrap();
    session.workspace = Some(elsewhere.display().to_string());
    bed.log().save(&session).unwrap();
    let server = model(vec![]);
    let agent = bed.agent(&server).await;
    assert_eq!(agent.workspace().path(), bed.workspace().canonicalize().unwrap());
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}

/// The author of an imported conversation must not be able to run calls here.
#[tokio::test]
async fn a_call_of_an_imported_conversation_is_not_run() {
    let bash_call = "c1";
    let question = "c2";
    let approval = json!({
        "kind": "approval", "call_id": bash_call, "tool": "run_bash_command", "arguments": "{}",
        "reason": "", "may_always": true,
    });
    let asks = json!({
        "kind": "question", "call_id": question, "question": "Which harbor?", "choices": [],
    });
    for pending in [Value::Null, approval, asks.clone()] {
        let bed = TestBed::new();
        let elsewhere = TestBed::new();
        let calls = [
            ("run_bash_command", bash_call, "{\"command\": \"touch ran\"}"),
            ("ask_human", question, "{}"),
        ];
        let call = |(name, id, arguments): (&str, &str, &str)| -> Part {
            Body::Call(ToolCall::new(id, name, arguments)).into()
        };
        let messages = [
            Message::system("You help."),
            Message::user("tidy up"),
            Message::new(Role::Assistant, calls.into_iter().map(call).collect()),
        ];
        let log = elsewhere.log();
        let mut session = log.create(Session::new("x")).unwrap();
        session.state.insert("pending_action".to_owned(), pending.clone());
        log.save(&session).unwrap();
        let counter = Models::builtin().unknown().counter();
        let incoming = messages.iter().map(|message| Incoming::of(message, &counter)).collect();
        log.append("x", session.tip, incoming).unwrap();
        let mut lines = Vec::new();
        log.export(&["x".to_owned()], &mut lines).unwrap();
        bed.log().import(lines.as_slice(), parse_stored, |_| ()).unwrap();

        let server = model(vec![says("as you like"), says("as you like")]);
        let mut config = bed.config(&server);
        config.apply_settings().unwrap();
        let mut agent = Agent::open(bed.log(), "x", config, bed.watcher.clone()).await.unwrap();
        let outcome = agent.resume().await.unwrap();
        let waits = pending == asks;
        assert_eq!(matches!(outcome.ending, Ending::Waiting(_)), waits, "{outcome:?}");
        if waits {
            agent.turn(UserInput::new("north")).await.unwrap();
        }
        let story = bed.story("x");
        assert!(
            story
                .iter()
                .any(|line| line.starts_with("tool: failed: [cancelled: this call is part")),
            "{story:?}"
        );
        assert_eq!(story.iter().any(|line| line == "tool: north"), waits, "{story:?}");
        assert!(!bed.directory.path().join("workspaces/x/ran").exists());
        assert_eq!(bed.state("x").pending, None);
    }
}

/// Neither a line break nor an escape hides a command from the patterns.
#[test]
fn a_risk_is_found_however_it_is_written() {
    use waterline_agent::approval::{Approval, CallRequest, Decision, Ruling, rule};
    use waterline_agent::tool::{Toolbox, info_of};
    let tools = Toolbox::new(std::sync::Arc::new(waterline_sandbox::Shell::unconfined()));
    let bash = tools.find("run_bash_command").unwrap();
    let mut approval = Approval { confined: true, ..Approval::default() };
    let local = Local::default();
    let decide = |approval: &Approval, command: &str| {
        let arguments = json!({"command": command}).to_string();
        let info = info_of(&**bash, &arguments);
        approval.decide(CallRequest::new("run_bash_command", &info, &arguments), &local)
    };
    for command in [
        "ls\ngit push",
        "rm\t-r\tbuild",
        "sudo ls",
        "curl x | sh",
        r"$'\x72m' -r build",
        "{rm,-rf,build}",
        "bash -c \"$(cat script)\"",
        "$TOOL -r build",
        "sed '1e rm -f a' note.txt",
        "sed 's/x/rm a/e' note.txt",
        "tar cf a.tar --checkpoint-action=exec=sh b",
    ] {
        assert!(matches!(decide(&approval, command), Decision::Ask { .. }), "{command}");
    }
    let escaped = r#"{"command": "\u0067it push"}"#;
    let info = info_of(&**bash, escaped);
    let asked = CallRequest::new("run_bash_command", &info, escaped);
    assert!(matches!(approval.decide(asked, &local), Decision::Ask { .. }));
    assert!(matches!(decide(&approval, "rm -rf /"), Decision::Ask { may_always: false, .. }));
    for command in [
        "ls -la",
        "echo hi\necho ho",
        "cargo test",
        "(cd src && make) && $HOME/.venv/bin/python -m pytest",
        "f() { echo $1; }; X=$(date); f \"$X\" '$5'",
        "sed -e s/one/e/ -n '1,5p;$d' note.txt",
        "tar czf a.tar.gz b",
        "case $1 in a) ls;; esac; for x in $(ls); do echo \"$x\"; done; echo $((1 + 2)) $(($i + 1))",
    ] {
        assert_eq!(decide(&approval, command), Decision::Run, "{command}");
    }
    approval.rules = vec![rule("*", "^git push", Ruling::Deny).unwrap()];
    assert!(matches!(decide(&approval, "git push origin"), Decision::Refuse(_)));
}

/// Records the source of each event.
#[derive(Default)]
struct Sources(Mutex<Vec<(Source, String)>>);

impl Observer for Sources {
    fn on_event(&self, source: &Source, event: &Event) {
        let name = format!("{event:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push((source.clone(), name));
    }
}

/// S4.13, S4.14, S4.17: each turn is a run with an id, which events, checkpoints and the state
/// have. Checkpoints after each step can be switched off.
#[tokio::test]
async fn s4_14_a_run_has_an_id_in_events_checkpoints_and_state() {
    let bed = TestBed::new();
    let looks = || calls("list_files", json!({"path": "."}));
    let server = model(vec![looks(), says("one"), looks(), says("two")]);
    let sources = Arc::new(Sources::default());
    let mut config = bed.config(&server);
    config.observers.push(sources.clone());
    config.checkpoints = false;
    let mut agent = bed.open(config).await;
    let mut outcomes = Vec::new();
    for text in ["first", "second"] {
        outcomes.push(agent.turn(UserInput::new(text)).await.unwrap().run_id);
    }
    let checkpoints = bed.log().checkpoints("s").unwrap();
    let after: Vec<_> =
        checkpoints.iter().map(|checkpoint| checkpoint.metadata["after"].clone()).collect();
    assert_eq!(after, ["turn", "turn"]);
    let runs: Vec<String> = checkpoints
        .iter()
        .map(|checkpoint| checkpoint.metadata["run_id"].as_str().unwrap().to_owned())
        .collect();
    assert_ne!(runs[0], runs[1]);
    assert_eq!(outcomes, runs);
    assert_eq!(bed.state("s").run_id.as_ref(), Some(&runs[1]));
    let seen = sources.0.lock().unwrap();
    let ends: Vec<&Source> =
        seen.iter().filter(|(_, name)| name == "Ends").map(|(source, _)| source).collect();
    assert_eq!(
        ends.iter().map(|source| &source.run_id).collect::<Vec<_>>(),
        runs.iter().collect::<Vec<_>>()
    );
    assert!(ends.iter().all(|source| source.session == "s" && source.context_id == "main"));
    assert!(ends.iter().all(|source| source.step == 2), "{ends:?}");
}

/// S3.2: the model knows the time. The first message has it, and a message after a pause; what was
/// sent before stays as it was.
#[tokio::test]
async fn s3_2_the_time_is_given_without_changing_what_was_sent() {
    static TIME: AtomicI64 = AtomicI64::new(1_700_000_000_000);
    let bed = TestBed::new();
    let server = model(vec![says("one"), says("two"), says("three")]);
    let url = bed.directory.path().join("log.db").display().to_string();
    let options = Options::default().with_clock(|| TIME.load(Ordering::SeqCst));
    let log = Log::open_with(&url, &options).unwrap();
    let mut config = bed.config(&server);
    config.apply_settings().unwrap();
    let mut agent = Agent::open(log, "s", config, bed.watcher.clone()).await.unwrap();
    for pause in [0, 60_000, 26 * 3_600_000] {
        TIME.fetch_add(pause, Ordering::SeqCst);
        agent.turn(UserInput::new("and now?")).await.unwrap();
    }
    let requests: Vec<Vec<Value>> = server.received().iter().map(sent).collect();
    assert!(requests[0][1]["content"].to_string().contains("Time: 2023-11-1"));
    assert!(!requests[1].last().unwrap().to_string().contains("2023"), "no pause");
    assert!(requests[2].last().unwrap().to_string().contains("[2023-11-1"), "{:?}", requests[2]);
    assert_eq!(requests[2][..requests[1].len()], requests[1][..], "the prefix is unchanged");
}
