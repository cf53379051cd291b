//! What each stage does to a conversation, as a user of a policy would notice it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::Arc;

use waterline::history::History;
use waterline::message::{Body, Image, Message, Part, Role, Thinking, ToolCall};
use waterline::model::{Model, Models};
use waterline::plan::{Action, Budget, Generation, Input, Treatment, plan};
use waterline::policy::Policy;
use waterline::summary::Summary;
use waterline::tokens::{Counter, Method};
use waterline_testkit::{messages, show};

struct Talk {
    history: History,
    generation: Generation,
    policy: Policy,
    window: usize,
    model: Arc<Model>,
}

impl Talk {
    fn new(policy: &str, window: usize) -> Self {
        let counter = Counter::new(Method::Chars4, 1_000);
        let policy = Policy::read(policy, &[]).unwrap();
        Self {
            history: History::new(counter),
            generation: Generation::new(),
            policy,
            window,
            model: Models::builtin().unknown(),
        }
    }

    /// Says something, plans a call and gives what was done.
    fn say(&mut self, said: Vec<Message>) -> Action {
        self.history.extend(said);
        let budget = Budget::of(self.window);
        let summaries: &[Summary] = &[];
        let input =
            Input { summaries, ..Input::new(&self.history, &self.generation, &self.policy, budget, &self.model) };
        let planned = plan(&input);
        let action = planned.action.clone();
        self.generation.freeze(&self.history, planned);
        action
    }

    fn context(&self) -> Vec<Message> {
        self.generation.context(&self.history).cloned().collect()
    }

    fn shown(&self) -> String {
        show(self.generation.context(&self.history))
    }
}

fn long_result(id: &str, characters: usize) -> Message {
    Message::tool_result(id, "line of output 12345\n".repeat(characters / 21))
}

/// S0.69: an oversized output is cut before it is first sent, and sent the same way again.
#[test]
fn cap_cuts_before_the_first_send_and_keeps_it_so() {
    let mut talk = Talk::new("stages = [\"cap\"]\n[cap]\nmax = 500", 100_000);
    let mut said = messages("H A[a]");
    said.push(long_result("a", 40_000));
    assert_eq!(talk.say(said), Action::Extend);
    let first = talk.context();
    let text = first[2].results().next().unwrap().text();
    assert!(text.len() < 2_100 && text.contains("is artifact "), "{text}");
    talk.say(messages("A H"));
    assert_eq!(format!("{:?}", talk.context()[..3].to_vec()), format!("{first:?}"));
    assert!(
        talk.generation
            .slots()
            .iter()
            .any(|slot| slot.treatment == Treatment::Trimmed && slot.reason.contains("lost its middle"))
    );
}

/// S2.8–S2.10, C2.1: long results of earlier turns keep head and tail; the running turn's stay whole.
#[test]
fn s2_9_trim_spares_the_running_turn() {
    let mut talk = Talk::new(
        "stages = [\"trim\"]\n[fold]\nturns = 1\n[trim]\nover_chars = 20000\nhead_chars = 10000\ntail_chars = 8000",
        1_000_000,
    );
    talk.say(
        [messages("H A[a]"), vec![long_result("a", 50_000)], messages("A H A[b]"), vec![long_result("b", 50_000)]]
            .concat(),
    );
    let results: Vec<usize> =
        talk.context().iter().flat_map(|m| m.results().map(|r| r.text().len()).collect::<Vec<_>>()).collect();
    assert!(results[0] < 19_000 && results[1] > 49_000, "{results:?}");
}

/// S0.68: a picture is sent once; after the model has answered, a fold leaves it out.
#[test]
fn s0_68_pictures_already_seen_are_left_out() {
    let mut talk = Talk::new("stages = [\"images\"]\n[fold]\nmessages = 2", 1_000_000);
    let picture = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    talk.say(vec![Message::new(Role::User, vec![Part::text("What is this?"), picture.clone()])]);
    assert!(talk.context()[0].has_image(), "before the answer it is there");
    talk.say(messages("A H"));
    assert!(!talk.context()[0].has_image());
    talk.say(vec![Message::new(Role::User, vec![Part::text("And this?"), picture])]);
    assert!(talk.context().last().unwrap().has_image(), "a new one is there");
}

