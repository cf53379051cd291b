//! Irregular input: each is repaired in what is sent, with a warning, and the original
//! message stays.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::history::{AtomKind, History};
use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult};
use waterline::plan::Generation;
use waterline::validity;
use waterline::{Context, Counter, Method, Reason, WarningKind};
use waterline_testkit::{messages, show};

fn history(notation: &str) -> History {
    History::of(Counter::new(Method::Chars4, 1_000), messages(notation))
}

fn resumed(history: &History, preset: &str, window: usize) -> Context {
    let builder = Context::builder().policy(preset).window(window);
    builder.resume(history.clone(), Generation::new()).build().unwrap()
}

/// Returns the first context of a history.
fn context(history: &History) -> String {
    let mut context = resumed(history, "auto", 1_000_000);
    let next = context.plan();
    assert!(
        next.warnings().iter().all(|warning| warning.kind != WarningKind::Internal),
        "{:?}",
        next.warnings()
    );
    let sent = next.commit();
    assert_eq!(validity::check(sent.iter().copied()), []);
    show(sent)
}

fn check(notation: &str, sent: &str, kinds: &[WarningKind]) {
    let history = history(notation);
    let found: Vec<WarningKind> = history.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(found, kinds, "{notation}: {:?}", history.warnings());
    assert_eq!(context(&history), sent, "{notation}");
}

#[test]
fn regular_conversations_are_unchanged() {
    check("S H A[a,b] T(b) T(a) A H", "S H A[a,b] T(b) T(a) A H", &[]);
}

/// V2: an unanswered call in the middle and at the end.
#[test]
fn unanswered_calls_are_answered_as_interrupted() {
    check("H A[a] H A", "H A[a] T(a!) H A", &[]);
    check("H A[a,b] T(b)", "H A[a,b] T(b) T(a!)", &[]);
}

/// V1, S0.43: a result whose call is unknown.
#[test]
fn orphan_results_are_not_sent() {
    check("H T(x) A", "H A", &[WarningKind::OrphanResult]);
    check("T(x) T(y)", "", &[WarningKind::OrphanResult, WarningKind::OrphanResult]);
}

#[test]
fn a_second_result_is_not_sent() {
    check("H A[a] T(a) T(a) A", "H A[a] T(a) A", &[WarningKind::SecondResult]);
}

/// V3: a repeated id is renamed in the call and in its result.
#[test]
fn repeated_ids_are_renamed_on_both_sides() {
    check("H A[a] T(a) H A[a] T(a)", "H A[a] T(a) H A[a_2] T(a_2)", &[WarningKind::RepeatedId]);
    check("H A[a,a] T(a) T(a)", "H A[a,a_2] T(a) T(a_2)", &[WarningKind::RepeatedId]);
}

/// V3: missing ids are assigned to calls and results in order.
#[test]
fn missing_ids_are_assigned_on_both_sides() {
    check(
        "H A[,] T() T()",
        "H A[call_1_0,call_1_1] T(call_1_0) T(call_1_1)",
        &[WarningKind::MissingId, WarningKind::MissingId],
    );
}

/// C1.3: a result before its call is sent after it.
#[test]
fn a_result_before_its_call_is_sent_after_it() {
    let history = history("H T(a):early A[a] H");
    assert_eq!(context(&history), "H A[a] T(a) H");
    let kinds: Vec<WarningKind> = history.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::OrphanResult, WarningKind::EarlyResult]);
}

/// A result that comes after a user message is sent right after its call.
#[test]
fn a_late_result_is_sent_after_its_call() {
    check("H A[a] H T(a) A", "H A[a] T(a) H A", &[WarningKind::LateResult]);
}

#[test]
fn two_user_messages_in_a_row_both_stay() {
    check("H H A", "H H A", &[WarningKind::RepeatedUser]);
}

#[test]
fn a_system_message_in_the_middle_stays_in_its_place() {
    check("S H A S H", "S H A S H", &[WarningKind::MidSystem]);
}

