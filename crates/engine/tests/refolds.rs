//! The presets that are named after the seed documents, over many folds: none comes again right
//! after another one, a summary stays as long as it need not change, and what fits stays.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod seed_bed;

use seed_bed::{SUMMARY, alone, call, calls, context, policy, step, turn};
use waterline::Action;
use waterline::message::{Message, Role, ToolCall};
use waterline_testkit::messages;

/// S3.7, S3.10, C3.2: without a model, or if its summary was rejected, the digest serves. It stays
/// as it is until the context is above 50,000 tokens again, in a conversation and in a request with
/// long results, which become previews in between.
#[test]
fn s3_7_s3_10_c3_2_a_digest_is_written_only_above_the_upper_threshold() {
    let listing = |at: usize| {
        let items: Vec<String> =
            (0..40).map(|id| format!(r#"{{"id":{id},"title":"wheel {at}"}}"#)).collect();
        let id = format!("c{at}");
        let call =
            Message::assistant_with_calls("x".repeat(1_200), [ToolCall::new(&id, "list", "{}")]);
        vec![call, Message::tool_result(&id, format!(r#"{{"items":[{}]}}"#, items.join(",")))]
    };
    let talk = (0..300).map(|at| turn(at, 600)).collect::<Vec<_>>();
    let work = (0..300).map(|at| [vec![Message::user("go on")], listing(at)].concat()).collect();
    for added in [talk, work] {
        let mut context = context(policy("budget", &[]), 128_000);
        let mut digests: Vec<(usize, String)> = Vec::new();
        for added in added {
            context.extend(added);
            let next = context.plan();
            let before = match next.action() {
                Action::Fold { from, .. } => *from,
                _ => 0,
            };
            if before > 0 && before <= 50_000 {
                assert!(next.wanted().is_none(), "no model is asked at {before} tokens");
            }
            next.commit();
            let summary = context.messages().find(|m| m.role == Role::System);
            let text = summary.map(Message::text).unwrap_or_default();
            if digests.last().map_or(!text.is_empty(), |(_, last)| *last != text) {
                digests.push((before, text));
            }
        }
        assert!((2..=10).contains(&digests.len()), "{}", digests.len());
        assert!(digests.iter().all(|(before, _)| *before > 50_000), "{digests:?}");
    }
    let mut talk = context(policy("budget", &[]), 128_000);
    for at in 0..300 {
        talk.extend(turn(at, 600));
        let next = talk.plan();
        if let Action::Fold { from, .. } = next.action() {
            assert!(*from > 50_000, "nothing to reduce, so no fold: {from}");
        }
        next.commit();
    }
}

/// S1.6, S1.16: if request and answer of earlier turns free little, they become a part of the
/// summary in the same fold. Otherwise every other turn would start a fold near the threshold.
#[test]
fn s1_6_no_fold_frees_less_than_a_tenth() {
    for (preset, high) in [("init", 150_000), ("execute", 700_000)] {
        let mut talk = context(policy(preset, &[]), 1_000_000);
        let turn = |at: usize| {
            let mut turn =
                vec![Message::user(format!("question {at} {}", "word ".repeat(high / 400)))];
            turn.extend(step(at, high / 150));
            turn.push(Message::assistant(format!("answer {at} {}", "word ".repeat(high / 300))));
            turn
        };
        let folds = calls(&mut talk, (0..400).map(turn));
        assert!((8..=40).contains(&folds.len()), "{preset}: {}", folds.len());
        for folded in &folds {
            assert!(folded.before > high, "{preset}: {folded:?}");
            assert!(folded.before - folded.after >= high / 10, "{preset}: {folded:?}");
        }
        let summaries = folds.windows(2).filter(|pair| pair[1].after < pair[0].after).count();
        assert!(summaries >= 2, "{preset}: the summary comes again");
    }
}

/// S1.43: a fold that only reduces earlier turns to request and answer leaves the summary as it was
/// and asks no model for another one.
#[test]
fn s1_43_the_summary_stays_while_earlier_turns_are_reduced() {
    let mut talk = context(policy("init", &[("fold.high", "20000")]), 200_000);
    let turn = |at: usize| {
        let mut turn = vec![Message::user(format!("question {at}"))];
        turn.extend(step(at, 900));
        turn.push(Message::assistant(format!("answer {at} {}", "word ".repeat(200))));
        turn
    };
    let mut made = 0;
    let mut reduced = 0;
    for at in 0..260 {
        talk.extend(turn(at));
        let mut next = talk.plan();
        let is_fold = matches!(next.action(), Action::Fold { .. });
        if next.wanted().is_some() {
            made += 1;
            next = next.with_summary(format!("{SUMMARY} {made}"));
        } else if is_fold && made > 0 {
            reduced += 1;
        }
        next.commit();
        let summary = talk.messages().find(|m| m.text().contains(SUMMARY));
        assert_eq!(made > 0, summary.is_some());
        if let Some(summary) = summary {
            assert!(summary.text().contains(&format!("{SUMMARY} {made}")));
        }
    }
    assert!(made >= 2 && reduced >= made, "{made} summaries, {reduced} other folds");
}

/// C2.4: in one huge turn each fold frees at least a tenth, so that a fold is not due again with
/// the next steps.
#[test]
fn c2_4_folds_inside_a_huge_turn_free_a_tenth() {
    let mut context = context(policy("chat", &[]), 200_000);
    let added = (0..200).map(|at| if at == 0 { alone(1, 2_000) } else { step(at, 2_600) });
    let folds = calls(&mut context, added);
    for folded in &folds {
        assert!(folded.before > 50_000 && folded.after <= folded.before * 9 / 10, "{folded:?}");
    }
}

/// S2.24, C2.6: if the newest message does not fit even alone, it is truncated, and of the earlier
/// turns up to five stay that are short.
#[test]
fn s2_24_short_turns_stay_next_to_a_message_that_does_not_fit() {
    for (earlier, kept) in [(3, 3), (9, 4)] {
        let mut context = context(policy("chat", &[]), 12_000);
        call(&mut context, messages("S"));
        (0..earlier).for_each(|at| assert!(call(&mut context, turn(at, 30)).is_none()));
        let request = format!("look at this: {}", "x".repeat(99_000));
        let folded = call(&mut context, vec![Message::user(request)]).unwrap();
        let turns = ["H A"; 4][..kept].join(" ");
        assert_eq!(folded.shown, format!("S {turns} H"));
        assert!((4_500..=12_000).contains(&folded.after), "{folded:?}");
    }
    let mut context = context(policy("chat", &[]), 12_000);
    call(&mut context, turn(0, 8_000));
    call(&mut context, turn(1, 30));
    let folded = call(&mut context, vec![Message::user("x".repeat(99_000))]).unwrap();
    assert_eq!(folded.shown, "H A H", "a turn that is too long goes");
}

/// The reason of a fold names the number that the user set.
#[test]
fn the_reason_of_a_fold_names_the_limit_of_the_user() {
    let reason = |preset: &str, settings: &[(&str, &str)], turns: usize| {
        let mut context = context(policy(preset, settings), 200_000);
        for at in 0..turns {
            context.extend(turn(at, 20));
            let next = context.plan();
            let reason = match next.action() {
                Action::Fold { reasons, .. } => Some(reasons.to_string()),
                _ => None,
            };
            next.commit();
            if reason.is_some() {
                return reason;
            }
        }
        None
    };
    let window = |settings: &[(&str, &str)]| reason("window", settings, 60).unwrap();
    assert_eq!(window(&[]), "42 messages, and the limit is 40");
    assert_eq!(window(&[("window.messages", "12")]), "14 messages, and the limit is 12");
    assert_eq!(window(&[("summarise.on", "true")]), "102 messages, and the limit is 100");
    assert_eq!(reason("chat", &[], 30).unwrap(), "21 turns, and the limit is 20");
    assert_eq!(reason("chat", &[("halve.turns", "7")], 9).unwrap(), "8 turns, and the limit is 7");
}
