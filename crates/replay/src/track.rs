//! [`Track`] follows one policy under one window through a conversation, call by call.

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};
use waterline::history::View;
use waterline::ledger::{Shown, text_of};
use waterline::message::{Message, Role};
use waterline::model::Model;
use waterline::plan::{Action, Generation, Input, Plan, Treatment, plan};
use waterline::policy::Policy;
use waterline::validity;
use waterline_provider::wire;

use crate::counters::Counters;
use crate::lost::{Fold, Lost};
use crate::outcome::{CallFigures, Outcome, ReplayConfig};
use crate::price::Bill;
use crate::training_fold::TrainingFold;
use crate::walk::{Call, Walk};

/// One policy under one window.
#[derive(Debug)]
pub(crate) struct Track<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) window: usize,
    model: &'a Model,
    generation: Generation,
    visible: Visible,
    /// The fold that dropped a value, by value; only if tracing is on.
    dropped_by: Option<FxHashMap<usize, usize>>,
    counters: Counters,
    calls: Vec<CallFigures>,
    folds: Vec<Fold>,
    lost: Vec<Lost>,
    training_folds: Option<Vec<TrainingFold>>,
    /// Tokens of the last prompt.
    sent: usize,
}

/// What a context shows: verbatim messages, and texts made for the context.
#[derive(Debug, Default)]
struct Visible {
    /// Whether each message is in the context verbatim.
    verbatim: Vec<bool>,
    /// The other texts, separated by NUL.
    made: String,
    /// Tokens of the verbatim messages.
    verbatim_tokens: usize,
}

