//! From a history to what is sent next, and why. Pure: no clock, no input or output, no async.
//!
//! The usual answer is to *extend* the generation by the new messages; past the high mark it is a
//! *fold*.

mod assemble;
mod cost;
mod extend;
mod fold;
mod frozen;
mod generation;
mod ladder;
mod summary_block;

pub use crate::draft::{Budget, Draft, Item, Marks, Slot, Treatment, Truncation};
pub use frozen::{FrozenSlot, Head, Item as FrozenItem};
pub use generation::Generation;
pub use ladder::{FoldLevel, Forced};

use std::sync::Arc;

use crate::history::History;
use crate::model::Model;
use crate::policy::{Policy, When};
use crate::summary::{Mode, Placement, Schema, Summary};
use crate::validity;
use crate::warning::{Oddity, Warning};
use generation::Counts;

/// Everything a plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The conversation.
    pub history: &'a History,
    /// What has been sent so far.
    pub generation: &'a Generation,
    /// When to fold, and how.
    pub policy: &'a Policy,
    /// What the call may spend.
    pub budget: Budget,
    /// What is known of the model.
    pub model: &'a Model,
    /// Summaries that earlier plans wanted.
    pub summaries: &'a [Summary],
    /// What stays whatever is folded.
    pub keep: Keep<'a>,
    /// A fold that somebody wants now, whether it is due or not.
    pub forced: Option<Forced<'a>>,
}

/// What stays whatever is folded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// Messages that were pinned, by index.
    pub pins: &'a [usize],
    /// What a note must say, word for word, if its text does not: open todos, approvals that wait
    /// for somebody.
    pub lines: &'a [String],
}

impl<'a> Input<'a> {
    /// An input without summaries and without anything out of the ordinary.
    #[must_use]
    pub const fn new(
        history: &'a History,
        generation: &'a Generation,
        policy: &'a Policy,
        budget: Budget,
        model: &'a Model,
    ) -> Self {
        let keep = Keep { pins: &[], lines: &[] };
        Self { history, generation, policy, budget, model, summaries: &[], keep, forced: None }
    }
}

/// What to send next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Extend what was sent, or start anew.
    pub action: Action,
    /// The new slots: of an extension those of the new messages, of a fold all.
    pub slots: Vec<Slot>,
    /// A summary that would be better than the digest in this plan.
    pub wanted: Option<Wanted>,
    /// The figures.
    pub tokens: Figures,
    /// What could not be helped.
    pub warnings: Vec<Warning>,
    covered: usize,
    room: Marks,
    refused: Option<usize>,
}

/// Extend what was sent, or start anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The new slots are added behind what was sent.
    Extend,
    /// A new generation begins.
    Fold {
        /// Why, for a person.
        reason: String,
        /// The tokens the context would have had otherwise.
        from: usize,
    },
}

/// A summary that the planner would use, if somebody made it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// The messages to sum up, by index.
    pub sources: Vec<usize>,
    /// The most tokens it may take.
    pub max_tokens: usize,
    /// The tokens of what it replaces.
    pub replaces: usize,
    /// What it is to hold.
    pub schema: Arc<Schema>,
    /// Whether the call should wait for it.
    pub mode: Mode,
    /// Where it will stand.
    pub placement: Placement,
}

impl Wanted {
    /// The wanted summary with its text.
    #[must_use]
    pub fn summary(&self, text: impl Into<String>) -> Summary {
        Summary { sources: self.sources.clone(), text: text.into() }
    }
}

/// The tokens of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// Of the whole history, with tool definitions.
    pub before: usize,
    /// Of the context, with tool definitions.
    pub after: usize,
    /// The most that may be sent.
    pub window: usize,
    /// A fold starts above this.
    pub high: usize,
    /// And comes down to this.
    pub low: usize,
}

impl Figures {
    /// The share of the history's tokens that is not sent.
    #[must_use]
    pub fn reduction(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let (before, after) = (self.before as f64, self.after as f64);
        if before > after { 1.0 - after / before } else { 0.0 }
    }
}

/// Plans the next call. Of a history that is not whole, nothing is folded: there [`extend()`] tells
/// whether it must be.
#[must_use]
pub fn plan(input: &Input<'_>) -> Plan {
    match decide(input) {
        Decision::Extend(plan) => plan,
        Decision::Fold { room, before, reason } => {
            let folded = input.history.is_whole().then(|| fold::fold(input, &room, before, reason));
            let folded = folded.filter(|plan| is_worth_it(input, &room, before, plan));
            let plan = folded.unwrap_or_else(|| {
                extension(extend::new_slots(input, &room), before, room, Some(before))
            });
            finish(input, plan)
        }
    }
}

/// The plan of the next call, if what was sent can be extended; `None` when a fold is due. It needs
/// only the end of the history, so a session of any length is taken up in the time that its newest
/// messages take.
#[must_use]
pub fn extend(input: &Input<'_>) -> Option<Plan> {
    let recalls =
        input.policy.stages.iter().any(|stage| stage.recalls()) && !input.history.is_whole();
    match decide(input) {
        Decision::Extend(plan) if !recalls => Some(plan),
        _ => None,
    }
}

