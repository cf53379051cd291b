//! Plans what is sent next, and why. Pure: no clock, no I/O, no async.
//!
//! What has been sent so far is a *generation*. Usually a plan *extends* it: the new messages are
//! appended, and the provider's prompt cache stays valid. When the context grows past the high mark
//! the plan is a *fold* instead. A fold is what other programs call compaction: older messages are
//! dropped or shortened until the context is down to the low mark, a summary block replaces them,
//! and a new generation starts. The history itself keeps every message.
//!
//! The smallest unit is an *atom*: a plain message, or an assistant message with the results of its
//! tool calls, which may not be separated. The *stages* of a policy keep, shorten or drop atoms. A
//! *view* is what is sent for a message: the message itself, or a shorter one made from it. The
//! *ledger* is the list of values (paths, names, ids) in the summary block.
//!
//! A plan is a list of *slots*. Each slot names the messages it covers, what was done with them
//! (the *treatment*) and why.

mod assemble;
mod cost;
mod extend;
mod fold;
mod fold_level;
mod fold_report;
mod generation;
mod listed_values;
mod stable_ledger;
mod stored;
mod summary_block;

pub use crate::draft::{Budget, Draft, Item, Marks, Passage, Search, Slot, Treatment, Truncation};
pub use fold_level::{FoldLevel, RequestedFold};
pub use fold_report::{ARRIVAL, FoldEffect, FoldReport, LEVEL, LIMIT, LOW_MARK};
pub use generation::Generation;
pub use stored::{Head, StoredItem, StoredSlot};

use std::sync::Arc;

use crate::history::History;
use crate::model::Model;
use crate::phrase;
use crate::policy::{Policy, Size, When};
use crate::reason::Reason;
use crate::summary::{Mode, Placement, Schema, Summary};
use crate::validity;
use crate::warning::{Warning, WarningKind};
use generation::Counts;

/// Everything a plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The conversation.
    pub history: &'a History,
    /// What was sent so far.
    pub generation: &'a Generation,
    /// When to fold, and how.
    pub policy: &'a Policy,
    /// The tokens that the call may use.
    pub budget: Budget,
    /// The model that is called.
    pub model: &'a Model,
    /// Summaries that earlier plans wanted and that were made since.
    pub summaries: &'a [Summary],
    /// What every fold keeps.
    pub keep: Keep<'a>,
    /// A request to fold now, whether or not a fold is due.
    pub requested: Option<RequestedFold<'a>>,
    /// The passages of earlier messages that the caller found for the newest user message, best
    /// first ([`Policy::search`]). `None` if it did not search: then the stage that quotes them
    /// searches the history by words.
    pub recalled: Option<&'a [Passage]>,
}

/// What every fold keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// The indexes of the pinned messages.
    pub pins: &'a [usize],
    /// Lines that the summary block must contain verbatim: open todos, pending approvals. A line
    /// that its text already contains is not repeated.
    pub lines: &'a [String],
}

impl<'a> Input<'a> {
    /// Creates an input without summaries, pins, a requested fold or passages.
    #[must_use]
    pub const fn new(
        history: &'a History,
        generation: &'a Generation,
        policy: &'a Policy,
        budget: Budget,
        model: &'a Model,
    ) -> Self {
        Self {
            history,
            generation,
            policy,
            budget,
            model,
            summaries: &[],
            keep: Keep { pins: &[], lines: &[] },
            requested: None,
            recalled: None,
        }
    }
}

/// What to send next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Whether the plan extends what was sent or folds it.
    pub action: Action,
    /// The new slots: those of the new messages for an extension, all slots for a fold.
    pub slots: Vec<Slot>,
    /// A summary that would be better than the digest in this plan.
    pub wanted: Option<Wanted>,
    /// The token counts.
    pub tokens: Figures,
    /// Why a fold left as many tokens as it did; `None` for an extension.
    pub fold_report: Option<FoldReport>,
    /// Problems that the plan could not avoid.
    pub warnings: Vec<Warning>,
    /// How many messages of the history have a slot once the plan is frozen.
    covered: usize,
    marks: Marks,
    /// The size at which a fold was tried and did not free enough.
    ineffective_at: Option<usize>,
}

