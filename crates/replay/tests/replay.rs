//! A conversation whose course is known, through policies: what each retains, forgets, folds and
//! costs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::message::{Message, ToolCall, Wire};
use waterline::policy::Policy;
use waterline::tokens::Method;
use waterline_replay::pool::{Job, replay_all};
use waterline_replay::price::Prices;
use waterline_replay::report::Report;
use waterline_replay::run::{Outcome, ReplayConfig, replay};
use waterline_transcript::Transcript;

const FILLER: usize = 12;

/// The task, an order id in the first result, much output about nothing, and at the end a call that
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

fn setup(policies: &[&str], windows: &[usize]) -> ReplayConfig {
    ReplayConfig {
        policies: policies.iter().map(|name| Policy::preset(name).unwrap()).collect(),
        windows: windows.to_vec(),
        prices: Prices::named("cached").unwrap(),
        model: None,
        method: Some(Method::Chars4),
        trace: true,
        learn: false,
    }
}

fn outcomes(setup: &ReplayConfig) -> Vec<Outcome> {
    replay(transcript("one"), setup, |_| {})
}

#[test]
fn a_window_forgets_what_the_ledger_keeps() {
    let found = outcomes(&setup(&["tail", "auto"], &[1_000]));
    let [tail, auto] = [&found[0], &found[1]];
    assert_eq!((tail.tally.values, tail.tally.retained), (1, 0), "of two values one had been seen");
    assert_eq!((auto.tally.values, auto.tally.retained), (1, 1));
    assert_eq!((auto.tally.calls, auto.tally.intact), (1, 1));
    assert_eq!((tail.tally.invalid, auto.tally.invalid, auto.tally.over), (0, 0, 0));
    assert!(auto.tally.tokens_max <= 1_000, "{}", auto.tally.tokens_max);
}

/// Each lost value has its source, the call that needed it, and the fold that dropped it.
#[test]
fn what_was_forgotten_can_be_traced() {
    let found = outcomes(&setup(&["tail"], &[1_000]));
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

/// Where everything fits nothing is folded, and it costs what never folding costs.
#[test]
fn a_window_that_holds_everything_costs_what_appending_costs() {
    let found = outcomes(&setup(&["auto", "tail"], &[100_000]));
    for outcome in &found {
        assert_eq!(outcome.tally.folds, 0);
        assert!((outcome.tally.cost() - 1.0).abs() < 1e-9, "{}", outcome.tally.cost());
        assert!(outcome.tally.bill.cached_share() > 0.8);
    }
}

/// A window that slides breaks the cache with every call; folds in batches do not.
#[test]
fn sliding_costs_more_than_folding_in_batches() {
    let found = outcomes(&setup(&["tail", "halve-first"], &[1_000]));
    assert!(
        found[0].tally.cost() > 1.2 * found[1].tally.cost(),
        "{} {}",
        found[0].tally.cost(),
        found[1].tally.cost()
    );
    assert!(found[0].tally.folds > found[1].tally.folds);
}

/// A pause longer than the cache lives makes the next prompt cost what it costs fresh.
#[test]
fn a_cold_cache_serves_nothing() {
    let mut slow = transcript("slow");
    for (at, entry) in slow.entries.iter_mut().enumerate() {
        entry.time = Some(i64::try_from(at).unwrap() * 1_000);
    }
    let found = replay(slow, &setup(&["auto"], &[100_000]), |_| {});
    assert_eq!(found[0].tally.bill.read, 0);
    assert!(found[0].calls.iter().all(|call| call.read == 0));
}

/// What a program wrote in place of cut messages is not part of the conversation.
#[test]
fn recorded_summaries_are_left_out() {
    let mut recorded = transcript("recorded");
    recorded.entries[1].is_summary = true;
    let mut first = None;
    replay(recorded, &setup(&["auto"], &[100_000]), |context| {
        first.get_or_insert((context.call, context.messages.len()));
    });
    assert_eq!(
        first,
        Some((4, 3)),
        "numbered as in the file: message 2 has no user before it, message 4 does"
    );
}

/// All threads together give the same figures, in the same order, as one.
#[test]
fn the_number_of_threads_changes_nothing() {
    let setup = setup(&["auto", "tail"], &[1_000, 4_000]);
    let rows = |threads: usize| {
        let mut report = Report::new(&setup, vec!["a".into(), "b".into()]);
        let produce = |emit: &mut dyn FnMut(Job)| {
            for at in 0..9 {
                let mut one = transcript(&format!("t{at}"));
                one.entries.truncate(6 + 2 * at);
                emit(Job { dataset: at % 2, transcript: one });
            }
            Ok::<(), ()>(())
        };
        let mut order = Vec::new();
        let collect = |done: waterline_replay::pool::Done| {
            order.push(done.id.clone());
            report.add(done);
        };
        replay_all(&setup, threads, &|_| {}, produce, collect).unwrap();
        assert_eq!(order, (0..9).map(|at| format!("t{at}")).collect::<Vec<_>>());
        report.totals().chain(report.rows()).map(|row| format!("{row:?}")).collect::<Vec<_>>()
    };
    assert_eq!(rows(1), rows(4));
    assert_eq!(rows(1).len(), 12);
}

/// The page stands alone: no script, nothing to fetch.
#[test]
fn the_page_is_complete_in_itself() {
    let setup = setup(&["auto", "tail"], &[1_000, 4_000]);
    let mut report = Report::new(&setup, vec!["a".into()]);
    let produce = |emit: &mut dyn FnMut(Job)| {
        emit(Job { dataset: 0, transcript: transcript("<script>alert(1)</script>") });
        Ok::<(), ()>(())
    };
    replay_all(&setup, 1, &|_| {}, produce, |done| report.add(done)).unwrap();
    let page = waterline_replay::page::write(&report);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("http"));
    assert!(page.contains("prefers-color-scheme: dark") && !page.contains("{{"));
    assert_eq!(page.matches("<svg").count(), 3 + 4);
}

/// A fold teaches what it could have listed, and what was needed of that.
#[test]
fn folds_are_lessons() {
    let setup = ReplayConfig { learn: true, ..setup(&["auto"], &[1_000]) };
    let found = replay(transcript("one"), &setup, |_| {});
    let training_folds = &found[0].training_folds;
    assert_eq!(training_folds.len(), found[0].folds.len());
    let needed: u32 = training_folds.iter().flat_map(|training_fold| &training_fold.needed).sum();
    assert_eq!(needed, 1, "the order id, once, by the last call");
    assert!(training_folds.last().unwrap().teaches() && training_folds.last().unwrap().room > 0.0);
}
