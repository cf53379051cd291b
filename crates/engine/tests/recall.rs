//! The `recall` stage with passages that a caller found: what is quoted, and that it stays.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::history::History;
use waterline::policy::Policy;
use waterline::summary::REFERENCE_ONLY;
use waterline::{Context, Counter, Generation, Message, Method, Passage, Role, ToolCall};

const POLICY: &str = "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 12\n\
                      [window]\nmessages = 10\n[recall]\ntop = 2\nmax = 200";

fn counter() -> Counter {
    Counter::new(Method::Chars4, 1_000)
}

fn context(policy: &str) -> Context {
    let policy = Policy::read(policy, &[]).unwrap();
    Context::builder().policy(policy).counter(counter()).window(100_000).build().unwrap()
}

/// Returns a conversation of 26 messages, of which the first 16 are no longer shown.
fn folded() -> Context {
    let mut context = context(POLICY);
    context.push(Message::user("The gate code is 4711."));
    context.push(Message::assistant("Noted."));
    for n in 0..12 {
        context.push(Message::user(format!("Question {n} on gardening")));
        context.push(Message::assistant(format!("Answer {n} on roses and tulips.")));
    }
    context.plan().commit();
    assert!(!sent(&context).contains("4711"), "{}", sent(&context));
    context
}

/// Sends a call with these passages. Returns whether it folded.
fn send(context: &mut Context, passages: &[Passage]) -> bool {
    let next = context.plan_with(passages.to_vec());
    let folds = next.reasons().is_some();
    next.commit();
    folds
}

fn messages(context: &Context) -> Vec<String> {
    context.messages().map(|message| serde_json::to_string(message).unwrap()).collect()
}

fn sent(context: &Context) -> String {
    messages(context).join("\n")
}

fn newest(context: &Context) -> String {
    context.messages().last().unwrap().text()
}

fn passage(message: usize, text: &str) -> Passage {
    Passage::new(message, Role::User, text)
}

#[test]
fn caller_passages_are_quoted_with_the_newest_user_message_and_stay_there() {
    let mut context = folded();
    let before = messages(&context);
    context.push(Message::user("How do I get in?"));
    let found = [passage(0, "The gate code is 4711.")];
    assert!(!send(&mut context, &found));
    let newest = newest(&context);
    assert!(newest.starts_with("How do I get in?"), "{newest}");
    assert!(newest.contains("> message 1, user: The gate code is 4711."), "{newest}");
    assert!(newest.contains(REFERENCE_ONLY), "{newest}");
    let first = messages(&context);
    assert_eq!(first[..before.len()], before, "nothing before it changes");
    // The next call of the same turn finds something else, and still sends the same.
    context.push(Message::assistant("Through the gate."));
    send(&mut context, &[passage(1, "Noted.")]);
    assert_eq!(messages(&context)[..first.len()], first);
}

#[test]
fn what_the_context_shows_is_not_quoted() {
    let mut context = folded();
    context.push(Message::user("What about roses?"));
    let shown = "Answer 11 on roses and tulips.";
    assert!(sent(&context).contains(shown));
    let ellipsis = format!("…{shown}…");
    send(
        &mut context,
        &[passage(25, shown), passage(25, &ellipsis), passage(26, "What about roses?")],
    );
    assert_eq!(newest(&context), "What about roses?");
}

/// A result that was too long to be sent whole is shown in part only: a passage of the rest is
/// quoted.
#[test]
fn passage_of_the_part_that_was_left_out_is_quoted() {
    let mut context =
        context("stages = [\"cap\", \"recall\"]\n[cap]\nmax = 100\n[recall]\nmax = 200");
    let output = format!("{}port 5433 refused\n{}", "ok\n".repeat(900), "ok\n".repeat(900));
    context.push(Message::user("Run it."));
    let call = ToolCall::new("1", "run", "{}");
    context.push(Message::assistant_with_calls("", [call]));
    context.push(Message::tool_result("1", output));
    send(&mut context, &[]);
    assert!(!sent(&context).contains("5433"), "{}", sent(&context));
    context.push(Message::user("Which port was refused?"));
    send(&mut context, &[passage(2, "…ok\nport 5433 refused\nok…")]);
    assert!(newest(&context).contains("> port 5433 refused\n> ok"), "{}", newest(&context));
}

#[test]
fn budget_and_number_of_passages_hold() {
    let mut context = folded();
    context.push(Message::user("And now?"));
    let long = "words that take room ".repeat(60);
    let found = [
        passage(0, &long),
        passage(0, "The gate code is 4711."),
        passage(2, "Question 0 on gardening"),
        passage(4, "Question 1 on gardening"),
    ];
    send(&mut context, &found);
    let newest = newest(&context);
    assert!(!newest.contains("take room"), "over the budget: {newest}");
    assert!(newest.contains("4711") && newest.contains("Question 0"), "{newest}");
    assert!(!newest.contains("Question 1 "), "more than two: {newest}");
}

#[test]
fn search_without_a_result_quotes_nothing() {
    let mut context = folded();
    context.push(Message::user("What was the code of the gate?"));
    let own = format!("{:?}", context.plan().slots());
    assert!(own.contains("4711"), "without a caller's search");
    send(&mut context, &[]);
    assert_eq!(newest(&context), "What was the code of the gate?");
}

/// A fold drops the message, so the fold itself quotes it.
#[test]
fn fold_quotes_what_it_drops() {
    let mut context = context(POLICY);
    context.push(Message::user("The gate code is 4711."));
    for n in 0..8 {
        let words = "on roses and tulips ".repeat(20);
        context.push(Message::assistant(format!("Answer {n} {words}")));
        context.push(Message::user(format!("Question {n} {words}")));
    }
    let found = [passage(0, "The gate code is 4711."), passage(15, "Answer 7 on roses")];
    assert!(send(&mut context, &found));
    let newest = newest(&context);
    assert!(newest.starts_with("Question 7") && newest.contains("4711"), "{newest}");
    assert!(!newest.contains("Answer 7"), "it is still shown: {newest}");
}

/// With the caller's passages a resumed session needs only the end of its history.
#[test]
fn resumed_history_is_extended_without_loading_the_rest() {
    let earlier = folded();
    let past = earlier.history().past();
    let slots = earlier.generation().stored(earlier.history(), 0);
    let source = |index| earlier.history().source(index).cloned();
    let generation = Generation::restore(earlier.generation().head(), slots, source);
    let mut history = History::after(counter(), past, generation.views(past.messages));
    for index in past.messages..earlier.history().len() {
        history.append(source(index).unwrap());
    }
    history.append(Message::user("How do I get in?"));
    let policy = Policy::read(POLICY, &[]).unwrap();
    let builder = Context::builder().policy(policy).counter(counter()).window(100_000);
    let mut context = builder.resume(history, generation).build().unwrap();
    assert!(!context.history().is_whole());
    assert!(context.plan().needs_history(), "the whole history would be searched");
    let next = context.plan_with(vec![passage(0, "The gate code is 4711.")]);
    assert!(!next.needs_history());
    next.commit();
    assert!(newest(&context).contains("4711"), "{}", newest(&context));
}
