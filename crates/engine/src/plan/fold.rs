//! A fold: the stages decide what stays, a summary block replaces what was dropped, and both become
//! the slots of a new generation.

use rustc_hash::FxHashMap;

use super::assemble::Assembly;
use super::fold_level::apply_level;
use super::fold_report::{
    ARRIVAL, EffectRecorder, FIT_WINDOW, FoldEffect, FoldReport, LEVEL, LOW_MARK,
};
use super::kept_block;
use super::summary_block::SummaryBlock;
use super::{Action, Figures, Input, Plan, SummaryRequest, UpdateRule};
use crate::draft::{Draft, Marks, Slot, Stage, Start, Treatment};
use crate::history::AtomKind;
use crate::message::Message;
use crate::policy::Size;
use crate::reason::{Reason, Reasons};
use crate::stage::Emergency;
use crate::summary::{Language, Mode, Schema};

/// A model's summary with fewer tokens than this cannot hold the task, the results and the next
/// steps, so a smaller share of the window is raised to it, but not above [`MAX_RAISED_SUMMARY`].
const MIN_SUMMARY_TOKENS: usize = 400;

/// An eighth of the available tokens: in a very small window the messages need the space more.
const MAX_RAISED_SUMMARY: Size = Size::Share(1_250);

/// Tokens that joining a summary block to a message may add.
const JOIN_TOKENS: usize = 8;

/// Roughly the tokens of the heading and the markers of a summary block.
const HEADER_TOKENS: usize = 60;

/// The block is kept below the low mark if that leaves it at least this percentage of what was set
/// aside for it. Otherwise it may use the space up to the window.
const ENOUGH_PERCENT: usize = 80;

/// A summary is updated without delay if the context reaches this percentage of the high mark.
const PRESSING_PERCENT: usize = 120;

/// Maximum number of rounds in which a draft is shrunk to the window. Each round drops or truncates
/// what the round before could not, so two or three are usual; the limit only guards against a
/// stage that never gets smaller. A draft that is still too large is returned as it is, and the
/// plan has a warning.
const SHRINK_ROUNDS: usize = 6;

/// A draft that exceeds the window by at most this percentage of the available tokens is only a
/// little too large.
const SLIGHT_EXCESS_PERCENT: usize = 10;

/// A user message that stays only because it opens a turn is truncated to this percentage of the
/// available tokens.
const MAX_OPENER_PERCENT: usize = 10;

/// Plans a fold of the whole history. `unfolded` is the size of the context without it.
pub(super) fn fold(input: &Input<'_>, marks: &Marks, unfolded: usize, reasons: Reasons) -> Plan {
    let mut draft = start_draft(input, marks, unfolded);
    let (effects, had_to_reach_low_mark) = shrink(&mut draft, input);
    let block_budget = tokens_for_block(&draft).min(max_block(&draft, input));
    // A requested fold writes the block again: its purpose may be to put a new summary in place.
    let kept = kept_block::of(&draft, input.generation).filter(|_| input.requested_fold.is_none());
    let (block, wanted) = match kept {
        Some(block) => (Some(block), None),
        // The original mark, not the goal of this fold, which may be lower.
        None => write_block(&draft, input, block_budget, marks.high),
    };
    let (items, warnings, message_tokens) = draft.into_parts();
    let slots = Assembly::new(input.history, block.as_ref()).slots(&items);
    let block_tokens = tokens_of_block(&slots);
    let tokens = Figures { context: message_tokens + block_tokens, ..Figures::default() };
    Plan {
        action: Action::Fold { reasons, from: unfolded },
        slots,
        wanted,
        tokens,
        fold_report: Some(FoldReport {
            effects,
            had_to_reach_low_mark,
            block: block_tokens,
            block_budget,
        }),
        warnings,
        covered: 0,
        marks: *marks,
        ineffective_fold_tokens: None,
    }
}

/// Returns the tokens of the slots that are the summary block.
fn tokens_of_block(slots: &[Slot]) -> usize {
    let block = slots.iter().filter(|slot| slot.treatment == Treatment::Summary);
    block.map(|slot| slot.tokens).sum()
}

/// Returns the draft that the stages work on, with the marks that the fold must reach.
fn start_draft<'a>(input: &Input<'a>, marks: &Marks, unfolded: usize) -> Draft<'a> {
    // A fold that the high mark or the window requires must free enough, or the next message would
    // require another one.
    let foldable = unfolded.saturating_sub(marks.fixed);
    // Never more than half: `fold.free` in tokens may exceed a small conversation.
    let must_free = input.policy.fold.free.of_rounded_up(foldable).min(foldable / 2);
    let mut goal = *marks;
    if unfolded > marks.high {
        goal.high = marks.high.min(unfolded - must_free);
        if input.policy.fold.low.is_some() {
            goal.low = marks.low.min(goal.high);
        }
    }
    if unfolded > marks.window {
        goal.window = marks.window.min(unfolded - must_free);
        goal.low = marks.low.min(goal.window);
    }
    Draft::new(Start {
        history: input.history,
        marks: goal,
        model: input.model,
        stages: &input.policy.stages,
        weights: &input.policy.weights,
        tools: input.budget.tools,
        unfolded,
        had_block: input.generation.has_summary_block(),
        earlier_block_tokens: input.generation.block_tokens(),
        unsent_before: input.generation.unsent_atoms(input.history),
        found_passages: input.found_passages,
    })
}

