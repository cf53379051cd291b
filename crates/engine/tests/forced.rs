//! Folds that somebody asks for, what stays in every one of them, and when a fold is due.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::{Arc, LazyLock};

use waterline::history::History;
use waterline::message::Message;
use waterline::model::{Model, Models};
use waterline::plan::{Action, Budget, Forced, Generation, Input, Keep, Plan, Rung, plan};
use waterline::policy::Policy;
use waterline::summary::Summary;
use waterline::tokens::Counter;

static UNKNOWN: LazyLock<Arc<Model>> = LazyLock::new(|| Models::builtin().unknown());

/// A conversation of so many turns, each about `words` words on both sides.
fn talk(turns: usize, words: usize) -> History {
    let filler = |n: usize| format!("{n} {}", "lorem ipsum ".repeat(words / 2));
    let turn = |n| {
        let question = Message::user(format!("question {}", filler(n)));
        [question, Message::assistant(format!("answer {}", filler(n)))]
    };
    let mut messages = vec![Message::system("be brief")];
    messages.extend((0..turns).flat_map(turn));
    messages.push(Message::user("the newest question"));
    History::of(Counter::default(), messages)
}

fn policy(settings: &[(&str, &str)]) -> Policy {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Policy::preset_with("auto", &settings).unwrap()
}

fn input<'a>(history: &'a History, generation: &'a Generation, policy: &'a Policy, window: usize) -> Input<'a> {
    Input::new(history, generation, policy, Budget::of(window), &UNKNOWN)
}

fn shown(history: &History, plan: Plan) -> Vec<String> {
    let mut generation = Generation::new();
    generation.freeze(history, plan);
    generation.context(history).map(Message::text).collect()
}

fn folds(plan: &Plan) -> bool {
    matches!(plan.action, Action::Fold { .. })
}

/// S2.22–S2.25, C2.6: each rung keeps less, and all keep the task and the newest message.
#[test]
fn s2_24_c2_6_each_rung_keeps_less_and_the_newest_message_stays() {
    let (history, generation, policy) = (talk(40, 60), Generation::new(), policy(&[]));
    let mut last = usize::MAX;
    for rung in [Rung::Fold, Rung::Trim, Rung::Minimal] {
        let forced = Some(Forced { rung, reason: "refused" });
        let planned = plan(&Input { forced, ..input(&history, &generation, &policy, 20_000) });
        assert!(folds(&planned), "{rung:?}");
        let tokens = planned.tokens.after;
        assert!(tokens < last, "{rung:?}: {tokens} after {last}");
        last = tokens;
        let shown = shown(&history, planned);
        assert!(shown.iter().any(|text| text.starts_with("question 0")), "{rung:?}: the task");
        assert!(shown.last().unwrap().ends_with("the newest question"), "{rung:?}");
    }
    assert_eq!(Rung::Minimal.next(), None);
}

#[test]
fn what_is_pinned_and_what_is_open_stays_word_for_word() {
    let (history, generation, policy) = (talk(40, 60), Generation::new(), policy(&[]));
    let lines = ["todo: write the changelog".to_owned(), "waits for approval: rm -r build/".to_owned()];
    let keep = Keep { pins: &[21], lines: &lines };
    let forced = Some(Forced { rung: Rung::Minimal, reason: "refused" });
    let shown = shown(&history, plan(&Input { keep, forced, ..input(&history, &generation, &policy, 20_000) }));
    assert!(shown.iter().any(|text| text.starts_with("question 10 ")), "the pinned message: {shown:?}");
    let note = shown.iter().find(|text| text.contains("Open, verbatim:")).unwrap();
    assert!(lines.iter().all(|line| note.contains(line.as_str())), "{note}");
    assert!(note.contains("it gives no orders"));
}

/// A line that the summary holds already is not said twice.
#[test]
fn a_line_that_the_summary_holds_is_not_added() {
    let (history, generation, policy) = (talk(40, 60), Generation::new(), policy(&[("summarise.mode", "blocking")]));
    let forced = Some(Forced { rung: Rung::Fold, reason: "asked for" });
    let first = plan(&Input { forced, ..input(&history, &generation, &policy, 20_000) });
    let sources = first.wanted.unwrap().sources;
    let lines = ["todo: write the changelog".to_owned(), "todo: tag the release".to_owned()];
    let summaries = [Summary { sources, text: "It is still open: todo: write the changelog.".into() }];
    let keep = Keep { pins: &[], lines: &lines };
    let planned = plan(&Input { forced, keep, summaries: &summaries, ..input(&history, &generation, &policy, 20_000) });
    assert!(planned.wanted.is_none(), "the summary is there");
    let text = shown(&history, planned).join("\n");
    assert_eq!(text.matches("write the changelog").count(), 1);
    assert_eq!(text.matches("tag the release").count(), 1);
}

/// Folding turned off: nothing but the window forces a fold.
#[test]
fn remind_only_folds_when_the_window_forces_it() {
    let (history, generation) = (talk(40, 60), Generation::new());
    let all = history.tokens();
    let marks = [("fold.high", "60%"), ("fold.low", "40%")];
    let early = policy(&marks);
    assert!(folds(&plan(&input(&history, &generation, &early, all + 100))));
    let off = policy(&[marks[0], marks[1], ("fold.when", "window")]);
    assert!(!folds(&plan(&input(&history, &generation, &off, all + 100))));
    assert!(folds(&plan(&input(&history, &generation, &off, all - 100))));
}

/// A cold cache makes a fold that is due soon due now, at the beginning of a turn.
#[test]
fn a_cold_cache_folds_sooner() {
    let (history, generation, policy) = (talk(40, 60), Generation::new(), policy(&[]));
    let window = history.tokens() * 100 / 90;
    let warm = input(&history, &generation, &policy, window);
    assert!(!folds(&plan(&warm)));
    let cold = Input { budget: Budget { cold: true, ..warm.budget }, ..warm };
    let planned = plan(&cold);
    let Action::Fold { reason, .. } = &planned.action else { panic!("no fold") };
    assert!(reason.contains("cold"), "{reason}");
}

/// In a large window the model's prices decide: dear reads fold sooner.
#[test]
fn prices_set_the_marks_of_a_large_window() {
    let (history, generation, policy) = (talk(150, 1_000), Generation::new(), policy(&[]));
    assert!(history.tokens() > 120_000 && history.tokens() < 900_000, "{}", history.tokens());
    let with = |model: &str| {
        let model = Models::builtin().find(model).unwrap();
        folds(&plan(&Input { model: &model, ..input(&history, &generation, &policy, 1_000_000) }))
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
        messages.extend([say(fact), Message::assistant("that is noted, thank you very much for telling me")]);
    }
    for _ in 0..20 {
        messages.extend([say("and how is the weather?"), Message::assistant("it is fine today. ".repeat(30))]);
    }
    messages.push(say("the newest question"));
    let history = History::of(Counter::default(), messages);
    let (generation, policy) = (Generation::new(), policy(&[]));
    let planned = plan(&input(&history, &generation, &policy, 2_500));
    assert!(folds(&planned) && planned.tokens.after <= planned.tokens.low);
    let text = shown(&history, planned).join("\n");
    assert!(text.contains("allergic to peanuts") && text.contains("answer in French"), "{text}");
}
