//! A fold explains its size: which stage or rule was the last to drop messages, and how much of its
//! budget the summary block used.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline::history::History;
use waterline::message::{Message, ToolCall};
use waterline::model::Models;
use waterline::plan::{Budget, Generation, Input, LOW_MARK, Plan, plan};
use waterline::policy::Policy;
use waterline::tokens::{Counter, Method};

const WINDOW: usize = 2_000;

/// Plans forty exchanges of about a hundred tokens each.
fn planned(policy: &str, exchanges: usize) -> Plan {
    let messages = (0..exchanges).flat_map(|at| {
        let filler = "and so on ".repeat(20);
        [Message::user(format!("step {at} {filler}")), Message::assistant(format!("done {filler}"))]
    });
    let history = History::of(Counter::new(Method::Chars4, 0), messages);
    let policy = Policy::read(policy, &[]).unwrap();
    let model = Models::builtin().resolve("");
    let generation = Generation::new();
    plan(&Input::new(&history, &generation, &policy, Budget::of(WINDOW), &model))
}

#[test]
fn a_small_window_stage_explains_a_context_far_below_the_low_mark() {
    let policy = r#"
        stages = ["window", "summarise"]
        fold = { high = "100%", low = "80%" }
        window = { tokens = "20%" }
        summarise = { mode = "digest", max = "10%", ledger = "10%" }
    "#;
    let plan = planned(policy, 40);
    let fold_report = plan.fold_report.unwrap();
    let step = fold_report.main_effect().unwrap();
    assert_eq!(step.by, "window");
    assert!(
        fold_report.had_to_reach_low_mark && step.dropped >= 70 && step.left <= WINDOW / 5,
        "{fold_report:?}"
    );
    assert!(
        fold_report.block > 0 && fold_report.block < fold_report.block_budget,
        "{fold_report:?}"
    );
    let left = fold_report.effects.last().unwrap().left;
    assert_eq!(plan.tokens.context, left + fold_report.block);
    assert!(plan.tokens.context < plan.tokens.low / 2, "{:?}", plan.tokens);
}

#[test]
fn without_a_stage_that_drops_the_low_mark_does() {
    let policy = r#"
        stages = ["repair"]
        fold = { high = "100%", low = "50%" }
    "#;
    let plan = planned(policy, 40);
    let fold_report = plan.fold_report.unwrap();
    let step = fold_report.main_effect().unwrap();
    assert_eq!((step.by, fold_report.block, fold_report.block_budget), (LOW_MARK, 0, 0));
    assert_eq!(plan.tokens.context, fold_report.effects.last().unwrap().left);
    // One more exchange would have been over the mark.
    assert!(plan.tokens.low.abs_diff(plan.tokens.context) < 120, "{:?}", plan.tokens);
}

/// If nothing is dropped, the stage that freed the most is the reason.
#[test]
fn the_stage_that_freed_the_most_explains_a_fold_that_drops_nothing() {
    let policy = r#"
        stages = ["trim"]
        fold = { high = "100%" }
        trim = { scope = "all", over_chars = 200, head_chars = 40, tail_chars = 40 }
    "#;
    let messages = (0..6).flat_map(|at| {
        let id = format!("c{at}");
        let call = ToolCall::new(&id, "read", r#"{"path":"a.rs"}"#);
        let thinking = Message::assistant_with_calls("", [call]);
        [thinking, Message::tool_result(&id, "and so on ".repeat(160))]
    });
    let messages = std::iter::once(Message::user("Read.")).chain(messages);
    let history = History::of(Counter::new(Method::Chars4, 0), messages);
    let policy = Policy::read(policy, &[]).unwrap();
    let model = Models::builtin().resolve("");
    let generation = Generation::new();
    let plan = plan(&Input::new(&history, &generation, &policy, Budget::of(WINDOW), &model));
    let report = plan.fold_report.unwrap();
    let effect = report.main_effect().unwrap();
    assert_eq!((effect.by, effect.dropped), ("trim", 0), "{report:?}");
    assert!(effect.freed > 1_000, "{report:?}");
}

#[test]
fn an_extension_has_nothing_to_explain() {
    let policy = "stages = [\"repair\"]";
    assert_eq!(planned(policy, 2).fold_report, None);
}
