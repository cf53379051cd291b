//! The test vectors of the requirements (section E) that need neither a store nor a server, by
//! number. Conversations and contexts are in the notation of the vectors: S system, H human, A
//! answer, A[x] calls, T(x) results; T(x!) is a result made for a call that has none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

use std::sync::Arc;

use waterline::message::{Message, Part, Role, ToolCall};
use waterline::policy::{FoldRule, Policy, Size};
use waterline::stage::{Halve, Repair, RepairMode, Stage, Trim, Window};
use waterline::{
    Action, Context, Counter, Figures, Method, Reason, Reasons, Slot, SummaryRequest, Tool,
    Treatment, Warning, WarningKind,
};
use waterline_testkit::{messages, show};

fn counter() -> Counter {
    Counter::new(Method::Chars4, 1_000)
}

/// Returns a policy of these stages that folds whenever that frees a tenth.
fn policy(stages: Vec<Arc<dyn Stage>>) -> Policy {
    let mut policy = Policy::read("stages = []", &[]).unwrap();
    policy.fold = FoldRule { messages: 1, ..FoldRule::default() };
    policy.stages = stages;
    policy
}

/// A context after its first plan, with the results of the plan.
struct Planned {
    context: Context,
    action: Action,
    tokens: Figures,
    wanted: Option<SummaryRequest>,
    warnings: Vec<Warning>,
}

impl Planned {
    fn shown(&self) -> String {
        show(self.context.messages())
    }
}

fn context(policy: &Policy, messages: Vec<Message>, window: usize) -> Context {
    let mut context = Context::builder()
        .policy(policy.clone())
        .window(window)
        .counter(counter())
        .build()
        .expect("a policy");
    context.extend(messages);
    context
}

fn run_in(policy: &Policy, messages: Vec<Message>, window: usize) -> Planned {
    let mut context = context(policy, messages, window);
    let next = context.plan();
    let action = next.action().clone();
    let tokens = next.tokens();
    let wanted = next.wanted().cloned();
    let warnings = next.warnings().to_vec();
    next.commit();
    Planned { context, action, tokens, wanted, warnings }
}

fn run(policy: &Policy, notation: &str) -> Planned {
    run_in(policy, messages(notation), 1_000_000)
}

/// Returns a conversation with texts so long that a summary of them is shorter.
fn long(notation: &str) -> Vec<Message> {
    let mut conversation = messages(notation);
    for message in conversation.iter_mut().filter(|message| message.role != Role::Tool) {
        message.parts.insert(0, Part::text("A long story. ".repeat(40)));
    }
    conversation
}

fn window(messages: usize) -> Policy {
    policy(vec![Arc::new(Window { messages: Some(messages), ..Window::default() })])
}

fn turns(n: usize, turn: &str) -> String {
    vec![turn; n].join(" ")
}

/// E.1, C0.1: a window of ten keeps the system prompt and the last ten; call 1 is dropped with its
/// result.
#[test]
fn e01_c0_1_window_of_ten() {
    let notation = format!("S H A[1] T(1) {}", turns(23, "H A"));
    let planned = run(&window(10), &notation);
    assert_eq!(planned.shown(), format!("S {}", turns(5, "H A")));
}

/// E.2, C0.3, S0.32, S0.34: a call that the user interrupted is answered, or dropped together with
/// the result of the other call.
#[test]
fn e02_c0_3_partial_answer() {
    let notation = "H A[a,b] T(a) H";
    let repaired = run(&policy(vec![Arc::new(Repair { mode: RepairMode::Answer })]), notation);
    assert_eq!(repaired.shown(), "H A[a,b] T(a) T(b!) H");
    let dropped = run(&policy(vec![Arc::new(Repair { mode: RepairMode::Drop })]), notation);
    assert_eq!(dropped.shown(), "H H");
}

/// C0.3: text that the assistant wrote with a dropped call stays.
#[test]
fn c0_3_the_text_of_a_dropped_call_stays() {
    let dropped =
        run(&policy(vec![Arc::new(Repair { mode: RepairMode::Drop })]), "H A[a,b]:looking T(a) H");
    assert_eq!(dropped.shown(), "H A H");
}

