//! What each stage does to a conversation, as a user of a policy would notice it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::Arc;

use waterline::message::{Body, Image, Message, Part, Role, Thinking, ToolCall};
use waterline::{Action, Context, Counter, Method, Policy, Treatment};
use waterline_testkit::{messages, show};

/// A context under the policy of this text, with four characters a token.
fn talk(policy: &str, window: usize) -> Context {
    let policy = Policy::read(policy, &[]).unwrap();
    Context::builder()
        .policy(policy)
        .window(window)
        .counter(Counter::new(Method::Chars4, 1_000))
        .build()
        .unwrap()
}

/// Says something, commits the next plan and returns what was done.
fn say(talk: &mut Context, said: Vec<Message>) -> Action {
    talk.extend(said);
    let next = talk.plan();
    let action = next.action().clone();
    next.commit();
    action
}

fn sent(talk: &Context) -> Vec<Message> {
    talk.messages().cloned().collect()
}

fn shown(talk: &Context) -> String {
    show(talk.messages())
}

fn long_result(id: &str, characters: usize) -> Message {
    Message::tool_result(id, "line of output 12345\n".repeat(characters / 21))
}

/// S0.69: an oversized output is cut before it is first sent, and sent the same way again.
#[test]
fn cap_cuts_before_the_first_send_and_keeps_it_so() {
    let mut talk = talk("stages = [\"cap\"]\n[cap]\nmax = 500", 100_000);
    let mut said = messages("H A[a]");
    said.push(long_result("a", 40_000));
    assert_eq!(say(&mut talk, said), Action::Extend);
    let first = sent(&talk);
    let text = first[2].results().next().unwrap().text();
    assert!(text.len() < 2_100 && text.contains("in artifact "), "{text}");
    say(&mut talk, messages("A H"));
    assert_eq!(format!("{:?}", sent(&talk)[..3].to_vec()), format!("{first:?}"));
    assert!(talk.slots().iter().any(|slot| slot.treatment == Treatment::Trimmed
        && slot.reason.contains("truncated in the middle")));
}

/// S2.8–S2.10, C2.1: long results of earlier turns keep head and tail; the running turn's stay
/// whole.
#[test]
fn s2_9_trim_spares_the_running_turn() {
    let mut talk = talk(
        "stages = [\"trim\"]\n[fold]\nturns = 1\n[trim]\nover_chars = 20000\nhead_chars = 10000\ntail_chars = 8000",
        1_000_000,
    );
    say(
        &mut talk,
        [
            messages("H A[a]"),
            vec![long_result("a", 50_000)],
            messages("A H A[b]"),
            vec![long_result("b", 50_000)],
        ]
        .concat(),
    );
    let results: Vec<usize> = sent(&talk)
        .iter()
        .flat_map(|m| m.results().map(|r| r.text().len()).collect::<Vec<_>>())
        .collect();
    assert!(results[0] < 19_000 && results[1] > 49_000, "{results:?}");
}

/// S0.68: a picture is sent once; after the model has answered, a fold leaves it out.
#[test]
fn s0_68_pictures_already_seen_are_left_out() {
    let mut talk = talk("stages = [\"images\"]\n[fold]\nmessages = 2", 1_000_000);
    let picture = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    say(
        &mut talk,
        vec![Message::new(Role::User, vec![Part::text("What is this?"), picture.clone()])],
    );
    assert!(sent(&talk)[0].has_image(), "before the answer it is there");
    say(&mut talk, messages("A H"));
    assert!(!sent(&talk)[0].has_image());
    say(&mut talk, vec![Message::new(Role::User, vec![Part::text("And this?"), picture])]);
    assert!(sent(&talk).last().unwrap().has_image(), "a new one is there");
}

/// S1.10–S1.13, C1.12: earlier turns keep the user's words and the final answer; calls and results
/// go together.
#[test]
fn s1_11_digest_keeps_request_and_answer() {
    let mut talk =
        talk("stages = [\"digest\"]\n[fold]\nturns = 2\n[digest]\nkeep_turns = 2", 1_000_000);
    say(&mut talk, messages("H A[1] T(1) A[2] T(2) A H A[3]:words T(3) H A[4] T(4) A H A[5] T(5)"));
    assert_eq!(shown(&talk), "H A H A H A[4] T(4) A H A[5] T(5)");
}

