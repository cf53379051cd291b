//! The scenario that each seed document tells, as a transcript: what was said, and what is sent.
//! `docs/policies.md` shows these transcripts, and each test compares its own with the page.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

use std::path::Path;

use waterline::message::{Message, Role, ToolCall};
use waterline::{Context, Counter, Method, Policy};
use waterline_testkit::show;

/// Characters of a message that a transcript shows, from its beginning and from its end.
const SHOWN: (usize, usize) = (62, 40);

fn context(preset: &str, settings: &[(&str, &str)], window: usize) -> Context {
    let settings: Vec<(String, String)> =
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Context::builder()
        .policy(Policy::preset_with(preset, &settings).unwrap())
        .window(window)
        .counter(Counter::new(Method::Chars4, 1_000))
        .build()
        .unwrap()
}

/// Adds messages, plans the next call with a summary if one is wanted, and returns what is sent.
fn sent(context: &mut Context, added: Vec<Message>, summary: &str) -> Vec<Message> {
    context.extend(added);
    let mut next = context.plan();
    if next.wanted().is_some() {
        next = next.with_summary(summary);
    }
    next.commit().into_iter().cloned().collect()
}

fn step(id: &str, tool: &str, arguments: &str, text: impl Into<String>) -> Vec<Message> {
    let call = Message::assistant_with_calls("", [ToolCall::new(id, tool, arguments)]);
    vec![call, Message::tool_result(id, text)]
}

/// Returns a message as lines of a transcript, each with its beginning and its end.
fn lines(message: &Message) -> Vec<String> {
    let short = |line: &str| {
        let length = line.chars().count();
        if length <= SHOWN.0 + SHOWN.1 {
            return line.to_owned();
        }
        let head: String = line.chars().take(SHOWN.0).collect();
        let tail: String = line.chars().skip(length - SHOWN.1).collect();
        format!("{head} … {tail}")
    };
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let text = Some(message.text()).filter(|text| !text.is_empty());
    let calls = message.calls().map(|call| format!("{} {}", call.name, call.arguments));
    let results = message.results().map(|result| result.text());
    let said = text.into_iter().chain(calls).chain(results).collect::<Vec<_>>().join("\n");
    let named = |(at, line): (usize, &str)| {
        let name = if at == 0 { role } else { "" };
        format!("{name:<9} {}", short(line)).trim_end().to_owned()
    };
    said.lines().enumerate().map(named).filter(|line| !line.is_empty()).collect()
}

/// Checks that `docs/policies.md` shows this context. A line of `…` stands for the messages
/// between its neighbors.
fn is_documented(scenario: &str, sent: &[Message]) {
    let transcript: Vec<String> = sent.iter().flat_map(lines).collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page
        .split_once(&format!("<!-- scenario: {scenario} -->\n```text\n"))
        .and_then(|(_, rest)| rest.split_once("\n```"))
        .map_or_else(|| panic!("{scenario}:\n{}", transcript.join("\n")), |(block, _)| block);
    let mut rest = transcript.as_slice();
    let mut skips = false;
    for line in block.lines() {
        if line == "…" {
            skips = true;
            continue;
        }
        let at = rest.iter().position(|own| own == line);
        let found = at.filter(|&at| at == 0 || skips);
        let at = found.unwrap_or_else(|| panic!("{line:?} in\n{}", transcript.join("\n")));
        rest = &rest[at + 1..];
        skips = false;
    }
    assert!(rest.is_empty(), "{scenario} ends with\n{}", rest.join("\n"));
}

