//! Folds on request, what every fold keeps, and when a fold is due.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline::summary::REFERENCE_ONLY;
use waterline::{Action, Context, Counter, FoldLevel, Message, Models, Next, Policy};

/// Returns a conversation of `turns` turns with about `words` words in each message.
fn conversation(turns: usize, words: usize) -> Vec<Message> {
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

/// S2.22–S2.25, C2.6: each level keeps less, and all keep the task and the newest message.
#[test]
fn s2_24_c2_6_each_level_keeps_less_and_the_newest_message_stays() {
    let fresh = context(conversation(40, 60), &policy(&[]), 20_000);
    let mut last = usize::MAX;
    for level in [FoldLevel::ByPolicy, FoldLevel::Harder, FoldLevel::Minimal] {
        let mut context = fresh.clone();
        let next = context.fold(level, "refused");
        assert_eq!(next.reasons(), Some(&"refused".into()), "{level:?}");
        let tokens = next.tokens().context;
        assert!(tokens < last, "{level:?}: {tokens} after {last}");
        last = tokens;
        let shown = shown(next);
        assert!(shown.iter().any(|text| text.starts_with("question 0")), "{level:?}: the task");
        assert!(shown.last().unwrap().ends_with("the newest question"), "{level:?}");
    }
    assert_eq!(FoldLevel::Minimal.next(), None);
}

#[test]
fn pins_and_open_lines_stay_verbatim() {
    let mut context = context(conversation(40, 60), &policy(&[]), 20_000);
    let lines =
        ["todo: write the changelog".to_owned(), "waits for approval: rm -r build/".to_owned()];
    context.pin(21);
    context.keep_lines(lines.to_vec());
    let shown = shown(context.fold(FoldLevel::Minimal, "refused"));
    assert!(
        shown.iter().any(|text| text.starts_with("question 10 ")),
        "the pinned message: {shown:?}"
    );
    let block = shown.iter().find(|text| text.contains("Still valid, verbatim:")).unwrap();
    assert!(lines.iter().all(|line| block.contains(line.as_str())), "{block}");
    assert!(block.contains(REFERENCE_ONLY));
}

#[test]
fn a_line_that_the_summary_contains_is_not_added() {
    let mut context =
        context(conversation(40, 60), &policy(&[("summarise.mode", "blocking")]), 20_000);
    context.keep_lines(vec![
        "todo: write the changelog".to_owned(),
        "todo: tag the release".to_owned(),
    ]);
    let next = context.fold(FoldLevel::ByPolicy, "asked for");
    assert!(next.wanted().is_some());
    let next = next.with_summary("It is still open: todo: write the changelog.");
    assert!(next.wanted().is_none(), "the summary was supplied");
    let text = shown(next).join("\n");
    assert_eq!(text.matches("write the changelog").count(), 1);
    assert_eq!(text.matches("tag the release").count(), 1);
}

/// With `fold.when = "window"`, only a context larger than the window is folded.
#[test]
fn fold_when_window_folds_only_above_the_window() {
    let marks = [("fold.high", "60%"), ("fold.low", "40%")];
    let early = policy(&marks);
    let all = context(conversation(40, 60), &early, 1).history().tokens();
    assert!(folds(&mut context(conversation(40, 60), &early, all + 100)));
    let off = policy(&[marks[0], marks[1], ("fold.when", "window")]);
    assert!(!folds(&mut context(conversation(40, 60), &off, all + 100)));
    assert!(folds(&mut context(conversation(40, 60), &off, all - 100)));
}

/// With a cold cache, a fold that would be due soon is due now.
#[test]
fn a_cold_cache_folds_sooner() {
    let mut context = context(conversation(40, 60), &policy(&[("fold.low", "80%")]), 1);
    context.set_window(context.history().tokens() * 100 / 96);
    assert!(!folds(&mut context));
    context.set_cache_cold(true);
    let next = context.plan();
    let reason = next.reasons().unwrap().to_string();
    assert!(reason.contains("cold"), "{reason}");
}

/// In a large window the model's prices decide: expensive cache reads fold sooner.
#[test]
fn prices_set_the_marks_of_a_large_window() {
    let with = |name: &str| {
        let model = Models::builtin().find(name).unwrap();
        let builder = Context::builder().model(model).policy(policy(&[])).window(1_000_000);
        let mut context = builder.counter(Counter::default()).build().unwrap();
        context.extend(conversation(150, 1_000));
        let tokens = context.history().tokens();
        assert!(tokens > 120_000 && tokens < 900_000, "{tokens}");
        folds(&mut context)
    };
    assert!(with("claude-opus-5"), "cache reads at a tenth of the price");
    assert!(!with("qwen3"), "no prices");
}

/// If there are few values to list, more of what the user wrote stays, and not the answers.
#[test]
fn tokens_that_the_ledger_does_not_need_are_for_user_messages() {
    let mut messages = vec![Message::user("we plan a holiday"), Message::assistant("gladly")];
    for fact in ["Anna is allergic to peanuts", "always answer in French"] {
        messages.extend([
            Message::user(fact),
            Message::assistant("that is noted, thank you very much for telling me"),
        ]);
    }
    for _ in 0..20 {
        messages.extend([
            Message::user("and how is the weather?"),
            Message::assistant("it is fine today. ".repeat(30)),
        ]);
    }
    messages.push(Message::user("the newest question"));
    let mut context = context(messages, &policy(&[]), 2_500);
    let next = context.plan();
    assert!(next.reasons().is_some() && next.tokens().context <= next.tokens().low);
    let text = shown(next).join("\n");
    assert!(text.contains("allergic to peanuts") && text.contains("answer in French"), "{text}");
}