/// What a plan does with what was sent so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Appends the new slots to it.
    Extend,
    /// Starts a new generation.
    Fold {
        /// Why, for people.
        reason: String,
        /// The tokens of the context without the fold.
        from: usize,
    },
}

/// A summary that the planner would use if the caller obtained it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wanted {
    /// The indexes of the messages to summarize.
    pub sources: Vec<usize>,
    /// The most tokens it may take.
    pub max_tokens: usize,
    /// The tokens of the messages that it replaces.
    pub replaces: usize,
    /// The prompt, and what the reply must contain.
    pub schema: Arc<Schema>,
    /// Whether the call should wait for it.
    pub mode: Mode,
    /// Where it goes in the context.
    pub placement: Placement,
    /// When an earlier summary is good enough.
    pub update: Update,
}

/// When a summary is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The fewest new messages that are worth an update.
    pub messages: usize,
    /// The share of the summary's tokens that the new messages must exceed.
    pub ratio: Size,
    /// Whether the context is so far above the high mark that the update cannot wait.
    pub is_pressing: bool,
}

impl Wanted {
    /// Returns the request for a summary that was wanted in an earlier process.
    #[must_use]
    pub const fn restored(
        sources: Vec<usize>,
        max_tokens: usize,
        replaces: usize,
        schema: Arc<Schema>,
    ) -> Self {
        let mode = Mode::Background;
        let placement = Placement::Prefix;
        let update = Update { messages: 0, ratio: Size::Tokens(0), is_pressing: true };
        Self { sources, max_tokens, replaces, schema, mode, placement, update }
    }

    /// Returns whether this summary is worth making, although there is an `earlier` one of some of
    /// its messages. If not, a digest of the new messages goes with the earlier one.
    #[must_use]
    pub fn is_worth_making(&self, history: &History, earlier: &Summary) -> bool {
        let Update { messages, ratio, is_pressing } = self.update;
        let is_new = |source: &&usize| earlier.sources.binary_search(source).is_err();
        let new: Vec<usize> = self.sources.iter().filter(is_new).copied().collect();
        let new_tokens: usize = new.iter().map(|&source| history.message_tokens(source)).sum();
        let summary_tokens = history.counter().text(&earlier.text).max(1);
        !new.is_empty()
            && (is_pressing || new.len() >= messages && new_tokens > ratio.of(summary_tokens))
    }

    /// Returns the wanted summary with this text.
    #[must_use]
    pub fn summary(&self, text: impl Into<String>) -> Summary {
        Summary { sources: self.sources.clone(), text: text.into() }
    }
}

/// The token counts of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The whole history, with tool definitions.
    pub before: usize,
    /// The context that is sent, with tool definitions.
    pub after: usize,
    /// The most that may be sent.
    pub window: usize,
    /// The high mark: a fold starts above it.
    pub high: usize,
    /// The low mark: a fold shrinks the context to it.
    pub low: usize,
}

impl Figures {
    /// Returns the share of the history's tokens that is not sent, from 0 to 1.
    #[must_use]
    pub fn reduction(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let share_sent = self.after as f64 / self.before as f64;
        if self.before > self.after { 1.0 - share_sent } else { 0.0 }
    }
}

/// Plans the next call. A history of which only the end is loaded is never folded; use [`extend()`]
/// to find out whether a fold is due.
#[must_use]
pub fn plan(input: &Input<'_>) -> Plan {
    match decide(input) {
        Decision::Extend(plan) => plan,
        Decision::Fold { marks, unfolded, reason } => {
            let folded =
                input.history.is_whole().then(|| fold::fold(input, &marks, unfolded, reason));
            let worthwhile = folded.filter(|plan| is_worthwhile(input, &marks, unfolded, plan));
            let plan = worthwhile.unwrap_or_else(|| {
                let tried_at = input.history.is_whole().then_some(unfolded);
                extension(extend::new_slots(input, &marks), unfolded, marks, tried_at)
            });
            finish(input, plan)
        }
    }
}