/// C0.5: calls at the end are still running; they are answered as interrupted, never dropped.
#[test]
fn c0_5_the_newest_step_is_never_dropped() {
    let planned =
        run(&policy(vec![Arc::new(Repair { mode: RepairMode::Drop })]), "H A H A[a,b] T(a)");
    assert_eq!(planned.shown(), "H A H A[a,b] T(a) T(b!)");
}

/// E.3, C0.2, V4: a window that starts inside parallel results keeps the whole step, and the user
/// message of the turn.
#[test]
fn e03_c0_2_parallel_cut() {
    let planned = run(&window(3), "H:first A:answer H A[a,b,c] T(a) T(b) T(c) A");
    assert_eq!(planned.shown(), "H A[a,b,c] T(a) T(b) T(c) A");
}

/// E.4, C1.1: three steps of user, call, result, answer are twelve messages, not six.
#[test]
fn e04_c1_1_last_three_turns() {
    let keep = policy(vec![Arc::new(Window { turns: Some(3), ..Window::default() })]);
    let planned = run(&keep, "H A[1] T(1) A H A[2] T(2) A H A[3] T(3) A H A[4] T(4) A");
    assert_eq!(planned.shown(), "H A[2] T(2) A H A[3] T(3) A H A[4] T(4) A");
}

fn halve(tokens: usize) -> Policy {
    policy(vec![Arc::new(Halve { turns: 20, tokens: Size::Tokens(tokens), few: 5 })])
}

/// E.5, S2.11, S2.12: of 21 turns ten are dropped, of 20 turns none.
#[test]
fn e05_s2_11_halving_by_turns() {
    assert_eq!(run(&halve(1_000_000), &turns(21, "H A")).shown(), turns(11, "H A"));
    let kept = run(&halve(1_000_000), &turns(20, "H A"));
    assert_eq!(kept.shown(), turns(20, "H A"));
    assert_eq!(kept.action, Action::Extend);
}

/// E.5, S2.20, S2.21: above the token limit, five turns lose two; four turns keep request and
/// answer, and the running turn stays whole.
#[test]
fn e05_s2_20_halving_by_tokens() {
    assert_eq!(run(&halve(20), &turns(5, "H A")).shown(), turns(3, "H A"));
    let four = run(&halve(20), "H A[1] T(1) A H A[2] T(2) A H A[3] T(3) A H A[4] T(4)");
    assert_eq!(four.shown(), "H A H A H A H A[4] T(4)");
}

/// C2.4: a halving that is not enough is followed by another.
#[test]
fn c2_4_halving_repeats_until_it_fits() {
    // 40 turns become 20, 10, 5 and, still above the token limit, 3.
    let planned = run(&halve(24), &turns(40, "H A"));
    assert_eq!(planned.shown(), turns(3, "H A"));
}

/// E.8, S3.48: 45,000 to 12,000 tokens is a reduction of 73.3%. E.16, S3.14: 12,000 to 1,500 is one
/// of 0.875; an empty history has none.
#[test]
fn e08_e16_reduction() {
    let figures = |before, after| {
        let mut figures = Figures::default();
        figures.history = before;
        figures.context = after;
        figures
    };
    assert_eq!(format!("{:.1}%", 100.0 * figures(45_000, 12_000).reduction()), "73.3%");
    assert!((figures(12_000, 1_500).reduction() - 0.875).abs() < f64::EPSILON);
    assert!(figures(0, 0).reduction().abs() < f64::EPSILON);
    assert!(
        figures(10, 20).reduction().abs() < f64::EPSILON,
        "a context that grew has no reduction"
    );
}

/// E.10, S1.29: a result of an earlier turn stays up to 5,000 characters, of any length in bytes.
#[test]
fn e10_results_of_up_to_5000_characters_are_unchanged() {
    let trim = policy(vec![Arc::new(Trim::default())]);
    let sent = |text: String| {
        let call = Message::assistant_with_calls("", [ToolCall::new("a", "read", "{}")]);
        let result = Message::tool_result("a", text);
        let earlier = vec![Message::user("read"), call, result, Message::assistant("done")];
        let planned = run_in(&trim, [earlier, vec![Message::user("next")]].concat(), 1_000_000);
        let result = planned.context.messages().find_map(|message| message.results().next());
        result.unwrap().text().chars().count()
    };
    for sign in ["x", "数"] {
        assert_eq!(sent(sign.repeat(5_000)), 5_000);
        assert!((2_000..2_100).contains(&sent(sign.repeat(5_001))));
    }
}

