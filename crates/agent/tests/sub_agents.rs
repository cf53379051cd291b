//! Sub-agents: a separate task and context, and only the result for the parent.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use test_bed::{Line, TestBed, bash, calls, reply, says, sent, tools};
use waterline_agent::skill::Skill;
use waterline_agent::{ApprovalReply, Ending, Local, State, UserInput};
use waterline_log::{Filter, Relation, Session};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

/// Returns a model with one script for the parent and one for sub-agents with this task.
fn two_models(above: Vec<Line>, below: Vec<Line>, task: &'static str) -> Scripted {
    let parts = Mutex::new([above, below].map(std::collections::VecDeque::from));
    let count = AtomicUsize::new(0);
    let script = move |received: &Received| {
        let first =
            sent(received).iter().find(|message| message["role"] == "user").unwrap()["content"]
                .to_string();
        let at = usize::from(first.contains(task));
        let line = parts.lock().unwrap()[at].pop_front().unwrap_or_else(|| says("done"));
        reply(received, &line, count.fetch_add(1, Ordering::SeqCst))
    };
    Scripted::new(script)
}

fn children(bed: &TestBed, parent: &str) -> Vec<Session> {
    let all = bed
        .log()
        .sessions(&Filter { parent: Some(parent.to_owned()), ..Filter::default() })
        .unwrap();
    all.into_iter().filter(|session| session.relation == Relation::SubAgent).collect()
}

/// S0.48 to S0.52, S0.56, S0.58: the seed's own example. Seventeen messages below, three above.
#[tokio::test]
async fn s0_48_to_s0_58_the_pdf_skill_by_a_sub_agent() {
    let bed = TestBed::new();
    let skill = bed.directory.path().join("skills/pdf");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        format!("---\nname: pdf\ndescription: PDF 转图片\n---\n{}", "步骤说明。".repeat(600)),
    )
    .unwrap();
    std::fs::write(
        skill.join("scripts/convert.sh"),
        "mkdir -p outputs && echo 图片 > outputs/page-1.txt && echo ok\n",
    )
    .unwrap();
    let read = |path: &str| calls("read_file", json!({"path": path}));
    let below = vec![
        read("skills/pdf/SKILL.md"),
        read("skills/pdf/scripts/convert.sh"),
        calls("list_files", json!({"path": "skills/pdf"})),
        bash("sh skills/pdf/scripts/convert.sh"),
        Line::Calls(vec![("list_files", json!({"path": "outputs"})), ("now", json!({}))]),
        read("outputs/page-1.txt"),
        calls("find_files", json!({"pattern": "outputs/*"})),
        says("转换完成，输出在 outputs/"),
    ];
    let above =
        vec![calls("call_subagent", json!({"task": "读取 PDF skill 并执行转换"})), says("完成！")];
    let server = two_models(above, below, "读取 PDF skill");
    let mut config = bed.config(&server);
    let description = "PDF 转图片".to_owned();
    config.skills =
        vec![Skill { id: "pdf".to_owned(), name: "pdf".to_owned(), description, directory: skill }];
    bed.open(config).await.turn(UserInput::new("把 PDF 转成图片")).await.unwrap();

    let child = children(&bed, "s").pop().unwrap();
    assert_eq!(bed.story(&child.id).len(), 17, "{:#?}", bed.story(&child.id));
    let above = bed.story("s");
    assert_eq!(above[..2], ["user: 把 PDF 转成图片", "assistant: calls call_subagent"]);
    let result: Value = serde_json::from_str(above[2].strip_prefix("tool: ").unwrap()).unwrap();
    assert_eq!(
        result,
        json!({
            "ok": true, "result": "转换完成，输出在 outputs/", "context_id": child.context_id,
            "model_calls": 8
        })
    );
    assert!(above[2].contains("转换完成"), "must not be escaped: {}", above[2]);
    assert_eq!(above.len(), 4, "three messages and the answer");
    assert!(
        bed.workspace().join("outputs/page-1.txt").is_file(),
        "it works in the workspace of its parent"
    );
    let catalog = sent(&server.received()[0])[0]["content"].to_string();
    assert!(
        catalog.contains("pdf: PDF 转图片 (skills/pdf/SKILL.md in your private directory)")
            && !catalog.contains("步骤说明"),
        "{catalog}"
    );
}

