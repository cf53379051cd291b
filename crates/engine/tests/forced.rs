//! Folds that somebody asks for, what stays in every one of them, and when a fold is due.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline::{Action, Context, Counter, FoldLevel, Message, Models, Next, Policy};

/// A conversation of so many turns, each about `words` words on both sides.
fn talk(turns: usize, words: usize) -> Vec<Message> {
    let filler = |n: usize| format!("{n} {}", "lorem ipsum ".repeat(words / 2));
    let turn = |n| {
        let question = Message::user(format!("question {}", filler(n)));
        [question, Message::assistant(format!("answer {}", filler(n)))]
    };
    let mut messages = vec![Message::system("be brief")];
    messages.extend((0..turns).flat_map(turn));
    messages.push(Message::user("the newest question"));
    messages
}

fn context(messages: Vec<Message>, policy: &Policy, window: usize) -> Context {
    let builder =
        Context::builder().policy(policy.clone()).window(window).counter(Counter::default());
    let mut context = builder.build().unwrap();
    context.extend(messages);
    context
}

fn policy(settings: &[(&str, &str)]) -> Policy {
    let settings: Vec<_> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Policy::preset_with("auto", &settings).unwrap()
}

fn shown(next: Next<'_>) -> Vec<String> {
    next.commit().into_iter().map(Message::text).collect()
}

fn folds(context: &mut Context) -> bool {
    matches!(context.plan().action(), Action::Fold { .. })
}

/// S2.22–S2.25, C2.6: each rung keeps less, and all keep the task and the newest message.
#[test]
fn s2_24_c2_6_each_rung_keeps_less_and_the_newest_message_stays() {
    let fresh = context(talk(40, 60), &policy(&[]), 20_000);
    let mut last = usize::MAX;
    for rung in [FoldLevel::Fold, FoldLevel::Trim, FoldLevel::Minimal] {
        let mut context = fresh.clone();
        let next = context.fold(rung, "refused");
        assert_eq!(next.reason(), Some("refused"), "{rung:?}");
        let tokens = next.tokens().after;
        assert!(tokens < last, "{rung:?}: {tokens} after {last}");
        last = tokens;
        let shown = shown(next);
        assert!(shown.iter().any(|text| text.starts_with("question 0")), "{rung:?}: the task");
        assert!(shown.last().unwrap().ends_with("the newest question"), "{rung:?}");
    }
    assert_eq!(FoldLevel::Minimal.next(), None);
}

#[test]
fn what_is_pinned_and_what_is_open_stays_word_for_word() {
    let mut context = context(talk(40, 60), &policy(&[]), 20_000);
    let lines =
        ["todo: write the changelog".to_owned(), "waits for approval: rm -r build/".to_owned()];
    context.pin(21);
    context.keep_lines(lines.to_vec());
    let shown = shown(context.fold(FoldLevel::Minimal, "refused"));
    assert!(
        shown.iter().any(|text| text.starts_with("question 10 ")),
        "the pinned message: {shown:?}"
    );
    let note = shown.iter().find(|text| text.contains("Open, verbatim:")).unwrap();
    assert!(lines.iter().all(|line| note.contains(line.as_str())), "{note}");
    assert!(note.contains("it gives no orders"));
}

/// A line that the summary holds already is not said twice.
#[test]
fn a_line_that_the_summary_holds_is_not_added() {
    let mut context = context(talk(40, 60), &policy(&[("summarise.mode", "blocking")]), 20_000);
    context.keep_lines(vec![
        "todo: write the changelog".to_owned(),
        "todo: tag the release".to_owned(),
    ]);
    let next = context.fold(FoldLevel::Fold, "asked for");
    assert!(next.wanted().is_some());
    let next = next.with_summary("It is still open: todo: write the changelog.");
    assert!(next.wanted().is_none(), "the summary is there");
    let text = shown(next).join("\n");
    assert_eq!(text.matches("write the changelog").count(), 1);
    assert_eq!(text.matches("tag the release").count(), 1);
}

/// Folding turned off: nothing but the window forces a fold.
#[test]
fn remind_only_folds_when_the_window_forces_it() {
    let marks = [("fold.high", "60%"), ("fold.low", "40%")];
    let early = policy(&marks);
    let all = context(talk(40, 60), &early, 1).history().tokens();
    assert!(folds(&mut context(talk(40, 60), &early, all + 100)));
    let off = policy(&[marks[0], marks[1], ("fold.when", "window")]);
    assert!(!folds(&mut context(talk(40, 60), &off, all + 100)));
    assert!(folds(&mut context(talk(40, 60), &off, all - 100)));
}

/// A cold cache makes a fold that is due soon due now, at the beginning of a turn.
#[test]
fn a_cold_cache_folds_sooner() {
    let mut context = context(talk(40, 60), &policy(&[]), 1);
    context.set_window(context.history().tokens() * 100 / 90);
    assert!(!folds(&mut context));
    context.set_cache_cold(true);
    let next = context.plan();
    let reason = next.reason().unwrap();
    assert!(reason.contains("cold"), "{reason}");
}

/// In a large window the model's prices decide: dear reads fold sooner.
#[test]
fn prices_set_the_marks_of_a_large_window() {
    let with = |name: &str| {
        let model = Models::builtin().find(name).unwrap();
        let builder = Context::builder().model(model).policy(policy(&[])).window(1_000_000);
        let mut context = builder.counter(Counter::default()).build().unwrap();
        context.extend(talk(150, 1_000));
        let tokens = context.history().tokens();
        assert!(tokens > 120_000 && tokens < 900_000, "{tokens}");
        folds(&mut context)
    };
    assert!(with("claude-opus-5"), "reads at a tenth");
    assert!(!with("qwen3"), "no prices");
}

/// Where little is to be listed, what the user said stays, and not what was answered.
#[test]
fn what_the_ledger_does_not_need_is_for_the_users_words() {
    let say = |text: &str| Message::user(text);
    let mut messages = vec![say("we plan a holiday"), Message::assistant("gladly")];
    for fact in ["Anna is allergic to peanuts", "always answer in French"] {
        messages.extend([
            say(fact),
            Message::assistant("that is noted, thank you very much for telling me"),
        ]);
    }
    for _ in 0..20 {
        messages.extend([
            say("and how is the weather?"),
            Message::assistant("it is fine today. ".repeat(30)),
        ]);
    }
    messages.push(say("the newest question"));
    let mut context = context(messages, &policy(&[]), 2_500);
    let next = context.plan();
    assert!(next.reason().is_some() && next.tokens().after <= next.tokens().low);
    let text = shown(next).join("\n");
    assert!(text.contains("allergic to peanuts") && text.contains("answer in French"), "{text}");
}