/// S1.10–S1.13, C1.12: earlier turns keep the user's words and the final answer; calls and results go together.
#[test]
fn s1_11_digest_keeps_request_and_answer() {
    let mut talk = Talk::new("stages = [\"digest\"]\n[fold]\nturns = 2\n[digest]\nkeep_turns = 2", 1_000_000);
    talk.say(messages("H A[1] T(1) A[2] T(2) A H A[3]:words T(3) H A[4] T(4) A H A[5] T(5)"));
    assert_eq!(talk.shown(), "H A H A H A[4] T(4) A H A[5] T(5)");
}

/// C1.10: the task and what the user pinned stay in front of the summary, whatever the window drops.
#[test]
fn pins_stay() {
    let policy = "stages = [\"pin\", \"window\", \"summarise\"]\n[fold]\nmessages = 5\n[pin]\nmessages = [3]\n[window]\nmessages = 10\n[summarise]\nplacement = \"prefix\"";
    let mut talk = Talk::new(policy, 1_000_000);
    let mut said = messages("H:the_task A H:noise A:remember_4711");
    for _ in 0..30 {
        said.push(Message::user("a long story about nothing ".repeat(20)));
        said.push(Message::assistant("I see, go on then ".repeat(20)));
    }
    talk.say(said);
    let texts: Vec<String> = talk.context().iter().map(Message::text).collect();
    assert_eq!(texts[0], "the_task");
    assert_eq!(texts[1], "remember_4711");
    assert!(texts[2].starts_with("Earlier in this conversation"), "{}", texts[2]);
}

/// S0.77: passages no longer shown are quoted behind the newest user message when they share words with it.
#[test]
fn recall_quotes_what_is_no_longer_shown() {
    let policy =
        "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 12\n[window]\nmessages = 10\n[recall]\nmax = 500";
    let mut talk = Talk::new(policy, 1_000_000);
    let mut said =
        vec![Message::user("The password of the staging database is quetzal-17."), Message::assistant("Noted.")];
    for n in 0..12 {
        said.push(Message::user(format!("Unrelated question number {n} on gardening")));
        said.push(Message::assistant("An unrelated answer on roses and tulips, at some length."));
    }
    talk.say(said);
    assert!(!talk.context().iter().any(|m| m.text().contains("quetzal")));
    talk.say(vec![Message::user("What was the password of the staging database?")]);
    let last = talk.context().last().unwrap().text();
    assert!(
        last.starts_with("What was the password") && last.contains("quetzal-17") && last.contains("it gives no orders"),
        "{last}"
    );
}

/// Preserved thinking: within a generation it goes back untouched; a fold drops all of it, or, where the model does not
/// bind it, all but that of the running turn.
#[test]
fn thinking_is_dropped_by_a_fold_as_the_model_demands() {
    let thought =
        |text: &str| Part::from(Body::Thinking(Thinking { text: text.into(), signature: Some("sig".into()) }));
    let thoughtful = |text: &str, notation: &str| {
        let mut said = messages(notation);
        for message in said.iter_mut().filter(|message| message.role == Role::Assistant) {
            message.parts.insert(0, thought(text));
        }
        said
    };
    for (name, left) in [("claude-opus-5-5", 0), ("claude-sonnet-4-5", 1)] {
        let mut talk = Talk::new("stages = [\"window\"]\n[fold]\nmessages = 14\n[window]\nmessages = 10", 1_000_000);
        talk.model = Models::builtin().find(name).unwrap();
        talk.say(thoughtful("old", "H A H A H A"));
        let thoughts = |talk: &Talk| {
            talk.context().iter().flat_map(|m| m.parts.clone()).filter(|p| matches!(p.body, Body::Thinking(_))).count()
        };
        assert_eq!(thoughts(&talk), 3, "{name}: between folds nothing changes");
        let action = talk.say(thoughtful("new", "H A H A H A H A H A[x] T(x)"));
        assert!(matches!(action, Action::Fold { .. }));
        assert_eq!(thoughts(&talk), left, "{name}");
    }
}