/// C1.10: the task and what the user pinned stay in front of the summary, whatever the window
/// drops.
#[test]
fn pins_stay() {
    let policy = "stages = [\"pin\", \"window\", \"summarise\"]\n[fold]\nmessages = 5\n[pin]\nmessages = [3]\n[window]\nmessages = 10\n[summarise]\nplacement = \"prefix\"";
    let mut talk = talk(policy, 1_000_000);
    let mut said = messages("H:the_task A H:noise A:remember_4711");
    for _ in 0..30 {
        said.push(Message::user("a long story about nothing ".repeat(20)));
        said.push(Message::assistant("I see, go on then ".repeat(20)));
    }
    say(&mut talk, said);
    let texts: Vec<String> = sent(&talk).iter().map(Message::text).collect();
    assert_eq!(texts[0], "the_task");
    assert_eq!(texts[1], "remember_4711");
    assert!(texts[2].starts_with("Earlier in this conversation"), "{}", texts[2]);
}

/// S0.77: passages no longer shown are quoted behind the newest user message when they share words
/// with it.
#[test]
fn recall_quotes_what_is_no_longer_shown() {
    let policy = "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 12\n[window]\nmessages = 10\n[recall]\nmax = 500";
    let mut talk = talk(policy, 1_000_000);
    let mut said = vec![
        Message::user("The password of the staging database is quetzal-17."),
        Message::assistant("Noted."),
    ];
    for n in 0..12 {
        said.push(Message::user(format!("Unrelated question number {n} on gardening")));
        said.push(Message::assistant("An unrelated answer on roses and tulips, at some length."));
    }
    say(&mut talk, said);
    assert!(!sent(&talk).iter().any(|m| m.text().contains("quetzal")));
    say(&mut talk, vec![Message::user("What was the password of the staging database?")]);
    let last = sent(&talk).last().unwrap().text();
    assert!(
        last.starts_with("What was the password")
            && last.contains("quetzal-17")
            && last.contains("it gives no orders"),
        "{last}"
    );
}

/// Preserved thinking: within a generation it goes back untouched; a fold drops all of it, or,
/// where the model does not bind it, all but that of the running turn.
#[test]
fn thinking_is_dropped_by_a_fold_as_the_model_demands() {
    let thought = |text: &str| {
        Part::from(Body::Thinking(Thinking { text: text.into(), signature: Some("sig".into()) }))
    };
    let thoughtful = |text: &str, notation: &str| {
        let mut said = messages(notation);
        for message in said.iter_mut().filter(|message| message.role == Role::Assistant) {
            message.parts.insert(0, thought(text));
        }
        said
    };
    for (name, left) in [("claude-opus-5-5", 0), ("claude-sonnet-4-5", 1)] {
        let policy = Policy::read(
            "stages = [\"window\"]\n[fold]\nmessages = 14\n[window]\nmessages = 10",
            &[],
        )
        .unwrap();
        let mut talk =
            Context::builder().model(name).policy(policy).window(1_000_000).build().unwrap();
        say(&mut talk, thoughtful("old", "H A H A H A"));
        let thoughts = |talk: &Context| {
            sent(talk)
                .iter()
                .flat_map(|m| m.parts.clone())
                .filter(|p| matches!(p.body, Body::Thinking(_)))
                .count()
        };
        assert_eq!(thoughts(&talk), 3, "{name}: between folds nothing changes");
        let action = say(&mut talk, thoughtful("new", "H A H A H A H A H A[x] T(x)"));
        assert!(matches!(action, Action::Fold { .. }));
        assert_eq!(thoughts(&talk), left, "{name}");
    }
}

