//! Starting a new generation: the stages decide what stays, a note stands for the rest, and
//! everything finds its slot.

use rustc_hash::FxHashMap;

use super::assemble::Assembly;
use super::ladder::climb;
use super::summary_block::SummaryBlock;
use super::{Action, Figures, Input, Plan, Wanted};
use crate::draft::{Draft, Marks, Stage, Start};
use crate::history::AtomKind;
use crate::message::Message;
use crate::stage::Emergency;
use crate::summary::{Mode, Schema};

/// Folds the whole history.
pub(super) fn fold(input: &Input<'_>, room: &Marks, before: usize, reason: String) -> Plan {
    // A fold that the window forces frees enough too, so that the next message does not force
    // another one.
    let foldable = before.saturating_sub(room.fixed);
    let free = input.policy.fold.free.at_least(foldable).min(foldable / 2);
    let mut goal = *room;
    if before > room.window {
        goal.window = room.window.min(before - free);
        goal.low = room.low.min(goal.window);
    }
    let mut draft = Draft::new(Start {
        history: input.history,
        room: goal,
        model: input.model,
        stages: &input.policy.stages,
        weights: &input.policy.weights,
        tools: input.budget.tools,
        before,
        had_summary: input.generation.has_summary(),
        hidden: input.generation.hidden(input.history),
    });
    drop_repeated_systems(&mut draft);
    for at in input.keep.pins.iter().filter_map(|&message| input.history.atom_of(message)) {
        draft.pin(at, "pinned");
    }
    for stage in &input.policy.stages {
        stage.fold(&mut draft);
    }
    come_down(&mut draft, input.policy.fold.low.is_some(), before);
    if let Some(forced) = input.forced {
        climb(&mut draft, input.policy, forced.rung);
    }
    for at in draft.newest_first() {
        draft.arrive(at);
    }
    drop_old_thinking(&mut draft);
    // A note that finds no place loses more than the middle of a large output does: its room is
    // kept free.
    let window = draft.room.window;
    draft.room.window = window.saturating_sub(note_tokens(&draft).min(draft.room.available / 2));
    rescue(&mut draft, input);
    draft.room.window = window;
    let (note, wanted) = write_note(&draft, input);
    let (items, warnings, mut total) = draft.into_parts();
    let slots = Assembly::new(input.history, note.as_ref()).slots(&items, &mut total);
    let tokens = Figures { after: total, ..Figures::default() };
    Plan {
        action: Action::Fold { reason, from: before },
        slots,
        wanted,
        tokens,
        warnings,
        covered: 0,
        room: *room,
        refused: None,
    }
}

/// A system message that says what another one says already is not needed twice: of those in front
/// the first stays, of the others the newest.
fn drop_repeated_systems(draft: &mut Draft<'_>) {
    let history = draft.history;
    let text = |at: usize| history.atom_messages(at).next().map(Message::text).unwrap_or_default();
    let is_system = |at: &usize| draft.kind(*at) == AtomKind::System;
    let later: Vec<usize> = (history.lead()..history.atoms().len()).filter(is_system).collect();
    let mut said: FxHashMap<String, usize> =
        (0..history.lead()).rev().map(|at| (text(at), at)).collect();
    for at in later.into_iter().rev() {
        let same = *said.entry(text(at)).or_insert(at);
        if same != at {
            let message =
                history.atom(same).and_then(|atom| atom.messages.first().copied()).unwrap_or(0);
            draft.drop_system(at, format!("the same as message {message}"));
        }
    }
}

/// A fold that tokens started comes down to the low mark, oldest first; one that the window forces,
/// by a tenth at least.
fn come_down(draft: &mut Draft<'_>, has_low: bool, before: usize) {
    let room = draft.room;
    if before <= room.high || !has_low && before <= room.window {
        return;
    }
    let goal = low_without_note(draft);
    let oldest_first: Vec<usize> =
        draft.newest_first().collect::<Vec<_>>().into_iter().rev().collect();
    for at in oldest_first {
        if draft.total() <= goal {
            return;
        }
        draft.drop(at, "over the low mark");
    }
}

/// The low mark, less the room for a note, which is at most half of it.
fn low_without_note(draft: &Draft<'_>) -> usize {
    let Marks { low, fixed, .. } = draft.room;
    low - note_tokens(draft).min(low.saturating_sub(fixed) / 2)
}

