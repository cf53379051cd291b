//! Shortened session files of other programs: each is read as the conversation that took place.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::ops::ControlFlow;

use waterline::message::{Body, Role};
use waterline_testkit::show;
use waterline_transcript::write::{self, Format};
use waterline_transcript::{Report, Source, Transcript, TranscriptError, TranscriptKind, read};

fn try_read(text: &str) -> Result<(Vec<Transcript>, Report), TranscriptError> {
    let mut found = Vec::new();
    let source = Source::Bytes("test".into(), text.into());
    let report = read(&source, |transcript| {
        found.push(transcript);
        ControlFlow::Continue(())
    })?;
    Ok((found, report))
}

fn all(text: &str) -> (Vec<Transcript>, Report) {
    try_read(text).unwrap()
}

fn one(text: &str) -> Transcript {
    let (mut found, report) = all(text);
    assert_eq!(found.len(), 1, "{report:?}");
    assert_eq!(report.notices, [], "{report:?}");
    found.remove(0)
}

fn story(transcript: &Transcript) -> String {
    show(transcript.messages())
}

/// A line of a Claude Code session.
fn claude(uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"s1","isSidechain":false,"timestamp":"2026-02-12T10:00:00.000Z",{rest}}}"#
    )
}

fn answer(id: &str, block: &str) -> String {
    let usage = concat!(
        r#"{"input_tokens":3,"cache_read_input_tokens":900,"cache_creation_input_tokens":97,"#,
        r#""output_tokens":5}"#
    );
    format!(
        r#""type":"assistant","message":{{"id":"{id}","role":"assistant","model":"claude-opus-4-6","content":[{block}],"usage":{usage}}}"#
    )
}

