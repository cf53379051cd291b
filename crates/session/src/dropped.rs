//! The daily memory of what a fold drops. It is written without a model, unless a summary in the
//! background writes it, and no reply waits for it.

use std::collections::HashSet;

use waterline::plan::{Generation, Plan, Slot, Treatment};
use waterline::summary::digest;
use waterline_memory::Section;

use crate::live::LiveSession;
use crate::summarize::DIGEST_TOKENS;

impl LiveSession {
    /// Writes a digest of what a fold newly drops to the memory, in the background. Does nothing if
    /// a summary that is being made for the memory covers it.
    pub(crate) fn remember_dropped(&mut self, plan: &Plan) {
        let Some(memory) = self.config.memory.clone() else { return };
        let next = self.generation.number + 1;
        let is_covered = |pending: &crate::between_calls::Pending| {
            pending.for_memory && pending.generation == next
        };
        if self.pending.as_ref().is_some_and(is_covered) {
            return;
        }
        let dropped: Vec<usize> = dropped(&plan.slots).collect();
        let mut new = self.not_dropped_before(&dropped);
        new.retain(|&source| !self.in_memory.contains(&self.position(source)));
        let text = digest(&self.history, &new, DIGEST_TOKENS);
        if text.is_empty() {
            return;
        }
        let source = self.source_of(&new);
        let before = self.memory_write.take();
        self.memory_write = Some(tokio::spawn(async move {
            // In the order of the folds.
            if let Some(before) = before {
                before.await.ok();
            }
            let keep = move || memory.keep(Section::Trimmed, &text, Some(&source));
            if let Ok(Err(error)) = tokio::task::spawn_blocking(keep).await {
                tracing::warn!(target: "waterline::memory", %error, "could not write a memory");
            }
        }));
    }

    /// Returns those of the messages that the current context has, or that are newer than it.
    pub(crate) fn not_dropped_before(&self, sources: &[usize]) -> Vec<usize> {
        not_in(sources, &self.generation)
    }
}

fn not_in(sources: &[usize], generation: &Generation) -> Vec<usize> {
    let before: HashSet<usize> = dropped(generation.slots()).collect();
    sources.iter().copied().filter(|source| !before.contains(source)).collect()
}

/// Returns the messages that slots drop or replace.
fn dropped(slots: &[Slot]) -> impl Iterator<Item = usize> {
    let is_dropped =
        |slot: &&Slot| matches!(slot.treatment, Treatment::Omitted | Treatment::Summary);
    slots.iter().filter(is_dropped).flat_map(|slot| slot.sources.iter().copied())
}
