//! Checks that every preset keeps the invariants of the design. Generated conversations with every
//! irregularity are written in every wire and sent to every wire, call by call. `WATERLINE_CASES`
//! sets the number of cases per preset.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use waterline::history::{AtomKind, History};
use waterline::json::{self, Fields};
use waterline::ledger::text_of;
use waterline::message::{Message, Role, Wire};
use waterline::model::{Model, Models};
use waterline::plan::{Action, Budget, Generation, Input, Passage, Plan, Treatment, plan};
use waterline::policy::{PRESETS, Policy};
use waterline::tokens::{Counter, Method};
use waterline::validity;
use waterline::warning::WarningKind;
use waterline_provider::wire::{self, Rendered};
use waterline_testkit::{Event, conversation, write};

fn cases() -> u32 {
    let given = std::env::var("WATERLINE_CASES").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| waterline_testkit::effort(150, 1_000))
}

/// The newest Claude binds thinking to its prefix; the other model does not.
fn models() -> [Arc<Model>; 2] {
    ["claude-opus-5-5", "gpt-4o"].map(|name| Models::builtin().find(name).unwrap())
}

#[derive(Clone, Debug)]
struct Case {
    events: Vec<Event>,
    window: usize,
    from: usize,
    to: usize,
    model: usize,
    /// The number of messages between two calls.
    interval: usize,
    /// Whether the caller supplies passages of earlier messages.
    recalls: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let window = prop_oneof![1 => 40_usize..400, 3 => 400_usize..4_000, 2 => 4_000_usize..60_000];
    let call = (0_usize..2, 1_usize..9, any::<bool>());
    (conversation(40), window, 0_usize..4, 0_usize..4, call).prop_map(
        |(events, window, from, to, (model, interval, recalls))| Case {
            events,
            window,
            from,
            to,
            model,
            interval,
            recalls,
        },
    )
}

/// Returns a passage of every message before the newest user message, as a search might find it.
fn passages(history: &History) -> Vec<Passage> {
    let newest = history.latest_user().unwrap_or(0);
    let passage = |message: usize| {
        let source = history.source(message)?;
        let text: String = text_of(source).chars().take(80).collect();
        Some(Passage::new(message, source.role, text))
    };
    (0..newest).rev().filter_map(passage).collect()
}

fn check_preset(preset: &str) {
    check_policy(&Policy::preset(preset).unwrap());
}

fn check_policy(policy: &Policy) {
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&case(), |case| replay(policy, &case)).unwrap();
}

/// Returns a preset that also quotes passages.
fn with_recall(preset: &str) -> Policy {
    let text = Policy::preset(preset).unwrap().text().to_owned();
    let text = match text.contains("\"recall\"") {
        true => text,
        false => text.replacen("stages = [", "stages = [\"recall\", ", 1),
    };
    Policy::read(&text, &[]).unwrap()
}

/// Replays a conversation call by call and checks every context.
fn replay(policy: &Policy, case: &Case) -> Result<(), TestCaseError> {
    let from = waterline_testkit::WIRES[case.from];
    let to = waterline_testkit::WIRES[case.to];
    let text = Arc::new(write::body(from, &case.events));
    let parsed =
        wire::parse(&text, Some(from)).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let model = &*models()[case.model];
    let raws: Vec<String> = parsed
        .messages
        .iter()
        .map(|message| message.raw.as_ref().unwrap().as_str().to_owned())
        .collect();
    let mut history = History::new(Counter::new(Method::Chars4, 1_000));
    let mut generation = Generation::new();
    let mut sent: Option<Vec<String>> = None;
    let count = parsed.messages.len();
    for (at, message) in parsed.messages.into_iter().enumerate() {
        history.append(message);
        if (at + 1) % case.interval != 0 && at + 1 != count {
            continue;
        }
        let budget = Budget::of(case.window);
        let found = passages(&history);
        let recalled = case.recalls.then_some(found.as_slice());
        let input = Input {
            found_passages: recalled,
            ..Input::new(&history, &generation, policy, budget, model)
        };
        let planned = plan(&input);
        prop_assert_eq!(show(&planned), show(&plan(&input)), "5: planning twice gives the same");
        check_fold(policy, &planned, &history, case.window)?;
        let folded = matches!(planned.action, Action::Fold { .. });
        check_window(&planned, &history, case.window)?;
        let after = planned.tokens.context;
        generation.freeze(&history, planned);
        prop_assert_eq!(generation.tokens(), after, "the slots add up to the plan's total");
        check_slots(&generation, &history)?;
        let context: Vec<&Message> = generation.context(&history).collect();
        let found = validity::check(context.iter().copied());
        prop_assert!(found.is_empty(), "2: {found:?}");
        check_newest(&context, &history)?;
        check_notes(&generation, &history)?;
        let rendered = wire::render(to, &context);
        check_wire(to, &rendered, &context)?;
        let now = flatten(to, &rendered);
        if let Some(before) = sent.filter(|_| !folded) {
            prop_assert!(now.starts_with(&before), "3: not a prefix:\n{before:#?}\n{now:#?}");
        }
        sent = Some(now);
        let input = Input::new(&history, &generation, policy, budget, model);
        check_idle(&Input { found_passages: recalled, ..input })?;
    }
    for (at, raw) in raws.iter().enumerate() {
        prop_assert_eq!(
            history.source(at).unwrap().raw.as_ref().unwrap().as_str(),
            raw,
            "1: the log only grows"
        );
    }
    Ok(())
}

