//! The `recall` stage with passages that a caller found: what is quoted, and that it stays.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::{Arc, LazyLock};

use waterline::history::History;
use waterline::message::{Message, Role, ToolCall};
use waterline::model::{Model, Models};
use waterline::plan::{Action, Budget, Generation, Input, Passage, Plan, extend, plan};
use waterline::policy::Policy;
use waterline::summary::REFERENCE_ONLY;
use waterline::tokens::{Counter, Method};

static UNKNOWN: LazyLock<Arc<Model>> = LazyLock::new(|| Models::builtin().unknown());

const POLICY: &str = "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 12\n\
                      [window]\nmessages = 10\n[recall]\ntop = 2\nmax = 200";

/// A conversation and what was sent of it.
struct Bed {
    policy: Policy,
    history: History,
    generation: Generation,
}

impl Bed {
    fn new(policy: &str) -> Self {
        Self {
            policy: Policy::read(policy, &[]).unwrap(),
            history: History::new(Counter::new(Method::Chars4, 1_000)),
            generation: Generation::new(),
        }
    }

    /// Creates a conversation of 26 messages, of which the first 16 are no longer shown.
    fn folded() -> Self {
        let mut bed = Self::new(POLICY);
        bed.history.append(Message::user("The gate code is 4711."));
        bed.history.append(Message::assistant("Noted."));
        for n in 0..12 {
            bed.history.append(Message::user(format!("Question {n} on gardening")));
            bed.history.append(Message::assistant(format!("Answer {n} on roses and tulips.")));
        }
        bed.send(None);
        assert!(!bed.sent().contains("4711"), "{}", bed.sent());
        bed
    }

    fn plan(&self, recalled: Option<&[Passage]>) -> Plan {
        plan(&self.input(recalled))
    }

    fn input<'a>(&'a self, recalled: Option<&'a [Passage]>) -> Input<'a> {
        let budget = Budget::of(100_000);
        let input = Input::new(&self.history, &self.generation, &self.policy, budget, &UNKNOWN);
        Input { recalled, ..input }
    }

    fn send(&mut self, recalled: Option<&[Passage]>) -> Action {
        let plan = self.plan(recalled);
        let action = plan.action.clone();
        self.generation.freeze(&self.history, plan);
        action
    }

    fn sent(&self) -> String {
        self.messages().join("\n")
    }

    fn messages(&self) -> Vec<String> {
        let context = self.generation.context(&self.history);
        context.map(|message| serde_json::to_string(message).unwrap()).collect()
    }

    fn newest(&self) -> String {
        self.generation.context(&self.history).last().unwrap().text()
    }
}

fn passage(message: usize, text: &str) -> Passage {
    Passage { message, role: Role::User, text: text.to_owned() }
}

#[test]
fn caller_passages_are_quoted_with_the_newest_user_message_and_stay_there() {
    let mut bed = Bed::folded();
    let before = bed.messages();
    bed.history.append(Message::user("How do I get in?"));
    let found = [passage(0, "The gate code is 4711.")];
    assert_eq!(bed.send(Some(&found)), Action::Extend);
    let newest = bed.newest();
    assert!(newest.starts_with("How do I get in?"), "{newest}");
    assert!(newest.contains("> message 1, user: The gate code is 4711."), "{newest}");
    assert!(newest.contains(REFERENCE_ONLY), "{newest}");
    let first = bed.messages();
    assert_eq!(first[..before.len()], before, "nothing before it changes");
    // The next call of the same turn finds something else, and still sends the same.
    bed.history.append(Message::assistant("Through the gate."));
    bed.send(Some(&[passage(1, "Noted.")]));
    assert_eq!(bed.messages()[..first.len()], first);
}

#[test]
fn what_the_context_shows_is_not_quoted() {
    let mut bed = Bed::folded();
    bed.history.append(Message::user("What about roses?"));
    let shown = "Answer 11 on roses and tulips.";
    assert!(bed.sent().contains(shown));
    let ellipsis = format!("…{shown}…");
    bed.send(Some(&[passage(25, shown), passage(25, &ellipsis), passage(26, "What about roses?")]));
    assert_eq!(bed.newest(), "What about roses?");
}