/// E.14, C4.6: five messages of one token, three allowed: the newest three, in order.
#[test]
fn e14_c4_6_newest_tokens_in_order() {
    let keep =
        policy(vec![Arc::new(Window { tokens: Some(Size::Tokens(3)), ..Window::default() })]);
    let planned = run(&keep, "H:a A:b H:c A:d H:e");
    let texts: Vec<String> = planned.context.messages().map(Message::text).collect();
    assert_eq!(texts, ["c", "d", "e"]);
}

/// E.15, S4.34: 30 messages do not fold, 31 do; 3,000 tokens do not, 3,001 do.
#[test]
fn e15_s4_34_thresholds_are_strict() {
    let preset = Policy::preset("dual-track").unwrap();
    let folds = |messages: Vec<Message>| {
        matches!(run_in(&preset, messages, 100_000).action, Action::Fold { .. })
    };
    assert!(!folds(messages(&turns(15, "H A"))));
    assert!(folds(messages(&format!("H {}", turns(15, "A H")))));
    let long = |tokens: usize| {
        let old = Message::user("x".repeat(4 * (tokens - 20)));
        let new: Vec<Message> = (0..20).map(|_| Message::user("y")).collect();
        std::iter::once(old).chain(new).collect::<Vec<_>>()
    };
    assert!(!folds(long(3_000)));
    assert!(folds(long(3_001)));
}

/// E.18, C1.11, C4.7, V7: a second fold has one summary, which covers everything from the
/// beginning.
#[test]
fn e18_c1_11_a_second_fold_has_one_summary_of_everything() {
    let mut context = context(&Policy::preset("auto").unwrap(), Vec::new(), 2_000);
    let mut folds = 0;
    for at in 0..120 {
        let text = format!("message {at} about file_{at}.rs {}", "word ".repeat(60));
        context.push(if at % 2 == 0 { Message::user(text) } else { Message::assistant(text) });
        let next = context.plan();
        folds += usize::from(next.reasons().is_some());
        next.commit();
    }
    assert!(folds >= 2, "{folds}");
    // The stable part of the ledger has a slot of its own, which covers no messages.
    let is_block = |slot: &&Slot| slot.treatment == Treatment::Summary && !slot.sources.is_empty();
    let blocks: Vec<_> = context.slots().iter().filter(is_block).collect();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].sources.first(), Some(&1), "from the beginning, except for the task");
    let headers =
        context.messages().filter(|message| message.text().contains("no longer shown")).count();
    assert_eq!(headers, 1);
}

/// E.20: a message larger than the window is still sent, truncated in the middle and with a
/// warning.
#[test]
fn e20_one_message_larger_than_the_window() {
    for preset in waterline::policy::PRESETS {
        let policy = Policy::preset(preset.name).unwrap();
        let question = format!("Please read this: {} Is it good?", "lorem ipsum ".repeat(20_000));
        let planned = run_in(&policy, vec![Message::user(question)], 4_000);
        let text = planned.context.messages().next().unwrap().text();
        assert!(
            text.starts_with("Please read this") && text.ends_with("Is it good?"),
            "{}",
            preset.name
        );
        assert!(planned.tokens.context <= 4_000, "{}: {}", preset.name, planned.tokens.context);
        assert!(
            planned.warnings.iter().any(|warning| warning.kind == WarningKind::Budget),
            "{}",
            preset.name
        );
    }
}