/// Shrinks a draft, in this order: repeated system messages, pins, the stages, the low mark, the
/// requested level, arrivals, old thinking, the window. Messages arrive after everything that drops
/// whole atoms, so that no work is done for messages that are not sent. Returns what each of them
/// did, and whether the fold had to reach the low mark.
fn shrink(draft: &mut Draft<'_>, input: &Input<'_>) -> (Vec<FoldEffect>, bool) {
    drop_repeated_system_messages(draft);
    let mut effects = EffectRecorder::new(draft);
    for atom in input.keep.pins.iter().filter_map(|&message| input.history.atom_of(message)) {
        draft.pin(atom, Reason::Pinned);
    }
    for stage in &input.policy.stages {
        stage.fold(draft);
        effects.record(stage.name(), draft);
    }
    let had_to_reach_low_mark = must_reach_low_mark(draft, input.policy.fold.low.is_some());
    if had_to_reach_low_mark {
        drop_to_low_mark(draft);
        effects.record(LOW_MARK, draft);
    }
    if let Some(requested) = input.requested_fold {
        apply_level(draft, input.policy, requested.level);
        effects.record(LEVEL, draft);
    }
    for atom in draft.newest_first() {
        draft.arrive(atom);
    }
    drop_old_thinking(draft);
    effects.record(ARRIVAL, draft);
    // Space for the summary block is set aside while the draft is shrunk: losing the block costs
    // more than losing the middle of a large output.
    let window = draft.marks.window;
    let reserved = draft.reserved_tokens().min(draft.marks.available / 2);
    draft.marks.window = window.saturating_sub(reserved);
    shrink_to_window(draft, input);
    effects.record(FIT_WINDOW, draft);
    draft.marks.window = window;
    (effects.into_effects(), had_to_reach_low_mark)
}

/// Drops duplicate system messages after the system prompt. The copy in the prompt stays, or else
/// the newest one.
fn drop_repeated_system_messages(draft: &mut Draft<'_>) {
    let history = draft.history;
    let text =
        |atom: usize| history.atom_messages(atom).next().map(Message::text).unwrap_or_default();
    let is_system = |atom: &usize| draft.kind(*atom) == AtomKind::System;
    let later: Vec<usize> =
        (history.system_prefix()..history.atoms().len()).filter(is_system).collect();
    let mut kept: FxHashMap<String, usize> =
        (0..history.system_prefix()).rev().map(|atom| (text(atom), atom)).collect();
    for atom in later.into_iter().rev() {
        let same = *kept.entry(text(atom)).or_insert(atom);
        if same != atom {
            let first = history.atom(same).and_then(|kept_atom| kept_atom.messages.first());
            let number = first.and_then(|&index| history.number(index));
            let reason = match number {
                Some(number) => Reason::SameAs { message: number },
                None => Reason::SameAsPrompt,
            };
            draft.omit_system(atom, reason);
        }
    }
}

/// Returns whether the fold must reach the low mark: it must if the token count triggered it. A
/// policy without a low mark need not, unless the context did not fit into the window.
const fn must_reach_low_mark(draft: &Draft<'_>, has_low: bool) -> bool {
    draft.unfolded() > draft.marks.high && (has_low || draft.unfolded() > draft.marks.window)
}

/// Drops the oldest atoms until the low mark is reached. If the newest messages do not fit even
/// alone, nothing that is dropped would help: they are truncated later, and what else fits stays.
fn drop_to_low_mark(draft: &mut Draft<'_>) {
    if draft.marks.fixed + draft.protected_tokens() > draft.marks.window {
        return;
    }
    let goal = low_without_block(draft);
    for atom in draft.oldest_first() {
        if draft.tokens() <= goal {
            return;
        }
        draft.omit(atom, Reason::OverLowMark);
    }
}

/// Returns the low mark less the tokens for a summary block, which takes at most half of it.
fn low_without_block(draft: &Draft<'_>) -> usize {
    let Marks { low, fixed, .. } = draft.marks;
    low - draft.reserved_tokens().min(low.saturating_sub(fixed) / 2)
}

/// Shrinks a draft that is still too large until it fits into the window. Dropping messages may
/// leave the conversation without a user message at the front, and putting one back takes tokens
/// again, so this takes a few rounds.
fn shrink_to_window(draft: &mut Draft<'_>, input: &Input<'_>) {
    for _ in 0..SHRINK_ROUNDS {
        start_with_user(draft);
        if draft.tokens() <= draft.marks.window {
            return;
        }
        drop_a_little(draft);
        if draft.tokens() <= draft.marks.window {
            // It fits now, unless `start_with_user` puts a message back.
            continue;
        }
        if !input.policy.stages.iter().any(|stage| stage.rescue(draft)) {
            Emergency::default().rescue(draft);
        }
    }
    start_with_user(draft);
}