/// Parallel calls that a wire writes as separate items are one step.
#[test]
fn parallel_calls_in_separate_messages_are_one_step() {
    let history = history("H A[a] A[b] T(a) T(b) A");
    let kinds: Vec<AtomKind> = history.atoms().iter().map(|atom| atom.kind).collect();
    assert_eq!(kinds, [AtomKind::User, AtomKind::Exchange, AtomKind::Reply]);
    assert_eq!(history.atoms()[1].messages, [1, 2, 3, 4]);
}

/// V6: blank texts and empty messages are removed.
#[test]
fn blank_texts_are_removed() {
    let mut history = History::new(Counter::default());
    history.append(Message::new(Role::User, vec![Part::text("  \n"), Part::text("hello")]));
    history.append(Message::assistant(" "));
    history.append(Message::new(Role::Assistant, Vec::new()));
    assert_eq!(context(&history), "H");
    assert_eq!(history.message(0).unwrap().parts.len(), 1);
    assert_eq!(history.source(0).unwrap().parts.len(), 2, "the original stays");
    let kinds: Vec<WarningKind> = history.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(
        kinds,
        [
            WarningKind::BlankText,
            WarningKind::BlankText,
            WarningKind::EmptyMessage,
            WarningKind::EmptyMessage
        ]
    );
}