/// S0.17, S0.18, S0.48, S0.49, S0.50, C0.8, C0.9: a sub-agent has fresh state, the right parent and
/// the same core tools.
#[tokio::test]
async fn s0_49_a_sub_agent_starts_fresh_and_knows_its_parent() {
    let bed = TestBed::new();
    // `max_loops` is the earlier name of `max_model_calls`.
    let deeper = vec![
        calls("call_subagent", json!({"task": "the task below, deeper", "max_loops": 3})),
        says("half"),
    ];
    let server = two_models(
        vec![calls("call_subagent", json!({"task": "the task below"})), says("all")],
        deeper,
        "the task below",
    );
    let mut agent = bed.agent(&server).await;
    let busy = |state: &mut State, local: &mut Local| {
        state.active_skill = Some("knots".to_owned());
        state.todos.push(serde_json::from_value(json!({"content": "tie it"})).unwrap());
        state.mentioned.push("knots".to_owned());
        state.pins.push(1);
        local.allowed_tools.push("run_bash_command".to_owned());
        local.approvals.push("run_bash_command ls".to_owned());
    };
    agent.change(busy).await.unwrap();
    agent.turn(UserInput::new("begin")).await.unwrap();
    assert!(!bed.state("s").todos.is_empty(), "the parent keeps its own state");
    let child = children(&bed, "s").pop().unwrap();
    let State { active_skill, todos, mentioned, pins, uploads, .. } = bed.state(&child.id);
    assert_eq!((active_skill, todos, mentioned), (None, Vec::new(), Vec::new()));
    assert!(pins.is_empty() && uploads.is_empty());
    assert!(bed.local(&child.id).allowed_tools.is_empty());
    let grandchild = children(&bed, &child.id).pop().unwrap();
    assert_eq!(
        (child.parent_context.as_deref(), grandchild.parent_context.as_deref()),
        (Some("main"), Some(child.context_id.as_str()))
    );
    assert_eq!(
        (bed.state(&child.id).max_loops, bed.state(&grandchild.id).max_loops),
        (Some(10), Some(3))
    );
    assert!(child.context_id.starts_with("subagent-") && child.id == child.context_id);
    assert_eq!(bed.story(&child.id)[0], "user: the task below");
    let lists: Vec<Vec<String>> = server.received().iter().map(tools).collect();
    assert!(
        lists.iter().all(|list| list.contains(&"read_file".to_owned())),
        "core tools are always available"
    );
}

#[tokio::test]
async fn c0_9_sub_agents_are_two_deep_at_most() {
    let bed = TestBed::new();
    let down = || calls("call_subagent", json!({"task": "below"}));
    let server =
        two_models(vec![down()], vec![down(), down(), says("enough"), says("enough")], "below");
    bed.agent(&server).await.turn(UserInput::new("begin")).await.unwrap();
    let child = children(&bed, "s").pop().unwrap();
    let grandchild = children(&bed, &child.id).pop().unwrap();
    let refused = bed.story(&grandchild.id).join("\n");
    assert!(refused.contains("at most 2 levels deep"), "{refused}");
    assert!(children(&bed, &grandchild.id).is_empty());
}

/// C0.11: a sub-agent at its loop limit reports, and the result says what is incomplete.
#[tokio::test]
async fn c0_11_the_result_reports_the_loop_limit() {
    let bed = TestBed::new();
    let below: Vec<Line> =
        (0..4).map(|n| calls("read_file", json!({"path": format!("f{n}")}))).collect();
    let below = [below, vec![says("I saw nothing.")]].concat();
    let server = two_models(
        vec![calls("call_subagent", json!({"task": "look below", "max_model_calls": 4}))],
        below,
        "look below",
    );
    bed.agent(&server).await.turn(UserInput::new("begin")).await.unwrap();
    let result = bed.story("s")[2].clone();
    let result: Value = serde_json::from_str(result.strip_prefix("tool: ").unwrap()).unwrap();
    assert_eq!(
        (&result["ok"], &result["model_calls"]),
        (&json!(false), &json!(5)),
        "four calls and the report"
    );
    assert!(
        result["error"]
            .as_str()
            .unwrap()
            .contains("limit of 4 model calls for this task was reached")
            && result["result"] == "I saw nothing.",
        "{result}"
    );
}

