//! Planning: an *extend* after more and more earlier messages, and a fold of a history of a million
//! tokens.
#![allow(clippy::unwrap_used, reason = "a benchmark fails loudly")]

use std::sync::{Arc, LazyLock};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use waterline::history::History;
use waterline::message::{Message, Part, Role, ToolCall};
use waterline::model::{Model, Models};
use waterline::plan::{Action, Budget, Generation, Input, plan};
use waterline::policy::{PRESETS, Policy};

static UNKNOWN: LazyLock<Arc<Model>> = LazyLock::new(|| Models::builtin().unknown());

/// A coding session: a request, then steps that read files, and a new request now and then.
fn session(messages: usize, words: usize) -> impl Iterator<Item = Message> {
    (0..messages).map(move |at| match at % 40 {
        0 => Message::user(format!(
            "Please fix issue {at} in src/module_{}/parser.rs and run the tests.",
            at % 97
        )),
        step if step % 2 == 1 => {
            let arguments = format!(
                "{{\"path\":\"src/module_{}/file_{}.rs\",\"offset\":{at}}}",
                at % 97,
                at % 1_013
            );
            Message::assistant_with_calls(
                "",
                [ToolCall::new(format!("call_{at}"), "read_file", arguments)],
            )
        }
        _ => Message::tool_result(format!("call_{}", at - 1), output(at, words)),
    })
}

fn output(at: usize, words: usize) -> String {
    let line = |n: usize| {
        format!(
            "    let value_{} = parse_line(&input_{}, {})?; // see docs/page_{}.md\n",
            (at * 7 + n) % 4_001,
            n % 53,
            at + n,
            n % 211
        )
    };
    (0..words / 12).map(line).collect()
}

fn input<'a>(
    history: &'a History,
    generation: &'a Generation,
    policy: &'a Policy,
    window: usize,
) -> Input<'a> {
    Input::new(history, generation, policy, Budget::of(window), &UNKNOWN)
}

fn extend(c: &mut Criterion) {
    let policy = Policy::preset("auto").unwrap();
    let mut group = c.benchmark_group("extend");
    for earlier in [100, 1_000, 10_000, 100_000] {
        let mut history = History::of(Models::builtin().unknown().counter(), session(earlier, 60));
        let mut generation = Generation::new();
        let window = 1_000_000_000;
        let first = plan(&input(&history, &generation, &policy, window));
        generation.freeze(&history, first);
        history.append(Message::user("And now the next step, please."));
        group.bench_function(BenchmarkId::new("plan one new message", earlier), |b| {
            b.iter(|| plan(&input(&history, &generation, &policy, window)));
        });
        group.bench_function(BenchmarkId::new("append, plan, freeze", earlier), |b| {
            let mut at = 0;
            b.iter(|| {
                at += 1;
                let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
                history.append(Message::new(role, vec![Part::text("One more short message.")]));
                let next = plan(&input(&history, &generation, &policy, window));
                generation.freeze(&history, next);
            });
        });
    }
    group.finish();
}

fn fold(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold a million tokens");
    group.sample_size(20);
    let model = Models::builtin().find("gpt-4o").unwrap();
    let history = History::of(model.counter(), session(2_100, 420));
    assert!((900_000..1_300_000).contains(&history.tokens()), "{}", history.tokens());
    for preset in PRESETS {
        let policy = Policy::preset(preset.name).unwrap();
        for window in [32_000, 200_000] {
            let generation = Generation::new();
            assert!(matches!(
                plan(&input(&history, &generation, &policy, window)).action,
                Action::Fold { .. }
            ));
            group.bench_function(BenchmarkId::new(preset.name, window), |b| {
                b.iter_batched(
                    || (),
                    |()| plan(&input(&history, &generation, &policy, window)),
                    BatchSize::SmallInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, extend, fold);
criterion_main!(benches);
