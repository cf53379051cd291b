//! The presets that are named after the seed documents, in the cases that the seeds describe: a
//! conversation, a single request with many tool calls, and what happens after a fold. Contexts are
//! in the notation of the test vectors: S system, H human, A answer, A[x] calls, T(x) results.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod seed_bed;

use seed_bed::{SUMMARY, alone, call, calls, context, policy, step, steps, turn};
use waterline::history::History;
use waterline::message::{Body, Image, Message, Part, Role};
use waterline::plan::{Budget, Generation, Input, plan};
use waterline::{Context, Counter, Method, Models, Treatment};
use waterline_testkit::{messages, show};

/// S1.16, S1.23, S1.24, C1.1: an agent that works alone on one request is compacted above the
/// threshold. The task, the mock question, the summary and the last steps stay, nothing else.
#[test]
fn s1_16_s1_24_c1_1_one_request_with_many_steps_is_compacted() {
    for (preset, window, tokens, keep) in
        [("init", 200_000, 1_800, 3), ("execute", 1_000_000, 9_800, 5)]
    {
        let mut context = context(policy(preset, &[]), window);
        let folded = call(&mut context, alone(88, tokens)).unwrap();
        assert_eq!(folded.shown, format!("H H A {}", steps(88 - keep, 88)), "{preset}");
        let sent: Vec<Message> = context.messages().cloned().collect();
        assert_eq!(sent[0].text(), "Build the mill.");
        assert!(sent[1].text().contains("<compact_summary>"), "{preset}: the mock question");
        assert!(sent[2].text().contains(SUMMARY), "{preset}: {}", sent[2].text());
    }
}

/// S1.6, C1.1: after a compaction nothing is compacted before the threshold is passed again, in a
/// single request and in a conversation.
#[test]
fn s1_6_s1_26_nothing_is_compacted_below_the_threshold() {
    for (preset, high, keep) in [("init", 150_000, 3), ("execute", 700_000, 5)] {
        let mut work = context(policy(preset, &[]), 1_000_000);
        let size = high / 12;
        let added = (0..60).map(|at| if at == 0 { alone(1, size) } else { step(at, size) });
        let folds = calls(&mut work, added);
        assert!((4..=8).contains(&folds.len()), "{preset}: {}", folds.len());
        for folded in &folds {
            assert!(folded.before > high && folded.after < high / 2, "{preset}: {folded:?}");
            // S1.26: the same number of steps each time.
            assert_eq!(folded.shown.matches("A[").count(), keep, "{preset}: {}", folded.shown);
        }
        let mut talk = context(policy(preset, &[]), 1_000_000);
        let folds = calls(&mut talk, (0..120).map(|at| turn(at, high / 50)));
        assert!((2..=3).contains(&folds.len()), "{preset}: {}", folds.len());
        for folded in &folds {
            assert!(folded.before > high && folded.after < high / 2, "{preset}: {folded:?}");
            assert!(folded.shown.starts_with("H H A H A"), "{preset}: {}", folded.shown);
        }
    }
}

/// S1.6: at the threshold itself nothing is folded, one token above it is.
#[test]
fn s1_6_the_threshold_must_be_passed() {
    let work: Vec<Message> =
        alone(1, 2_000).into_iter().chain((2..20).flat_map(|at| step(at, 2_000))).collect();
    let folded = |high: usize| {
        let high = high.to_string();
        call(&mut context(policy("init", &[("fold.high", &high)]), 1_000_000), work.clone())
    };
    let tokens = folded(10_000).unwrap().before;
    assert!(folded(tokens).is_none() && folded(tokens - 1).is_some());
}

/// S1.10 to S1.15, C1.9: above the threshold earlier turns first keep request and answer. If that
/// is enough, there is no summary.
#[test]
fn c1_9_requests_and_answers_are_tried_before_a_summary() {
    let mut context = context(policy("init", &[]), 200_000);
    let turn = |at: usize| {
        let mut turn = vec![Message::user(format!("question {at}"))];
        turn.extend(step(2 * at, 6_000));
        turn.extend(step(2 * at + 1, 6_000));
        turn.push(Message::assistant(format!("answer {at}")));
        turn
    };
    let folds = calls(&mut context, (0..14).map(turn));
    assert_eq!(folds.len(), 1);
    let earlier = ["H A"; 11].join(" ");
    let last = "A[c23] T(c23) A H A[c24] T(c24) A[c25] T(c25) A";
    assert_eq!(folds[0].shown, format!("{earlier} H {last}"));
    assert!(folds[0].before > 150_000 && folds[0].after < 40_000, "{:?}", folds[0]);
}

