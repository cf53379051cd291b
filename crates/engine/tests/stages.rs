//! What each stage does to a conversation, as the user of a policy sees it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::Arc;

use waterline::message::{Body, Image, Message, Part, Role, Thinking, ToolCall};
use waterline::summary::REFERENCE_ONLY;
use waterline::{Action, Context, Counter, Method, Policy, Treatment};
use waterline_testkit::{messages, show};

/// Creates a context with this policy, counting four characters per token.
fn context_with(policy: &str, window: usize) -> Context {
    let policy = Policy::read(policy, &[]).unwrap();
    Context::builder()
        .policy(policy)
        .window(window)
        .counter(Counter::new(Method::Chars4, 1_000))
        .build()
        .unwrap()
}

/// Pushes messages, commits the next plan and returns its action.
fn push(context: &mut Context, added: Vec<Message>) -> Action {
    context.extend(added);
    let next = context.plan();
    let action = next.action().clone();
    next.commit();
    action
}

fn sent(context: &Context) -> Vec<Message> {
    context.messages().cloned().collect()
}

fn shown(context: &Context) -> String {
    show(context.messages())
}

fn long_result(id: &str, characters: usize) -> Message {
    Message::tool_result(id, "line of output 12345\n".repeat(characters / 21))
}

/// S0.69: an oversized output is truncated before it is first sent, and stays unchanged afterwards.
#[test]
fn cap_truncates_before_the_first_send_and_stays_the_same() {
    let mut context = context_with("stages = [\"cap\"]\n[cap]\nmax = 500", 100_000);
    let mut added = messages("H A[a]");
    added.push(long_result("a", 40_000));
    assert_eq!(push(&mut context, added), Action::Extend);
    let first = sent(&context);
    let text = first[2].results().next().unwrap().text();
    assert!(text.len() < 2_100 && text.contains("in artifact "), "{text}");
    push(&mut context, messages("A H"));
    assert_eq!(format!("{:?}", sent(&context)[..3].to_vec()), format!("{first:?}"));
    assert!(context.slots().iter().any(|slot| slot.treatment == Treatment::Trimmed
        && slot.reasons.to_string().contains("truncated in the middle")));
}

/// With `trim.fill` the newest results stay whole as long as there is space.
#[test]
fn trim_fills_the_space_with_whole_results() {
    let folded = |fill: usize| {
        let mut context = context_with(
            &format!(
                "stages = [\"trim\"]\n[fold]\nhigh = \"100%\"\n[trim]\nover_chars = 200\n\
                 head_chars = 40\ntail_chars = 40\nscope = \"all\"\nfill = {fill}"
            ),
            4_000,
        );
        context.extend(messages("H"));
        for at in 0..11 {
            let id = format!("c{at}");
            context.push(Message::assistant_with_calls("", [ToolCall::new(&id, "read", "{}")]));
            context.push(long_result(&id, 1_600));
        }
        assert!(matches!(push(&mut context, Vec::new()), Action::Fold { .. }));
        let results = context.messages().flat_map(Message::results);
        let whole: Vec<bool> = results.map(|result| result.text().len() > 1_000).collect();
        assert!(whole.is_sorted(), "the newest are whole: {whole:?}");
        whole.into_iter().filter(|is_whole| *is_whole).count()
    };
    assert_eq!(folded(0), 1, "the newest step is never truncated");
    let (some, more) = (folded(2_000), folded(3_000));
    assert!(some >= 3 && more >= some + 2, "{some} {more}");
}

/// S2.8–S2.10, C2.1: long results of earlier turns keep head and tail; those of the running turn
/// stay whole.
#[test]
fn s2_9_trim_spares_the_running_turn() {
    let mut context = context_with(
        "stages = [\"trim\"]\n[fold]\nturns = 1\n\
         [trim]\nover_chars = 20000\nhead_chars = 10000\ntail_chars = 8000",
        1_000_000,
    );
    push(
        &mut context,
        [
            messages("H A[a]"),
            vec![long_result("a", 50_000)],
            messages("A H A[b]"),
            vec![long_result("b", 50_000)],
        ]
        .concat(),
    );
    let results: Vec<usize> = sent(&context)
        .iter()
        .flat_map(|m| m.results().map(|r| r.text().len()).collect::<Vec<_>>())
        .collect();
    assert!(results[0] < 19_000 && results[1] > 49_000, "{results:?}");
}

/// S0.68: an image is sent once; a fold removes it after the model has answered.
#[test]
fn s0_68_images_already_seen_are_removed() {
    let mut context = context_with("stages = [\"images\"]\n[fold]\nmessages = 2", 1_000_000);
    let image = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    push(
        &mut context,
        vec![Message::new(Role::User, vec![Part::text("What is this?"), image.clone()])],
    );
    assert!(sent(&context)[0].has_image(), "sent before the answer");
    push(&mut context, messages("A H"));
    assert!(!sent(&context)[0].has_image());
    push(&mut context, vec![Message::new(Role::User, vec![Part::text("And this?"), image])]);
    assert!(sent(&context).last().unwrap().has_image(), "a new image is sent");
}

