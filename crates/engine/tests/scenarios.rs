//! The scenario that each seed document tells, as a transcript: what was said, and what is sent.
//! `docs/policies.md` shows them in short.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::message::{Message, Role, ToolCall};
use waterline::{Context, Counter, Method, Policy};
use waterline_testkit::{messages, show};

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

fn read(id: &str, path: &str, text: impl Into<String>) -> Vec<Message> {
    let arguments = format!(r#"{{"path":"{path}"}}"#);
    let call = Message::assistant_with_calls("", [ToolCall::new(id, "read_file", arguments)]);
    vec![call, Message::tool_result(id, text)]
}

/// Seed 0, AgentGraph: fifty messages, of which the last ten and the system prompt are sent.
/// Message 2 calls a tool and message 3 is its result; both go.
#[test]
fn seed_0_the_last_ten_of_fifty_messages() {
    let mut context = context("window", &[("window.messages", "10")], 128_000);
    let talk = ["H A"; 23].join(" ");
    let sent = sent(&mut context, messages(&format!("S H A[1] T(1) {talk}")), "");
    assert_eq!(show(&sent), format!("S {}", ["H A"; 5].join(" ")));
    assert_eq!(context.history().len(), 50, "the history keeps all of them");
}

/// Seed 1, the Init agent: Execute hands back its results, Init reads twelve reports one after the
/// other and passes 150,000 tokens. What it was handed, the mock question, the summary and the last
/// three reads are sent.
#[test]
fn seed_1_init_is_compacted_while_it_reads_reports() {
    let mut context = context("init", &[], 200_000);
    let handed = "<execute_to_init_context>{\"execution_output_dir\": \"/srv/out/run_7\", \
                  \"total_failure_samples\": 12}</execute_to_init_context>";
    let mut added = vec![Message::system("You design the work."), Message::user(handed)];
    for sample in 1..=12 {
        let path = format!("/srv/out/run_7/samples/{sample}.json");
        added.extend(read(&format!("r{sample}"), &path, "step ok ".repeat(6_450)));
    }
    let summary = "Current analysis of 12 failures.\n<compact_summary>{\"current_design_summary\": {}, \
                   \"pending_actions\": [\"HITL-1: approve the new rule\"], \"key_paths\": \
                   {\"execution_output_dir\": \"/srv/out/run_7\"}}</compact_summary>";
    let sent = sent(&mut context, added, summary);
    assert_eq!(show(&sent), "S H H A A[r10] T(r10) A[r11] T(r11) A[r12] T(r12)");
    assert_eq!(sent[1].text(), handed);
    assert!(sent[3].text().contains("HITL-1: approve the new rule"));
    let tokens = context.generation().tokens();
    assert!((30_000..70_000).contains(&tokens), "155,000 became {tokens}");
}

/// Seed 2, CowAgent: a long result is whole in its turn and truncated in the next. With the
/// twenty-first turn the oldest ten go, and a summary is in front of the first kept user message.
#[test]
fn seed_2_a_chat_truncates_old_results_and_halves_its_turns() {
    let mut context = context("chat", &[], 128_000);
    let mut first = vec![Message::user("Read the log of the mill.")];
    first.extend(read("a", "mill.log", "water 4 m\n".repeat(3_000)));
    let whole = sent(&mut context, first, "");
    assert_eq!(whole[2].results().next().unwrap().text().len(), 30_000);
    let next = sent(&mut context, messages("A H"), "");
    let shortened = next[2].results().next().unwrap().text();
    assert!(shortened.contains("[... 12000 chars omitted ...]"), "{}", shortened.len());
    let long = |text: &str| format!("{text} {}", "and so on ".repeat(20));
    for turn in 3..=20 {
        let added =
            vec![Message::assistant(long("done")), Message::user(long(&format!("turn {turn}")))];
        sent(&mut context, added, "");
    }
    let added = vec![Message::assistant("done"), Message::user("turn 21")];
    let halved = sent(&mut context, added, "- the log of the mill was read: water at 4 m");
    assert_eq!(show(&halved), format!("{} H", ["H A"; 10].join(" ")));
    let first = halved[0].text();
    assert!(first.contains("water at 4 m") && first.contains("turn 11"), "{first}");
}

/// Seed 3, Agent Service: old lists become previews, and above 50,000 tokens the older messages
/// become a summary, which is the second system message. Less than 30,000 tokens are left.
#[test]
fn seed_3_a_calendar_assistant_stays_below_its_lower_mark() {
    let mut context = context("budget", &[], 128_000);
    let item = |id: usize| {
        format!(
            r#"{{"id":{id},"title":"event {id}","start_time":"2026-11-16T08:20","notes":"bring the plans"}}"#
        )
    };
    let items: Vec<String> = (0..20).map(item).collect();
    let list = format!(r#"{{"success":true,"total":20,"items":[{}]}}"#, items.join(","));
    sent(&mut context, messages("S"), "");
    let mut last = Vec::new();
    for turn in 0..100 {
        let question = format!("What is on in week {turn}? {}", "Please be thorough. ".repeat(150));
        let mut added = vec![Message::user(question)];
        added.extend(read(&format!("w{turn}"), "calendar", list.clone()));
        added.push(Message::assistant(format!("Twenty events in week {turn}.")));
        last = sent(&mut context, added, "1. 2026-11-16: the user plans the mill");
        if last.get(1).is_some_and(|message| message.role == Role::System) {
            break;
        }
    }
    let tokens = context.history().tokens();
    assert!(tokens > 50_000, "the summary comes above 50,000 tokens: {tokens}");
    assert!(context.generation().tokens() < 30_000, "{}", context.generation().tokens());
    let summary = last[1].text();
    assert!(summary.starts_with("【对话历史总结】") && summary.ends_with("---"), "{summary}");
    assert!(summary.contains("the user plans the mill"), "{summary}");
    let results: Vec<String> =
        last.iter().flat_map(Message::results).map(|result| result.text()).collect();
    assert!(results[0].contains(r#""... (省略 16 项)""#), "{}", results[0]);
    assert_eq!(results.last(), Some(&list), "the newest turns stay whole");
}

/// Seed 4, BeamAI: with the thirty-second message the last twenty are sent; the full track keeps
/// all.
#[test]
fn seed_4_the_short_track_and_the_full_track() {
    let mut context = context("dual-track", &[], 128_000);
    let thirty = sent(&mut context, messages(&format!("S {}", ["H A"; 15].join(" "))), "");
    assert_eq!(thirty.len(), 31, "thirty messages and the system prompt");
    let more = sent(&mut context, messages("H A"), "");
    assert_eq!(show(&more), format!("S {}", ["H A"; 10].join(" ")));
    assert_eq!(context.history().len(), 33);
}
