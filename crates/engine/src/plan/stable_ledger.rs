//! The stable part of the ledger: a message in front of the summary block that several folds send
//! unchanged. The provider's cache still holds it after a fold, while the rest of the block is
//! written again.

use super::listed_values::{list_parts, list_values};
use crate::draft::{Draft, Slot, Treatment};
use crate::history::{History, View};
use crate::ledger::{Listing, Shown};
use crate::message::{Message, Part, Role};
use crate::reason::Reason;
use crate::summary::{REFERENCE_ONLY, Summarise};

/// The percentage of a list that must still be useful if it is sent again. A value is not useful if
/// it is shown elsewhere or would not be listed today.
const USEFUL_PERCENT: usize = 80;

/// A list with fewer tokens than this is not worth a message of its own.
const MIN_TOKENS: usize = 200;

/// Tokens that the message and the end of the list take.
const FRAME_TOKENS: usize = 8;

/// A list of values in a message of its own.
#[derive(Clone, Debug)]
pub(crate) struct StableLedger {
    text: String,
    listed: Vec<String>,
    is_reused: bool,
}

impl StableLedger {
    /// Writes a ledger of at most `budget` tokens for the values that neither the kept messages nor
    /// `text` show. Returns its stable part, if the policy wants one, and the rest. The stable part
    /// is the one of `earlier` as long as that is still useful.
    pub(super) fn split(
        draft: &Draft<'_>,
        settings: &Summarise,
        earlier: Option<&Slot>,
        text: &str,
        budget: usize,
    ) -> (Option<Self>, Listing) {
        let counter = draft.history.counter();
        let head =
            format!("{}\n[values from earlier messages; {REFERENCE_ONLY}]", settings.heading);
        let frame_tokens = counter.text(&head) + FRAME_TOKENS;
        let stable_tokens = draft.marks.tokens(settings.stable).min(budget);
        if stable_tokens < MIN_TOKENS {
            return (None, list_values(draft, text, budget));
        }
        let budget = budget.saturating_sub(frame_tokens);
        let (best, rest) = list_parts(draft, text, budget, stable_tokens);
        if let Some(stable) = earlier.and_then(|slot| Self::of(draft, slot)) {
            let tokens = counter.text(&stable.text);
            if tokens <= budget + frame_tokens && stable.is_useful([&best.text, &rest.text]) {
                let text = format!("{text}\n{}", stable.text);
                let rest = list_values(draft, &text, budget + frame_tokens - tokens);
                return (Some(stable), rest);
            }
        }
        if counter.text(&best.text) < MIN_TOKENS || rest.values.is_empty() {
            return (None, list_values(draft, text, budget + frame_tokens));
        }
        let text = format!("{head}\n{}\n---", best.text);
        (Some(Self { text, listed: best.values, is_reused: false }), rest)
    }

    /// Returns the list that a slot of the last generation sent.
    fn of(draft: &Draft<'_>, slot: &Slot) -> Option<Self> {
        let [view] = slot.views.as_slice() else { return None };
        let text = view.message(draft.history)?.text();
        Some(Self { text, listed: slot.listed.clone(), is_reused: true })
    }

    /// Returns whether enough of its values are among those that would be listed today.
    fn is_useful(&self, today: [&str; 2]) -> bool {
        let mut shown = Shown::default();
        today.into_iter().for_each(|text| shown.add(text));
        let length = |values: &mut dyn Iterator<Item = &String>| -> usize {
            values.map(|value| value.len() + 1).sum()
        };
        let useful = length(&mut self.listed.iter().filter(|value| shown.has(value)));
        useful * 100 >= length(&mut self.listed.iter()) * USEFUL_PERCENT
    }

    /// Returns the slot that sends it.
    pub(super) fn slot(&self, history: &History) -> Slot {
        let view = View::made(Message::new(Role::User, vec![Part::text(&self.text)]));
        let tokens = view.tokens(history);
        let reason = if self.is_reused { Reason::ListedAgain } else { Reason::ListedForLater };
        Slot {
            sources: Vec::new(),
            treatment: Treatment::Summary,
            tokens,
            reason: reason.into(),
            views: vec![view],
            listed: self.listed.clone(),
        }
    }
}