/// A result that was too long to be sent whole is shown in part only: a passage of the rest is
/// quoted.
#[test]
fn passage_of_the_part_that_was_left_out_is_quoted() {
    let mut bed = Bed::new("stages = [\"cap\", \"recall\"]\n[cap]\nmax = 100\n[recall]\nmax = 200");
    let output = format!("{}port 5433 refused\n{}", "ok\n".repeat(900), "ok\n".repeat(900));
    bed.history.append(Message::user("Run it."));
    let call = ToolCall::new("1", "run", "{}");
    bed.history.append(Message::assistant_with_calls("", [call]));
    bed.history.append(Message::tool_result("1", output));
    bed.send(Some(&[]));
    assert!(!bed.sent().contains("5433"), "{}", bed.sent());
    bed.history.append(Message::user("Which port was refused?"));
    bed.send(Some(&[passage(2, "…ok\nport 5433 refused\nok…")]));
    assert!(bed.newest().contains("> port 5433 refused\n> ok"), "{}", bed.newest());
}

#[test]
fn budget_and_number_of_passages_hold() {
    let mut bed = Bed::folded();
    bed.history.append(Message::user("And now?"));
    let long = "words that take room ".repeat(60);
    let found = [
        passage(0, &long),
        passage(0, "The gate code is 4711."),
        passage(2, "Question 0 on gardening"),
        passage(4, "Question 1 on gardening"),
    ];
    bed.send(Some(&found));
    let newest = bed.newest();
    assert!(!newest.contains("take room"), "over the budget: {newest}");
    assert!(newest.contains("4711") && newest.contains("Question 0"), "{newest}");
    assert!(!newest.contains("Question 1 "), "more than two: {newest}");
}

#[test]
fn search_without_a_result_quotes_nothing() {
    let mut bed = Bed::folded();
    bed.history.append(Message::user("What was the code of the gate?"));
    let own = bed.plan(None);
    assert!(format!("{:?}", own.slots).contains("4711"), "without a caller's search");
    bed.send(Some(&[]));
    assert_eq!(bed.newest(), "What was the code of the gate?");
}

/// A fold drops the message, so the fold itself quotes it.
#[test]
fn fold_quotes_what_it_drops() {
    let mut bed = Bed::new(POLICY);
    bed.history.append(Message::user("The gate code is 4711."));
    for n in 0..8 {
        let words = "on roses and tulips ".repeat(20);
        bed.history.append(Message::assistant(format!("Answer {n} {words}")));
        bed.history.append(Message::user(format!("Question {n} {words}")));
    }
    let found = [passage(0, "The gate code is 4711."), passage(15, "Answer 7 on roses")];
    assert!(matches!(bed.send(Some(&found)), Action::Fold { .. }));
    let newest = bed.newest();
    assert!(newest.starts_with("Question 7") && newest.contains("4711"), "{newest}");
    assert!(!newest.contains("Answer 7"), "it is still shown: {newest}");
}

/// With the caller's passages a resumed session needs only the end of its history.
#[test]
fn resumed_history_is_extended_without_loading_the_rest() {
    let bed = Bed::folded();
    let past = bed.history.past();
    let slots = bed.generation.stored(&bed.history, 0);
    let generation = Generation::restore(bed.generation.head(), slots, |index| {
        bed.history.source(index).cloned()
    });
    let mut history =
        History::after(Counter::new(Method::Chars4, 1_000), past, generation.views(past.messages));
    for index in past.messages..bed.history.len() {
        history.append(bed.history.source(index).unwrap().clone());
    }
    history.append(Message::user("How do I get in?"));
    let mut resumed = Bed { policy: bed.policy, history, generation };
    assert!(!resumed.history.is_whole());
    assert!(extend(&resumed.input(None)).is_none(), "the whole history would be searched");
    let found = [passage(0, "The gate code is 4711.")];
    let plan = extend(&resumed.input(Some(&found))).unwrap();
    resumed.generation.freeze(&resumed.history, plan);
    assert!(resumed.newest().contains("4711"), "{}", resumed.newest());
}