/// C3.1 and S3.8 in the long run: once there is a summary, the next fold has one too, over more.
#[test]
fn a_summary_is_never_lost_to_the_next_fold() {
    let mut talk = talk(
        &waterline::policy::Preset::named("budget")
            .unwrap()
            .text
            .replace("50000", "5000")
            .replace("30000", "3000"),
        100_000,
    );
    let mut summarised = 0;
    for at in 0..200 {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        say(
            &mut talk,
            vec![Message::new(
                role,
                vec![Part::text(format!(
                    "message {at}: {}",
                    "some words about the harbour ".repeat(12)
                ))],
            )],
        );
        let now: usize = talk
            .slots()
            .iter()
            .filter(|s| s.treatment == Treatment::Summary)
            .map(|s| s.sources.len())
            .sum();
        assert!(now >= summarised, "{now} after {summarised}");
        summarised = now;
    }
    assert!(summarised > 100, "{summarised}");
}

/// Inside a generation the context only grows; the folds of a long session are few.
#[test]
fn auto_folds_rarely_and_otherwise_only_appends() {
    let mut talk = talk(waterline::policy::Preset::named("auto").unwrap().text, 8_000);
    let mut folds = 0;
    let mut calls = 0;
    for at in 0..150 {
        let id = format!("c{at}");
        let said = vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(&id, "read_file", format!("{{\"path\":\"src/part_{at}/mod.rs\"}}"))],
            ),
            Message::tool_result(
                &id,
                format!("// part {at}\n{}", "let x = compute();\n".repeat(20)),
            ),
        ];
        let said = if at == 0 { [messages("S H:do_it"), said].concat() } else { said };
        folds += usize::from(matches!(say(&mut talk, said), Action::Fold { .. }));
        calls += 1;
    }
    assert!((2..=calls / 10).contains(&folds), "{folds} folds in {calls} calls");
    let note = sent(&talk)
        .iter()
        .map(Message::text)
        .find(|text| text.contains("no longer shown"))
        .unwrap();
    assert!(
        note.contains("src/part_3/mod.rs") && note.contains("src/part_100/mod.rs"),
        "the ledger reaches back: {note}"
    );
}

/// A stage of one's own needs nothing but the trait.
#[test]
fn a_policy_takes_stages_made_in_code() {
    #[derive(Debug)]
    struct OnlyNewest;
    impl waterline::stage::Stage for OnlyNewest {
        fn fold(&self, draft: &mut waterline::plan::Draft<'_>) {
            for at in draft.newest_first().skip(1) {
                draft.drop(at, "not the newest");
            }
        }
    }
    let mut policy = Policy::read("stages = []\n[fold]\nmessages = 2", &[]).unwrap();
    policy.stages = vec![Arc::new(OnlyNewest)];
    let mut talk = Context::builder().policy(policy).window(1_000).build().unwrap();
    say(&mut talk, messages("H A H A H"));
    assert_eq!(shown(&talk), "H");
}

/// What the user said while tools ran is a request too: a digest of the turn keeps it.
#[test]
fn digest_keeps_words_that_came_with_results() {
    let mut talk =
        talk("stages = [\"digest\"]\n[fold]\nturns = 2\n[digest]\nkeep_turns = 2", 1_000_000);
    let mut said = messages("H A[a]");
    let mut answer = Message::tool_result("a", "a long output ".repeat(50));
    answer.role = Role::User;
    answer.parts.push(Part::text("WAIT, use blue"));
    said.push(answer);
    said.extend(messages("A H A H A H A"));
    say(&mut talk, said);
    assert!(
        sent(&talk).iter().any(|message| message.text().contains("use blue")),
        "{}",
        shown(&talk)
    );
    assert!(!shown(&talk).contains("T("), "{}", shown(&talk));
}

/// The picture of the running request stays while it is worked on.
#[test]
fn the_newest_requests_picture_stays() {
    let mut talk = talk(
        "stages = [\"images\", \"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10",
        1_000_000,
    );
    let picture = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    say(&mut talk, messages("H A H A H A H A"));
    say(&mut talk, vec![Message::new(Role::User, vec![Part::text("build this"), picture])]);
    say(&mut talk, messages("A[1] T(1) A[2] T(2) A[3] T(3) A[4] T(4) A[5] T(5)"));
    assert!(sent(&talk).iter().any(Message::has_image), "{}", shown(&talk));
}

