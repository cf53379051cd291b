//! A fold explains its size: which stage or rule was the last to drop messages, and how much of its
//! budget the summary block used.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use waterline::history::History;
use waterline::message::Message;
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
    let step = fold_report.last_effect().unwrap();
    assert_eq!(step.by, "window");
    assert!(fold_report.to_low && step.dropped >= 70 && step.left <= WINDOW / 5, "{fold_report:?}");
    assert!(
        fold_report.block > 0 && fold_report.block < fold_report.block_budget,
        "{fold_report:?}"
    );
    let left = fold_report.effects.last().unwrap().left;
    assert_eq!(plan.tokens.after, left + fold_report.block);
    assert!(plan.tokens.after < plan.tokens.low / 2, "{:?}", plan.tokens);
}

#[test]
fn without_a_stage_that_drops_the_low_mark_does() {
    let policy = r#"
        stages = ["repair"]
        fold = { high = "100%", low = "50%" }
    "#;
    let plan = planned(policy, 40);
    let fold_report = plan.fold_report.unwrap();
    let step = fold_report.last_effect().unwrap();
    assert_eq!((step.by, fold_report.block, fold_report.block_budget), (LOW_MARK, 0, 0));
    assert_eq!(plan.tokens.after, fold_report.effects.last().unwrap().left);
    // One more exchange would have been over the mark.
    assert!(plan.tokens.low.abs_diff(plan.tokens.after) < 120, "{:?}", plan.tokens);
}

#[test]
fn an_extension_has_nothing_to_explain() {
    let policy = "stages = [\"repair\"]";
    assert_eq!(planned(policy, 2).fold_report, None);
}
