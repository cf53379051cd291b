//! A fold: the stages decide what stays, a summary block replaces what was dropped, and both become
//! the slots of a new generation.

use rustc_hash::FxHashMap;

use super::assemble::Assembly;
use super::fold_level::apply_level;
use super::fold_report::{ARRIVAL, EffectRecorder, FoldReport, LEVEL, LIMIT, LOW_MARK};
use super::summary_block::SummaryBlock;
use super::{Action, Figures, Input, Plan, Update, Wanted};
use crate::draft::{Draft, Marks, Stage, Start};
use crate::history::AtomKind;
use crate::message::Message;
use crate::reason::Reason;
use crate::stage::Emergency;
use crate::summary::{Language, Mode, Schema};

/// A model's summary with fewer tokens than this is useless.
const MIN_SUMMARY_TOKENS: usize = 400;

/// Tokens that joining a summary block to a message may add.
const JOIN_TOKENS: usize = 8;

/// Roughly the tokens of the heading and the markers of a summary block.
const HEADER_TOKENS: usize = 60;

/// A block stays below the low mark if it gets at least this percentage of what was set aside.
const ENOUGH_PERCENT: usize = 80;

/// A summary is updated without delay if the context reaches this percentage of the high mark.
const PRESSING_PERCENT: usize = 120;

/// The most rounds of shrinking. After them the draft is sent as it is.
const RESCUE_ROUNDS: usize = 6;

/// Plans a fold of the whole history. `unfolded` is the size of the context without it.
pub(super) fn fold(input: &Input<'_>, marks: &Marks, unfolded: usize, reason: String) -> Plan {
    // A fold that the high mark or the window requires must free enough, or the next message would
    // require another one.
    let foldable = unfolded.saturating_sub(marks.fixed);
    let free = input.policy.fold.free.at_least(foldable).min(foldable / 2);
    let mut goal = *marks;
    if unfolded > marks.high {
        goal.high = marks.high.min(unfolded - free);
    }
    if unfolded > marks.window {
        goal.window = marks.window.min(unfolded - free);
        goal.low = marks.low.min(goal.window);
    }
    let mut draft = Draft::new(Start {
        history: input.history,
        marks: goal,
        model: input.model,
        stages: &input.policy.stages,
        weights: &input.policy.weights,
        tools: input.budget.tools,
        unfolded,
        had_summary: input.generation.has_summary_block(),
        summary_before: input.generation.summary_tokens(),
        hidden: input.generation.hidden(input.history),
        recalled: input.recalled,
    });
    drop_repeated_systems(&mut draft);
    let mut effects = EffectRecorder::new(&draft);
    for atom in input.keep.pins.iter().filter_map(|&message| input.history.atom_of(message)) {
        draft.pin(atom, Reason::Pinned);
    }
    for stage in &input.policy.stages {
        stage.fold(&mut draft);
        effects.note(stage.name(), &draft);
    }
    let to_low = must_reach_low_mark(&draft, input.policy.fold.low.is_some());
    if to_low {
        drop_to_low_mark(&mut draft);
        effects.note(LOW_MARK, &draft);
    }
    if let Some(requested) = input.requested {
        apply_level(&mut draft, input.policy, requested.level);
        effects.note(LEVEL, &draft);
    }
    for atom in draft.newest_first() {
        draft.arrive(atom);
    }
    drop_old_thinking(&mut draft);
    effects.note(ARRIVAL, &draft);
    // Space for the summary block is set aside while the draft is shrunk: losing the block costs
    // more than losing the middle of a large output.
    let window = draft.marks.window;
    let reserved = draft.reserved().min(draft.marks.available / 2);
    draft.marks.window = window.saturating_sub(reserved);
    shrink_to_window(&mut draft, input);
    effects.note(LIMIT, &draft);
    draft.marks.window = window;
    let block_budget = block_budget(&draft);
    let (block, wanted) = write_block(&draft, input, block_budget, marks.high);
    let (items, warnings, mut total) = draft.into_parts();
    let left = total;
    let slots = Assembly::new(input.history, block.as_ref()).slots(&items, &mut total);
    let tokens = Figures { after: total, ..Figures::default() };
    let block_tokens = total.saturating_sub(left);
    let effects = effects.into_effects();
    Plan {
        action: Action::Fold { reason, from: unfolded },
        slots,
        wanted,
        tokens,
        fold_report: Some(FoldReport { effects, to_low, block: block_tokens, block_budget }),
        warnings,
        covered: 0,
        marks: *marks,
        ineffective_at: None,
    }
}

