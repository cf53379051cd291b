//! Replays a known conversation under policies: what each retains, forgets, folds and costs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::message::{Message, ToolCall, Wire};
use waterline::model::Models;
use waterline::policy::Policy;
use waterline::tokens::Method;
use waterline_replay::pool::{Job, replay_all};
use waterline_replay::price::Prices;
use waterline_replay::report::Report;
use waterline_replay::run::{Outcome, ReplayConfig, replay};
use waterline_transcript::Transcript;

const FILLER: usize = 12;

/// A task, an order id in the first result, then much irrelevant output, and at the end a call that
/// needs the id.
fn transcript(id: &str) -> Transcript {
    let mut transcript = Transcript::new(id.into(), Wire::OPENAI_CHAT);
    transcript.push(Message::system("You look after orders."));
    transcript.push(Message::user("please sort out my order"));
    transcript.push(Message::assistant_with_calls(
        "",
        [ToolCall::new("c0", "find", r#"{"name":"anna"}"#)],
    ));
    transcript.push(Message::tool_result("c0", "one order was found\nthe order is W-7044921"));
    for at in 1..=FILLER {
        transcript.push(Message::assistant_with_calls(
            "",
            [ToolCall::new(format!("c{at}"), "wait", "{}")],
        ));
        transcript.push(Message::tool_result(format!("c{at}"), "nothing new here. ".repeat(40)));
    }
    transcript.push(Message::assistant_with_calls(
        "",
        [ToolCall::new("last", "ship", r#"{"order":"W-7044921","note":"brand-new-77"}"#)],
    ));
    transcript.push(Message::tool_result("last", "done"));
    transcript
}

fn config(policies: &[&str], windows: &[usize]) -> ReplayConfig {
    ReplayConfig {
        policies: policies.iter().map(|name| Policy::preset(name).unwrap()).collect(),
        windows: windows.to_vec(),
        prices: Prices::named("cached", &Models::builtin()).unwrap(),
        model: None,
        models: Models::builtin(),
        method: Some(Method::Chars4),
        trace: true,
        learn: false,
    }
}

fn outcomes(config: &ReplayConfig) -> Vec<Outcome> {
    replay(transcript("one"), config, |_| {})
}

#[test]
fn tail_forgets_a_value_that_the_ledger_keeps() {
    let found = outcomes(&config(&["tail", "auto"], &[1_000]));
    let [tail, auto] = [&found[0], &found[1]];
    assert_eq!(
        (tail.counters.values, tail.counters.retained),
        (1, 0),
        "one of two was seen before"
    );
    assert_eq!((auto.counters.values, auto.counters.retained), (1, 1));
    assert_eq!((auto.counters.calls, auto.counters.intact), (1, 1));
    assert_eq!((tail.counters.invalid, auto.counters.invalid, auto.counters.over), (0, 0, 0));
    assert!(auto.counters.tokens_max <= 1_000, "{}", auto.counters.tokens_max);
}

/// Each lost value has its source, the call that needed it, and the fold that dropped it.
#[test]
fn lost_values_are_traced_to_their_fold() {
    let found = outcomes(&config(&["tail"], &[1_000]));
    let lost = &found[0].lost;
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (lost[0].value.as_str(), lost[0].seen, lost[0].by.as_str()),
        ("W-7044921", 3, "find")
    );
    assert_eq!((lost[0].needed, lost[0].tool.as_str()), (4 + 2 * FILLER, "ship"));
    let fold = lost[0].fold.unwrap();
    assert!(fold.before > 3 && fold.before < lost[0].needed && fold.to <= fold.from, "{fold:?}");
}

/// If everything fits, nothing is folded, and the cost is that of never folding.
#[test]
fn large_window_costs_the_same_as_never_folding() {
    let found = outcomes(&config(&["auto", "tail"], &[100_000]));
    for outcome in &found {
        assert_eq!(outcome.counters.folds, 0);
        assert!((outcome.counters.cost() - 1.0).abs() < 1e-9, "{}", outcome.counters.cost());
        assert!(outcome.counters.bill.cached_share() > 0.8);
    }
}

/// A sliding window breaks the cache with every call; folding in batches does not.
#[test]
fn sliding_window_costs_more_than_folding_in_batches() {
    let found = outcomes(&config(&["tail", "halve-first"], &[1_000]));
    assert!(
        found[0].counters.cost() > 1.2 * found[1].counters.cost(),
        "{} {}",
        found[0].counters.cost(),
        found[1].counters.cost()
    );
    assert!(found[0].counters.folds > found[1].counters.folds);
}

/// After a pause longer than the cache's lifetime, the next prompt is uncached.
#[test]
fn expired_cache_serves_nothing() {
    let mut slow = transcript("slow");
    for (at, entry) in slow.entries.iter_mut().enumerate() {
        entry.time = Some(i64::try_from(at).unwrap() * 1_000);
    }
    let found = replay(slow, &config(&["auto"], &[100_000]), |_| {});
    assert_eq!(found[0].counters.bill.read, 0);
    assert!(found[0].calls.iter().all(|call| call.read == 0));
}

/// Summaries that the recording program wrote are not part of the conversation.
#[test]
fn recorded_summaries_are_left_out() {
    let mut recorded = transcript("recorded");
    recorded.entries[1].is_summary = true;
    let mut first = None;
    replay(recorded, &config(&["auto"], &[100_000]), |context| {
        first.get_or_insert((context.call, context.messages.len()));
    });
    assert_eq!(
        first,
        Some((4, 3)),
        "numbered as in the file: message 2 has no user before it, message 4 does"
    );
}

/// Several threads give the same figures in the same order as one.
#[test]
fn number_of_threads_does_not_change_the_results() {
    let config = config(&["auto", "tail"], &[1_000, 4_000]);
    let rows = |threads: usize| {
        let mut report = Report::new(&config, vec!["a".into(), "b".into()]);
        let produce = |emit: &mut dyn FnMut(Job)| {
            for at in 0..9 {
                let mut one = transcript(&format!("t{at}"));
                one.entries.truncate(6 + 2 * at);
                emit(Job::new(at % 2, one));
            }
            Ok::<(), ()>(())
        };
        let mut order = Vec::new();
        let collect = |done: waterline_replay::pool::Done| {
            order.push(done.id.clone());
            report.add(done);
        };
        replay_all(&config, threads, &|_, _| {}, produce, collect).unwrap();
        assert_eq!(order, (0..9).map(|at| format!("t{at}")).collect::<Vec<_>>());
        report.totals().chain(report.rows()).map(|row| format!("{row:?}")).collect::<Vec<_>>()
    };
    assert_eq!(rows(1), rows(4));
    assert_eq!(rows(1).len(), 12);
}

/// The page has no script and loads nothing.
#[test]
fn page_is_self_contained() {
    let config = config(&["auto", "tail"], &[1_000, 4_000]);
    let mut report = Report::new(&config, vec!["a".into()]);
    let produce = |emit: &mut dyn FnMut(Job)| {
        emit(Job::new(0, transcript("<script>alert(1)</script>")));
        Ok::<(), ()>(())
    };
    replay_all(&config, 1, &|_, _| {}, produce, |done| report.add(done)).unwrap();
    let page = waterline_replay::page::write(&report, "en", &|phrase| phrase.to_string());
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("http"));
    assert!(page.contains("prefers-color-scheme: dark") && !page.contains("{{"));
    assert_eq!(page.matches("<svg").count(), 3 + 4);
}

/// Each fold records the values that it could have listed and which of them were needed.
#[test]
fn folds_give_training_data() {
    let config = ReplayConfig { learn: true, ..config(&["auto"], &[600]) };
    let found = replay(transcript("one"), &config, |_| {});
    let training_folds = &found[0].training_folds;
    assert_eq!(training_folds.len(), found[0].folds.len());
    let needed: u32 = training_folds.iter().flat_map(|training_fold| &training_fold.needed).sum();
    assert_eq!(needed, 1, "the order id, once, by the last call");
    assert!(training_folds.last().unwrap().teaches() && training_folds.last().unwrap().room > 0.0);
}
