//! One policy under one window, call after call.

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};
use waterline::history::View;
use waterline::ledger::{Shown, text_of};
use waterline::message::Message;
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
    seen: Sight,
    /// By value, the fold after which the context no longer showed it; only where that was asked
    /// for.
    gone: Option<FxHashMap<usize, usize>>,
    tally: Counters,
    calls: Vec<CallFigures>,
    folds: Vec<Fold>,
    lost: Vec<Lost>,
    training_folds: Option<Vec<TrainingFold>>,
    /// Tokens of the last prompt.
    sent: usize,
}

/// What a context shows: messages as they are, and texts made for it.
#[derive(Debug, Default)]
struct Sight {
    whole: Vec<bool>,
    made: String,
    verbatim: usize,
}

impl<'a> Track<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        window: usize,
        model: &'a Model,
        setup: &ReplayConfig,
    ) -> Self {
        Self {
            policy,
            window,
            model,
            generation: Generation::new(),
            seen: Sight::default(),
            gone: setup.trace.then(FxHashMap::default),
            tally: Counters { conversations: 1, ..Counters::default() },
            calls: Vec::new(),
            folds: Vec::new(),
            lost: Vec::new(),
            training_folds: setup.learn.then(Vec::new),
            sent: 0,
        }
    }

    /// The context of the last call.
    pub(crate) fn context<'b>(&'b self, walk: &'b Walk) -> impl Iterator<Item = &'b Message> {
        self.generation.context(&walk.history)
    }

    /// Plans one call and measures its context.
    pub(crate) fn call(&mut self, walk: &Walk, call: &Call<'_>) {
        let next = plan(&Input::new(
            &walk.history,
            &self.generation,
            self.policy,
            walk.budget(self.window),
            self.model,
        ));
        let is_fold = matches!(next.action, Action::Fold { .. });
        let mut bill = self.summary_call(&next, call);
        let same = self.freeze(walk, next, call);
        let all = self.generation.tokens() + walk.tools();
        let prompt = call.prices.prompt(same.min(all), all, call.is_cold);
        bill.add(prompt);
        self.sent = all;
        self.tally.bill.add(bill);
        self.measure(walk, call, prompt, all);
        if self.is_invalid(walk, is_fold || call.is_last) {
            self.tally.invalid += 1;
        }
    }

    /// What it costs to have a summary made, where a policy wants a model to make it: the last
    /// prompt is read once more, and the summary is written.
    fn summary_call(&self, next: &Plan, call: &Call<'_>) -> Bill {
        let Some(wanted) = &next.wanted else { return Bill::default() };
        let mut bill = call.prices.prompt(self.sent, self.sent, call.is_cold);
        // A model's summary is taken to be as long as the digest that stands in its place.
        let notes = next
            .slots
            .iter()
            .filter(|slot| slot.treatment == Treatment::Summary)
            .map(|slot| slot.tokens);
        bill.cost +=
            crate::price::tokens(notes.sum::<usize>().min(wanted.max_tokens)) * call.prices.output;
        bill
    }

    /// Takes in the plan; the tokens of the prefix that the last prompt had too.
    fn freeze(&mut self, walk: &Walk, next: Plan, call: &Call<'_>) -> usize {
        let Action::Fold { from, .. } = next.action else {
            let start = self.generation.slots().len();
            self.generation.freeze(&walk.history, next);
            self.seen.take(walk, self.generation.slots().get(start..).unwrap_or_default());
            return self.sent;
        };
        let old: Vec<View> = views(&self.generation).cloned().collect();
        let was_seen = std::mem::take(&mut self.seen);
        self.generation.freeze(&walk.history, next);
        self.seen.take(walk, self.generation.slots());
        if let Some(training_folds) = &mut self.training_folds {
            training_folds.push(training_fold(walk, &self.generation));
        }
        self.tally.folds += 1;
        let number = self.folds.len() + 1;
        let to = self.generation.tokens() + walk.tools();
        self.folds.push(Fold { number, before: call.index, from, to });
        if let Some(gone) = &mut self.gone {
            let places = |value: usize| call.needs.places_before(value, walk.history.len());
            for (value, text) in
                call.needs.values.iter().enumerate().filter(|(value, _)| !places(*value).is_empty())
            {
                if was_seen.shows(text, places(value)) && !self.seen.shows(text, places(value)) {
                    gone.insert(value, number);
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
            message: call.index,
            tokens: all,
            read: prompt.read,
            retained: 0,
            values: 0,
        };
        for tool in call.tools {
            let mut missing = 0;
            for &value in &tool.seen {
                let Some(text) = call.needs.values.get(value) else { continue };
                let places = call.needs.places_before(value, walk.history.len());
                figures.values += 1;
                if !self.seen.shows_whole(places)
                    && let Some(training_fold) = self
                        .training_folds
                        .as_mut()
                        .and_then(|training_folds| training_folds.last_mut())
                {
                    training_fold.need(text);
                }
                if self.seen.shows(text, places) {
                    figures.retained += 1;
                } else {
                    missing += 1;
                    self.note_lost(walk, call, value, &tool.tool);
                }
            }
            self.tally.calls += 1;
            self.tally.intact += usize::from(missing == 0);
        }
        let tokens = all.saturating_sub(walk.beside());
        self.tally.values += figures.values;
        self.tally.retained += figures.retained;
        self.tally.contexts += 1;
        self.tally.tokens += tokens;
        self.tally.tokens_max = self.tally.tokens_max.max(tokens);
        self.tally.over += usize::from(tokens > self.window);
        self.tally.verbatim += self.seen.verbatim;
        self.calls.push(figures);
    }

    fn note_lost(&mut self, walk: &Walk, call: &Call<'_>, value: usize, tool: &str) {
        let Some(gone) = &self.gone else { return };
        let Some(seen) = call.needs.last_place(value, walk.history.len()) else { return };
        let fold = gone.get(&value).and_then(|&number| self.folds.get(number - 1)).copied();
        let Some(value) = call.needs.values.get(value).cloned() else { return };
        let index = |at: usize| call.indices.get(at).copied().unwrap_or(at);
        let by = walk
            .history
            .source(seen)
            .map_or_else(String::new, |message| speaker(walk, seen, message));
        self.lost.push(Lost {
            value,
            seen: index(seen),
            by,
            needed: call.index,
            tool: tool.to_owned(),
            fold,
        });
    }

    /// Neutral rules are checked before every call; those of the wire whenever the context begins
    /// anew, and at the end: in between it only grows.
    fn is_invalid(&self, walk: &Walk, whole: bool) -> bool {
        if !validity::check(self.context(walk)).is_empty() {
            return true;
        }
        let messages: Vec<&Message> = self.context(walk).collect();
        whole && !wire::check(walk.wire, &wire::render(walk.wire, &messages).texts()).is_empty()
    }

    pub(crate) fn finish(mut self, append_only: Bill) -> Outcome {
        self.tally.append_only = append_only;
        Outcome {
            policy: self.policy.name.clone(),
            window: self.window,
            tally: self.tally,
            calls: self.calls,
            folds: self.folds,
            lost: self.lost,
            training_folds: self.training_folds.unwrap_or_default(),
        }
    }
}

impl Sight {
    fn take(&mut self, walk: &Walk, slots: &[waterline::plan::Slot]) {
        let history = &walk.history;
        self.whole.resize(history.len(), false);
        for view in slots.iter().flat_map(|slot| &slot.views) {
            match view {
                View::Source(index) if !history.is_repaired(*index) => {
                    if let Some(whole) = self.whole.get_mut(*index) {
                        *whole = true;
                    }
                    let is_said = history
                        .source(*index)
                        .is_some_and(|m| m.role != waterline::message::Role::System);
                    self.verbatim += if is_said { history.message_tokens(*index) } else { 0 };
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

    fn is_whole(&self, message: usize) -> bool {
        self.whole.get(message).copied().unwrap_or(false)
    }

    fn shows_whole(&self, places: &[usize]) -> bool {
        places.iter().rev().any(|&place| self.is_whole(place))
    }

    fn shows(&self, value: &str, places: &[usize]) -> bool {
        self.shows_whole(places) || memmem::find(self.made.as_bytes(), value.as_bytes()).is_some()
    }
}

/// What the fold that began a generation could have listed: what it did list, and what its context
/// does not show.
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

/// Who said a message: the tool, where it is a result.
fn speaker(walk: &Walk, at: usize, message: &Message) -> String {
    let called = message.results().next().and_then(|result| {
        let calls = (0..at).rev().filter_map(|at| walk.history.source(at)).flat_map(Message::calls);
        calls.into_iter().find(|call| call.id == result.call_id).map(|call| call.name.clone())
    });
    called.unwrap_or_else(|| message.role.name().to_owned())
}