/// Drops system messages that repeat the text of another one. Of those at the beginning the first
/// stays, of the others the newest.
fn drop_repeated_systems(draft: &mut Draft<'_>) {
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
            let message =
                history.atom(same).and_then(|atom| atom.messages.first().copied()).unwrap_or(0);
            let reason = match history.number(message) {
                Some(message) => Reason::SameAs { message },
                None => Reason::SameAsPrompt,
            };
            draft.drop_system(atom, reason);
        }
    }
}

/// Returns whether the fold must reach the low mark: the token count triggered it. A policy
/// without a low mark need not, unless the context did not fit into the window.
const fn must_reach_low_mark(draft: &Draft<'_>, has_low: bool) -> bool {
    draft.unfolded() > draft.marks.high && (has_low || draft.unfolded() > draft.marks.window)
}

/// Drops the oldest atoms until the low mark is reached.
fn drop_to_low_mark(draft: &mut Draft<'_>) {
    let goal = low_without_block(draft);
    for atom in draft.oldest_first() {
        if draft.total() <= goal {
            return;
        }
        draft.drop(atom, Reason::OverLowMark);
    }
}

/// Returns the low mark less the tokens for a summary block, which takes at most half of it.
fn low_without_block(draft: &Draft<'_>) -> usize {
    let Marks { low, fixed, .. } = draft.marks;
    low - draft.reserved().min(low.saturating_sub(fixed) / 2)
}

/// Shrinks a draft that is still too large until it fits into the window. Dropping messages may
/// leave the conversation without a user message at the front, and putting one back takes tokens
/// again, so this takes a few rounds.
fn shrink_to_window(draft: &mut Draft<'_>, input: &Input<'_>) {
    for _ in 0..RESCUE_ROUNDS {
        start_with_user(draft);
        if draft.total() <= draft.marks.window {
            return;
        }
        drop_a_little(draft);
        if draft.total() <= draft.marks.window {
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
    let over = draft.total().saturating_sub(draft.marks.window);
    if over > draft.marks.available / 10 {
        return;
    }
    for atom in draft.oldest_first() {
        if draft.total() <= draft.marks.window {
            return;
        }
        draft.drop(atom, Reason::OlderThanTokens);
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
            let max = draft.marks.available / 10;
            draft.clip(opener, max, Reason::OpensTurnTruncated);
        }
    }
}

/// Removes the thinking of earlier turns. If the model accepts thinking only while everything
/// before it is unchanged, the thinking of the running turn goes too.
fn drop_old_thinking(draft: &mut Draft<'_>) {
    let end = if draft.model.thinking_needs_prefix { usize::MAX } else { draft.running() };
    for atom in draft.newest_first().filter(|&atom| atom < end) {
        draft.drop_thinking(atom);
    }
}

/// Returns the tokens that a summary block may take now that it is known what stays.
fn block_budget(draft: &Draft<'_>) -> usize {
    if draft.summary.is_none() {
        return 0;
    }
    let marks = &draft.marks;
    let below_low = marks.low.saturating_sub(draft.total());
    // Texts that are counted separately may take a few more tokens once they are joined.
    let below_window = marks.window.saturating_sub(draft.total() + JOIN_TOKENS);
    let set_aside = marks.low - low_without_block(draft);
    // What had to be kept may leave too little below the low mark. Then the block may use what is
    // left up to the window.
    let is_enough = below_low * 100 >= set_aside * ENOUGH_PERCENT;
    let budget = if is_enough { below_low } else { below_window };
    budget.min(draft.reserved() + HEADER_TOKENS)
}

/// Writes the summary block for what was dropped. If a model's summary would be better than the
/// digest in it, that summary is wanted.
fn write_block(
    draft: &Draft<'_>,
    input: &Input<'_>,
    budget: usize,
    high: usize,
) -> (Option<SummaryBlock>, Option<Wanted>) {
    let Some(settings) = &draft.summary else { return (None, None) };
    let marks = &draft.marks;
    let earlier = input.generation.stable_ledger();
    let summaries = input.summaries;
    let lines = input.keep.lines;
    let block = SummaryBlock::write(draft, settings, summaries, lines, earlier, budget);
    let wanted = block
        .as_ref()
        .filter(|block| {
            settings.mode != Mode::Digest && !block.is_summarised && !block.sources.is_empty()
        })
        .map(|block| Wanted {
            sources: block.sources.clone(),
            max_tokens: marks.tokens(settings.max).max(MIN_SUMMARY_TOKENS.min(marks.available / 8)),
            replaces: block
                .sources
                .iter()
                .map(|&message| input.history.message_tokens(message))
                .sum(),
            schema: Schema::of(settings, Language::of_history(input.history)),
            mode: settings.mode,
            placement: settings.placement,
            update: Update {
                messages: settings.update_messages,
                ratio: settings.update_ratio,
                is_pressing: draft.unfolded() * 100 > high * PRESSING_PERCENT,
            },
        });
    (block, wanted)
}