/// S1.10–S1.13, C1.12: earlier turns keep the user's text and the final answer; calls and results
/// are dropped together.
#[test]
fn s1_11_answers_keeps_request_and_answer() {
    let mut context = context_with(
        "stages = [\"answers\"]\n[fold]\nturns = 2\n[answers]\nkeep_turns = 2",
        1_000_000,
    );
    push(
        &mut context,
        messages("H A[1] T(1) A[2] T(2) A H A[3]:words T(3) H A[4] T(4) A H A[5] T(5)"),
    );
    assert_eq!(shown(&context), "H A H A H A[4] T(4) A H A[5] T(5)");
}

/// C1.10: the task and pinned messages stay in front of the summary, whatever the window drops.
#[test]
fn the_task_and_pins_stay_in_front_of_the_summary() {
    let policy = "stages = [\"pin\", \"window\", \"summarise\"]\n[fold]\nmessages = 5\n\
                  [pin]\nmessages = [4]\n[window]\nmessages = 10\n\
                  [summarise]\nplacement = \"prefix\"";
    let mut context = context_with(policy, 1_000_000);
    let mut added = messages("H:the_task A H:noise A:remember_4711");
    for _ in 0..30 {
        added.push(Message::user("a long story about nothing ".repeat(20)));
        added.push(Message::assistant("I see, please continue ".repeat(20)));
    }
    push(&mut context, added);
    let texts: Vec<String> = sent(&context).iter().map(Message::text).collect();
    assert_eq!(texts[0], "the_task");
    assert_eq!(texts[1], "remember_4711");
    assert!(texts[2].starts_with("Earlier in this conversation"), "{}", texts[2]);
}

/// A message of a program about the environment is not the task, unless there is nothing else.
#[test]
fn the_task_is_the_first_request() {
    let policy = "stages = [\"pin\", \"window\"]\n[fold]\nmessages = 12\n[window]\nmessages = 10";
    let note = "<environment_context>\n  <cwd>/srv/mill</cwd>\n</environment_context>";
    let asked = "<notes>tides</notes>\nBuild the mill.";
    for (first, second, task) in
        [(note, asked, asked), (asked, note, asked), (note, "<task>Build it</task>", note)]
    {
        let mut context = context_with(policy, 1_000_000);
        let mut added = vec![Message::user(first), Message::user(second)];
        for n in 0..10 {
            added.push(Message::assistant(format!("answer {n} {}", "word ".repeat(40))));
            added.push(Message::user(format!("question {n} {}", "word ".repeat(40))));
        }
        push(&mut context, added);
        assert_eq!(sent(&context)[0].text(), task);
    }
}

/// S0.77: passages that are no longer shown are quoted in the newest user message if they share
/// words with it.
#[test]
fn recall_quotes_what_is_no_longer_shown() {
    let policy = "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 12\n\
                  [window]\nmessages = 10\n[recall]\nmax = 500";
    let mut context = context_with(policy, 1_000_000);
    let mut added = vec![
        Message::user("The password of the staging database is quetzal-17."),
        Message::assistant("Noted."),
    ];
    for n in 0..12 {
        added.push(Message::user(format!("Unrelated question number {n} on gardening")));
        added.push(Message::assistant("An unrelated answer on roses and tulips, at some length."));
    }
    push(&mut context, added);
    assert!(!sent(&context).iter().any(|m| m.text().contains("quetzal")));
    push(&mut context, vec![Message::user("What was the password of the staging database?")]);
    let last = sent(&context).last().unwrap().text();
    assert!(
        last.starts_with("What was the password")
            && last.contains("quetzal-17")
            && last.contains(REFERENCE_ONLY),
        "{last}"
    );
}

