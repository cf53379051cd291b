//! A summary block that a fold keeps as it was. A fold that only shortens results, or drops what
//! the summary need not cover, sends the same block again: the cache still holds it, and no model
//! is asked for the same summary twice.

use super::generation::Generation;
use super::summary_block::{SummaryBlock, sources_of};
use crate::draft::{Draft, Slot, Treatment};
use crate::history::History;
use crate::message::Message;
use crate::summary::Placement;

/// Returns the block of the generation if this fold can send it unchanged: the fold keeps
/// summaries, the whole block is where the policy puts it, and nothing that it covers changed or is
/// sent again.
pub(super) fn of(draft: &Draft<'_>, generation: &Generation) -> Option<SummaryBlock> {
    let placement = draft.summary_settings.as_ref().filter(|_| draft.keeps_block)?.placement;
    let mut slots = generation.slots().iter().peekable();
    let slot = slots.find(|slot| slot.treatment == Treatment::Summary)?;
    let next = slots.peek();
    if next.is_some_and(|next| next.treatment == Treatment::Summary) {
        // The stable part of a ledger and the rest of the block.
        return None;
    }
    let (question, text) = texts(draft.history, slot, next.copied(), placement)?;
    let atom_of = |&source: &usize| draft.history.atom_of(source);
    let mut atoms: Vec<usize> = slot.sources.iter().map(atom_of).collect::<Option<_>>()?;
    atoms.sort_unstable();
    atoms.dedup();
    // A late result may have joined one of its atoms since.
    let is_same = sources_of(draft, &atoms) == slot.sources;
    if atoms.is_empty() || !is_same || atoms.iter().any(|&atom| draft.is_kept(atom)) {
        return None;
    }
    Some(SummaryBlock {
        atoms,
        sources: slot.sources.clone(),
        stable: None,
        text,
        placement,
        before_atom: None,
        question,
        listed: slot.listed.clone(),
        reasons: slot.reasons.clone(),
        // Read only to request a summary, which is not done for a block that is kept.
        has_full_summary: true,
    })
}

/// Returns the mock question and the text of the block. `next` is the slot after it, which has the
/// text if the block was joined to a user message.
fn texts(
    history: &History,
    slot: &Slot,
    next: Option<&Slot>,
    placement: Placement,
) -> Option<(String, String)> {
    let messages: Vec<&Message> =
        slot.views.iter().filter_map(|view| view.message(history)).collect();
    match (placement, messages.as_slice()) {
        (Placement::Mock, [question, block]) => Some((question.text(), block.text())),
        (Placement::Prefix, []) => {
            let joined = next?.views.first()?.message(history)?;
            let first = joined.texts().next()?;
            Some((String::new(), first.strip_suffix("\n\n")?.to_owned()))
        }
        (Placement::Middle | Placement::Mock, _) => None,
        (_, [block]) => Some((String::new(), block.text())),
        _ => None,
    }
}