#[test]
fn arguments_that_are_not_json_become_an_object() {
    let mut history = History::new(Counter::default());
    history.append(Message::user("go"));
    for arguments in ["ls -la", "[1]", "", "{\"a\":"] {
        history.append(Message::assistant_with_calls(
            "",
            [ToolCall::new(arguments, "run", arguments)],
        ));
        history.append(Message::tool_result(arguments, "ok"));
    }
    let sent: Vec<String> = (1..history.len())
        .step_by(2)
        .map(|at| history.message(at).unwrap().calls().next().unwrap().arguments.clone())
        .collect();
    assert_eq!(
        sent,
        [r#"{"input":"ls -la"}"#, r#"{"input":"[1]"}"#, "{}", r#"{"input":"{\"a\":"}"#]
    );
    assert_eq!(history.source(1).unwrap().calls().next().unwrap().arguments, "ls -la");
}

/// Text that the user writes while tools run is sent after all results of the step.
#[test]
fn text_between_results_is_sent_after_them() {
    let mut history = History::new(Counter::default());
    history.append(Message::user("go"));
    let calls = ["a", "b"].map(|id| Body::Call(ToolCall::new(id, "run", "{}")).into());
    history.append(Message::new(Role::Assistant, calls.to_vec()));
    let result = ToolResult {
        call_id: "a".into(),
        name: None,
        parts: vec![Part::text("ok")],
        is_error: false,
    };
    history
        .append(Message::new(Role::User, vec![Body::Result(result).into(), Part::text("stop it")]));
    history.append(Message::tool_result("b", "ok"));
    assert_eq!(context(&history), "H A[a,b] T(a) T(b) H");
    assert_eq!(history.latest_user(), Some(2));
    assert_eq!(history.turns().len(), 2, "text of the user opens a turn");
}

/// A reminder that a program inserts in the role of the user does not open a turn.
#[test]
fn reminders_do_not_open_a_turn() {
    let mut history = history("H A");
    history.append(Message::user("<system-reminder>todo list is empty</system-reminder>"));
    assert_eq!(history.turns().len(), 1);
    history.append(Message::user("next"));
    assert_eq!(history.turns().len(), 2);
}

/// A call that was sent as interrupted stays so; its late result is not sent until the next fold.
#[test]
fn a_late_result_is_not_sent_after_its_call_was_answered() {
    let mut context = resumed(&history("H A[a]"), "auto", 1_000_000);
    for message in messages("T(a) A[b] T(b) H") {
        context.plan().commit();
        context.push(message);
    }
    assert_eq!(show(context.messages()), "H A[a] T(a!) A[b] T(b!)", "the result of b was late too");
    assert!(
        context
            .slots()
            .iter()
            .any(|slot| slot.reasons.iter().any(|reason| *reason == Reason::Interrupted))
    );
}

/// Found by fuzzing: a user message with a call, an assistant message with a result.
#[test]
fn parts_that_the_role_cannot_have_are_removed() {
    let mut history = History::new(Counter::default());
    let call = ToolCall::new("a", "run", "{}");
    let result = ToolResult {
        call_id: "a".into(),
        name: None,
        parts: vec![Part::text("ok")],
        is_error: false,
    };
    history
        .append(Message::new(Role::User, vec![Part::text("hi"), Body::Call(call.clone()).into()]));
    history
        .append(Message::new(Role::Assistant, vec![Part::text("hm"), Body::Result(result).into()]));
    history.append(Message::new(Role::System, vec![Body::Call(call).into()]));
    assert_eq!(context(&history), "H A");
    let misplaced =
        history.warnings().iter().filter(|warning| warning.kind == WarningKind::MisplacedPart);
    assert_eq!(misplaced.count(), 3);
}

/// A message that answers two steps belongs to the newest; the other result is not sent, with a
/// warning.
#[test]
fn a_message_with_results_of_two_steps_answers_the_newest() {
    let mut history = history("H A[a] H A[b]");
    let result = |id: &str| {
        Body::Result(ToolResult {
            call_id: id.into(),
            name: None,
            parts: vec![Part::text(id)],
            is_error: false,
        })
    };
    history.append(Message::new(Role::User, vec![result("a").into(), result("b").into()]));
    assert_eq!(context(&history), "H A[a] T(a!) H A[b] T(b)");
    assert!(
        history.warnings().iter().any(|warning| warning.text.as_str().contains("earlier step")),
        "{:?}",
        history.warnings()
    );
}

/// A late result finds its step even if its message also contains an orphan result.
#[test]
fn an_orphan_next_to_a_late_result_is_ignored() {
    let mut history = history("H A[a] H A[b] T(b)");
    let result = |id: &str| {
        Body::Result(ToolResult {
            call_id: id.into(),
            name: None,
            parts: vec![Part::text(id)],
            is_error: false,
        })
    };
    history.append(Message::new(Role::User, vec![result("unknown").into(), result("a").into()]));
    assert_eq!(context(&history), "H A[a] T(a) H A[b] T(b)");
}

/// An image between results is sent after all results of the step, as text is.
#[test]
fn images_between_results_are_sent_after_them() {
    let mut history = history("H A[a,b]");
    let result = ToolResult { call_id: "a".into(), name: None, parts: Vec::new(), is_error: false };
    let image = Body::Image(waterline::message::Image::Url("https://example.org/x.png".into()));
    history.append(Message::new(Role::User, vec![Body::Result(result).into(), image.into()]));
    history.append(Message::tool_result("b", "ok"));
    assert_eq!(context(&history), "H A[a,b] T(a) T(b) H");
}

/// Calls without a result are reported as loose ends.
#[test]
fn calls_without_a_result_are_loose_ends() {
    let history = history("H A[a,b] T(a) H");
    let ends: Vec<WarningKind> = history.loose_ends().iter().map(|warning| warning.kind).collect();
    assert_eq!(ends, [WarningKind::UnansweredCall]);
}

/// Renaming the same id thousands of times is fast.
#[test]
fn an_id_used_very_often_is_renamed_quickly() {
    let calls = (0..40_000)
        .map(|_| Message::assistant_with_calls("", [ToolCall::new("same", "run", "{}")]));
    let history = History::of(Counter::new(Method::Chars4, 1_000), calls);
    assert_eq!(history.message(39_999).unwrap().calls().next().unwrap().id, "same_40000");
}

/// Thinking without an answer in the middle of a step is not sent and not counted, so the slots of
/// a fold add up.
#[test]
fn dangling_thinking_in_a_step_is_not_counted() {
    let thinking = waterline::message::Thinking { text: "hm ".repeat(40), signature: None };
    let mut conversation = messages("H A H A H A[a]");
    conversation.push(Message::new(Role::Assistant, vec![Body::Thinking(thinking).into()]));
    conversation.extend(messages("T(a)"));
    conversation.iter_mut().filter(|message| message.role == Role::User).for_each(|message| {
        *message = Message::user("word ".repeat(400));
    });
    let history = History::of(Counter::new(Method::Chars4, 1_000), conversation);
    let mut context = resumed(&history, "halve-first", 1_400);
    let next = context.plan();
    let after = next.tokens().context;
    next.commit();
    assert_eq!(context.generation().tokens(), after);
}