/// S1.23, C1.4, C1.10: a fold of the preset `init` keeps the task, a mock question, its answer and
/// the last three turns.
#[test]
fn s1_23_mock_question_summary_and_last_three_turns() {
    let settings = [
        ("fold.high", "3000"),
        ("window.over", "1000"),
        ("summarise.over", "3000"),
        ("summarise.max", "400"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let policy = Policy::preset_with("init", &settings).unwrap();
    let planned = run_in(&policy, long(&turns(12, "H A[x] T(x) A")), 1_000_000);
    let context = planned.shown();
    assert!(context.starts_with("H H A H A"), "{context}");
    assert!(context.ends_with("T(x_10) A H A[x_11] T(x_11) A H A[x_12] T(x_12) A"), "{context}");
    let wanted = planned.wanted.expect("a model's summary is wanted");
    assert_eq!(wanted.max_tokens, 400);
    let question = planned.context.messages().nth(1).unwrap().text();
    assert!(
        question.contains("execution_output_dir") && question.contains("<compact_summary>"),
        "S1.18, C1.8: {question}"
    );
}

/// S2.14: the summary of the preset `chat` is in front of the text of the first kept user message.
#[test]
fn s2_14_summary_in_front_of_the_first_kept_user_message() {
    let policy = Policy::preset("chat").unwrap();
    let planned = run_in(&policy, long(&turns(21, "H A")), 1_000_000);
    assert_eq!(planned.shown(), turns(11, "H A"));
    // One turn, above which a fold is considered, is not the limit.
    let expected = Reasons::from(Reason::ManyTurns { turns: 21, max: 20 });
    assert!(matches!(&planned.action, Action::Fold { reasons, .. } if *reasons == expected));
    let first = planned.context.messages().next().unwrap().text();
    assert!(
        first.starts_with("Earlier in this conversation") && first.ends_with("question 20"),
        "{first}"
    );
}

/// S3.3, S3.4, C3.4: the summary of the preset `budget` is the second system message, with the
/// seed's heading and end.
#[test]
fn s3_3_summary_as_second_system_message() {
    let settings = [("fold.high", "5000"), ("fold.low", "3000"), ("summarise.over", "5000")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let policy = Policy::preset_with("budget", &settings).unwrap();
    let planned = run_in(&policy, long(&format!("S {}", turns(40, "H A"))), 100_000);
    let context: Vec<&Message> = planned.context.messages().collect();
    assert_eq!(show(context.iter().copied().take(3)), "S S H");
    let text = context[1].text();
    assert!(text.starts_with("【对话历史总结】") && text.ends_with("---"), "{text}");
    assert!(planned.tokens.context <= 3_000, "S3.8: {}", planned.tokens.context);
}

/// A wanted summary is used once it is supplied, and then none is wanted.
#[test]
fn a_wanted_summary_is_used_once_supplied() {
    let policy = Policy::preset("chat").unwrap();
    let mut context = context(&policy, long(&turns(21, "H A")), 1_000_000);
    let next = context.plan();
    assert!(next.wanted().is_some() && next.wanted_messages().count() > 0);
    let next = next.with_summary("They spoke about many questions.");
    assert!(next.wanted().is_none());
    let text = next.commit()[0].text();
    assert!(text.contains("They spoke about many questions."), "{text}");
}

/// S3.19, C3.5: the first step that does not fit ends the window; nothing older is kept.
#[test]
fn c3_5_a_token_window_has_no_gaps() {
    let keep =
        policy(vec![Arc::new(Window { tokens: Some(Size::Tokens(60)), ..Window::default() })]);
    let mut conversation = messages("H A H A[1] T(1) A H");
    conversation[4] = Message::tool_result("1", "x".repeat(4_000));
    let planned = run_in(&keep, conversation, 100_000);
    assert_eq!(
        planned.shown(),
        "H A H",
        "the user message of the turn kept in part, the answer, the newest question"
    );
}

/// S0.39: every system message stays; one that is repeated verbatim stays once.
#[test]
fn s0_39_system_messages_stay() {
    let planned = run(&window(10), &format!("S:base H A S:rule H A S:base {}", turns(10, "H A")));
    assert_eq!(planned.shown(), format!("S S {}", turns(5, "H A")));
}

/// S0.42: a history that is shorter than the window is sent unchanged.
#[test]
fn s0_42_a_short_history_is_unchanged() {
    let planned = run(&Policy::preset("window").unwrap(), &format!("S {}", turns(20, "H A")));
    assert_eq!(planned.action, Action::Extend);
    assert_eq!(planned.shown(), format!("S {}", turns(20, "H A")));
}

/// S0.75: an option of the preset `window`: above 100 messages, dropped messages are summarized.
#[test]
fn s0_75_window_with_a_summary_above_a_hundred_messages() {
    let policy =
        Policy::preset_with("window", &[("summarise.on".to_owned(), "true".to_owned())]).unwrap();
    let summaries = |count: usize| {
        let planned = run_in(&policy, long(&turns(count, "H A")), 1_000_000);
        planned.context.slots().iter().filter(|slot| slot.treatment == Treatment::Summary).count()
    };
    assert_eq!((summaries(49), summaries(60)), (0, 1));
}

/// S1.8: system prompt and tool definitions count.
#[test]
fn s1_8_system_prompt_and_tools_count() {
    let tool = Tool::new("find", "x".repeat(400), "{}");
    let definition = counter().tool(&tool);
    assert!(definition > 100, "{definition}");
    let mut context =
        Context::builder().window(1_000).counter(counter()).tool(tool).build().unwrap();
    context.extend(messages("S:12345678 H:12345678"));
    let tokens = context.plan().tokens();
    assert_eq!((tokens.history, tokens.context), (4 + definition, 4 + definition));
}

/// C2.2: the preset `chat` folds when a turn starts; inside a turn only above its limit, and then
/// it compresses earlier turns only.
#[test]
fn c2_2_chat_folds_between_turns() {
    let policy = Policy::preset_with(
        "chat",
        &[
            ("fold.high".to_owned(), "2000".to_owned()),
            ("halve.tokens".to_owned(), "2000".to_owned()),
        ],
    )
    .unwrap();
    let mut context = context(&policy, long(&turns(6, "H A")), 50_000);
    let mut folds = Vec::new();
    for added in [Vec::new(), long("A[a]"), long("T(a) A[b]"), long("T(b) A[c] T(c) A"), long("H")]
    {
        context.extend(added);
        let next = context.plan();
        folds.push(next.reasons().is_some());
        let shown = show(next.commit());
        if folds.len() == 3 {
            assert!(shown.ends_with("A[a] T(a) A[b] T(b!)"), "the running turn is whole: {shown}");
        }
    }
    assert_eq!(folds, [false, false, true, false, true]);
}

/// A context above the window always folds, even if it is only a little too large, and frees a
/// tenth (decision 0003).
#[test]
fn a_context_above_the_window_always_folds() {
    for preset in waterline::policy::PRESETS {
        let policy = Policy::preset(preset.name).unwrap();
        let conversation: Vec<Message> = std::iter::once(Message::user("hi"))
            .chain((0..20).map(|at| {
                let role = if at % 2 == 0 { Role::Assistant } else { Role::User };
                Message::new(role, vec![Part::text("word ".repeat(404))])
            }))
            .collect();
        let planned = run_in(&policy, conversation, 9_900);
        let most = 10_101 - policy.fold.free.of_rounded_up(10_101);
        assert!(planned.tokens.context <= most, "{}: {:?}", preset.name, planned.tokens);
    }
}

/// C1.9: the assembled context counts: if request and answer of earlier turns fit, no summary is
/// wanted.
#[test]
fn c1_9_no_summary_is_wanted_if_the_digest_is_enough() {
    let policy = Policy::preset("init").unwrap();
    let mut conversation = Vec::new();
    for at in 0..10 {
        conversation.extend(messages(&format!("H A[c{at}]")));
        conversation.push(Message::tool_result(format!("c{at}"), "x".repeat(70_000)));
        conversation.extend(messages("A"));
    }
    let planned = run_in(&policy, conversation, 200_000);
    assert!(matches!(planned.action, Action::Fold { .. }));
    assert!(planned.wanted.is_none() && planned.tokens.context < 60_000, "{:?}", planned.tokens);
}

/// S2.12: many turns are halved until they are few enough.
#[test]
fn s2_12_halving_never_leaves_more_turns_than_allowed() {
    assert_eq!(run(&halve(1_000_000), &turns(101, "H A")).shown(), turns(13, "H A"));
}