impl<'a> Track<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        window: usize,
        model: &'a Model,
        config: &ReplayConfig,
    ) -> Self {
        Self {
            policy,
            window,
            model,
            generation: Generation::new(),
            visible: Visible::default(),
            dropped_by: config.trace.then(FxHashMap::default),
            counters: Counters { conversations: 1, ..Counters::default() },
            calls: Vec::new(),
            folds: Vec::new(),
            lost: Vec::new(),
            training_folds: config.learn.then(Vec::new),
            sent: 0,
        }
    }

    /// Returns the context of the last call.
    pub(crate) fn context<'b>(&'b self, walk: &'b Walk) -> impl Iterator<Item = &'b Message> {
        self.generation.context(&walk.history)
    }

    /// Plans one call and measures its context.
    pub(crate) fn call(&mut self, walk: &Walk, call: &Call<'_>) {
        let budget = walk.budget(self.window);
        let input = Input::new(&walk.history, &self.generation, self.policy, budget, self.model);
        let next = plan(&Input { found_passages: walk.passages(), ..input });
        let is_fold = matches!(next.action, Action::Fold { .. });
        let mut bill = self.summary_call(&next, call);
        let same = self.use_plan(walk, next, call);
        let all = self.generation.tokens() + walk.tools();
        let prompt = call.prices.prompt(same.min(all), all, call.is_cold);
        bill.add(prompt);
        self.sent = all;
        self.counters.bill.add(bill);
        self.measure(walk, call, prompt, all);
        if self.is_invalid(walk, is_fold || call.is_last) {
            self.counters.invalid += 1;
        }
    }

    /// Returns the cost of a summary, if the plan wants a model to write one: the last prompt is
    /// read again, and the summary is output.
    fn summary_call(&self, next: &Plan, call: &Call<'_>) -> Bill {
        let Some(wanted) = &next.wanted else { return Bill::default() };
        let mut bill = call.prices.prompt(self.sent, self.sent, call.is_cold);
        // A model's summary is assumed to be as long as the digest that is used here instead.
        let digests = next
            .slots
            .iter()
            .filter(|slot| slot.treatment == Treatment::Summary)
            .map(|slot| slot.tokens);
        bill.cost += crate::price::tokens(digests.sum::<usize>().min(wanted.max_tokens))
            * call.prices.output;
        bill
    }

    /// Makes a plan the context. Returns the tokens of the prefix that is the same as in the last
    /// prompt.
    fn use_plan(&mut self, walk: &Walk, next: Plan, call: &Call<'_>) -> usize {
        let Action::Fold { from, .. } = next.action else {
            let start = self.generation.slots().len();
            self.generation.freeze(&walk.history, next);
            self.visible.add(walk, self.generation.slots().get(start..).unwrap_or_default());
            return self.sent;
        };
        let old: Vec<View> = views(&self.generation).cloned().collect();
        let was_visible = std::mem::take(&mut self.visible);
        self.generation.freeze(&walk.history, next);
        self.visible.add(walk, self.generation.slots());
        if let Some(training_folds) = &mut self.training_folds {
            training_folds.push(training_fold(walk, &self.generation));
        }
        self.counters.folds += 1;
        self.counters.fold_verbatim += self.visible.verbatim_tokens;
        self.counters.fold_window += self.window;
        let number = self.folds.len() + 1;
        let to = self.generation.tokens() + walk.tools();
        self.folds.push(Fold { number, before: call.number, from, to });
        if let Some(dropped_by) = &mut self.dropped_by {
            for (value, text) in call.needs.values.iter().enumerate() {
                let positions = call.needs.positions_before(value, walk.history.len());
                if !positions.is_empty()
                    && was_visible.shows(text, positions)
                    && !self.visible.shows(text, positions)
                {
                    dropped_by.insert(value, number);
                }
            }
        }
        if self.sent == 0 {
            return 0;
        }
        let same = old.iter().zip(views(&self.generation)).take_while(|(a, b)| is_same(a, b));
        walk.tools() + same.map(|(view, _)| view.tokens(&walk.history)).sum::<usize>()
    }

    fn measure(&mut self, walk: &Walk, call: &Call<'_>, prompt: Bill, all: usize) {
        let mut figures = CallFigures {
            message: call.number,
            tokens: all,
            read: prompt.read,
            retained: 0,
            values: 0,
        };
        for tool in call.tools {
            let mut missing = 0;
            for &value in &tool.seen {
                let Some(text) = call.needs.values.get(value) else { continue };
                let positions = call.needs.positions_before(value, walk.history.len());
                figures.values += 1;
                if !self.visible.shows_verbatim(positions)
                    && let Some(training_fold) = self
                        .training_folds
                        .as_mut()
                        .and_then(|training_folds| training_folds.last_mut())
                {
                    training_fold.need(text);
                }
                if self.visible.shows(text, positions) {
                    figures.retained += 1;
                } else {
                    missing += 1;
                    self.note_lost(walk, call, value, &tool.tool);
                }
            }
            self.counters.calls += 1;
            self.counters.intact += usize::from(missing == 0);
        }
        let tokens = all.saturating_sub(walk.overhead());
        self.counters.values += figures.values;
        self.counters.retained += figures.retained;
        self.counters.contexts += 1;
        self.counters.tokens += tokens;
        self.counters.tokens_max = self.counters.tokens_max.max(tokens);
        self.counters.over += usize::from(tokens > self.window);
        self.counters.verbatim += self.visible.verbatim_tokens;
        self.calls.push(figures);
    }

    fn note_lost(&mut self, walk: &Walk, call: &Call<'_>, value: usize, tool: &str) {
        let Some(dropped_by) = &self.dropped_by else { return };
        let Some(seen) = call.needs.last_position(value, walk.history.len()) else { return };
        let fold = dropped_by.get(&value).and_then(|&number| self.folds.get(number - 1)).copied();
        let Some(value) = call.needs.values.get(value).cloned() else { return };
        let number = |at: usize| call.numbers.get(at).copied().unwrap_or(at);
        let by = walk
            .history
            .source(seen)
            .map_or_else(String::new, |message| source_name(walk, seen, message));
        self.lost.push(Lost {
            value,
            seen: number(seen),
            by,
            needed: call.number,
            tool: tool.to_owned(),
            fold,
        });
    }

    /// Checks the context. The neutral rules are checked for every call; the rules of the wire only
    /// after a fold and at the end, because in between the context only grows.
    fn is_invalid(&self, walk: &Walk, check_wire: bool) -> bool {
        if !validity::check(self.context(walk)).is_empty() {
            return true;
        }
        let messages: Vec<&Message> = self.context(walk).collect();
        check_wire
            && !wire::check(walk.wire, &wire::render(walk.wire, &messages).texts()).is_empty()
    }

    pub(crate) fn finish(mut self, append_only: Bill) -> Outcome {
        self.counters.append_only = append_only;
        Outcome {
            policy: self.policy.name.clone(),
            window: self.window,
            counters: self.counters,
            calls: self.calls,
            folds: self.folds,
            lost: self.lost,
            training_folds: self.training_folds.unwrap_or_default(),
        }
    }
}

