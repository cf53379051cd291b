//! Plans what is sent next, and why. Pure: no clock, no I/O, no async.
//!
//! A *generation* is what the last fold kept, and everything appended since. Usually a plan
//! *extends* it: the new messages are appended, and the provider's prompt cache stays valid. When
//! the context grows past the high mark the plan is a *fold* instead. A fold is what other programs
//! call compaction: older messages are dropped or shortened until the context is down to the low
//! mark, a summary block replaces them, and a new generation starts. The history itself keeps every
//! message.
//!
//! The smallest unit is an *atom*: a plain message, or an assistant message with the results of its
//! tool calls, which may not be separated. The *stages* of a policy keep, shorten or drop atoms: in
//! a fold, and when an atom *arrives*, which means that it is about to enter a generation: a new
//! atom does in an extension, and every kept atom in a fold. A *view* is what is sent for a
//! message: the message itself, or a shorter one made from it. The text of the summary block is a
//! *digest*, made without a model, or a *summary* by a model. The *ledger* is the list of values
//! (paths, names, ids) in the block. A policy can move a part of it, the *stable* part, into a
//! separate message before the block, which several folds send unchanged.
//!
//! Several rules keep an atom in a fold: the caller or a stage *pins* it; it is *protected* because
//! it is the newest user message or the newest step (a model call with its results); or it is
//! *held* for one round of shrinking. What a fold does not send is *dropped*; a draft and its slots
//! call it *omitted*.
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
mod input;
mod kept_block;
mod listed_values;
mod stable_ledger;
mod stored;
mod summary_block;
mod summary_request;

pub use crate::draft::{
    Budget, CountLimit, Draft, Item, Marks, Passage, Search, Slot, Treatment, Truncation,
};
pub use fold_level::{FoldLevel, FoldRequest};
pub use fold_report::{ARRIVAL, FIT_WINDOW, FoldEffect, FoldReport, LEVEL, LOW_MARK};
pub use generation::Generation;
pub use input::{Input, Keep};
pub use stored::{Head, StoredSlot, StoredView};
pub use summary_request::{SummaryRequest, UpdateRule};

use crate::phrase;
use crate::policy::{Size, When};
use crate::reason::{Reason, Reasons};
use crate::validity;
use crate::warning::{Warning, WarningKind};
use generation::Counts;

/// What to send next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Whether the plan extends what was sent or folds it.
    pub action: Action,
    /// The new slots: those of the new messages for an extension, all slots for a fold.
    pub slots: Vec<Slot>,
    /// A summary that would be better than the digest in this plan.
    pub wanted: Option<SummaryRequest>,
    /// How large the context is, and how large it may be.
    pub tokens: Figures,
    /// Why a fold left as many tokens as it did; `None` for an extension.
    pub fold_report: Option<FoldReport>,
    /// Problems that the plan could not avoid.
    pub warnings: Vec<Warning>,
    /// How many messages of the history have a slot once the plan is frozen.
    covered: usize,
    marks: Marks,
    /// The size at which a fold was tried and did not free enough.
    ineffective_fold_tokens: Option<usize>,
}

/// What a plan does with what was sent so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Appends the new slots to it.
    Extend,
    /// Starts a new generation.
    Fold {
        /// Why.
        reasons: Reasons,
        /// The tokens of the context without the fold, as the local counter counts, unlike
        /// [`Plan::tokens`].
        from: usize,
    },
}

/// The token counts of a plan, as the provider counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The whole history, with tool definitions.
    #[serde(rename = "before")]
    pub history: usize,
    /// The context that is sent, with tool definitions.
    #[serde(rename = "after")]
    pub context: usize,
    /// The window for the prompt, including the [margin](Input::margin) that plans leave free.
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
        let share_sent = self.context as f64 / self.history as f64;
        if self.history > self.context { 1.0 - share_sent } else { 0.0 }
    }
}