/// Plans the next call if what was sent can be extended. Returns `None` when a fold is due, or when
/// a stage must read earlier messages that are not loaded. It needs only the end of the history, so
/// the time to resume a session does not depend on its length.
#[must_use]
pub fn extend(input: &Input<'_>) -> Option<Plan> {
    match decide(input) {
        Decision::Extend(plan) if !searches_history(input) => Some(plan),
        _ => None,
    }
}

/// Returns whether a stage is about to search messages that are not loaded.
fn searches_history(input: &Input<'_>) -> bool {
    let is_new = |message: usize| message >= input.generation.covered();
    !input.history.is_whole()
        && input.recalled.is_none()
        && input.history.latest_user().is_some_and(is_new)
        && input.policy.search().is_some()
}

#[expect(clippy::large_enum_variant, reason = "it lives for one call and is not stored")]
enum Decision {
    Extend(Plan),
    /// `unfolded` is the size of the context without the fold.
    Fold {
        marks: Marks,
        unfolded: usize,
        reason: String,
    },
}

fn decide(input: &Input<'_>) -> Decision {
    let marks = marks_of(input);
    let slots = extend::new_slots(input, &marks);
    let added = Counts::of(input.history, &slots);
    let unfolded = input.generation.tokens() + added.tokens + input.budget.tools;
    let due = reason_to_fold(input, &marks, &added, unfolded)
        .filter(|_| may_fold(input, &marks, unfolded));
    let reason = input.requested.map(|requested| requested.reason.to_owned()).or(due);
    match reason {
        // A fold makes its own slots. These are dropped here, because a long first extension has
        // many of them.
        Some(reason) => {
            // In a fold on request, percentages apply to the current context, not to the window, so
            // that it also shrinks a context that is half full.
            let used = unfolded.saturating_sub(marks.fixed);
            let marks = match input.requested {
                Some(RequestedFold { level: FoldLevel::Fold, .. })
                    if matches!(input.policy.fold.high, Size::Share(_)) =>
                {
                    marks.limited(&input.policy.fold, used)
                }
                _ => marks,
            };
            Decision::Fold { marks, unfolded, reason }
        }
        None => Decision::Extend(finish(input, extension(slots, unfolded, marks, None))),
    }
}

/// Returns whether a fold that is due may be tried now.
fn may_fold(input: &Input<'_>, marks: &Marks, unfolded: usize) -> bool {
    let generation = input.generation;
    // A call that is retried sends what was planned for it.
    let is_retry = generation.is_planned(input.history, marks);
    let must_fit = unfolded > marks.window;
    !is_retry && (must_fit || generation.may_fold_again(&input.policy.fold, unfolded))
}

/// Returns the marks for a call. They are lower if the prices of the model make a smaller context
/// cheaper, or if the provider's cache is cold.
fn marks_of(input: &Input<'_>) -> Marks {
    let rule = &input.policy.fold;
    let mut marks = Marks::new(&input.budget, rule, input.history.system_tokens());
    if let Some(tokens) = cost::break_even_tokens(input.policy, input.model, input.history.growth())
    {
        marks = marks.limited(rule, tokens);
    }
    // A mark in tokens is an explicit limit, so it is never lowered.
    if input.budget.cold && matches!(rule.high, Size::Share(_)) {
        // The whole prompt is written to the cache anyway, so a fold costs nothing extra now. It is
        // done once the context is half-way between the marks.
        marks.high = marks.low + (marks.high - marks.low) / 2;
    }
    marks
}

/// Fills in what both kinds of plans share: figures as the provider counts, and the check.
fn finish(input: &Input<'_>, mut plan: Plan) -> Plan {
    plan.covered = input.history.len();
    plan.tokens = figures(input, &plan.marks, plan.tokens.after);
    let calibrated = |tokens| input.budget.calibration.correct(tokens);
    plan.fold_report = plan.fold_report.map(|fold_report| fold_report.corrected(calibrated));
    check(input, &mut plan);
    plan
}

/// Returns a plan that appends these slots. `ineffective_at` is the size at which a fold was tried
/// and did not free enough.
fn extension(slots: Vec<Slot>, after: usize, marks: Marks, ineffective_at: Option<usize>) -> Plan {
    let tokens = Figures { after, ..Figures::default() };
    Plan {
        action: Action::Extend,
        slots,
        wanted: None,
        tokens,
        fold_report: None,
        warnings: Vec::new(),
        covered: 0,
        marks,
        ineffective_at,
    }
}