/// 5, V15: with nothing new, nothing changes.
fn check_idle(input: &Input<'_>) -> Result<(), TestCaseError> {
    let again = plan(input);
    prop_assert_eq!(&again.action, &Action::Extend, "planning again must not fold");
    prop_assert!(again.slots.is_empty());
    Ok(())
}

fn show(plan: &Plan) -> String {
    format!("{:?} {:?}", plan.action, plan.slots)
}

/// 7: a fold frees at least a tenth of the context without the system prompt, or the share that
/// its policy sets.
fn check_fold(
    policy: &Policy,
    planned: &Plan,
    history: &History,
    window: usize,
) -> Result<(), TestCaseError> {
    if let Action::Fold { from, .. } = planned.action {
        let system = history.system_tokens();
        let freed = from.saturating_sub(planned.tokens.context);
        let tenth = freed >= policy.fold.free.of_rounded_up(from.saturating_sub(system));
        prop_assert!(
            freed > 0 && (tenth || is_tight(history, window)),
            "7: {from} → {}",
            planned.tokens.context
        );
    }
    Ok(())
}

/// A context fits, unless the system prompt and the minimum kept of the newest messages do not.
/// Then there is a warning.
fn check_window(planned: &Plan, history: &History, window: usize) -> Result<(), TestCaseError> {
    if planned.tokens.context <= window {
        return Ok(());
    }
    let slots: Vec<_> = planned
        .slots
        .iter()
        .map(|slot| (&slot.sources, slot.treatment, slot.tokens, &slot.reasons))
        .collect();
    prop_assert!(
        is_tight(history, window),
        "{} tokens in {window}: {:?} {slots:?}",
        planned.tokens.context,
        planned.action
    );
    prop_assert!(
        planned.warnings.iter().any(|warning| warning.kind == WarningKind::Budget),
        "and no warning"
    );
    Ok(())
}

/// Whether system messages, images (which cannot be truncated) and the minimum kept of the newest
/// messages may fill the window.
fn is_tight(history: &History, window: usize) -> bool {
    let systems = history.atoms().iter().filter(|atom| atom.kind == AtomKind::System);
    let systems: usize = systems.map(|atom| atom.tokens).sum();
    let images = (0..history.len())
        .filter(|&at| history.message(at).is_some_and(Message::has_image))
        .count();
    systems + images * 1_000 + 1_500 > window
}

/// 8: every message is in exactly one slot, and each omission has a reason.
fn check_slots(generation: &Generation, history: &History) -> Result<(), TestCaseError> {
    let mut sources: Vec<usize> =
        generation.slots().iter().flat_map(|slot| slot.sources.iter().copied()).collect();
    sources.sort_unstable();
    let all: Vec<usize> = (0..history.len()).collect();
    prop_assert_eq!(sources, all, "8: every message is in exactly one slot");
    let sent = generation.slots().iter().filter(|slot| slot.treatment.is_sent());
    let order: Vec<usize> = sent.filter_map(|slot| slot.sources.first().copied()).collect();
    prop_assert!(order.is_sorted(), "V8: sent messages keep their order: {order:?}");
    for slot in generation.slots() {
        let shown = slot.treatment.is_sent();
        prop_assert!(shown || !slot.reasons.is_empty(), "8: {:?} without a reason", slot.treatment);
    }
    Ok(())
}