/// Within a generation, thinking is sent back unchanged. A fold drops all of it if the model
/// requires unchanged messages before it, otherwise all but that of the running turn.
#[test]
fn a_fold_drops_thinking_as_the_model_requires() {
    let thought = |text: &str| {
        Part::from(Body::Thinking(Thinking { text: text.into(), signature: Some("sig".into()) }))
    };
    let with_thinking = |text: &str, notation: &str| {
        let mut added = messages(notation);
        for message in added.iter_mut().filter(|message| message.role == Role::Assistant) {
            message.parts.insert(0, thought(text));
        }
        added
    };
    for (name, left) in [("claude-opus-5-5", 0), ("claude-sonnet-4-5", 1)] {
        let policy = Policy::read(
            "stages = [\"window\"]\n[fold]\nmessages = 14\n[window]\nmessages = 10",
            &[],
        )
        .unwrap();
        let mut context =
            Context::builder().model(name).policy(policy).window(1_000_000).build().unwrap();
        push(&mut context, with_thinking("old", "H A H A H A"));
        let thoughts = |context: &Context| {
            sent(context)
                .iter()
                .flat_map(|m| m.parts.clone())
                .filter(|p| matches!(p.body, Body::Thinking(_)))
                .count()
        };
        assert_eq!(thoughts(&context), 3, "{name}: between folds nothing changes");
        let action = push(&mut context, with_thinking("new", "H A H A H A H A H A[x] T(x)"));
        assert!(matches!(action, Action::Fold { .. }));
        assert_eq!(thoughts(&context), left, "{name}");
    }
}

/// C3.1, S3.8: once there is a summary, the next fold has one too, of more messages.
#[test]
fn a_summary_is_never_lost_to_the_next_fold() {
    let mut context = context_with(
        &waterline::policy::Preset::named("budget")
            .unwrap()
            .text
            .replace("50000", "5000")
            .replace("30000", "3000"),
        100_000,
    );
    let mut summarized = 0;
    for at in 0..200 {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        push(
            &mut context,
            vec![Message::new(
                role,
                vec![Part::text(format!(
                    "message {at}: {}",
                    "some words about the harbour ".repeat(12)
                ))],
            )],
        );
        let now: usize = context
            .slots()
            .iter()
            .filter(|s| s.treatment == Treatment::Summary)
            .map(|s| s.sources.len())
            .sum();
        assert!(now >= summarized, "{now} after {summarized}");
        summarized = now;
    }
    assert!(summarized > 100, "{summarized}");
}

/// Inside a generation the context only grows; the folds of a long session are few.
#[test]
fn auto_folds_rarely_and_otherwise_only_appends() {
    let mut context = context_with(waterline::policy::Preset::named("auto").unwrap().text, 8_000);
    let mut folds = 0;
    let mut calls = 0;
    for at in 0..150 {
        let id = format!("c{at}");
        let step = vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(&id, "read_file", format!("{{\"path\":\"src/part_{at}/mod.rs\"}}"))],
            ),
            Message::tool_result(
                &id,
                format!("// part {at}\n{}", "let x = compute();\n".repeat(20)),
            ),
        ];
        let added = if at == 0 { [messages("S H:do_it"), step].concat() } else { step };
        folds += usize::from(matches!(push(&mut context, added), Action::Fold { .. }));
        calls += 1;
    }
    assert!((2..=calls / 10).contains(&folds), "{folds} folds in {calls} calls");
    let is_block = |text: &String| text.contains(REFERENCE_ONLY);
    let block: String = sent(&context).iter().map(Message::text).filter(is_block).collect();
    assert!(
        block.contains("src/part_3/mod.rs") && block.contains("src/part_30/mod.rs"),
        "the ledger has values of all dropped steps: {block}"
    );
}

/// A custom stage only implements the trait.
#[test]
fn a_policy_accepts_stages_written_in_code() {
    #[derive(Debug)]
    struct OnlyNewest;
    impl waterline::stage::Stage for OnlyNewest {
        fn fold(&self, draft: &mut waterline::plan::Draft<'_>) {
            for at in draft.newest_first().skip(1) {
                draft.omit(at, "not the newest");
            }
        }
    }
    let mut policy = Policy::read("stages = []\n[fold]\nmessages = 2", &[]).unwrap();
    policy.stages = vec![Arc::new(OnlyNewest)];
    let mut context = Context::builder().policy(policy).window(1_000).build().unwrap();
    push(&mut context, messages("H A H A H"));
    assert_eq!(shown(&context), "H");
}

/// Text that the user wrote while tools ran is a request too, so it stays.
#[test]
fn answers_keeps_user_text_that_came_with_results() {
    let mut context = context_with(
        "stages = [\"answers\"]\n[fold]\nturns = 2\n[answers]\nkeep_turns = 2",
        1_000_000,
    );
    let mut added = messages("H A[a]");
    let mut answer = Message::tool_result("a", "a long output ".repeat(50));
    answer.role = Role::User;
    answer.parts.push(Part::text("WAIT, use blue"));
    added.push(answer);
    added.extend(messages("A H A H A H A"));
    push(&mut context, added);
    assert!(
        sent(&context).iter().any(|message| message.text().contains("use blue")),
        "{}",
        shown(&context)
    );
    assert!(!shown(&context).contains("T("), "{}", shown(&context));
}

