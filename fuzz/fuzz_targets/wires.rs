//! Runs any bytes through parse → plan → render → check, on every wire. The first four bytes choose
//! the wires, the preset, the window and how often a call is made; the rest is the conversation.
//! Nothing may panic, and every context must be valid.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use waterline::history::History;
use waterline::message::{Message, Wire};
use waterline::model::Models;
use waterline::plan::{Budget, Generation, Input, plan};
use waterline::policy::{PRESETS, Policy};
use waterline::tokens::{Counter, Method};
use waterline_provider::wire;

const WINDOWS: [usize; 4] = [60, 600, 6_000, 60_000];

fuzz_target!(|data: &[u8]| {
    let [wires, preset, window, interval, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let all = wire::all();
    let from = all[usize::from(wires % 4)];
    let to = all[usize::from(wires / 4 % 4)];
    let Ok(conversation) = wire::parse(&Arc::new(text.to_owned()), Some(from)) else { return };
    let policy = Policy::preset(PRESETS[usize::from(*preset) % PRESETS.len()].name).unwrap();
    let budget = Budget::of(WINDOWS[usize::from(window % 4)]);
    let mut history = History::new(Counter::new(Method::Chars4, 100));
    let mut generation = Generation::new();
    let model = Models::builtin().resolve("claude-opus-5-5");
    let count = conversation.messages.len();
    for (at, message) in conversation.messages.into_iter().enumerate() {
        history.append(message);
        if (at + 1) % (usize::from(interval % 8) + 1) != 0 && at + 1 != count {
            continue;
        }
        let planned = plan(&Input::new(&history, &generation, &policy, budget, &model));
        generation.freeze(&history, planned);
        let context: Vec<&Message> = generation.context(&history).collect();
        let rendered = wire::render(to, &context);
        // If the context has only items of another wire, there is nothing to send.
        if !rendered.messages.is_empty() {
            let found = wire::check(to, &rendered.texts());
            assert!(found.is_empty(), "{from} to {to}: {found:?}\n{:#?}", rendered.texts());
        }
    }
});