enum Decision {
    Extend(Plan),
    Fold { room: Marks, before: usize, reason: String },
}

fn decide(input: &Input<'_>) -> Decision {
    let room = room_of(input);
    let slots = extend::new_slots(input, &room);
    let added = Counts::of(input.history, &slots);
    let before = input.generation.tokens() + added.tokens + input.budget.tools;
    let due = reason_to_fold(input, &room, &added, before)
        .filter(|_| before > room.window || input.generation.may_fold_again(before))
        .filter(|_| !input.generation.is_settled(input.history, &room));
    let reason = input.forced.map(|forced| forced.reason.to_owned()).or(due);
    match reason {
        // A fold has slots of its own; those of a long first extension need not be held beside
        // them.
        Some(reason) => Decision::Fold { room, before, reason },
        None => Decision::Extend(finish(input, extension(slots, before, room, None))),
    }
}

/// The room for a call: no more of the window is used than pays, and a cold cache is made use of.
fn room_of(input: &Input<'_>) -> Marks {
    let rule = &input.policy.fold;
    let mut room = Marks::new(&input.budget, rule, input.history.system_tokens());
    if let Some(tokens) = cost::affordable(rule, input.model, input.history.growth()) {
        room = room.limited(rule, tokens);
    }
    if input.budget.cold {
        // The next fold is half-way there, and now it costs nothing to write the prompt anew.
        room.high = room.low + (room.high - room.low) / 2;
    }
    room
}

fn finish(input: &Input<'_>, mut plan: Plan) -> Plan {
    plan.covered = input.history.len();
    plan.tokens = figures(input, &plan.room, plan.tokens.after);
    check(input, &mut plan);
    plan
}

fn extension(slots: Vec<Slot>, after: usize, room: Marks, refused: Option<usize>) -> Plan {
    let tokens = Figures { after, ..Figures::default() };
    Plan {
        action: Action::Extend,
        slots,
        wanted: None,
        tokens,
        warnings: Vec::new(),
        covered: 0,
        room,
        refused,
    }
}

fn figures(input: &Input<'_>, room: &Marks, after: usize) -> Figures {
    let real = |tokens| input.budget.calibration.correct(tokens);
    let before = real(input.history.tokens() + input.budget.tools);
    Figures {
        before,
        after: real(after),
        window: input.budget.window,
        high: real(room.high),
        low: real(room.low),
    }
}

/// Why a fold should be tried, if it should.
fn reason_to_fold(
    input: &Input<'_>,
    room: &Marks,
    added: &Counts,
    before: usize,
) -> Option<String> {
    let rule = &input.policy.fold;
    let real = |tokens| input.budget.calibration.correct(tokens);
    if before > room.window {
        return Some(format!(
            "{} tokens are more than the window of {}",
            real(before),
            input.budget.window
        ));
    }
    let new_turn = added.turns > 0 || input.generation.covered() == 0;
    if rule.when == When::Turn && !new_turn || rule.when == When::Window {
        return None;
    }
    if before > room.high {
        let cold =
            if input.budget.cold { "; the cache is cold, so it costs little now" } else { "" };
        return Some(format!(
            "{} tokens are over the high mark of {}{cold}",
            real(before),
            real(room.high)
        ));
    }
    let messages = input.generation.messages() + added.messages;
    if rule.messages > 0 && messages > rule.messages {
        return Some(format!("{messages} messages are more than {}", rule.messages));
    }
    let turns = input.generation.turns() + added.turns;
    (rule.turns > 0 && turns > rule.turns)
        .then(|| format!("{turns} turns are more than {}", rule.turns))
}

/// A fold must free its share of what can be freed, a tenth unless the policy says otherwise: else
/// it would only cost the cache. What brings a context into the window is worth it in any case.
fn is_worth_it(input: &Input<'_>, room: &Marks, before: usize, plan: &Plan) -> bool {
    let freed = before.saturating_sub(plan.tokens.after);
    let foldable = before.saturating_sub(room.fixed);
    let rescues = before > room.window && plan.tokens.after <= room.window;
    // Whoever brings a summary wants it in place, even if it is longer than the digest was.
    let renews =
        input.forced.is_some() && !input.summaries.is_empty() && plan.tokens.after <= room.window;
    let forced = input.forced.is_some() && freed > 0;
    renews || forced || freed > 0 && (freed >= input.policy.fold.free.at_least(foldable) || rescues)
}

/// Checks the plan against the rules. A violation is a bug of ours: it is reported, not hidden.
fn check(input: &Input<'_>, plan: &mut Plan) {
    let views = plan
        .slots
        .iter()
        .flat_map(|slot| &slot.views)
        .filter_map(|view| view.message(input.history));
    for violation in validity::check(views) {
        plan.warnings
            .push(Warning::new(Oddity::Internal, format!("the plan breaks a rule: {violation}")));
    }
    if plan.tokens.after > plan.tokens.window
        && !plan.warnings.iter().any(|warning| warning.oddity == Oddity::Budget)
    {
        let text = format!(
            "the context has {} tokens, more than the window of {}",
            plan.tokens.after, plan.tokens.window
        );
        plan.warnings.push(Warning::new(Oddity::Budget, text));
    }
}