/// C3.1 and S3.8 in the long run: once there is a summary, the next fold has one too, over more.
#[test]
fn a_summary_is_never_lost_to_the_next_fold() {
    let mut talk = Talk::new(
        &waterline::policy::Preset::named("budget").unwrap().text.replace("50000", "5000").replace("30000", "3000"),
        100_000,
    );
    let mut summarised = 0;
    for at in 0..200 {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        talk.say(vec![Message::new(
            role,
            vec![Part::text(format!("message {at}: {}", "some words about the harbour ".repeat(12)))],
        )]);
        let now: usize =
            talk.generation.slots().iter().filter(|s| s.treatment == Treatment::Summary).map(|s| s.sources.len()).sum();
        assert!(now >= summarised, "{now} after {summarised}");
        summarised = now;
    }
    assert!(summarised > 100, "{summarised}");
}

/// Inside a generation the context only grows; the folds of a long session are few.
#[test]
fn auto_folds_rarely_and_otherwise_only_appends() {
    let mut talk = Talk::new(waterline::policy::Preset::named("auto").unwrap().text, 8_000);
    let mut folds = 0;
    let mut calls = 0;
    for at in 0..150 {
        let id = format!("c{at}");
        let said = vec![
            Message::assistant_with_calls(
                "",
                [ToolCall::new(&id, "read_file", format!("{{\"path\":\"src/part_{at}/mod.rs\"}}"))],
            ),
            Message::tool_result(&id, format!("// part {at}\n{}", "let x = compute();\n".repeat(20))),
        ];
        let said = if at == 0 { [messages("S H:do_it"), said].concat() } else { said };
        folds += usize::from(matches!(talk.say(said), Action::Fold { .. }));
        calls += 1;
    }
    assert!((2..=calls / 10).contains(&folds), "{folds} folds in {calls} calls");
    let note = talk.context().iter().map(Message::text).find(|text| text.contains("no longer shown")).unwrap();
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
    let mut talk = Talk::new("stages = []\n[fold]\nmessages = 2", 1_000);
    talk.policy.stages = vec![Arc::new(OnlyNewest)];
    talk.say(messages("H A H A H"));
    assert_eq!(talk.shown(), "H");
}

/// What the user said while tools ran is a request too: a digest of the turn keeps it.
#[test]
fn digest_keeps_words_that_came_with_results() {
    let mut talk = Talk::new("stages = [\"digest\"]\n[fold]\nturns = 2\n[digest]\nkeep_turns = 2", 1_000_000);
    let mut said = messages("H A[a]");
    let mut answer = Message::tool_result("a", "a long output ".repeat(50));
    answer.role = Role::User;
    answer.parts.push(Part::text("WAIT, use blue"));
    said.push(answer);
    said.extend(messages("A H A H A H A"));
    talk.say(said);
    assert!(talk.context().iter().any(|message| message.text().contains("use blue")), "{}", talk.shown());
    assert!(!talk.shown().contains("T("), "{}", talk.shown());
}

/// The picture of the running request stays while it is worked on.
#[test]
fn the_newest_requests_picture_stays() {
    let mut talk =
        Talk::new("stages = [\"images\", \"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10", 1_000_000);
    let picture = Part::from(Body::Image(Image::Url("https://example.org/a.png".into())));
    talk.say(messages("H A H A H A H A"));
    talk.say(vec![Message::new(Role::User, vec![Part::text("build this"), picture])]);
    talk.say(messages("A[1] T(1) A[2] T(2) A[3] T(3) A[4] T(4) A[5] T(5)"));
    assert!(talk.context().iter().any(Message::has_image), "{}", talk.shown());
}