/// S1.27, S1.30, S1.44, C1.13: if the last steps alone are too large, their long results are
/// truncated; then fewer steps stay. Only tool results are truncated.
#[test]
fn s1_27_s1_30_c1_13_large_recent_steps_are_truncated_and_then_fewer() {
    let mut context = context(policy("init", &[]), 400_000);
    let mut large = alone(10, 60_000);
    large[0] = Message::user(format!("Build the mill. {}", "word ".repeat(4_000)));
    let folded = call(&mut context, large).unwrap();
    assert_eq!(folded.shown, format!("H H A {}", steps(7, 10)));
    let sent: Vec<Message> = context.messages().cloned().collect();
    let lengths: Vec<usize> =
        sent.iter().flat_map(Message::results).map(|result| result.text().len()).collect();
    assert!(lengths[0] < 2_100 && lengths[1] < 2_100, "head and tail: {lengths:?}");
    assert_eq!(lengths[2], 240_000, "the newest step stays whole");
    assert_eq!(sent[0].text().len(), 20_016, "a long user text stays whole");

    // Assistant texts cannot be truncated, so the older steps go.
    let chatty = (0..4).flat_map(|at| {
        let mut chatty = step(at, 100);
        chatty[0].parts.insert(0, Part::text("word ".repeat(48_000)));
        chatty
    });
    let mut context = seed_bed::context(policy("init", &[]), 400_000);
    let added = [Message::user("Build the mill.")].into_iter().chain(chatty).collect();
    let folded = call(&mut context, added).unwrap();
    assert_eq!(folded.shown, format!("H H A {}", steps(3, 4)));
    let slot = context.slots().iter().find(|slot| slot.treatment == Treatment::Summary).unwrap();
    assert_eq!(slot.sources.len(), 6, "three steps became the summary: {}", slot.reasons);
}

/// S0.40, S0.44, S0.46, S0.67: with every call, the window has at most 40 messages, in their order
/// and behind the system prompt; long results of earlier turns are truncated, in a short
/// conversation too.
#[test]
fn s0_46_never_more_than_forty_messages() {
    let mut context = context(policy("window", &[]), 1_000_000);
    call(&mut context, messages("S"));
    for at in 1..=60 {
        let role = if at % 2 == 1 { Role::User } else { Role::Assistant };
        call(&mut context, vec![Message::new(role, vec![Part::text(format!("message {at}"))])]);
        let sent: Vec<String> = context.messages().skip(1).map(Message::text).collect();
        let expected = if at <= 40 { at } else { 40 - at % 2 };
        let newest: Vec<String> =
            (at + 1 - expected..=at).map(|at| format!("message {at}")).collect();
        assert_eq!(sent, newest, "after {at} messages");
        assert_eq!(context.messages().next().unwrap().role, Role::System);
    }
    let mut short = seed_bed::context(policy("window", &[]), 1_000_000);
    let mut read = messages("H A[a]");
    read.push(Message::tool_result("a", "x".repeat(3_000)));
    assert!(call(&mut short, read).is_none(), "the running turn stays whole");
    call(&mut short, messages("A H")).unwrap();
    let result = short.messages().find_map(|m| m.results().next().map(|r| r.text())).unwrap();
    assert!(result.ends_with("... (truncated, 3000 chars total)"), "{result}");
}

/// S0.46: a single request with many tool calls has at most 40 messages too, the request included.
#[test]
fn s0_46_one_request_with_many_steps() {
    let mut context = context(policy("window", &[]), 1_000_000);
    let folds =
        calls(&mut context, (0..88).map(|at| if at == 0 { alone(1, 50) } else { step(at, 50) }));
    assert!(folds.iter().all(|folded| folded.shown == format!("H {}", last_steps(&folded.shown))));
    assert_eq!(show(context.messages()), format!("H {}", steps(69, 88)));
    assert_eq!(context.messages().count(), 39);
}

/// Returns a context without its request.
fn last_steps(shown: &str) -> &str {
    shown.strip_prefix("H ").unwrap_or(shown)
}

