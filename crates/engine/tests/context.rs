//! The engine as one object, as an application uses it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::plan::Generation;
use waterline::{
    Context, Counter, FoldLevel, Message, Method, Model, ModelEntry, Models, Policy, Tool,
    ToolCall, Treatment, WarningKind,
};

fn small() -> Context {
    Context::builder().window(2_000).counter(Counter::new(Method::Chars4, 1_000)).build().unwrap()
}

fn turn(at: usize) -> [Message; 2] {
    let filler = "words that fill the window ".repeat(12);
    [
        Message::user(format!("question {at}: {filler}")),
        Message::assistant(format!("answer {at}: {filler}")),
    ]
}

fn texts(messages: Vec<&Message>) -> Vec<String> {
    messages.into_iter().map(Message::text).collect()
}

/// Between folds, a context starts with the one before it.
#[test]
fn a_committed_plan_is_the_prefix_of_the_next() {
    let mut context = small();
    context.extend(turn(0));
    let first = texts(context.plan().commit());
    context.extend(turn(1));
    let second = texts(context.plan().commit());
    assert_eq!(second[..first.len()], first);
    assert_eq!(second.len(), 4);
}

#[test]
fn a_dropped_plan_leaves_the_context_as_it_was() {
    let mut context = small();
    (0..20).for_each(|at| context.extend(turn(at)));
    let inspected = context.plan();
    let reason = inspected.reasons().cloned();
    assert!(reason.is_some(), "it would fold");
    drop(inspected);
    assert_eq!(context.messages().count(), 0);
    assert_eq!(context.plan().reasons().cloned(), reason);
}

/// The plan that is dropped may have a model's summary: the next plan wants it again.
#[test]
fn a_dropped_plan_leaves_no_summary() {
    const SUMMARY: &str = "They spoke about many questions.";
    let policy = Policy::preset_with("auto", &[("summarise.mode".into(), "blocking".into())]);
    let mut context = small();
    context.set_policy(policy.unwrap());
    (0..20).for_each(|at| context.extend(turn(at)));
    drop(context.plan().with_summary(SUMMARY));
    let again = context.plan();
    assert!(again.wanted().is_some());
    assert!(!texts(again.commit()).concat().contains(SUMMARY));
    // A committed one stays for the next fold.
    let summarized = context.fold(FoldLevel::ByPolicy, "test").with_summary(SUMMARY);
    assert!(texts(summarized.commit()).concat().contains(SUMMARY));
    let again = context.fold(FoldLevel::Harder, "test");
    assert!(texts(again.commit()).concat().contains(SUMMARY));
}

/// Every message is in exactly one slot, and a summary has a reason.
#[test]
fn every_message_is_in_one_slot() {
    let mut context = small();
    (0..20).for_each(|at| context.extend(turn(at)));
    context.plan().commit();
    let mut sources: Vec<usize> =
        context.slots().iter().flat_map(|slot| slot.sources.clone()).collect();
    sources.sort_unstable();
    assert_eq!(sources, (0..40).collect::<Vec<_>>());
    let summary = context.slots().iter().find(|slot| slot.treatment == Treatment::Summary).unwrap();
    assert!(!summary.reasons.is_empty());
}

#[test]
fn a_fold_on_request_has_its_reason_and_keeps_pins() {
    let mut context = small();
    context.set_window(100_000);
    let pinned = context.push(Message::user("the code is quetzal-17"));
    (0..20).for_each(|at| context.extend(turn(at)));
    context.plan().commit();
    context.pin(pinned + 3);
    let next = context.fold(FoldLevel::Minimal, "the user asked for it");
    assert_eq!(next.reasons(), Some(&"the user asked for it".into()));
    let sent = texts(next.commit());
    assert!(sent.iter().any(|text| text.starts_with("question 1:")), "{sent:?}");
    assert!(!sent.iter().any(|text| text.starts_with("question 5:")), "{sent:?}");
}

/// The provider's token counts correct the estimates.
#[test]
fn recorded_usage_corrects_the_count() {
    let mut context = small();
    context.extend(turn(0));
    let before = context.plan().tokens();
    context.plan().commit();
    for _ in 0..50 {
        context.record_usage(before.context * 2);
    }
    let tokens = context.plan().tokens();
    assert!(
        tokens.context > before.context * 19 / 10,
        "{} after {}",
        tokens.context,
        before.context
    );
}

#[test]
fn a_clone_shares_nothing() {
    let mut context = small();
    context.extend(turn(0));
    context.plan().commit();
    let mut other = context.clone();
    other.extend(turn(1));
    other.plan().commit();
    assert_eq!((context.messages().count(), other.messages().count()), (2, 4));
}

#[test]
fn a_late_summary_is_used_by_a_fold_on_request() {
    let policy =
        Policy::preset_with("auto", &[("summarise.mode".to_owned(), "background".to_owned())])
            .unwrap();
    let counter = Counter::new(Method::Chars4, 1_000);
    let mut context =
        Context::builder().policy(policy).window(2_000).counter(counter).build().unwrap();
    (0..20).for_each(|at| context.extend(turn(at)));
    let next = context.plan();
    let wanted = next.wanted().cloned().unwrap();
    assert!(!wanted.schema.request.is_empty());
    next.commit();
    context.add_summary(wanted.summary("Twenty questions were answered."));
    let sent = texts(context.fold(FoldLevel::ByPolicy, "the summary is ready").commit());
    assert!(sent.iter().any(|text| text.contains("Twenty questions were answered.")), "{sent:?}");
}

