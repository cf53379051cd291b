//! The usual plan: what was sent stays unchanged, and the new messages are appended to it.

use rustc_hash::FxHashSet;

use super::Input;
use crate::draft::{Arrival, Item, Marks, Slot, Treatment};
use crate::reason::Reason;

/// Returns the slots for the messages that the generation does not cover yet. A message joins the
/// slot of its atom.
pub(super) fn new_slots(input: &Input<'_>, marks: &Marks) -> Vec<Slot> {
    let history = input.history;
    let covered = input.generation.covered();
    let unsent = unsent_atoms(input);
    let not_shown = input.found_passages.map(|found| input.generation.not_shown(history, found));
    let found_passages = not_shown.as_deref();
    let model = input.model;
    let weights = &input.policy.weights;
    let mut headroom =
        marks.high.min(marks.window).saturating_sub(input.generation.tokens() + input.budget.tools);
    let mut slots: Vec<Slot> = Vec::new();
    let mut seen = FxHashSet::default();
    for message in covered..history.len() {
        let Some(atom) = history.atom_of(message) else { continue };
        if !seen.insert(atom) {
            continue;
        }
        let arrival =
            Arrival { history, marks, model, weights, headroom, unsent: &unsent, found_passages };
        let slot = new_slot(input, &arrival, atom, covered);
        headroom = headroom.saturating_sub(slot.tokens);
        slots.push(slot);
    }
    slots
}

fn new_slot(input: &Input<'_>, arrival: &Arrival<'_>, atom: usize, covered: usize) -> Slot {
    let history = input.history;
    let messages = history.atom(atom).map_or(&[][..], |atom| &atom.messages);
    let sources: Vec<usize> =
        messages.iter().copied().filter(|&message| message >= covered).collect();
    if sources.len() < messages.len() {
        return late_slot(input, atom, covered, sources);
    }
    let mut item = Item::new(history, atom);
    if item.treatment.is_sent() && atom >= history.system_prefix() {
        for stage in &input.policy.stages {
            stage.arrive(&mut item, arrival);
        }
    }
    let views = item.views(history);
    Slot {
        sources,
        treatment: item.treatment,
        tokens: views.iter().map(|view| view.tokens(history)).sum(),
        reasons: item.reasons,
        views,
        listed: Vec::new(),
    }
}

/// Returns the slot for messages that joined an atom after it was sent.
fn late_slot(input: &Input<'_>, atom: usize, covered: usize, sources: Vec<usize>) -> Slot {
    let views = input.history.views(atom, covered);
    let tokens = views.iter().map(|view| view.tokens(input.history)).sum();
    let (treatment, reason) = if views.is_empty() {
        (Treatment::Omitted, Reason::LateResult)
    } else {
        (Treatment::Verbatim, Reason::LatePart)
    };
    Slot { sources, treatment, tokens, reasons: reason.into(), views, listed: Vec::new() }
}

/// Returns the atoms that the generation no longer shows. They are needed only if a stage searches
/// and the caller has not done so.
fn unsent_atoms(input: &Input<'_>) -> Vec<usize> {
    if input.found_passages.is_some() || input.policy.search().is_none() {
        return Vec::new();
    }
    input.generation.unsent_atoms(input.history)
}