/// Below its number of messages, the preset `window` sends everything as it came.
#[test]
fn s0_42_nothing_is_folded_within_the_window() {
    let mut context = context(policy("window", &[]), 1_000_000);
    assert!(calls(&mut context, (0..20).map(|at| turn(at, 50))).is_empty());
    assert_eq!(calls(&mut context, [turn(20, 50)]).len(), 1);
    assert!(calls(&mut context, [Vec::new()]).is_empty());
}

/// S0.68: an image is sent until the model has answered, and is gone with the next request.
#[test]
fn s0_68_the_window_drops_images_that_were_seen() {
    let mut context = context(policy("window", &[]), 1_000_000);
    let image = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    call(&mut context, vec![Message::new(Role::User, vec![Part::text("What is this?"), image])]);
    let images = |context: &Context| context.messages().filter(|m| m.has_image()).count();
    assert_eq!(images(&context), 1);
    call(&mut context, messages("A H"));
    call(&mut context, messages("A H"));
    assert_eq!(images(&context), 0);
    assert_eq!(show(context.messages()), "H A H A H");
}

/// S0.75: with the summary on, nothing is dropped up to 100 messages; then a summary and the latest
/// 50 stay.
#[test]
fn s0_75_summary_and_the_latest_fifty() {
    let on = policy("window", &[("summarise.on", "true")]);
    let mut context = context(on, 1_000_000);
    let talk = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        vec![Message::new(role, vec![Part::text(format!("message {at} {}", "word ".repeat(60)))])]
    };
    assert!(calls(&mut context, (0..100).map(talk)).is_empty());
    assert_eq!(context.messages().count(), 100);
    let folds = calls(&mut context, (100..102).map(talk));
    assert_eq!(folds.len(), 1);
    let covered = |context: &Context| {
        let summary = context.slots().iter().find(|slot| slot.treatment == Treatment::Summary);
        summary.map(|slot| slot.sources.len())
    };
    assert_eq!(
        covered(&context),
        Some(50),
        "of 101 messages; the latest 50 and their request stay"
    );
    let folds = calls(&mut context, (102..153).map(talk));
    assert_eq!(folds.len(), 1, "the next one above 100 shown messages");
    assert!(covered(&context).unwrap() >= 100);
}

/// S2.11, S4.34, S0.75: the number of messages stays within the limit even if a digest of a few short
/// messages is longer than the model's summary before it, so that a fold frees no tokens.
#[test]
fn a_limit_of_messages_holds_after_a_short_summary() {
    let on = &[("summarise.on", "true")][..];
    for (preset, settings, limit) in
        [("chat", &[][..], 40), ("dual-track", on, 30), ("window", on, 100)]
    {
        let mut context = context(policy(preset, settings), 100_000);
        for at in 0..150 {
            context.extend(turn(at, 16));
            let next = context.plan();
            // Most summaries of a model are not ready when the next turn starts.
            let has_summary = next.wanted().is_some() && at % 40 < 20;
            let next = if has_summary { next.with_summary("Shipped.") } else { next };
            next.commit();
            let sent = context.slots().iter().filter(|slot| slot.treatment.is_sent());
            let messages: usize = sent.map(|slot| slot.sources.len()).sum();
            assert!(messages <= limit, "{preset}: {messages} messages in turn {at}");
        }
    }
}

/// C2.4, S2.19: in the preset `chat`, one huge turn is brought inside the limit: long texts are
/// truncated, then the older half of its steps goes. The request and the newest step stay whole.
#[test]
fn c2_4_one_huge_turn_is_brought_inside_the_limit() {
    let mut few = context(policy("chat", &[]), 200_000);
    let folded = call(&mut few, alone(15, 10_000)).unwrap();
    assert_eq!(folded.shown, format!("H {}", steps(0, 15)));
    assert!(folded.before > 150_000 && folded.after <= 50_000, "{folded:?}");

    let mut context = seed_bed::context(policy("chat", &[]), 200_000);
    let added = (0..120).map(|at| if at == 0 { alone(1, 2_000) } else { step(at, 2_000) });
    let folds = calls(&mut context, added);
    assert!((4..=12).contains(&folds.len()), "{}", folds.len());
    for folded in &folds {
        assert!(folded.before > 50_000 && folded.after <= 50_000, "{folded:?}");
        assert!(folded.shown.starts_with("H A[c"), "{}", folded.shown);
    }
    assert!(context.messages().next().unwrap().text().ends_with("Build the mill."));
}

