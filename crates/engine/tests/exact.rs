//! The presets that are named after the seed documents apply their rules exactly: a fold does not
//! wait until it frees a tenth, and a limit in messages is not exceeded by a long step.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod seed_bed;

use seed_bed::{SUMMARY, alone, call, calls, context, policy, step, steps, turn};
use waterline::message::{Message, Part, Role};
use waterline::{Policy, Treatment};
use waterline_testkit::messages;

/// Every preset that reproduces a seed document.
const PRESETS: [&str; 6] = ["window", "init", "execute", "chat", "budget", "dual-track"];

#[test]
fn a_preset_of_a_seed_takes_what_a_fold_frees() {
    for preset in PRESETS {
        assert!(policy(preset, &[]).fold.free.is_zero(), "{preset}");
    }
}

/// S4.34, S4.35: eleven short messages and twenty long ones are over both limits. The last twenty
/// stay, although the others take only a few tokens.
#[test]
fn s4_34_dual_track_drops_eleven_short_messages() {
    let mut context = context(policy("dual-track", &[]), 128_000);
    let talk = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let text = if at < 11 { "ok".to_owned() } else { "word ".repeat(148) };
        Message::new(role, vec![Part::text(text)])
    };
    let folded = call(&mut context, (0..31).map(talk).collect()).unwrap();
    assert!(folded.before > 3_700 && folded.after * 10 > folded.before * 9, "{folded:?}");
    assert_eq!(
        folded.shown,
        format!("H {}", ["A H"; 10].join(" ")),
        "with the request before them"
    );
}

/// S1.6, S1.16: above the threshold, what lies before the last steps becomes a summary, although
/// the newest step has almost all tokens.
#[test]
fn s1_16_short_steps_before_a_huge_one_are_compacted() {
    for (preset, window, small, huge, keep) in
        [("init", 200_000, 1_300, 141_000, 3), ("execute", 1_000_000, 5_000, 665_000, 5)]
    {
        let mut context = context(policy(preset, &[]), window);
        assert!(call(&mut context, alone(8, small)).is_none(), "{preset}");
        let folded = call(&mut context, step(8, huge)).unwrap();
        assert_eq!(folded.shown, format!("H H A {}", steps(9 - keep, 9)), "{preset}");
        assert!(folded.after * 10 > folded.before * 9, "{preset}: {folded:?}");
        assert!(context.messages().nth(2).unwrap().text().contains(SUMMARY), "{preset}");
        let next = call(&mut context, step(9, 100));
        assert!(next.is_none(), "{preset}: not before the threshold is passed again: {next:?}");
    }
}

/// S3.7: above 50,000 tokens, twenty short messages become a summary, although the newest request
/// has almost all tokens.
#[test]
fn s3_7_budget_summarizes_short_messages_before_a_long_request() {
    let mut context = context(policy("budget", &[]), 128_000);
    assert!(calls(&mut context, (0..10).map(|at| turn(at, 450))).is_empty());
    let folded = call(&mut context, vec![Message::user("word ".repeat(37_000))]).unwrap();
    assert!(folded.before > 50_000 && folded.after * 10 > folded.before * 9, "{folded:?}");
    assert_eq!(folded.shown, "S H");
    assert!(context.messages().next().unwrap().text().contains(SUMMARY));
}