/// The image of the running request stays.
#[test]
fn the_image_of_the_newest_request_stays() {
    let mut context = context_with(
        "stages = [\"images\", \"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10",
        1_000_000,
    );
    let image = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    push(&mut context, messages("H A H A H A H A"));
    push(&mut context, vec![Message::new(Role::User, vec![Part::text("build this"), image])]);
    push(&mut context, messages("A[1] T(1) A[2] T(2) A[3] T(3) A[4] T(4) A[5] T(5)"));
    assert!(sent(&context).iter().any(Message::has_image), "{}", shown(&context));
}

/// A reminder in the role of the user does not count as the newest request.
#[test]
fn a_reminder_does_not_displace_the_request() {
    let mut context = context_with(
        "stages = [\"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10",
        1_000_000,
    );
    push(&mut context, messages("H A H:the_real_request"));
    push(&mut context, vec![Message::user("<system-reminder>be nice</system-reminder>")]);
    for at in 0..20 {
        push(&mut context, messages(&format!("A[c{at}] T(c{at})")));
    }
    assert!(
        sent(&context).iter().any(|message| message.text() == "the_real_request"),
        "{}",
        shown(&context)
    );
}

/// Returns a task and `count` steps, each with a call and a result of `chars` characters.
fn steps(count: usize, chars: usize) -> Vec<Message> {
    let step = |at: usize| {
        let call = Message::assistant_with_calls(
            "",
            [ToolCall::new(format!("c{at}"), "read", format!(r#"{{"path":"src/file{at}.rs"}}"#))],
        );
        [call, Message::tool_result(format!("c{at}"), "x".repeat(chars))]
    };
    let task = Message::user("do it");
    std::iter::once(task).chain((0..count).flat_map(step)).collect()
}

#[test]
fn clear_removes_old_results_and_keeps_their_calls() {
    let mut context =
        context_with("stages = [\"clear\"]\n[fold]\nhigh = 2000\n[clear]\nkeep = 2", 10_000);
    push(&mut context, steps(6, 2_000));
    let kept: Vec<&Message> = context.messages().collect();
    assert_eq!(
        show(kept.iter().copied()),
        "H A[c0] T(c0) A[c1] T(c1) A[c2] T(c2) A[c3] T(c3) A[c4] T(c4) A[c5] T(c5)"
    );
    let results: Vec<usize> =
        kept.iter().flat_map(|message| message.results()).map(|r| r.text().len()).collect();
    assert!(results[..4].iter().all(|&length| length < 40), "{results:?}");
    assert_eq!(results[4..], [2_000, 2_000]);
}

#[test]
fn window_can_keep_only_user_messages() {
    let policy =
        "stages = [\"window\"]\n[fold]\nhigh = 100\n[window]\nonly = \"user\"\ntokens = 5000";
    let mut context = context_with(policy, 10_000);
    push(
        &mut context,
        messages("H A H A[a] T(a) H A[b] T(b)").into_iter().chain(steps(0, 0)).collect(),
    );
    push(&mut context, steps(2, 600));
    let kept: Vec<&Message> = context.messages().collect();
    assert_eq!(show(kept.iter().copied()), "H H H H H A[c1] T(c1)", "and the newest step");
}

/// With `fold.free = "0%"` a window slides with every message; by default it waits for a tenth.
#[test]
fn fold_free_is_the_least_that_a_fold_frees() {
    let folds = |free: &str| {
        let mut context = context_with(
            &format!(
                "stages = [\"window\"]\n[fold]\nfree = \"{free}\"\n[window]\ntokens = \"100%\""
            ),
            1_000,
        );
        let message = |at: usize| Message::user(format!("{at} {}", "word ".repeat(40)));
        (0..60)
            .filter(|&at| matches!(push(&mut context, vec![message(at)]), Action::Fold { .. }))
            .count()
    };
    assert!(2 * folds("0%") > 3 * folds("10%"), "{} {}", folds("0%"), folds("10%"));
}

/// An output larger than the window is truncated, and the ledger has the values that were left out.
#[test]
fn the_ledger_lists_values_of_an_output_larger_than_the_window() {
    let mut context = context_with(waterline::policy::Preset::named("auto").unwrap().text, 2_000);
    let listing: Vec<String> =
        (0..900).map(|at| format!("plain words and more of them, line {at}")).collect();
    let (head, tail) = listing.split_at(450);
    let output = format!("{}\nfn compute_tide_window() {{}}\n{}", head.join("\n"), tail.join("\n"));
    push(
        &mut context,
        vec![
            Message::user("look"),
            Message::assistant_with_calls(
                "",
                [ToolCall::new("a", "read", r#"{"path":"src/tide.rs"}"#)],
            ),
            Message::tool_result("a", output),
        ],
    );
    let texts: String = context.messages().map(waterline::ledger::text_of).collect();
    assert!(
        texts.contains("compute_tide_window"),
        "{}",
        texts.chars().take(800).collect::<String>()
    );
    assert!(context.generation().tokens() <= 2_000);
}