/// Plans the next call. A history of which only the end is loaded is never folded: if a fold is
/// due, the plan is an extension. [`extend()`] returns `None` when the whole history is needed.
#[must_use]
pub fn plan(input: &Input<'_>) -> Plan {
    match decide(input) {
        Decision::Extend(plan) => plan,
        Decision::Fold { marks, unfolded, reasons } => {
            let folded =
                input.history.is_whole().then(|| fold::fold(input, &marks, unfolded, reasons));
            let worthwhile = folded.filter(|plan| is_worthwhile(input, &marks, unfolded, plan));
            let plan = worthwhile.unwrap_or_else(|| {
                let ineffective_fold_tokens = input.history.is_whole().then_some(unfolded);
                extension(
                    extend::new_slots(input, &marks),
                    unfolded,
                    marks,
                    ineffective_fold_tokens,
                )
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
        && input.found_passages.is_none()
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
        reasons: Reasons,
    },
}

fn decide(input: &Input<'_>) -> Decision {
    let marks = marks_of(input);
    let slots = extend::new_slots(input, &marks);
    let added = Counts::of(input.history, &slots);
    let unfolded = input.generation.tokens() + added.tokens + input.budget.tools;
    let due = reason_to_fold(input, &marks, &added, unfolded)
        .filter(|_| may_fold(input, &marks, unfolded));
    let requested = input.requested_fold.map(|requested| requested.reasons.clone());
    match requested.or_else(|| due.map(Reasons::from)) {
        // A fold makes its own slots, so `slots` is freed on return: the first extension of a long
        // conversation has many. If the fold is rejected, `plan` makes them again.
        Some(reasons) => {
            // In a fold on request, percentages apply to the current context, not to the window, so
            // that it also shrinks a context that is half full.
            let used = unfolded.saturating_sub(marks.fixed);
            let marks = match input.requested_fold {
                Some(FoldRequest { level: FoldLevel::ByPolicy, .. })
                    if matches!(input.policy.fold.high, Size::Share(_)) =>
                {
                    marks.limited(&input.policy.fold, used)
                }
                _ => marks,
            };
            Decision::Fold { marks, unfolded, reasons }
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
        // done once the context is halfway between the marks.
        marks.high = marks.low + (marks.high - marks.low) / 2;
    }
    marks
}

/// Fills in what both kinds of plans share: the check, and how many messages have a slot. Until
/// here all token counts of a plan are those of the local counter; from here on they are the
/// provider's.
fn finish(input: &Input<'_>, mut plan: Plan) -> Plan {
    plan.covered = input.history.len();
    plan.tokens = figures(input, &plan.marks, plan.tokens.context);
    let to_provider_tokens = |tokens| input.budget.calibration.to_provider_tokens(tokens);
    plan.fold_report =
        plan.fold_report.map(|fold_report| fold_report.in_provider_tokens(to_provider_tokens));
    check(input, &mut plan);
    plan
}

/// Returns a plan that appends these slots. `ineffective_fold_tokens` is the size at which a fold
/// was tried and did not free enough.
fn extension(
    slots: Vec<Slot>,
    context: usize,
    marks: Marks,
    ineffective_fold_tokens: Option<usize>,
) -> Plan {
    let tokens = Figures { context, ..Figures::default() };
    Plan {
        action: Action::Extend,
        slots,
        wanted: None,
        tokens,
        fold_report: None,
        warnings: Vec::new(),
        covered: 0,
        marks,
        ineffective_fold_tokens,
    }
}

fn figures(input: &Input<'_>, marks: &Marks, context: usize) -> Figures {
    let to_provider_tokens = |tokens| input.budget.calibration.to_provider_tokens(tokens);
    let rule = &input.policy.fold;
    Figures {
        history: to_provider_tokens(input.history.tokens() + input.budget.tools),
        context: to_provider_tokens(context),
        window: input.budget.window + input.margin,
        high: marks.for_display(marks.high, Some(rule.high), &input.budget.calibration),
        low: marks.for_display(marks.low, rule.low.or(Some(rule.high)), &input.budget.calibration),
    }
}

/// Returns the reason for a fold if one is due.
fn reason_to_fold(
    input: &Input<'_>,
    marks: &Marks,
    added: &Counts,
    unfolded: usize,
) -> Option<Reason> {
    let rule = &input.policy.fold;
    let to_provider_tokens = |tokens| input.budget.calibration.to_provider_tokens(tokens);
    if unfolded > marks.window {
        let tokens = to_provider_tokens(unfolded);
        let margin = input.margin;
        let window = input.budget.window + margin;
        return Some(if tokens > window || margin == 0 {
            Reason::OverWindow { tokens, window }
        } else {
            Reason::OverMargin { tokens, window, margin }
        });
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
        let high = marks.for_display(marks.high, Some(rule.high), &input.budget.calibration);
        // Rounding must not show a size that is not above the mark.
        let tokens = to_provider_tokens(unfolded).max(high + 1);
        return Some(if input.budget.cold {
            Reason::OverHighMarkCold { tokens, high }
        } else {
            Reason::OverHighMark { tokens, high }
        });
    }
    // `fold.messages = 1` means "check at every call", and `fold.turns = 1` "at every turn". They
    // are not limits. If the limit of a stage is exceeded, that limit is the reason shown.
    if rule.messages > 0 && messages > rule.messages {
        return Some(match (rule.messages, input.policy.limit()) {
            (1, Some(CountLimit::Messages(max))) if messages > max => {
                Reason::ManyMessages { messages, max }
            }
            (1, _) => Reason::EveryCall,
            (max, _) => Reason::ManyMessages { messages, max },
        });
    }
    let turns = input.generation.turns() + added.turns;
    (rule.turns > 0 && turns > rule.turns).then(|| match (rule.turns, input.policy.limit()) {
        (1, Some(CountLimit::Turns(max))) if turns > max => Reason::ManyTurns { turns, max },
        (1, _) => Reason::EveryTurn,
        (max, _) => Reason::ManyTurns { turns, max },
    })
}

/// Returns whether a fold is worth doing. It must free its share of what can be freed (`fold.free`,
/// a tenth by default), or it would only invalidate the cache. A fold that brings the context into
/// the window is always worth it, and so is one on request that frees anything or that puts a
/// supplied summary in place. Below the high mark a fold must shorten the messages themselves: what
/// is saved only by writing the summary block anew does not count.
fn is_worthwhile(input: &Input<'_>, marks: &Marks, unfolded: usize, plan: &Plan) -> bool {
    let freed = unfolded.saturating_sub(plan.tokens.context);
    let foldable = unfolded.saturating_sub(marks.fixed);
    let makes_it_fit = unfolded > marks.window && plan.tokens.context <= marks.window;
    // A caller that supplies a summary wants it in place, even if it is longer than the digest.
    let adds_summary = input.requested_fold.is_some()
        && !input.summaries.is_empty()
        && plan.tokens.context <= marks.window;
    let frees_on_request = input.requested_fold.is_some() && freed > 0;
    let block_tokens = plan.fold_report.as_ref().map_or(0, |report| report.block);
    let message_tokens_before = unfolded.saturating_sub(input.generation.block_tokens());
    let message_tokens = plan.tokens.context - block_tokens;
    let shortens = unfolded > marks.high || message_tokens < message_tokens_before;
    let frees_enough = freed >= input.policy.fold.free.of_rounded_up(foldable) || makes_it_fit;
    adds_summary || frees_on_request || (freed > 0 && shortens && frees_enough)
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
    if plan.tokens.context > plan.tokens.window
        && !plan.warnings.iter().any(|warning| warning.kind == WarningKind::Budget)
    {
        let text = phrase!(
            "warning-over-window",
            "the context has {tokens} tokens, more than the {window} available for the prompt",
            tokens = plan.tokens.context,
            window = plan.tokens.window
        );
        plan.warnings.push(Warning::new(WarningKind::Budget, text));
    }
}