/// Seed 0, AgentGraph: the PDF skill was read in message 2, and 46 messages later neither the call
/// nor its result is sent. The system prompt and at most the last ten messages are.
#[test]
fn seed_0_the_last_ten_of_fifty_messages() {
    let mut context = context("window", &[("window.messages", "10")], 128_000);
    let mut talk =
        vec![Message::system("你是 AgentGraph 的智能助手。"), Message::user("把 PDF 转成图片")];
    talk.extend(step("1", "read_file", r#"{"path":"skills/pdf/SKILL.md"}"#, "# PDF skill …"));
    talk.push(Message::assistant("请问要转换哪一页？"));
    for page in 1..=22 {
        talk.push(Message::user(format!("把第 {page} 页转成图片")));
        talk.push(Message::assistant(format!("转换完成，输出在 outputs/page_{page}.png")));
    }
    talk.push(Message::user("把第 23 页转成图片"));
    let sent = sent(&mut context, talk, "");
    // Ten would begin with an answer, and its request is not among them.
    assert_eq!(show(&sent), format!("S {} H", ["H A"; 4].join(" ")));
    assert_eq!(context.history().len(), 50, "the history keeps all of them");
    is_documented("window", &sent);
}

/// Seed 1, the Init agent: Execute hands back its results, Init reads twelve samples one after the
/// other and passes 150,000 tokens. What it was handed, the mock question, the summary and the last
/// three reads are sent.
#[test]
fn seed_1_init_is_compacted_while_it_reads_samples() {
    let mut context = context("init", &[], 200_000);
    let output = "scenarios/refund/execution_outputs/iteration_12";
    let handed = format!(
        "<execute_to_init_context>{{\"execution_output_dir\": \"{output}\", \
         \"layer1_problems\": [\"工具返回格式不一致\"]}}</execute_to_init_context>\n\
         请分析失败样本，找出设计缺陷的根本原因，并列出需要人工审核的决定。"
    );
    let mut added =
        vec![Message::system("你是 Init Agent，负责场景设计。"), Message::user(&*handed)];
    for sample in 1..=12 {
        let path = format!(r#"{{"path":"{output}/samples/{sample}.json"}}"#);
        let id = format!("r{sample}");
        added.extend(step(&id, "Read", &path, "{\"layer\": 1, \"ok\": true} ".repeat(2_010)));
    }
    let summary = format!(
        "基于 Execute Agent 的反馈，我完成了以下分析。\n<compact_summary>{{\n\
         \"current_design_summary\": {{\"unified_scenario_design\": \"退款场景\"}},\n\
         \"execute_feedback_summary\": {{\"total_failure_samples\": 15}},\n\
         \"analysis_conclusions\": [\"样本 1 到 9：检查器阈值过严\"],\n\
         \"pending_actions\": [\"HITL-1：修改设计需要批准\"],\n\
         \"key_paths\": {{\"execution_output_dir\": \"{output}\"}}\n}}</compact_summary>"
    );
    let sent = sent(&mut context, added, &summary);
    assert_eq!(show(&sent), "S H H A A[r10] T(r10) A[r11] T(r11) A[r12] T(r12)");
    assert_eq!(sent[1].text(), handed);
    assert!(sent[3].text().contains("HITL-1"));
    let tokens = context.generation().tokens();
    assert!((30_000..70_000).contains(&tokens), "150,000 became {tokens}");
    is_documented("init", &sent);
}

/// Seed 2, CowAgent: a long result is whole in its turn and truncated in the next. With the
/// twenty-first turn the oldest ten go, and a summary is in front of the first kept user message.
#[test]
fn seed_2_a_chat_truncates_old_results_and_halves_its_turns() {
    let mut context = context("chat", &[], 128_000);
    let mut first = vec![Message::user("看一下磨坊的日志")];
    let log: Vec<String> = (1..=2_000).map(|line| format!("{line:04} 水位正常 4.0 m")).collect();
    first.extend(step("a", "read_file", r#"{"path":"mill.log"}"#, log.join("\n")));
    let whole = sent(&mut context, first, "");
    assert_eq!(whole[2].results().next().unwrap().text(), log.join("\n"));
    let said =
        |answer: &str, question: &str| vec![Message::assistant(answer), Message::user(question)];
    let next = sent(&mut context, said("水位一直正常。", "订单 4711 到哪里了？"), "");
    assert!(next[2].results().next().unwrap().text().contains("chars omitted"));
    is_documented("chat, the second turn", &next);
    for turn in 3..=20 {
        let answer = format!("第 {} 件事已经办好。{}", turn - 1, "明细见附件。".repeat(20));
        let question = format!("第 {turn} 件事：请检查第 {turn} 号水轮。");
        sent(&mut context, said(&answer, &question), "");
    }
    let summary = "- 磨坊的日志：水位一直正常\n- 订单 4711 已发货";
    let halved =
        sent(&mut context, said("第 20 件事已经办好。", "第 21 件事：明天几点开工？"), summary);
    assert_eq!(show(&halved), format!("{} H", ["H A"; 10].join(" ")));
    let first = halved[0].text();
    assert!(first.contains("订单 4711 已发货") && first.contains("第 11 号水轮"), "{first}");
    is_documented("chat, the twenty-first turn", &halved);
}

/// Seed 3, Agent Service: lists become previews once the model has read them, and above 50,000
/// tokens the older messages become a summary, which is the second system message. Less than 30,000
/// tokens are left.
#[test]
fn seed_3_a_calendar_assistant_stays_below_its_lower_mark() {
    let mut context = context("budget", &[], 128_000);
    let item = |id: usize| {
        format!(
            r#"{{"id":{id},"title":"会议 {id}","start_time":"2026-01-20T10:00:00","notes":"请带上图纸"}}"#
        )
    };
    let items: Vec<String> = (1..=20).map(item).collect();
    let list = format!(r#"{{"success":true,"items":[{}],"total":20}}"#, items.join(","));
    let prompt = "你是一个智能助手，当前时间: 2026-01-20 10:00:00";
    let mut last = sent(&mut context, vec![Message::system(prompt)], "");
    let summary = "1. 2026-01-15 创建了 5 个工作会议日程\n2. 用户偏好简洁的回复风格";
    for week in 1.. {
        let asked = vec![Message::user(format!("第 {week} 周有哪些会议？"))];
        last = sent(&mut context, asked, summary);
        if last.get(1).is_some_and(|message| message.role == Role::System) {
            break;
        }
        let arguments = format!(r#"{{"week":{week}}}"#);
        last =
            sent(&mut context, step(&format!("w{week}"), "search_items", &arguments, &*list), "");
        let result = last.last().unwrap().results().next().map(|result| result.text());
        assert_eq!(result.as_ref(), Some(&list), "the newest result is whole");
        let told: Vec<String> =
            (1..=200).map(|at| format!("{at}. 第 {week} 周的事项 {at}：请带上图纸")).collect();
        context.push(Message::assistant(format!("共有 20 个会议。\n{}", told.join("\n"))));
    }
    let tokens = context.history().tokens();
    assert!(tokens > 50_000, "the summary comes above 50,000 tokens: {tokens}");
    assert!(context.generation().tokens() < 30_000, "{}", context.generation().tokens());
    let summary = last[1].text();
    assert!(summary.starts_with("【对话历史总结】") && summary.ends_with("---"), "{summary}");
    is_documented("budget", &last);
}

/// Seed 4, BeamAI: with the thirty-second message the last twenty are sent; the full track keeps
/// all.
#[test]
fn seed_4_the_short_track_and_the_full_track() {
    let mut context = context("dual-track", &[], 128_000);
    let said = |at: usize| {
        let file = format!("src/beamai_{at}.erl");
        [Message::user(format!("检查 {file}")), Message::assistant(format!("{file} 没有问题"))]
    };
    let first = [Message::system("你是 BeamAI Agent。")].into_iter();
    let thirty = sent(&mut context, first.chain((1..=15).flat_map(said)).collect(), "");
    assert_eq!(thirty.len(), 31, "thirty messages and the system prompt");
    let more = sent(&mut context, said(16).into_iter().take(1).collect(), "");
    // The last twenty begin with an answer, so its request is sent too.
    assert_eq!(show(&more), format!("S {} H", ["H A"; 10].join(" ")));
    assert_eq!(context.history().len(), 32);
    is_documented("dual-track", &more);
}
