//! Which values the ledger of a fold lists: those that the context does not show.

use crate::draft::{Draft, Treatment};
use crate::ledger::{self, Listing, PartSizes, Ranking, Shown};
use crate::tokens::Counter;

/// The values that a fold can list, and those that the text of the kept messages shows.
pub(super) struct Values<'a> {
    ranking: Ranking<'a>,
    shown: Shown<'a>,
    counter: &'a Counter,
}

impl<'a> Values<'a> {
    /// Ranks the values of a draft. `kept` are the texts of everything that stays.
    pub(super) fn new(draft: &Draft<'a>, kept: &'a [String]) -> Self {
        let history = draft.history;
        let wanted = |_: &str, seen: &ledger::Seen| !shows_whole(draft, seen.last);
        let ranking = Ranking::new(history.values(), draft.weights, wanted);
        let mut shown = Shown::default();
        kept.iter().for_each(|text| shown.add(text));
        Self { ranking, shown, counter: history.counter() }
    }

    /// Writes the ledger of the values that neither the kept messages nor `text` show. Returns it
    /// with its values, best first.
    pub(super) fn list(&self, text: &str, budget: usize) -> Listing {
        self.ranking.list(self.counter, budget, &self.shown(text))
    }

    /// Like [`Values::list`], in two parts: the best values, about `first_tokens`, and the others.
    pub(super) fn list_parts(
        &self,
        text: &str,
        budget: usize,
        first_tokens: usize,
    ) -> (Listing, Listing) {
        let sizes = PartSizes { both: budget, first: first_tokens };
        self.ranking.list_parts(self.counter, sizes, &self.shown(text))
    }

    fn shown<'s>(&'s self, text: &'s str) -> Shown<'s> {
        let mut shown = Shown::with(&self.shown);
        shown.add(text);
        shown
    }
}

/// Returns the texts of everything that stays.
pub(super) fn texts_of(draft: &Draft<'_>) -> Vec<String> {
    let kept = draft.items().iter().filter(|item| item.treatment.is_sent());
    let views = kept.flat_map(|item| item.views(draft.history));
    let texts = views.filter_map(|view| view.message(draft.history).map(ledger::text_of));
    texts.collect()
}

/// Returns whether a message is sent unchanged, so that its values need not be listed.
fn shows_whole(draft: &Draft<'_>, message: usize) -> bool {
    let item = draft.history.atom_of(message).and_then(|atom| draft.item(atom));
    item.is_some_and(|item| item.treatment == Treatment::Verbatim)
}
