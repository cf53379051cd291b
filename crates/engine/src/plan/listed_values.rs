//! Which values the ledger of a fold lists: those that the context does not show.

use crate::draft::{Draft, Treatment};
use crate::ledger::{self, Listing};

/// Writes the ledger of the values that neither the kept messages nor `text` show. Returns it with
/// its values, best first.
pub(super) fn list_values(draft: &Draft<'_>, text: &str, budget: usize) -> Listing {
    list_parts(draft, text, budget, 0).1
}

/// Like [`list_values`], in two parts: the best values, about `first_tokens`, and the others.
pub(super) fn list_parts(
    draft: &Draft<'_>,
    text: &str,
    budget: usize,
    first_tokens: usize,
) -> (Listing, Listing) {
    let history = draft.history;
    let kept = texts_of(draft);
    let mut shown = ledger::Shown::default();
    kept.iter().for_each(|kept| shown.add(kept));
    shown.add(text);
    let wanted = |_: &str, seen: &ledger::Seen| !shows_whole(draft, seen.last);
    let counter = history.counter();
    let sizes = ledger::PartSizes { both: budget, first: first_tokens };
    ledger::write_parts(history.values(), draft.weights, counter, sizes, &shown, wanted)
}

/// Returns the texts of everything that stays.
fn texts_of(draft: &Draft<'_>) -> Vec<String> {
    let kept = draft.items().iter().filter(|item| item.treatment.is_sent());
    let views = kept.flat_map(|item| item.views(draft.history));
    let texts = views.filter_map(|view| view.message(draft.history).map(ledger::text_of));
    texts.collect()
}

/// Returns whether a message is sent unchanged, so that its values need not be listed.
fn shows_whole(draft: &Draft<'_>, message: usize) -> bool {
    let item = draft.history.atom_of(message).and_then(|at| draft.item(at));
    item.is_some_and(|item| item.treatment == Treatment::Verbatim)
}