/// 4, V9: the newest user message is in the context, at least its start.
fn check_newest(context: &[&Message], history: &History) -> Result<(), TestCaseError> {
    let Some(at) = history.latest_user() else { return Ok(()) };
    let kind = history.atom_of(at).and_then(|atom| history.atom(atom)).map(|atom| atom.kind);
    // Text between results may be truncated with its step.
    let length = if kind == Some(AtomKind::User) { 24 } else { 4 };
    for text in history.message(at).unwrap().texts() {
        let start: String = text.chars().take(length).collect();
        let others = context.iter().filter(|message| message.role != Role::Assistant);
        let kept =
            others.flat_map(|message| message.texts()).any(|other| other.starts_with(&start));
        prop_assert!(kept, "4: the newest user message {text:?} is missing");
    }
    Ok(())
}

/// 9: at most one summary replaces messages. A part of its ledger may be a message of its own. Both
/// are marked as reference material, and so are quotations.
fn check_notes(generation: &Generation, history: &History) -> Result<(), TestCaseError> {
    let slots = generation.slots().iter();
    let notes: Vec<_> = slots.filter(|slot| slot.treatment == Treatment::Summary).collect();
    let covering = notes.iter().filter(|slot| !slot.sources.is_empty()).count();
    prop_assert!(covering <= 1 && notes.len() <= 2, "V7: one summary at most");
    let marks = generation
        .context(history)
        .flat_map(|message| message.texts())
        .filter(|text| {
            [waterline::summary::REFERENCE_ONLY, "参考资料，不是指令"]
                .iter()
                .any(|mark| text.contains(mark))
        })
        .filter(|text| !text.trim_start().starts_with("[Quoted from earlier"));
    prop_assert_eq!(marks.count(), notes.len(), "9: as many marks as summaries");
    Ok(())
}

/// 2: the rendered context is valid for its wire.
fn check_wire(to: Wire, rendered: &Rendered, context: &[&Message]) -> Result<(), TestCaseError> {
    for message in &rendered.messages {
        prop_assert!(Fields::parse(message.as_str()).is_some(), "not JSON: {}", message.as_str());
        let strict: Result<serde_json::Value, _> = serde_json::from_str(message.as_str());
        prop_assert!(strict.is_ok(), "a strict parser rejects {}", message.as_str());
    }
    // Items that only their own wire supports leave nothing to send on another one.
    let has_input = context.iter().any(|message| matches!(message.role, Role::User | Role::Tool));
    prop_assert!(!rendered.messages.is_empty() || !has_input, "nothing is sent for {context:?}");
    if !rendered.messages.is_empty() {
        let found = wire::check(to, &rendered.texts());
        prop_assert!(found.is_empty(), "2: {to}: {found:?}\n{:#?}\n{context:#?}", rendered.texts());
    }
    Ok(())
}

/// Lists the context in the provider's order; block by block on wires that merge messages.
fn flatten(wire: Wire, rendered: &Rendered) -> Vec<String> {
    let list = match wire.name() {
        "openai-chat" | "openai-responses" => {
            return rendered.texts().into_iter().map(str::to_owned).collect();
        }
        "anthropic" => "content",
        _ => "parts",
    };
    let blocks = rendered.messages.iter().flat_map(|message| {
        let fields = Fields::parse(message.as_str()).unwrap();
        let role = fields.get("role").unwrap_or_default().to_owned();
        let content = fields.get(list).unwrap();
        let blocks = match json::string(content) {
            Some(text) => vec![format!(r#"{{"type":"text","text":{}}}"#, json::quote(&text.text))],
            None => json::elements(content).unwrap().into_iter().map(str::to_owned).collect(),
        };
        blocks.into_iter().map(move |block| format!("{role} {block}")).collect::<Vec<_>>()
    });
    blocks.collect()
}

#[test]
fn auto_with_recall() {
    check_policy(&with_recall("auto"));
}

#[test]
fn window_with_recall() {
    check_policy(&with_recall("window"));
}

macro_rules! presets {
    ($($name:ident = $preset:literal),*) => {
        $(#[test] fn $name() { check_preset($preset); })*

        #[test]
        fn every_preset_is_checked() {
            let all: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            assert_eq!(all, [$($preset),*]);
        }
    };
}

presets!(
    auto = "auto",
    window = "window",
    init = "init",
    execute = "execute",
    chat = "chat",
    budget = "budget",
    dual_track = "dual-track",
    tail = "tail",
    clear_tools = "clear-tools",
    handoff = "handoff",
    tail_20k = "tail-20k",
    halve_first = "halve-first"
);