/// The tokens a note may take.
fn note_tokens(draft: &Draft<'_>) -> usize {
    let room = &draft.room;
    draft
        .summary
        .as_ref()
        .map_or(0, |settings| room.tokens(settings.max) + room.tokens(settings.ledger))
}

/// Brings what is still too large into the window. What the ladder drops may leave the conversation
/// without a user message in front, and putting one there takes room again; a few rounds settle it.
fn rescue(draft: &mut Draft<'_>, input: &Input<'_>) {
    for _ in 0..6 {
        start_with_user(draft);
        if draft.total() <= draft.room.window {
            return;
        }
        drop_little(draft);
        if draft.total() <= draft.room.window {
            continue;
        }
        if !input.policy.stages.iter().any(|stage| stage.rescue(draft)) {
            Emergency::default().rescue(draft);
        }
    }
    start_with_user(draft);
}

/// Where little is too much, the oldest kept atoms give it: the ladder takes far more.
fn drop_little(draft: &mut Draft<'_>) {
    let over = draft.total().saturating_sub(draft.room.window);
    if over > draft.room.available / 10 {
        return;
    }
    let oldest_first: Vec<usize> =
        draft.newest_first().collect::<Vec<_>>().into_iter().rev().collect();
    for at in oldest_first {
        if draft.total() <= draft.room.window {
            return;
        }
        draft.drop(at, "older than the newest tokens that fit");
    }
}

/// What is kept must not begin in the middle of a turn: the user message that opens it stays too.
fn start_with_user(draft: &mut Draft<'_>) {
    draft.release();
    let items = draft.items().iter().enumerate();
    let kept =
        items.filter(|(_, item)| !item.pinned).map(|(at, _)| at).find(|&at| draft.is_kept(at));
    let Some(first) = kept.filter(|&at| draft.kind(at) != AtomKind::User) else { return };
    let turn = draft.history.atom(first).map_or(0, |atom| atom.turn);
    let turns = draft.history.turns();
    let opener = turns
        .iter()
        .take(turn)
        .rev()
        .copied()
        .find(|&at| at < first && draft.kind(at) == AtomKind::User);
    if let Some(at) = opener {
        let reason = "opens the turn that the window cuts into";
        draft.hold(at, reason);
        if !draft.is_protected(at) {
            let max = draft.room.available / 10;
            draft.clip(at, max, "opens the turn that the window cuts into; it lost its middle");
        }
    }
}

/// Thinking of earlier steps does not go into a new generation. Where the model binds thinking to
/// what stands before it, none does; elsewhere that of the running turn stays.
fn drop_old_thinking(draft: &mut Draft<'_>) {
    let from = if draft.model.preserved_thinking { usize::MAX } else { draft.running() };
    for at in draft.newest_first().filter(|&at| at < from) {
        draft.drop_thinking(at);
    }
}

/// The note for what was dropped, and the summary that would be better than it.
fn write_note(draft: &Draft<'_>, input: &Input<'_>) -> (Option<SummaryBlock>, Option<Wanted>) {
    let Some(settings) = &draft.summary else { return (None, None) };
    let room = &draft.room;
    // What had to be kept may lie too high for a note below the low mark; then what is left up to
    // the window serves.
    let to_low = room.low.saturating_sub(draft.total());
    // Texts that are counted apart may take a little more together.
    let to_window = room.window.saturating_sub(draft.total() + SEAMS);
    let most = room.tokens(settings.max) + room.tokens(settings.ledger) + HEADER_TOKENS;
    let share = room.low - low_without_note(draft);
    let budget = if to_low * 5 >= share * 4 { to_low } else { to_window };
    let note =
        SummaryBlock::write(draft, settings, (input.summaries, input.keep.lines), budget.min(most));
    let wanted = note
        .as_ref()
        .filter(|note| settings.mode != Mode::Digest && !note.is_made && !note.sources.is_empty())
        .map(|note| Wanted {
            sources: note.sources.clone(),
            max_tokens: room.tokens(settings.max).max(LEAST_SUMMARY.min(room.available / 8)),
            replaces: note
                .sources
                .iter()
                .map(|&message| input.history.message_tokens(message))
                .sum(),
            schema: Schema::named(&settings.schema).unwrap_or_else(Schema::general),
            mode: settings.mode,
            placement: settings.placement,
        });
    (note, wanted)
}

/// A model's summary of fewer tokens says too little.
const LEAST_SUMMARY: usize = 400;

/// What joining a note to a message may cost.
const SEAMS: usize = 8;

/// About what heading and marks of a note take.
const HEADER_TOKENS: usize = 60;
