//! What keeps a fold of `auto` cheap: a step too large for the window is truncated when it arrives,
//! and several folds send the beginning of the context and one part of the ledger unchanged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::message::{Message, ToolCall, ToolResult};
use waterline::{Action, Context, Counter, Method, Policy, Slot, Treatment};

const WINDOW: usize = 8_000;

fn auto(settings: &[(&str, &str)]) -> Context {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Context::builder()
        .policy(Policy::preset_with("auto", &settings).unwrap())
        .window(WINDOW)
        .counter(Counter::new(Method::Chars4, 1_000))
        .build()
        .unwrap()
}

/// Pushes a call and its result, commits the next plan and returns its action.
fn step(context: &mut Context, at: usize, result: &str) -> Action {
    let arguments = format!(r#"{{"path":"src/part_{at}/module.rs"}}"#);
    context.push(Message::assistant_with_calls(
        "",
        [ToolCall::new(format!("call_{at}"), "read_file", arguments)],
    ));
    context.push(Message::tool_result(format!("call_{at}"), result));
    let next = context.plan();
    let action = next.action().clone();
    next.commit();
    action
}

/// A text of about `lines` lines with a name of its own in each line.
fn source(file: usize, lines: usize) -> String {
    (0..lines).map(|at| format!("    let value = compute_total_{file}_{at}(input);\n")).collect()
}

fn text_of(context: &Context) -> String {
    let texts = context.messages().map(|message| {
        let results: Vec<String> = message.results().map(ToolResult::text).collect();
        format!("{}{}", message.text(), results.join("\n"))
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_step_larger_than_half_of_the_window_is_truncated_and_the_steps_before_it_stay() {
    let mut context = auto(&[("fit.whole", "0")]);
    context.push(Message::user("Read the modules one by one."));
    assert_eq!(step(&mut context, 0, &source(0, 40)), Action::Extend);
    let before: Vec<Message> = context.messages().cloned().collect();
    assert_eq!(step(&mut context, 1, &source(1, 2_000)), Action::Extend, "no fold is needed");
    let after: Vec<Message> = context.messages().cloned().collect();
    assert_eq!(format!("{:?}", &after[..before.len()]), format!("{before:?}"));
    let slot = context.slots().last().unwrap();
    assert_eq!(slot.treatment, Treatment::Trimmed);
    assert!(slot.tokens <= WINDOW * 30 / 100, "{}", slot.tokens);
    let text = text_of(&context);
    assert!(
        text.contains("chars omitted") && text.contains("[values in the omitted text, verbatim]")
    );
    // The middle of the text is gone, but some of its names are listed.
    assert!(!text.contains("compute_total_1_1000(input)"));
    let listed = (0..2_000).filter(|at| text.contains(&format!("compute_total_1_{at} ")));
    assert!(listed.count() > 10);
}

#[test]
fn a_step_of_less_than_half_of_the_window_stays_whole() {
    let mut context = auto(&[]);
    context.push(Message::user("Read the modules one by one."));
    let result = source(0, 300);
    step(&mut context, 0, &result);
    assert!(text_of(&context).contains(&result));
}

#[test]
fn a_larger_step_stays_whole_while_there_is_space_for_it() {
    // Returns whether a step of 60% of the window is whole after steps of this many lines.
    let is_whole = |lines: usize, whole: &str| {
        let mut context = auto(&[("fit.whole", whole)]);
        context.push(Message::user("Read the modules one by one."));
        step(&mut context, 0, &source(0, lines));
        let result = source(1, 390);
        assert_eq!(step(&mut context, 1, &result), Action::Extend);
        text_of(&context).contains(&result)
    };
    assert!(is_whole(40, "80%"));
    assert!(!is_whole(300, "80%"), "a tenth of the window stays free for the answer");
    assert!(!is_whole(40, "0%"));
}

#[test]
fn a_step_that_does_not_fit_may_use_the_free_space() {
    let tokens = |whole: &str| {
        let mut context = auto(&[("fit.whole", whole)]);
        context.push(Message::user("Read the modules one by one."));
        step(&mut context, 0, &source(0, 40));
        step(&mut context, 1, &source(1, 2_000));
        context.slots().last().unwrap().tokens
    };
    assert!(tokens("0%") <= WINDOW * 30 / 100, "{}", tokens("0%"));
    assert!((WINDOW * 50 / 100..=WINDOW * 80 / 100).contains(&tokens("80%")), "{}", tokens("80%"));
}

/// Returns the first message of the summary block, once there are two.
fn stable_ledger(context: &Context) -> Option<String> {
    let is_summary = |slot: &&Slot| slot.treatment == Treatment::Summary;
    let summaries: Vec<&Slot> = context.slots().iter().filter(is_summary).collect();
    let first = summaries.first().filter(|_| summaries.len() == 2)?;
    assert!(first.sources.is_empty() && !first.listed.is_empty());
    context.messages().map(Message::text).find(|text| text.contains("values from earlier messages"))
}

#[test]
fn several_folds_send_one_part_of_the_ledger_unchanged() {
    let sizes = [("summarise.ledger", "2000"), ("summarise.stable", "800")];
    let kept = [("trim.keep", "\"47%\""), ("window.tokens", "\"47%\"")];
    let mut context = auto(&[sizes, kept].concat());
    context.push(Message::user("Read the modules one by one."));
    let mut ledgers: Vec<String> = Vec::new();
    for at in 0..120 {
        if matches!(step(&mut context, at, &source(at, 40)), Action::Fold { .. }) {
            ledgers.extend(stable_ledger(&context));
        }
    }
    assert!(ledgers.len() > 5, "{}", ledgers.len());
    let same = ledgers.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(same * 2 > ledgers.len(), "{same} of {}", ledgers.len());
    // Nothing is listed twice.
    let text = text_of(&context);
    let block = text.split("---").take(2).collect::<Vec<_>>().join(" ");
    let mut names: Vec<&str> =
        block.split_whitespace().filter(|word| word.starts_with("compute_total_")).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A short list is not divided, and none of its values is lost.
#[test]
fn a_fold_that_only_truncates_lists_the_values_that_it_omits() {
    let mut context = auto(&[("fit.over", "100%"), ("trim.keep", "0"), ("window.tokens", "100%")]);
    context.push(Message::user("Read the modules one by one."));
    let mut names = Vec::new();
    let mut is_folded = false;
    while !is_folded {
        let at = names.len();
        let name = format!("read_tide_table_{at}");
        let result = format!("{}{name}\n{}", "and so on ".repeat(60), "and so on ".repeat(60));
        names.push(name);
        is_folded = matches!(step(&mut context, at, &result), Action::Fold { .. });
    }
    let text = text_of(&context);
    assert!(names.iter().all(|name| text.contains(name.as_str())), "{text}");
}

#[test]
fn a_fold_keeps_fewer_steps_of_a_long_conversation() {
    // Returns how many steps the first fold keeps, and the last one.
    let kept = |min: &str| {
        let sizes = [("window.tokens", "60%"), ("window.tokens_min", min), ("trim.keep", "100%")];
        let mut context = auto(&[sizes.as_slice(), &[("summarise.ledger_max", "0")]].concat());
        context.push(Message::user("Read the modules one by one."));
        let mut counts = Vec::new();
        for at in 0..120 {
            if matches!(step(&mut context, at, &source(at, 40)), Action::Fold { .. }) {
                let whole = |slot: &&Slot| slot.treatment == Treatment::Verbatim;
                counts.push(context.slots().iter().filter(whole).count());
            }
        }
        (counts[0], *counts.last().unwrap())
    };
    let (first, last) = kept("60%");
    assert_eq!(first, last, "one size for every fold");
    let (first, last) = kept("30%");
    assert!(last <= first * 6 / 10, "{first} messages, then {last}");
}

#[test]
fn the_ledger_grows_in_a_conversation_of_many_windows_up_to_its_maximum() {
    let ledger = |steps: usize, max: &str| {
        let mut context = auto(&[("summarise.ledger", "600"), ("summarise.ledger_max", max)]);
        context.push(Message::user("Read the modules one by one."));
        let mut tokens = 0;
        for at in 0..steps {
            if matches!(step(&mut context, at, &source(at, 60)), Action::Fold { .. }) {
                let slots = context.slots().iter();
                let blocks = slots.filter(|slot| slot.treatment == Treatment::Summary);
                tokens = blocks.map(|slot| slot.tokens).sum();
            }
        }
        tokens
    };
    let (short, long, fixed) = (ledger(20, "20%"), ledger(120, "20%"), ledger(120, "0%"));
    assert!(short < 900 && fixed < 900, "{short} {fixed}");
    assert!(long > 1_200 && long < 2_000, "{long}");
}

/// Returns how many of the first messages two contexts share.
fn shared(before: &[String], after: &[String]) -> usize {
    before.iter().zip(after).take_while(|(before, after)| before == after).count()
}

#[test]
fn truncated_steps_stay_cached_over_folds_until_something_must_be_dropped() {
    // Returns how many messages of the context before a fold the context after it starts with, at
    // most.
    let cached = |placement: &str, slack: &str| {
        let sizes = [
            ("summarise.placement", placement),
            ("window.slack", slack),
            ("window.tokens", "61%"),
            ("trim.keep", "18%"),
        ];
        let mut context = auto(&sizes);
        context.push(Message::user("Read the modules one by one."));
        let mut best = 0;
        let mut texts: Vec<String> = Vec::new();
        for at in 0..120 {
            let is_fold = matches!(step(&mut context, at, &source(at, 20)), Action::Fold { .. });
            let now: Vec<String> =
                context.messages().map(|message| format!("{message:?}")).collect();
            if is_fold {
                best = best.max(shared(&texts, &now));
            }
            texts = now;
        }
        best
    };
    let own = cached("\"own\"", "12%");
    let middle = cached("\"middle\"", "12%");
    assert!(middle > 10 && middle > own * 4, "{own} {middle}");
    let without_slack = cached("\"middle\"", "0%");
    assert!(middle > without_slack * 2, "{without_slack} {middle}");
}

#[test]
fn the_summary_block_can_come_between_the_truncated_steps_and_the_newest() {
    let mut context = auto(&[("window.slack", "0%")]);
    context.push(Message::user("Read the modules one by one."));
    let mut at = 0;
    while !matches!(step(&mut context, at, &source(at, 20)), Action::Fold { .. }) {
        at += 1;
    }
    let kinds: Vec<Treatment> = context.slots().iter().map(|slot| slot.treatment).collect();
    let kinds: Vec<Treatment> =
        kinds.into_iter().filter(|kind| *kind != Treatment::Omitted).collect();
    let block = kinds.iter().rposition(|kind| *kind == Treatment::Summary).unwrap();
    assert!(kinds[..block].contains(&Treatment::Trimmed), "{kinds:?}");
    assert!(kinds[block + 1..].iter().all(|kind| *kind == Treatment::Verbatim), "{kinds:?}");
    assert!(kinds.len() > block + 2, "{kinds:?}");
}