/// The prompt for a summary follows the language of the conversation; a prompt in the policy is
/// used for every language.
#[test]
fn the_prompt_of_a_wanted_summary_follows_the_conversation() {
    let request = |question: &str, prompt: &str| {
        let settings = [("summarise.mode", "blocking"), ("summarise.prompt", prompt)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let policy = Policy::preset_with("auto", &settings).unwrap();
        let counter = Counter::new(Method::Chars4, 1_000);
        let mut context =
            Context::builder().policy(policy).window(2_000).counter(counter).build().unwrap();
        for _ in 0..20 {
            context.push(Message::user(question.repeat(20)));
            context.push(Message::assistant("An answer in English. ".repeat(20)));
        }
        let next = context.plan();
        next.wanted().unwrap().schema.request.clone()
    };
    let english = request("Why does the build fail? ", "");
    let chinese = request("为什么构建失败了？", "");
    assert!(english.starts_with("Summarize the conversation"), "{english}");
    assert!(chinese.starts_with("请总结"), "{chinese}");
    assert_eq!(request("Why does the build fail? ", "List the files."), "List the files.");
    assert_eq!(request("为什么构建失败了？", "List the files."), "List the files.");
}

/// An unknown name, a name in the catalog, and a model.
#[test]
fn the_model_sets_the_window_and_the_counter() {
    let unknown = Context::builder().model("my-model").build().unwrap();
    assert!(unknown.warnings().any(|warning| warning.kind == WarningKind::UnknownModel));
    let mut entry = ModelEntry::new("my-model");
    entry.window = Some(10_000);
    entry.output = Some(1_000);
    let described = Context::builder()
        .models(Models::builtin().with([entry]))
        .model("my-model")
        .build()
        .unwrap();
    assert_eq!(described.budget().window, 9_000);
    assert_eq!(described.warnings().count(), 0);
    let mut model = Model::new("another");
    model.tokenizer = Method::O200k;
    let given = Context::builder().model(model).output(768).build().unwrap();
    assert_eq!(given.budget().window, 32_000);
    assert_eq!(given.counter().method(), Method::O200k);
}

#[test]
fn an_unknown_policy_is_rejected_with_the_known_ones() {
    let error = Context::builder().policy("nothing-like-it").build().unwrap_err().to_string();
    assert!(error.contains("nothing-like-it") && error.contains("auto"), "{error}");
}

/// A context that was stored and resumed sends the same as one that was not.
#[test]
fn a_resumed_context_continues_where_it_stopped() {
    let mut context = small();
    (0..20).for_each(|at| context.extend(turn(at)));
    context.plan().commit();
    let head = context.generation().head();
    let slots = context.generation().stored(context.history(), 0);
    let generation = Generation::restore(head, slots, |_| None);
    let mut resumed = Context::builder()
        .window(2_000)
        .resume(context.history().clone(), generation)
        .build()
        .unwrap();
    for one in [&mut context, &mut resumed] {
        one.push(Message::user("one more"));
    }
    assert_eq!(texts(context.plan().commit()), texts(resumed.plan().commit()));
}

/// The truncations of a text are data of its slot, also as JSON.
#[test]
fn a_slot_records_truncations_and_their_artifacts() {
    let policy = Policy::read("stages = [\"cap\"]\n[cap]\nmax = 200", &[]).unwrap();
    let counter = Counter::new(Method::Chars4, 1_000);
    let mut context =
        Context::builder().policy(policy).window(100_000).counter(counter).build().unwrap();
    let output = "a line of output\n".repeat(1_000);
    context.push(Message::user("look"));
    context.push(Message::assistant_with_calls("", [ToolCall::new("1", "look", "{}")]));
    context.push(Message::tool_result("1", &*output));
    context.plan().commit();
    let slot = context.slots().iter().find(|slot| slot.treatment == Treatment::Trimmed).unwrap();
    let cuts: Vec<_> = slot.truncations().collect();
    assert_eq!((cuts.len(), cuts[0].view, cuts[0].part, cuts[0].inner), (1, 1, 0, Some(0)));
    assert_eq!(cuts[0].truncated.total, 17_000);
    assert!(cuts[0].truncated.omitted > 16_000);
    assert_eq!(cuts[0].truncated.artifact, Some(waterline::truncate::artifact_id(&output)));
    let json = serde_json::to_value(slot).unwrap();
    assert_eq!(json["truncated"][0]["total"], 17_000);
    let whole = context.slots().iter().find(|slot| slot.treatment == Treatment::Verbatim).unwrap();
    assert_eq!(serde_json::to_value(whole).unwrap().get("truncated"), None);
}

/// A tool is sent with every call, so its definition takes tokens.
#[test]
fn tools_count() {
    let counter = Counter::new(Method::Chars4, 1_000);
    let tool = Tool::new("tide", "Look up the next high tide.", r#"{"type":"object"}"#);
    let tokens = counter.tool(&tool);
    assert!(tokens > 10, "{tokens}");
    let mut with = Context::builder().counter(counter).tool(tool).build().unwrap();
    let mut without = Context::builder().counter(counter).build().unwrap();
    for context in [&mut with, &mut without] {
        context.push(Message::user("How high is the tide?"));
    }
    assert_eq!(with.plan().tokens().context, without.plan().tokens().context + tokens);
}