/// S3.20: results of the running request are compressed too, except for the newest step, which the
/// model is about to read.
#[test]
fn s3_20_results_of_the_running_request_are_compressed() {
    let mut context = context(policy("budget", &[]), 128_000);
    let items: Vec<String> = (0..100)
        .map(|id| format!(r#"{{"id":{id},"title":"event {id}","notes":"{}"}}"#, "oak ".repeat(30)))
        .collect();
    let list = format!(r#"{{"success":true,"total":100,"items":[{}]}}"#, items.join(","));
    let mut request = alone(8, 10);
    for result in request.iter_mut().filter(|message| message.role == Role::Tool) {
        let id = result.results().next().unwrap().call_id.clone();
        *result = Message::tool_result(id, &*list);
    }
    let folded = call(&mut context, request).unwrap();
    assert!(folded.before > 30_000 && folded.after < 6_000, "{folded:?}");
    assert_eq!(folded.shown, format!("H {}", steps(0, 8)), "every call and result stays");
    let results: Vec<String> =
        context.messages().flat_map(Message::results).map(|result| result.text()).collect();
    assert_eq!(results.last(), Some(&list));
    assert!(results.iter().take(7).all(|result| result.contains("... (省略 96 项)")));
}

/// S3.9: a first summary needs twenty messages, however many tokens they have.
#[test]
fn s3_9_a_first_summary_needs_twenty_messages() {
    let summaries = |messages: usize, tokens: usize| {
        let mut context = context(policy("budget", &[]), 128_000);
        let talk = (0..messages).flat_map(|at| turn(at, 2 * tokens)).take(messages).collect();
        let folded = call(&mut context, talk).unwrap();
        assert!(folded.before > 50_000, "{messages}: {folded:?}");
        context.slots().iter().filter(|slot| slot.treatment == Treatment::Summary).count()
    };
    assert_eq!([summaries(11, 6_500), summaries(19, 3_500)], [0, 0]);
    assert_eq!([summaries(20, 3_400), summaries(21, 3_200)], [1, 1]);
}

/// S0.46: a step of many parallel calls goes if it makes the messages too many. Only the newest
/// step stays in any case, because the model is about to read it.
#[test]
fn s0_46_a_step_of_parallel_calls_does_not_exceed_the_window() {
    let ten = || context(policy("window", &[("window.messages", "10")]), 128_000);
    let calls = "A[a,b,c,d,e,f,g,h] T(a) T(b) T(c) T(d) T(e) T(f) T(g) T(h)";
    let mut older = ten();
    let folded = call(&mut older, messages(&format!("H {calls} A H A H"))).unwrap();
    assert_eq!(folded.shown, "H A H A H");
    let mut newest = ten();
    let folded = call(&mut newest, messages(&format!("H A H A H {calls}"))).unwrap();
    assert_eq!(folded.shown, format!("H {calls}"), "ten with their request");
    let folded = call(&mut newest, messages("A H")).unwrap();
    assert_eq!(folded.shown, "H A H");
    let more = calls.replace("A[", "A[i,j,").replace("T(a)", "T(i) T(j) T(a)");
    let mut newest = ten();
    let folded = call(&mut newest, messages(&format!("H A H A H {more}"))).unwrap();
    assert_eq!(folded.shown, format!("H {more}"), "a call is never parted from its results");
}

/// S1.42: a request that is above the threshold alone is sent as it came, and no summary is asked
/// for: there is nothing to summarize yet. It stays whole when its steps are compacted.
#[test]
fn s1_42_nothing_is_compacted_right_after_the_start() {
    let mut context = context(policy("init", &[]), 200_000);
    let request = Message::user(format!("/srv/out/run_7 {}", "word ".repeat(124_000)));
    context.push(request.clone());
    let next = context.plan();
    assert!(next.tokens().context > 150_000 && next.tokens().context > next.tokens().high);
    assert!(next.wanted().is_none() && next.reasons().is_none());
    assert_eq!(next.commit()[0].text(), request.text());
    let folds = calls(&mut context, (0..5).map(|at| step(at, 1_000)));
    let last = folds.last().unwrap();
    assert_eq!(last.shown, format!("H H A {}", steps(4, 5)));
    assert_eq!(context.messages().next().unwrap().text(), request.text());
}

/// S1.1: the two presets of the second seed have the same stages and the same keys, and differ in
/// the threshold, the number of steps and what the summary contains.
#[test]
fn s1_1_init_and_execute_differ_only_in_their_numbers() {
    let keys = |name: &str| {
        let table: toml::Table = Policy::preset(name).unwrap().text().parse().unwrap();
        let mut keys = Vec::new();
        for (section, value) in table.into_iter().filter(|(section, _)| section != "about") {
            match value {
                toml::Value::Table(table) => {
                    let named =
                        table.into_iter().map(|(key, value)| (format!("{section}.{key}"), value));
                    keys.extend(named);
                }
                value => keys.push((section, value)),
            }
        }
        keys
    };
    let (init, execute) = (keys("init"), keys("execute"));
    let names = |keys: &[(String, toml::Value)]| -> Vec<String> {
        keys.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&init), names(&execute));
    let mut differing: Vec<&str> = init
        .iter()
        .zip(&execute)
        .filter(|((_, left), (_, right))| left != right)
        .map(|((name, _), _)| name.as_str())
        .collect();
    differing.sort_unstable();
    assert_eq!(differing, ["fold.high", "name", "summarise.schema", "window.steps"]);
}