fn figures(input: &Input<'_>, marks: &Marks, after: usize) -> Figures {
    let calibrated = |tokens| input.budget.calibration.correct(tokens);
    let before = calibrated(input.history.tokens() + input.budget.tools);
    Figures {
        before,
        after: calibrated(after),
        window: input.budget.window,
        high: calibrated(marks.high),
        low: calibrated(marks.low),
    }
}

/// Returns the reason for a fold if one is due.
fn reason_to_fold(
    input: &Input<'_>,
    marks: &Marks,
    added: &Counts,
    unfolded: usize,
) -> Option<String> {
    let rule = &input.policy.fold;
    let calibrated = |tokens| input.budget.calibration.correct(tokens);
    if unfolded > marks.window {
        let reason =
            Reason::OverWindow { tokens: calibrated(unfolded), window: input.budget.window };
        return Some(reason.into());
    }
    let messages = input.generation.messages() + added.messages;
    if input.generation.number == 0 && messages <= rule.min_messages {
        return None;
    }
    let is_new_turn = added.turns > 0 || input.generation.covered() == 0;
    let is_due = match rule.when {
        When::Call => true,
        When::Turn => is_new_turn,
        When::High => is_new_turn || unfolded > marks.high,
        When::Window => false,
    };
    if !is_due {
        return None;
    }
    if unfolded > marks.high {
        let tokens = calibrated(unfolded);
        let high = calibrated(marks.high);
        let reason = match input.budget.cold {
            true => Reason::OverHighMarkCold { tokens, high },
            false => Reason::OverHighMark { tokens, high },
        };
        return Some(reason.into());
    }
    if rule.messages > 0 && messages > rule.messages {
        return Some(Reason::ManyMessages { messages, max: rule.messages }.into());
    }
    let turns = input.generation.turns() + added.turns;
    (rule.turns > 0 && turns > rule.turns).then(|| match rule.turns {
        // Not a limit: the stages decide whether something is too long.
        1 => Reason::EveryTurn.into(),
        max => Reason::ManyTurns { turns, max }.into(),
    })
}

/// Returns whether a fold is worth doing. It must free its share of what can be freed (`fold.free`,
/// a tenth by default), or it would only invalidate the cache. A fold that brings the context into
/// the window is always worth it.
fn is_worthwhile(input: &Input<'_>, marks: &Marks, unfolded: usize, plan: &Plan) -> bool {
    let freed = unfolded.saturating_sub(plan.tokens.after);
    let foldable = unfolded.saturating_sub(marks.fixed);
    let rescues = unfolded > marks.window && plan.tokens.after <= marks.window;
    // A caller that supplies a summary wants it in place, even if it is longer than the digest.
    let adds_summary = input.requested.is_some()
        && !input.summaries.is_empty()
        && plan.tokens.after <= marks.window;
    let frees_on_request = input.requested.is_some() && freed > 0;
    adds_summary
        || frees_on_request
        || freed > 0 && (freed >= input.policy.fold.free.at_least(foldable) || rescues)
}

/// Checks the plan against the rules for every wire. A violation is a bug in this crate, so it is
/// reported and not hidden.
fn check(input: &Input<'_>, plan: &mut Plan) {
    let views = plan
        .slots
        .iter()
        .flat_map(|slot| &slot.views)
        .filter_map(|view| view.message(input.history));
    for violation in validity::check(views) {
        plan.warnings.push(Warning::new(
            WarningKind::Internal,
            phrase!(
                "warning-internal",
                "the plan breaks a rule: {violation}",
                violation = violation.phrase()
            ),
        ));
    }
    if plan.tokens.after > plan.tokens.window
        && !plan.warnings.iter().any(|warning| warning.kind == WarningKind::Budget)
    {
        let text = phrase!(
            "warning-over-window",
            "the context has {tokens} tokens, more than the {window} available for the prompt",
            tokens = plan.tokens.after,
            window = plan.tokens.window
        );
        plan.warnings.push(Warning::new(WarningKind::Budget, text));
    }
}