/// C2.4: one step that is too long alone loses its middle until the context is inside the limit.
/// With the next step it is an older one, and keeps its first and last characters only.
#[test]
fn c2_4_one_huge_step_is_brought_inside_the_limit() {
    let mut context = context(policy("chat", &[]), 200_000);
    let folded = call(&mut context, alone(1, 145_000)).unwrap();
    assert_eq!(folded.shown, "H A[c0] T(c0)");
    assert!((30_000..=50_000).contains(&folded.after), "no more than necessary: {folded:?}");
    let folded = call(&mut context, step(1, 20_000)).unwrap();
    assert_eq!(folded.shown, "H A[c0] T(c0) A[c1] T(c1)");
    assert!(folded.after < 24_000, "{folded:?}");
}

/// C2.4, C2.6: a request that is longer than the limit stays whole, as long as the model can read
/// it, and the newest step keeps a part that is worth reading.
#[test]
fn c2_4_a_request_longer_than_the_limit_stays_whole() {
    let mut context = context(policy("chat", &[]), 200_000);
    let request = Message::user("word ".repeat(80_000));
    assert!(call(&mut context, vec![request.clone()]).is_none());
    let folded = call(&mut context, step(0, 20_000)).unwrap();
    assert!((101_500..103_000).contains(&folded.after), "{folded:?}");
    assert_eq!(context.messages().next().unwrap().text(), request.text());
}

/// S2.8 to S2.12: between two halvings the preset `chat` folds only to truncate long results of
/// earlier turns.
#[test]
fn s2_8_s2_11_chat_folds_above_twenty_turns_and_for_long_results() {
    let mut context = context(policy("chat", &[]), 200_000);
    let folds = calls(&mut context, (0..43).map(|at| turn(at, 400)));
    let shown: Vec<usize> = folds.iter().map(|f| f.shown.matches('H').count()).collect();
    assert_eq!(shown, [11, 11, 11], "at 21, 31 and 41 turns");

    let mut context = seed_bed::context(policy("chat", &[]), 200_000);
    let read = [vec![Message::user("read")], step(0, 7_000), step(1, 4_000)].concat();
    assert!(call(&mut context, read).is_none(), "S2.10: the running turn stays whole");
    let folded = call(&mut context, messages("A H")).unwrap();
    assert_eq!(folded.shown, "H A[c0] T(c0) A[c1] T(c1) A H");
    let results: Vec<usize> =
        context.messages().flat_map(Message::results).map(|r| r.text().len()).collect();
    assert!(results[0] < 18_100 && results[1] == 16_000, "{results:?}");
    assert!(calls(&mut context, [messages("A H"), messages("A H")]).is_empty());
}

/// S3.5 to S3.8: the preset `budget` folds above 50,000 tokens, to less than 30,000, in a single
/// request and in a conversation, and not before it is above 50,000 again.
#[test]
fn s3_5_to_s3_8_budget_folds_between_its_marks() {
    // Without previews a fold only happens above the threshold, so that it can be seen.
    let mut work = context(policy("budget", &[("preview.on", "false")]), 128_000);
    let mut first = messages("S");
    first.extend(alone(1, 1_500));
    let added = (0..100).map(|at| if at == 0 { first.clone() } else { step(at, 1_500) });
    let folds = calls(&mut work, added);
    let mut talk = context(policy("budget", &[]), 128_000);
    let spoken = calls(&mut talk, (0..80).map(|at| turn(at, 1_500)));
    for folded in folds.iter().chain(&spoken) {
        assert!(folded.before > 50_000 && folded.after < 30_000, "{folded:?}");
    }
    assert!((2..=6).contains(&folds.len()), "{}", folds.len());
    assert!((2..=6).contains(&spoken.len()), "{}", spoken.len());
    assert!(folds[0].shown.starts_with("S S H A[c"), "{}", folds[0].shown);
}