/// Calls of a sub-agent need the same approval, and a denial is a result.
#[tokio::test]
async fn a_sub_agent_needs_the_same_approvals() {
    let bed = TestBed::new();
    let server = two_models(
        vec![calls("call_subagent", json!({"task": "clean below"}))],
        vec![bash("rm -r build"), says("no")],
        "clean below",
    );
    bed.watcher.replies.lock().unwrap().push_back(ApprovalReply::Deny(None));
    bed.agent(&server).await.turn(UserInput::new("begin")).await.unwrap();
    let child = children(&bed, "s").pop().unwrap();
    assert!(bed.story(&child.id)[2].contains("Denied by the user"));
    assert!(
        bed.watcher
            .event_lines()
            .iter()
            .any(|event| event.starts_with("Below") && event.contains(&child.context_id))
    );
}

/// Three run at once, with results in the order of the calls; one too large for the parent becomes
/// an artifact.
#[tokio::test]
async fn sub_agents_run_concurrently() {
    let bed = TestBed::new();
    let three = ["below one", "below two", "below three"]
        .map(|task| ("call_subagent", json!({"task": task})));
    let count = Arc::new(AtomicUsize::new(0));
    let script = move |received: &Received| {
        let turn = count.fetch_add(1, Ordering::SeqCst);
        let first =
            sent(received).iter().find(|message| message["role"] == "user").unwrap()["content"]
                .to_string();
        if !first.contains("below") {
            let line = if turn == 0 { Line::Calls(three.to_vec()) } else { says("all three") };
            return reply(received, &line, turn);
        }
        let text = if first.contains("two") { "long ".repeat(20_000) } else { first };
        match reply(received, &says(text), turn) {
            // Slow enough to overlap.
            Reply::Stream { events, .. } => {
                Reply::Slow { events, pause: Duration::from_millis(200) }
            }
            other => other,
        }
    };
    let server = Scripted::new(script);
    let outcome = bed.agent(&server).await.turn(UserInput::new("begin")).await.unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    let story = bed.story("s");
    assert!(
        story[2].contains("below one")
            && story[3].contains("full text in artifact")
            && story[4].contains("below three"),
        "{}",
        story.len()
    );
    assert_eq!(bed.log().artifacts("s").unwrap().len(), 1);
    let all = children(&bed, "s");
    assert_eq!(all.len(), 3);
    let last_start = all.iter().map(|child| child.created).max();
    let first_end = all.iter().map(|child| child.active).min();
    assert!(last_start < first_end, "they waited for each other");
}

/// A sub-agent works under the lease of its parent: after another process has taken it, nothing
/// more is stored in the sub-agent's session.
#[tokio::test]
async fn sub_agent_stores_nothing_after_the_lease_was_taken() {
    let bed = TestBed::new();
    let log = bed.log();
    let count = AtomicUsize::new(0);
    let server = Scripted::new(move |received: &Received| {
        let at = count.fetch_add(1, Ordering::SeqCst);
        let line = match at {
            0 => calls("call_subagent", json!({"task": "look"})),
            1 => {
                log.take_over("s", 1, "another process", Duration::from_secs(30)).unwrap();
                calls("now", json!({}))
            }
            _ => says("done"),
        };
        reply(received, &line, at)
    });
    let outcome = bed.agent(&server).await.turn(UserInput::new("delegate")).await;
    assert!(outcome.unwrap_err().to_string().contains("took over"), "the parent cannot continue");
    let child = children(&bed, "s").pop().unwrap();
    assert_eq!(bed.story(&child.id), ["user: look"]);
}