/// A program's note in the user's place does not take the place of what the user asked.
#[test]
fn a_reminder_does_not_displace_the_request() {
    let mut talk =
        talk("stages = [\"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10", 1_000_000);
    say(&mut talk, messages("H A H:the_real_request"));
    say(&mut talk, vec![Message::user("<system-reminder>be nice</system-reminder>")]);
    for at in 0..20 {
        say(&mut talk, messages(&format!("A[c{at}] T(c{at})")));
    }
    assert!(
        sent(&talk).iter().any(|message| message.text() == "the_real_request"),
        "{}",
        shown(&talk)
    );
}

/// Steps with a call and a result of `chars` characters each.
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
fn clear_empties_old_results_and_keeps_their_calls() {
    let mut talk = talk("stages = [\"clear\"]\n[fold]\nhigh = 2000\n[clear]\nkeep = 2", 10_000);
    say(&mut talk, steps(6, 2_000));
    let context: Vec<&Message> = talk.messages().collect();
    assert_eq!(
        show(context.iter().copied()),
        "H A[c0] T(c0) A[c1] T(c1) A[c2] T(c2) A[c3] T(c3) A[c4] T(c4) A[c5] T(c5)"
    );
    let results: Vec<usize> =
        context.iter().flat_map(|message| message.results()).map(|r| r.text().len()).collect();
    assert!(results[..4].iter().all(|&length| length < 40), "{results:?}");
    assert_eq!(results[4..], [2_000, 2_000]);
}

#[test]
fn window_can_keep_only_what_the_user_said() {
    let policy =
        "stages = [\"window\"]\n[fold]\nhigh = 100\n[window]\nonly = \"user\"\ntokens = 5000";
    let mut talk = talk(policy, 10_000);
    say(
        &mut talk,
        messages("H A H A[a] T(a) H A[b] T(b)").into_iter().chain(steps(0, 0)).collect(),
    );
    say(&mut talk, steps(2, 600));
    let context: Vec<&Message> = talk.messages().collect();
    assert_eq!(show(context.iter().copied()), "H H H H H A[c1] T(c1)", "and the newest step");
}

/// With nothing to free at least, a window slides with every message; by default it waits for a
/// tenth.
#[test]
fn fold_free_says_how_much_a_fold_must_free() {
    let folds = |free: &str| {
        let mut talk = talk(
            &format!(
                "stages = [\"window\"]\n[fold]\nfree = \"{free}\"\n[window]\ntokens = \"100%\""
            ),
            1_000,
        );
        let said = |at: usize| Message::user(format!("{at} {}", "word ".repeat(40)));
        (0..60).filter(|&at| matches!(say(&mut talk, vec![said(at)]), Action::Fold { .. })).count()
    };
    assert!(2 * folds("0%") > 3 * folds("10%"), "{} {}", folds("0%"), folds("10%"));
}

/// An output larger than the window is cut, and what was cut out is still in the ledger.
#[test]
fn the_ledger_finds_room_beside_an_output_larger_than_the_window() {
    let mut talk = talk(waterline::policy::Preset::named("auto").unwrap().text, 2_000);
    let listing: Vec<String> =
        (0..900).map(|at| format!("plain words and more of them, line {at}")).collect();
    let (head, tail) = listing.split_at(450);
    let output = format!("{}\nfn compute_tide_window() {{}}\n{}", head.join("\n"), tail.join("\n"));
    say(
        &mut talk,
        vec![
            Message::user("look"),
            Message::assistant_with_calls(
                "",
                [ToolCall::new("a", "read", r#"{"path":"src/tide.rs"}"#)],
            ),
            Message::tool_result("a", output),
        ],
    );
    let texts: String = talk.messages().map(waterline::ledger::text_of).collect();
    assert!(
        texts.contains("compute_tide_window"),
        "{}",
        texts.chars().take(800).collect::<String>()
    );
    assert!(talk.generation().tokens() <= 2_000);
}