/// Drops the oldest kept atoms if the draft is only a little too large: the emergency stage drops
/// far more.
fn drop_a_little(draft: &mut Draft<'_>) {
    let over = draft.tokens().saturating_sub(draft.marks.window);
    if over * 100 > draft.marks.available * SLIGHT_EXCESS_PERCENT {
        return;
    }
    for atom in draft.oldest_first() {
        if draft.tokens() <= draft.marks.window {
            return;
        }
        draft.omit(atom, Reason::OlderThanTokens);
    }
}

/// Makes sure that the kept messages do not start in the middle of a turn: the user message that
/// opens the turn stays too.
fn start_with_user(draft: &mut Draft<'_>) {
    // An earlier round may have held another message.
    draft.release();
    let items = draft.items().iter().enumerate();
    let kept = items
        .filter(|(_, item)| !item.pinned)
        .map(|(atom, _)| atom)
        .find(|&atom| draft.is_kept(atom));
    let Some(first) = kept.filter(|&atom| draft.kind(atom) != AtomKind::User) else { return };
    if let Some(opener) = draft.opener_of(first) {
        draft.hold(opener, Reason::OpensTurn);
        if !draft.is_protected(opener) {
            let max = draft.marks.available * MAX_OPENER_PERCENT / 100;
            draft.truncate(opener, max, Reason::OpensTurnTruncated);
        }
    }
}

/// Removes the thinking of earlier turns. If the model accepts thinking only while everything
/// before it is unchanged, the thinking of the running turn goes too.
fn drop_old_thinking(draft: &mut Draft<'_>) {
    let end =
        if draft.model.thinking_needs_prefix { usize::MAX } else { draft.running_turn_start() };
    for atom in draft.newest_first().filter(|&atom| atom < end) {
        draft.omit_thinking(atom);
    }
}

/// Returns the tokens that a summary block may take now that it is known what stays.
fn tokens_for_block(draft: &Draft<'_>) -> usize {
    if draft.summary_settings.is_none() {
        return 0;
    }
    let marks = &draft.marks;
    let below_low = marks.low.saturating_sub(draft.tokens());
    // Texts that are counted separately may take a few more tokens once they are joined.
    let below_window = marks.window.saturating_sub(draft.tokens() + JOIN_TOKENS);
    let set_aside = marks.low - low_without_block(draft);
    // What had to be kept may leave too little below the low mark. Then the block may use what is
    // left up to the window.
    let is_enough = below_low * 100 >= set_aside * ENOUGH_PERCENT;
    let budget = if is_enough { below_low } else { below_window };
    budget.min(draft.reserved_tokens() + HEADER_TOKENS)
}

/// Returns the largest summary block that still leaves the context smaller than before the fold.
/// The limit matters if the policy limits the number of messages or turns: a digest of a few short
/// messages may be longer than they were, and the fold must happen all the same.
fn max_block(draft: &Draft<'_>, input: &Input<'_>) -> usize {
    if !input.policy.fold.free.is_zero() || input.policy.limit().is_none() {
        return usize::MAX;
    }
    let freed = draft.unfolded().saturating_sub(draft.tokens());
    freed.saturating_sub(JOIN_TOKENS)
}

/// Writes the summary block for what was dropped. If a model's summary would be better than the
/// digest in it, that summary is wanted.
fn write_block(
    draft: &Draft<'_>,
    input: &Input<'_>,
    budget: usize,
    high: usize,
) -> (Option<SummaryBlock>, Option<SummaryRequest>) {
    let Some(settings) = &draft.summary_settings else { return (None, None) };
    let marks = &draft.marks;
    let earlier = input.generation.stable_ledger();
    let summaries = input.summaries;
    let lines = input.keep.lines;
    let block = SummaryBlock::write(draft, settings, summaries, lines, earlier, budget);
    let wanted = block
        .as_ref()
        .filter(|block| {
            settings.mode != Mode::Digest && !block.has_full_summary && !block.sources.is_empty()
        })
        .map(|block| SummaryRequest {
            sources: block.sources.clone(),
            max_tokens: marks
                .provider_tokens(settings.max)
                .max(MIN_SUMMARY_TOKENS.min(marks.provider_tokens(MAX_RAISED_SUMMARY))),
            replaced_tokens: block
                .sources
                .iter()
                .map(|&message| input.history.message_tokens(message))
                .sum(),
            schema: Schema::of(settings, Language::of_history(input.history)),
            mode: settings.mode,
            placement: settings.placement,
            update: UpdateRule {
                messages: settings.update_messages,
                ratio: settings.update_ratio,
                is_pressing: draft.unfolded() * 100 > high * PRESSING_PERCENT,
            },
        });
    (block, wanted)
}