impl Visible {
    fn add(&mut self, walk: &Walk, slots: &[waterline::plan::Slot]) {
        let history = &walk.history;
        self.verbatim.resize(history.len(), false);
        for view in slots.iter().flat_map(|slot| &slot.views) {
            match view {
                View::Source(index) if !history.is_repaired(*index) => {
                    if let Some(verbatim) = self.verbatim.get_mut(*index) {
                        *verbatim = true;
                    }
                    let source = history.source(*index);
                    if source.is_some_and(|message| message.role != Role::System) {
                        self.verbatim_tokens += history.message_tokens(*index);
                    }
                }
                _ => {
                    if let Some(message) = view.message(history) {
                        self.made.push_str(&text_of(message));
                        self.made.push('\0');
                    }
                }
            }
        }
    }

    fn is_verbatim(&self, message: usize) -> bool {
        self.verbatim.get(message).copied().unwrap_or(false)
    }

    fn shows_verbatim(&self, positions: &[usize]) -> bool {
        positions.iter().rev().any(|&message| self.is_verbatim(message))
    }

    fn shows(&self, value: &str, positions: &[usize]) -> bool {
        self.shows_verbatim(positions)
            || memmem::find(self.made.as_bytes(), value.as_bytes()).is_some()
    }
}

/// Returns the training data of the fold that started a generation. The candidates are the values
/// that it listed and those that its context does not show.
fn training_fold(walk: &Walk, generation: &Generation) -> TrainingFold {
    let texts: Vec<String> = generation.context(&walk.history).map(text_of).collect();
    let mut shown = Shown::default();
    texts.iter().for_each(|text| shown.add(text));
    let listed: FxHashSet<&str> =
        generation.slots().iter().flat_map(|slot| &slot.listed).map(String::as_str).collect();
    let mut training_fold = TrainingFold::of(walk.history.values(), |value| {
        listed.contains(value) || !shown.has(value)
    });
    training_fold.room = listed.iter().map(|value| crate::price::tokens(value.len() + 1)).sum();
    training_fold
}

fn views(generation: &Generation) -> impl Iterator<Item = &View> {
    generation.slots().iter().flat_map(|slot| &slot.views)
}

fn is_same(a: &View, b: &View) -> bool {
    match (a, b) {
        (View::Source(a), View::Source(b)) => a == b,
        (View::Made(a), View::Made(b)) => a.role == b.role && a.parts == b.parts,
        _ => false,
    }
}

/// Returns the source of a message: the tool's name for a result, else the role.
fn source_name(walk: &Walk, at: usize, message: &Message) -> String {
    let called = message.results().next().and_then(|result| {
        let calls = (0..at).rev().filter_map(|at| walk.history.source(at)).flat_map(Message::calls);
        calls.into_iter().find(|call| call.id == result.call_id).map(|call| call.name.clone())
    });
    called.unwrap_or_else(|| message.role.name().to_owned())
}