fn user(content: &str) -> String {
    format!(r#""type":"user","message":{{"role":"user","content":{content}}}"#)
}

fn result(call: &str) -> String {
    user(&format!(r#"[{{"type":"tool_result","tool_use_id":"{call}","content":"out of {call}"}}]"#))
}

fn call(id: &str) -> String {
    format!(
        r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file_path":"/a/{id}.rs"}}}}"#
    )
}

/// One answer has several lines and parallel calls, with a progress line in between.
#[test]
fn claude_code_joins_answers_and_keeps_parallel_results() {
    let lines = [
        claude("u1", "", &user("\"fix it\"")),
        claude("a1", "u1", &answer("m1", r#"{"type":"text","text":"reading"}"#)),
        claude("a2", "a1", &answer("m1", &call("x"))),
        claude("p1", "a2", r#""type":"progress","data":{"type":"hook_progress"}"#),
        claude("a3", "p1", &answer("m1", &call("y"))),
        claude("r1", "a2", &result("x")),
        claude("r2", "a3", &result("y")),
        claude("a4", "r1", &answer("m2", r#"{"type":"text","text":"done"}"#)),
    ];
    let found = one(&lines.join("\n"));
    assert_eq!(story(&found), "H A[x,y] T(x) T(y) A");
    assert_eq!((found.id.as_str(), found.model.as_deref()), ("s1", Some("claude-opus-4-6")));
    let usage = found.entries[1].usage.unwrap();
    assert_eq!((usage.prompt, usage.cached, usage.written), (1_000, 900, 97));
    assert_eq!(found.entries[0].time, Some(1_770_890_400));
}

/// Abandoned messages are a branch, which shares the earlier messages.
#[test]
fn claude_code_follows_parents_not_lines() {
    let lines = [
        claude("u1", "", &user("\"first\"")),
        claude("a1", "u1", &answer("m1", r#"{"type":"text","text":"answer"}"#)),
        claude("u2", "a1", &user("\"a wrong turn\"")),
        claude("a2", "u2", &answer("m2", r#"{"type":"text","text":"wrong"}"#)),
        claude("u3", "a1", &user("\"the right turn\"")),
        claude("a3", "u3", &answer("m3", r#"{"type":"text","text":"right"}"#)),
    ];
    let (found, _) = all(&lines.join("\n"));
    let texts = |at: usize| found[at].messages().map(|message| message.text()).collect::<Vec<_>>();
    assert_eq!(texts(0), ["first", "answer", "the right turn", "right"]);
    assert_eq!(texts(1), ["first", "answer", "a wrong turn", "wrong"]);
    assert_eq!((found[1].role, found[1].parent.as_deref()), (TranscriptKind::Branch, Some("s1")));
}

/// A compaction starts a new root; the messages before it still belong to the conversation.
#[test]
fn claude_code_compactions_are_bridged_and_summaries_marked() {
    let boundary = concat!(
        r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"nowhere","#,
        r#""compactMetadata":{"trigger":"auto","preTokens":178144}"#
    );
    let summary =
        format!("\"isCompactSummary\":true,{}", user("\"This session is being continued\""));
    let lines = [
        claude("u1", "", &user("\"first\"")),
        claude("a1", "u1", &answer("m1", &call("x"))),
        claude("r1", "a1", &result("x")),
        claude("b1", "", boundary),
        claude("u2", "b1", &summary),
        claude("a2", "u2", &answer("m2", r#"{"type":"text","text":"continuing"}"#)),
    ];
    let found = one(&lines.join("\n"));
    assert_eq!(story(&found), "H A[x] T(x) H A");
    assert_eq!(found.compactions.len(), 1);
    assert_eq!((found.compactions[0].at, found.compactions[0].before), (3, Some(178_144)));
    let summaries: Vec<bool> = found.entries.iter().map(|entry| entry.is_summary).collect();
    assert_eq!(summaries, [false, false, false, true, false]);
}

#[test]
fn claude_code_sub_agents_are_separate_conversations() {
    let sidechain = |line: String| {
        line.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a7\"")
    };
    let lines = [
        claude("u1", "", &user("\"ask another agent\"")),
        sidechain(claude("s1", "", &user("\"look for it\""))),
        sidechain(claude("s2", "s1", &answer("m8", r#"{"type":"text","text":"found"}"#))),
        claude("a1", "u1", &answer("m1", r#"{"type":"text","text":"it is there"}"#)),
    ];
    let (found, _) = all(&lines.join("\n"));
    assert_eq!(found.iter().map(story).collect::<Vec<_>>(), ["H A", "H A"]);
    assert_eq!((found[1].role, found[1].id.as_str()), (TranscriptKind::SubAgent, "s1/agent-a7"));
}

/// An invalid line is reported with its number, and the rest is read.
#[test]
fn invalid_line_is_reported_and_skipped() {
    let lines = [
        claude("u1", "", &user("\"first\"")),
        claude("a1", "u1", &answer("m1", r#"{"type":"text","text":"answer"}"#))
            .replace("\"}]", "\"}"),
        claude("u2", "a1", &user("\"second\"")),
        claude("a2", "u2", &answer("m2", r#"{"type":"text","text":"answer"}"#)),
    ];
    let (found, report) = all(&lines.join("\n"));
    assert_eq!(
        found.iter().map(story).collect::<Vec<_>>(),
        ["H H A"],
        "the path continues after the gap"
    );
    assert_eq!(report.notices.len(), 1);
    assert_eq!(report.notices[0].line, Some(2));
}

/// A file may have one line only.
#[test]
fn repeated_lines_count_once() {
    let lines = [
        claude("u1", "", &user("\"first\"")),
        claude("a1", "u1", &answer("m1", r#"{"type":"text","text":"answer"}"#)),
    ];
    let twice = format!("{0}\n{0}\n", lines.join("\n"));
    assert_eq!(story(&one(&twice)), "H A");
    assert_eq!(story(&one(&lines[0])), "H");
}

#[test]
fn first_line_may_be_invalid() {
    let (found, report) =
        all("{\"id\": 1, \"mess\n{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n");
    assert_eq!((found.len(), report.notices[0].line), (1, Some(1)));
}

#[test]
fn file_without_a_conversation_is_an_error_with_a_reason() {
    let error = |text: &str| try_read(text).unwrap_err().to_string();
    assert_eq!(error(""), "test: the file is empty");
    assert!(error("{\"a\":1}\n{\"a\":2}\n").contains("unknown format (looked at 2 lines)"));
    assert!(error("{\"a\":1}").contains("not a conversation"));
    assert!(
        error("\nhello").contains("not a session file in a supported format (line 2: not JSON)")
    );
}

fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-06-26T14:55:44.306Z","type":"{kind}","payload":{payload}}}"#)
}

/// The items of one call are one message; a repeated header starts no new session; a compaction
/// keeps the earlier messages.
#[test]
fn codex_rollouts() {
    let count = concat!(
        r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":500,"#,
        r#""cached_input_tokens":400,"output_tokens":20}}}"#
    );
    let head = r#"{"id":"r1","base_instructions":{"text":"You are Codex."}}"#;
    let lines = [
        codex("session_meta", head),
        codex("turn_context", r#"{"model":"gpt-5.5"}"#),
        codex(
            "response_item",
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#,
        ),
        codex("event_msg", r#"{"type":"user_message","message":"go"}"#),
        codex("response_item", r#"{"type":"reasoning","id":"rs_1","summary":[]}"#),
        codex(
            "response_item",
            concat!(
                r#"{"type":"function_call","id":"fc_1","name":"exec","#,
                r#""arguments":"{\"cmd\":\"ls\"}","call_id":"a"}"#
            ),
        ),
        codex(
            "response_item",
            r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"b"}"#,
        ),
        codex("response_item", r#"{"type":"function_call_output","call_id":"a","output":"x"}"#),
        codex("response_item", r#"{"type":"custom_tool_call_output","call_id":"b","output":"ok"}"#),
        codex("event_msg", count),
        codex("session_meta", head),
        codex("compacted", r#"{"message":"so far so good","replacement_history":[]}"#),
        codex(
            "response_item",
            concat!(
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","#,
                r#""text":"ok"}]}"#
            ),
        ),
    ];
    let found = one(&lines.join("\n"));
    assert_eq!(story(&found), "S H A[a,b] T(a) T(b) H A");
    assert_eq!((found.id.as_str(), found.model.as_deref()), ("r1", Some("gpt-5.5")));
    assert_eq!(found.entries[2].usage.unwrap().prompt, 500);
    assert_eq!(found.compactions[0].at, 4);
    assert!(found.entries[4].is_summary);
}

#[test]
fn pi_lists_and_trees() {
    let header = r#"{"type":"session","id":"p1","cwd":"/w","modelId":"claude-sonnet-4-5"}"#;
    let entry = |ids: &str, message: &str| {
        format!(
            r#"{{"type":"message",{ids}"timestamp":"2025-11-20T23:33:50.805Z","message":{message}}}"#
        )
    };
    let user = r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#;
    let calls = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},"#,
        r#"{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"a.rs"}}],"#,
        r#""usage":{"input":10,"output":2,"cacheRead":80,"cacheWrite":10}}"#
    );
    let result = concat!(
        r#"{"role":"toolResult","toolCallId":"t1","content":[{"type":"text","text":"fn"}],"#,
        r#""isError":true}"#
    );
    let list = [header.to_owned(), entry("", user), entry("", calls), entry("", result)];
    let found = one(&list.join("\n"));
    assert_eq!(story(&found), "H A[t1] T(t1!)");
    assert_eq!(found.entries[1].usage.unwrap().prompt, 100);

    let tree = [
        header.to_owned(),
        entry(r#""id":"1","parentId":null,"#, user),
        entry(r#""id":"2","parentId":"1","#, calls),
        entry(r#""id":"3","parentId":"1","#, user),
        r#"{"type":"compaction","id":"4","parentId":"3","summary":"so far","tokensBefore":9000}"#
            .to_owned(),
        entry(r#""id":"5","parentId":"4","#, user),
    ];
    let (found, _) = all(&tree.join("\n"));
    assert_eq!(found.iter().map(story).collect::<Vec<_>>(), ["H H H H", "H A[t1]"]);
    assert_eq!((found[0].compactions[0].at, found[0].compactions[0].before), (2, Some(9_000)));
    assert_eq!(found[1].role, TranscriptKind::Branch);
}

/// Results are logged as tools finish; the model gets them in the order of its calls, with the text
/// meant for the model.
#[test]
fn copilot_logs() {
    let event = |kind: &str, data: &str| {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"e","timestamp":"2026-05-04T15:01:06.890Z","parentId":null}}"#
        )
    };
    let done = |id: &str| {
        format!(
            r#"{{"toolCallId":"{id}","success":true,"result":{{"content":"for the model","detailedContent":"for the screen"}}}}"#
        )
    };
    let requests = concat!(
        r#"{"content":"","toolRequests":[{"toolCallId":"a","name":"view","#,
        r#""arguments":{"path":"x"}},{"toolCallId":"b","name":"apply_patch","arguments":"*** "#,
        r#"Begin"}],"outputTokens":7}"#
    );
    let lines = [
        event("session.start", r#"{"sessionId":"c1"}"#),
        event("session.model_change", r#"{"newModel":"gpt-5.4"}"#),
        event("user.message", r#"{"content":"typed","transformedContent":"as the model saw it"}"#),
        event("assistant.message", requests),
        event("hook.start", r#"{"hookType":"preToolUse","input":{}}"#),
        event("tool.execution_complete", &done("b")),
        event("tool.execution_complete", &done("a")),
    ];
    let found = one(&lines.join("\n"));
    assert_eq!(story(&found), "H A[a,b] T(a) T(b)");
    assert_eq!(found.entries[0].message.text(), "as the model saw it");
    assert_eq!(found.entries[2].message.results().next().unwrap().text(), "for the model");
    assert_eq!((found.id.as_str(), found.model.as_deref()), ("c1", Some("gpt-5.4")));
}

const GEMINI_CALL: &str = concat!(
    r#"{"id":"2","timestamp":"2026-04-14T15:31:26.424Z","type":"gemini","content":"I will "#,
    r#"look","thoughts":[{"subject":"Looking","description":"at it","#,
    r#""timestamp":"2026-04-14T15:31:25.506Z"},{"subject":"Later","description":"copied","#,
    r#""timestamp":"2026-04-14T15:33:25.506Z"}],"tokens":{"input":19579,"output":56,"cached":5,"#,
    r#""thoughts":148},"model":"gemini-3","toolCalls":[{"id":"g1","name":"read_file","#,
    r#""args":{"p":"a"},"status":"success","result":[{"functionResponse":{"id":"g1","#,
    r#""name":"read_file","response":{"output":"text"}}}]}]}"#
);

#[test]
fn gemini_cli_documents() {
    let user = concat!(
        r#"{"id":"1","timestamp":"2026-04-14T15:31:20.424Z","type":"user","#,
        r#""content":[{"text":"look"}]}"#
    );
    let text = format!(
        r#"{{"sessionId":"g","projectHash":"h","messages":[{user},{{"id":"i","type":"info","content":"x"}},{GEMINI_CALL}]}}"#
    );
    let found = one(&text);
    assert_eq!(story(&found), "H A[g1] T(g1)");
    let thoughts =
        found.entries[1].message.parts.iter().filter(|part| matches!(part.body, Body::Thinking(_)));
    assert_eq!(thoughts.count(), 1, "a thought from after its message was copied there by mistake");
    assert_eq!(found.entries[1].usage.unwrap().output, 204);
}

/// The text of an error is kept, wherever it is.
#[test]
fn gemini_cli_errors() {
    let failed = |status: &str, rest: &str| {
        let calls =
            format!(r#"[{{"id":"g1","name":"run","args":{{}},"status":"{status}",{rest}}}]"#);
        let user = r#"{"id":"1","type":"user","content":"run it"}"#;
        let text = format!(
            r#"{{"sessionId":"g","projectHash":"h","messages":[{user},{{"id":"2","type":"gemini","content":"","toolCalls":{calls}}}]}}"#
        );
        let found = one(&text);
        let result = found.entries[2].message.results().next().unwrap().clone();
        (result.text(), result.is_error)
    };
    let response = |response: &str| {
        format!(r#""result":[{{"functionResponse":{{"id":"g1","response":{response}}}}}]"#)
    };
    let expected = ("no such file".to_owned(), true);
    let with_output = response(r#"{"error":"no such file","output":""}"#);
    assert_eq!(failed("error", &with_output), expected);
    assert_eq!(failed("success", &response(r#"{"error":"no such file"}"#)), expected);
    assert_eq!(failed("error", r#""resultDisplay":"no such file""#), expected);
    assert_eq!(failed("success", &response(r#"{"output":""}"#)), (String::new(), false));
}

/// Lines repeat a message when it changes; a rewind drops messages; a rewritten list adds only new
/// ones.
#[test]
fn gemini_cli_lines() {
    let user =
        |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"user","content":"{text}"}}"#);
    let lines = [
        r#"{"sessionId":"g","projectHash":"h","kind":"main"}"#.to_owned(),
        user("1", "look"),
        r#"{"id":"2","type":"gemini","content":""}"#.to_owned(),
        GEMINI_CALL.to_owned(),
        user("3", "no"),
        r#"{"$rewindTo":"3"}"#.to_owned(),
        format!(
            r#"{{"$set":{{"messages":[{}]}}}}"#,
            user("9", "<state_snapshot>so far</state_snapshot>")
        ),
        user("4", "continue"),
    ];
    let found = one(&lines.join("\n"));
    assert_eq!(story(&found), "H A[g1] T(g1) H H");
    assert_eq!(found.compactions[0].at, 3);
    assert!(found.entries[3].is_summary && !found.entries[4].is_summary);
}

/// A tool part is call and result; a running tool has no result yet.
#[test]
fn opencode_exports() {
    let text = r#"{"info":{"id":"ses_1","title":"t"},"messages":[
        {"info":{"id":"msg_1","role":"user","time":{"created":1777908786707}},"parts":[{"type":"text","text":"go"}]},
        {"info":{"id":"msg_2","role":"assistant","modelID":"gpt-5.4","time":{"created":1777908786707},"tokens":{"input":100,"output":5,"reasoning":1,"cache":{"read":50,"write":0}}},"parts":[
            {"type":"step-start"},{"type":"reasoning","text":"hm"},
            {"type":"tool","tool":"bash","callID":"a","state":{"status":"completed","input":{"command":"ls"},"output":"x"}},
            {"type":"step-finish"},{"type":"step-start"},
            {"type":"tool","tool":"bash","callID":"b","state":{"status":"error","input":{},"error":"no"}},
            {"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{}}}]}]}"#;
    let found = one(text);
    assert_eq!(story(&found), "H A[a] T(a) A[b,c] T(b!)");
    assert_eq!(found.entries[1].usage.unwrap().prompt, 150);
    assert_eq!(found.entries[0].time, Some(1_777_908_786));
}

#[test]
fn letta_agent_files() {
    let text = r#"{"agents":[{"id":"agent-0","system":"You remember.","llm_config":{"model":"gpt-4o"},"messages":[
        {"role":"user","content":[{"type":"text","text":"{\"type\":\"user_message\",\"message\":\"hi\",\"time\":\"now\"}"}],"created_at":"2026-01-01T00:00:01+00:00"},
        {"role":"assistant","content":[],"tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"search","arguments":"{}"}}],"created_at":"2026-01-01T00:00:02+00:00"},
        {"role":"tool","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"tool_returns":[{"tool_call_id":"a","status":"success"},{"tool_call_id":"b","status":"error"}],"created_at":"2026-01-01T00:00:03+00:00"},
        {"role":"summary","content":"{\"type\":\"system_alert\",\"message\":\"a summary of the previous messages\",\"time\":\"now\"}","created_at":"2026-01-01T00:00:04+00:00"}
        ]}],"blocks":[],"tools":[],"groups":[]}"#;
    let found = one(text);
    assert_eq!(story(&found), "S H A[a,b] T(a) T(b!) H");
    assert_eq!(found.entries[1].message.text(), "hi");
    assert_eq!(found.entries[3].message.results().nth(1).unwrap().text(), "two");
    assert!(found.entries[4].is_summary);
}

/// The three encodings of one conversation, and a state with it.
#[test]
fn langgraph_messages_in_every_encoding() {
    let plain = concat!(
        r#"[{"type":"human","content":"hi"},{"type":"ai","content":"","#,
        r#""tool_calls":[{"name":"f","args":{"x":1},"id":"a","type":"tool_call"}]},"#,
        r#"{"type":"tool","content":"no","tool_call_id":"a","status":"error"}]"#
    );
    let dict = concat!(
        r#"[{"type":"human","data":{"content":"hi","type":"human"}},{"type":"ai","#,
        r#""data":{"content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"#,
        r#""tool_calls":[{"name":"f","args":{"x":1},"id":"a"}]}},{"type":"tool","#,
        r#""data":{"content":"no","tool_call_id":"a","status":"error"}}]"#
    );
    let dumped = concat!(
        r#"[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"#,
        r#""kwargs":{"content":"hi"}},{"lc":1,"type":"constructor","id":["x","AIMessage"],"#,
        r#""kwargs":{"content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"a"}]}},"#,
        r#"{"lc":1,"type":"constructor","id":["x","ToolMessage"],"kwargs":{"content":"no","#,
        r#""tool_call_id":"a","status":"error"}}]"#
    );
    let state = format!(
        r#"{{"values":{{"messages":{plain}}},"next":[],"checkpoint":{{"thread_id":"t9"}}}}"#
    );
    for text in [plain, dict, dumped, &state] {
        assert_eq!(story(&one(text)), "H A[a] T(a!)", "{text}");
    }
    assert_eq!(one(&state).id, "t9");
}

/// The states of a thread are listed newest first; a message that a later state drops is kept.
#[test]
fn langgraph_histories_are_joined() {
    let human = |id: &str, extra: &str| {
        format!(r#"{{"type":"human","id":"{id}","content":"q {id}"{extra}}}"#)
    };
    let state = |step: i32, list: &[String]| {
        format!(
            r#"{{"values":{{"messages":[{}]}},"metadata":{{"step":{step}}},"created_at":"2026-01-01T00:00:0{step}Z","checkpoint":{{"thread_id":"t"}}}}"#,
            list.join(",")
        )
    };
    let ai = r#"{"type":"ai","id":"2","content":"an answer"}"#.to_owned();
    let summary = human("9", r#","additional_kwargs":{"lc_source":"summarization"}"#);
    let history = format!(
        "[{},{},{}]",
        state(3, &[summary]),
        state(2, &[human("1", ""), ai]),
        state(1, &[human("1", "")])
    );
    let found = one(&history);
    assert_eq!(story(&found), "H A H");
    assert_eq!((found.compactions[0].at, found.entries[2].is_summary), (2, true));
    let bare = |count: usize| {
        (0..count).map(|at| format!(r#"{{"type":"human","content":"q {at}"}}"#)).collect::<Vec<_>>()
    };
    let history = format!("[{},{},{}]", state(3, &bare(3)), state(2, &bare(2)), state(1, &bare(1)));
    assert_eq!(story(&one(&history)), "H H H", "messages without an id are matched by index");
}

#[test]
fn openai_agents_databases() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("sessions.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            r#"CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
            INSERT INTO agent_messages (session_id, message_data, created_at) VALUES
            ('one', '{"content":"hi","role":"user"}', '2026-01-01 00:00:00'),
            ('two', '{"content":"ho","role":"user"}', '2026-01-01 00:00:00'),
            ('one', '{"id":"rs","summary":[],"type":"reasoning"}', '2026-01-01 00:00:01'),
            ('one', '{"arguments":"{}","call_id":"a","name":"f","type":"function_call"}', '2026-01-01 00:00:01'),
            ('one', '{"call_id":"a","output":"x","type":"function_call_output"}', '2026-01-01 00:00:02'),
            ('one', '[]', '2026-01-01 00:00:02');"#,
        )
        .unwrap();
    drop(database);
    let mut found = Vec::new();
    let report = read(&Source::File(path), |transcript| {
        found.push(transcript);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(found.iter().map(story).collect::<Vec<_>>(), ["H A[a] T(a)", "H"]);
    assert_eq!(found[0].entries[0].time, Some(1_767_225_600));
    assert!(report.notices[0].text.as_str().contains("row 6"), "{report:?}");
}

/// Research data sets add usage and summaries to OpenAI messages.
#[test]
fn message_lists_one_per_line() {
    let line = concat!(
        r#"{"id":"c","model":"m","compactions":[{"at":1,"pre_tokens":7}],"#,
        r#""messages":[{"role":"user","content":"hi"},{"role":"user","content":"so far","#,
        r#""x":{"kind":"compact_summary"}},{"role":"assistant","content":"ok","#,
        r#""x":{"usage":{"in":5,"out":2}}}]}"#
    );
    let (found, _) = all(&format!("{line}\n{line}\n"));
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].entries[1].is_summary, found[0].entries[2].usage.unwrap().prompt),
        (true, 5)
    );
    assert_eq!(found[0].compactions[0].before, Some(7));
}

/// A written transcript is read back as the same conversation, in every format.
#[test]
fn written_transcripts_are_read_back() {
    let lines = [
        claude("u1", "", &user("\"fix it\"")),
        claude("a1", "u1", &answer("m1", &call("x"))),
        claude("r1", "a1", &result("x")),
        claude("a2", "r1", &answer("m2", r#"{"type":"text","text":"done"}"#)),
    ];
    let source = one(&lines.join("\n"));
    for format in Format::ALL {
        let text = write::line(&source, format);
        assert!(!text.contains('\n'), "{format}: one line");
        let again = one(&text);
        assert_eq!((story(&again), &again.id), (story(&source), &source.id), "{format}");
        let arguments =
            again.messages().flat_map(|message| message.calls()).next().unwrap().arguments.clone();
        assert_eq!(arguments, r#"{"file_path":"/a/x.rs"}"#, "{format}");
    }
}

/// ATIF forbids unknown fields, allows agent fields only in agent steps and only objects as
/// arguments, and numbers its steps.
#[test]
fn atif_documents_follow_the_schema() {
    let mut source = one(concat!(
        r#"[{"role":"system","content":"s"},{"role":"user","content":"q"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","#,
        r#""function":{"name":"patch","arguments":"*** not json"}}]},{"role":"tool","#,
        r#""tool_call_id":"a","content":"no"}]"#
    ));
    source.entries[1].is_summary = true;
    let document: serde_json::Value =
        serde_json::from_str(&write::line(&source, Format::Atif)).unwrap();
    let steps = document["steps"].as_array().unwrap();
    let numbered: Vec<_> = steps
        .iter()
        .map(|step| (step["step_id"].as_u64().unwrap(), step["source"].as_str().unwrap()))
        .collect();
    assert_eq!(numbered, [(1, "system"), (2, "system"), (3, "agent")]);
    assert_eq!(steps[1]["extra"]["context_management"]["type"], "compaction");
    assert_eq!(steps[2]["tool_calls"][0]["arguments"]["_raw"], "*** not json");
    assert_eq!(steps[2]["observation"]["results"][0]["source_call_id"], "a");
    assert!(steps[0].get("tool_calls").is_none() && steps[0].get("metrics").is_none());
    let again = one(&document.to_string());
    assert!(again.entries[1].is_summary && again.entries[1].message.role == Role::User);
}