/// S3.8, S3.24: a single request with the preset as it is. Every call above ten messages turns
/// older results into previews; messages are dropped only above the threshold.
#[test]
fn s3_8_s3_24_budget_drops_nothing_below_its_threshold_in_a_loop() {
    let settings = [("fold.high", "16000"), ("fold.low", "8000")];
    let mut work = context(policy("budget", &settings), 128_000);
    let mut first = messages("S");
    first.extend(alone(1, 1_500));
    let added = (0..100).map(|at| if at == 0 { first.clone() } else { step(at, 1_500) });
    let folds = calls(&mut work, added);
    let count = |folded: &seed_bed::Folded| folded.shown.split(' ').count();
    let mut dropping = 0;
    for pair in folds.windows(2) {
        let [earlier, later] = pair else { continue };
        if count(later) < count(earlier) {
            dropping += 1;
            assert!(later.before > 16_000 && later.after < 8_000, "{later:?}");
        }
    }
    println!("{} folds, {dropping} drop messages", folds.len());
    assert!(folds.len() > 80 && (1..=6).contains(&dropping), "{} {dropping}", folds.len());
}

/// S3.33, S3.36: ten messages of any size are sent unchanged, eleven are not.
#[test]
fn s3_33_s3_36_ten_messages_are_unchanged() {
    let mut context = context(policy("budget", &[]), 200_000);
    assert!(calls(&mut context, (0..5).map(|at| turn(at, 12_000))).is_empty());
    assert_eq!(context.messages().count(), 10);
    let folded = call(&mut context, vec![Message::user("and now?")]).unwrap();
    assert!(folded.before > 50_000 && folded.after < 50_000, "{folded:?}");
}