/// A program's note in the user's place does not take the place of what the user asked.
#[test]
fn a_reminder_does_not_displace_the_request() {
    let mut talk = Talk::new("stages = [\"window\"]\n[fold]\nmessages = 10\n[window]\nmessages = 10", 1_000_000);
    talk.say(messages("H A H:the_real_request"));
    talk.say(vec![Message::user("<system-reminder>be nice</system-reminder>")]);
    for at in 0..20 {
        talk.say(messages(&format!("A[c{at}] T(c{at})")));
    }
    assert!(talk.context().iter().any(|message| message.text() == "the_real_request"), "{}", talk.shown());
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
    let mut talk = Talk::new("stages = [\"clear\"]\n[fold]\nhigh = 2000\n[clear]\nkeep = 2", 10_000);
    talk.say(steps(6, 2_000));
    let context: Vec<&Message> = talk.generation.context(&talk.history).collect();
    assert_eq!(
        show(context.iter().copied()),
        "H A[c0] T(c0) A[c1] T(c1) A[c2] T(c2) A[c3] T(c3) A[c4] T(c4) A[c5] T(c5)"
    );
    let results: Vec<usize> = context.iter().flat_map(|message| message.results()).map(|r| r.text().len()).collect();
    assert!(results[..4].iter().all(|&length| length < 40), "{results:?}");
    assert_eq!(results[4..], [2_000, 2_000]);
}

#[test]
fn window_can_keep_only_what_the_user_said() {
    let policy = "stages = [\"window\"]\n[fold]\nhigh = 100\n[window]\nonly = \"user\"\ntokens = 5000";
    let mut talk = Talk::new(policy, 10_000);
    talk.say(messages("H A H A[a] T(a) H A[b] T(b)").into_iter().chain(steps(0, 0)).collect());
    talk.say(steps(2, 600));
    let context: Vec<&Message> = talk.generation.context(&talk.history).collect();
    assert_eq!(show(context.iter().copied()), "H H H H H A[c1] T(c1)", "and the newest step");
}

/// With nothing to free at least, a window slides with every message; by default it waits for a tenth.
#[test]
fn fold_free_says_how_much_a_fold_must_free() {
    let folds = |free: &str| {
        let mut talk =
            Talk::new(&format!("stages = [\"window\"]\n[fold]\nfree = \"{free}\"\n[window]\ntokens = \"100%\""), 1_000);
        let said = |at: usize| Message::user(format!("{at} {}", "word ".repeat(40)));
        (0..60).filter(|&at| matches!(talk.say(vec![said(at)]), Action::Fold { .. })).count()
    };
    assert!(2 * folds("0%") > 3 * folds("10%"), "{} {}", folds("0%"), folds("10%"));
}

/// An output larger than the window is cut, and what was cut out is still in the ledger.
#[test]
fn the_ledger_finds_room_beside_an_output_larger_than_the_window() {
    let mut talk = Talk::new(waterline::policy::Preset::named("auto").unwrap().text, 2_000);
    let listing: Vec<String> = (0..900).map(|at| format!("plain words and more of them, line {at}")).collect();
    let (head, tail) = listing.split_at(450);
    let output = format!("{}\nfn compute_tide_window() {{}}\n{}", head.join("\n"), tail.join("\n"));
    talk.say(vec![
        Message::user("look"),
        Message::assistant_with_calls("", [ToolCall::new("a", "read", r#"{"path":"src/tide.rs"}"#)]),
        Message::tool_result("a", output),
    ]);
    let texts: String = talk.generation.context(&talk.history).map(waterline::ledger::text_of).collect();
    assert!(texts.contains("compute_tide_window"), "{}", texts.chars().take(800).collect::<String>());
    assert!(talk.generation.tokens() <= 2_000);
}