/// S3.39: the order of the stages, and of their work in a fold.
#[test]
fn s3_39_budget_summarizes_compresses_and_selects_in_this_order() {
    let table: toml::Table = policy("budget", &[]).text().parse().unwrap();
    let stages: Vec<&str> =
        table["stages"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(stages, ["repair", "summarise", "preview", "window", "emergency"]);
    let work = (0..40).flat_map(|at| {
        [vec![Message::user("and then?")], step(at, 3_000), turn(at, 1_700)].concat()
    });
    let history = History::of(Counter::new(Method::Chars4, 0), work);
    let policy = policy("budget", &[]);
    let model = Models::builtin().resolve("");
    let generation = Generation::new();
    let input = Input::new(&history, &generation, &policy, Budget::of(128_000), &model);
    let effects = plan(&input).fold_report.unwrap().effects;
    let order: Vec<&str> = effects.iter().map(|effect| effect.by).collect();
    assert_eq!(order, ["preview", "window", "low-mark"], "{effects:?}");
}

/// S3.10, C3.2, C3.11: a summary is updated for at least ten new messages with more than half of
/// its tokens, or far above the mark.
#[test]
fn s3_10_c3_2_c3_11_an_update_needs_ten_new_messages() {
    let wanted = |turns: usize, tokens: usize| {
        let mut context = context(policy("budget", &[]), 1_000_000);
        context.extend((0..turns).flat_map(|at| turn(at, tokens)));
        let next = context.plan();
        let wanted = next.wanted().cloned().unwrap();
        next.commit();
        (wanted, context)
    };
    let summary = |wanted: &waterline::SummaryRequest, new: usize, words: usize| {
        let mut summary = wanted.summary("word ".repeat(words));
        summary.sources.truncate(wanted.sources.len() - new);
        summary
    };
    let (near, context) = wanted(20, 2_600);
    let updates = |new, words| near.is_worth_making(context.history(), &summary(&near, new, words));
    assert!(!updates(0, 10), "nothing is new");
    assert!(!updates(9, 10) && updates(10, 10));
    assert!(!updates(10, 40_000), "ten messages, but less than half of the summary");
    assert!(updates(10, 0), "a summary of 0 tokens does not divide by zero");
    let (far, context) = wanted(30, 2_600);
    assert!(far.is_worth_making(context.history(), &summary(&far, 1, 10)), "20% above the mark");
}

/// C4.2: the preset `dual-track` drops old messages without a summary, unless one is switched on.
#[test]
fn c4_2_dual_track_writes_a_summary_only_if_asked_to() {
    for (settings, expected) in [(&[][..], false), (&[("summarise.on", "true")][..], true)] {
        let mut talk = context(policy("dual-track", settings), 100_000);
        let folds = calls(&mut talk, (0..30).map(|at| turn(at, 80)));
        assert!(!folds.is_empty());
        let has_summary = talk.slots().iter().any(|slot| slot.treatment == Treatment::Summary);
        assert_eq!(has_summary, expected);
    }
}

/// C4.8: 30 messages do not fold and 31 do, before a fold and after it. Neither the system prompt
/// nor the summary counts.
#[test]
fn c4_8_system_prompt_and_summary_do_not_count() {
    let mut talk = context(policy("dual-track", &[("summarise.on", "true")]), 100_000);
    let mut talked = (0..40).flat_map(|at| turn(at, 80));
    let first: Vec<Message> =
        std::iter::once(Message::system("Be brief.")).chain(talked.by_ref().take(30)).collect();
    assert!(call(&mut talk, first).is_none());
    let folded = call(&mut talk, talked.by_ref().take(1).collect()).unwrap();
    let kept = folded.shown.split(' ').filter(|shown| ["H", "A"].contains(shown)).count();
    assert!(folded.shown.starts_with("S S H") && (20..=21).contains(&kept), "{}", folded.shown);
    let next = talked.position(|message| call(&mut talk, vec![message]).is_some());
    assert_eq!(next, Some(30 - kept), "the message that makes 31 without the summary");
}

/// S4.34, S4.35: the preset `dual-track` keeps the last 20 messages above 30, in a single request
/// too, and folds again above 30.
#[test]
fn s4_34_dual_track_folds_above_thirty_messages() {
    let mut work = context(policy("dual-track", &[]), 100_000);
    let added = (0..60).map(|at| if at == 0 { alone(1, 20) } else { step(at, 20) });
    let folds = calls(&mut work, added);
    assert_eq!(folds[0].shown, format!("H {}", steps(5, 15)), "the request and the last 20");
    assert!(folds.iter().all(|folded| folded.shown.matches("T(").count() == 10));
    assert_eq!(folds.len(), 10, "every five steps from the fifteenth on");
    let mut talk = context(policy("dual-track", &[]), 100_000);
    let folds = calls(&mut talk, (0..40).map(|at| turn(at, 20)));
    assert!(folds.iter().all(|folded| folded.shown == ["H A"; 10].join(" ")));
    assert_eq!(folds.len(), 5, "at 32, 42, 52, 62 and 72 messages");
}

/// A threshold in tokens is the threshold of the seed. A provider's cache that has expired lowers
/// the marks of `auto`, not these.
#[test]
fn an_expired_cache_does_not_lower_a_threshold() {
    for (preset, turns, tokens) in
        [("init", 40, 3_500), ("chat", 9, 5_000), ("budget", 30, 1_500), ("dual-track", 10, 250)]
    {
        let mut context = context(policy(preset, &[]), 200_000);
        context.set_cache_cold(true);
        let folds = calls(&mut context, (0..turns).map(|at| turn(at, tokens)));
        assert!(folds.is_empty(), "{preset}: {folds:?}");
    }
}

/// S1.17, S1.18: the mock question is in the language of the conversation, and a policy can have
/// its own.
#[test]
fn s1_17_the_mock_question_is_in_the_language_of_the_conversation() {
    let question = |request: &str, settings: &[(&str, &str)]| {
        let mut context = context(policy("init", settings), 200_000);
        let mut work = alone(88, 1_800);
        work[0] = Message::user(request);
        call(&mut context, work).unwrap();
        context.messages().nth(1).unwrap().text()
    };
    assert!(question("Build the mill.", &[]).starts_with("Summarize the current work as JSON"));
    assert!(question("请建造磨坊并检查轮子。", &[]).starts_with("请对当前工作进行总结"));
    let own = [("summarise.question", "\"What now?\"")];
    assert_eq!(question("Build the mill.", &own), "What now?");
}

/// S0.75: with the summary of the preset `window` switched on, a model writes it.
#[test]
fn s0_75_the_optional_summary_is_written_by_a_model() {
    let mut context = context(policy("window", &[("summarise.on", "true")]), 200_000);
    (0..60).for_each(|at| context.extend(turn(at, 200)));
    assert!(context.plan().wanted().is_some());
}

/// C2.4: the summary counts when turns are dropped, so that the next call is not above the limit
/// again.
#[test]
fn c2_4_the_summary_counts_when_turns_are_dropped() {
    for tokens in [7_800, 8_000, 8_200, 8_260, 8_320] {
        let mut context = context(policy("chat", &[]), 200_000);
        let folds = calls(&mut context, (0..13).map(|at| turn(at, tokens)));
        assert!(!folds.is_empty());
        for folded in folds {
            assert!(folded.after <= 48_000, "{tokens}: {folded:?}");
        }
    }
}
