//! The stable part of the ledger: a message in front of the summary block that several folds send
//! unchanged. The provider's cache still holds it after a fold, while the rest of the block is
//! written again.

use super::listed_values::Values;
use crate::draft::{Draft, Slot, Treatment};
use crate::history::{History, View};
use crate::ledger::{Listing, Shown};
use crate::message::{Message, Part, Role};
use crate::reason::Reason;
use crate::summary::{Frame, Summarize};

/// The percentage of a list that must still be useful if it is sent again. A value is not useful if
/// it is shown elsewhere or would not be listed now.
const USEFUL_PERCENT: usize = 80;

/// A list with fewer tokens than this is not worth a message of its own.
const MIN_LIST_TOKENS: usize = 200;

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
    pub(super) fn write_or_reuse(
        draft: &Draft<'_>,
        settings: &Summarize,
        values: &Values<'_>,
        earlier: Option<&Slot>,
        text: &str,
        budget: usize,
    ) -> (Option<Self>, Listing) {
        let counter = draft.history.counter();
        let frame = Frame::of(draft.history);
        let header = format!("{}\n{}", frame.stable_header(settings), frame.ledger);
        let frame_tokens = counter.text(&header) + FRAME_TOKENS;
        let stable_tokens = draft.marks.tokens(settings.stable).min(budget);
        if stable_tokens < MIN_LIST_TOKENS {
            return (None, values.list(text, budget));
        }
        let list_tokens = budget.saturating_sub(frame_tokens);
        let (first, rest) = values.list_parts(text, list_tokens, stable_tokens);
        if let Some(stable) = earlier.and_then(|slot| Self::of(draft, slot)) {
            let tokens = counter.text(&stable.text);
            if tokens <= list_tokens + frame_tokens && stable.is_useful([&first.text, &rest.text]) {
                let shown = format!("{text}\n{}", stable.text);
                let others = values.list(&shown, list_tokens + frame_tokens - tokens);
                return (Some(stable), others);
            }
        }
        if counter.text(&first.text) < MIN_LIST_TOKENS || rest.values.is_empty() {
            return (None, values.list(text, list_tokens + frame_tokens));
        }
        let stable = Self {
            text: format!("{header}\n{}\n---", first.text),
            listed: first.values,
            is_reused: false,
        };
        (Some(stable), rest)
    }

    /// Returns the list that a slot of the last generation sent.
    fn of(draft: &Draft<'_>, slot: &Slot) -> Option<Self> {
        let [view] = slot.views.as_slice() else { return None };
        let text = view.message(draft.history)?.text();
        Some(Self { text, listed: slot.listed.clone(), is_reused: true })
    }

    /// Returns whether enough of its values are among those that would be listed now.
    fn is_useful(&self, now: [&str; 2]) -> bool {
        let mut shown = Shown::default();
        now.into_iter().for_each(|text| shown.add(text));
        let useful = self.listed.iter().filter(|value| shown.has(value));
        listed_bytes(useful) * 100 >= listed_bytes(&self.listed) * USEFUL_PERCENT
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
            reasons: reason.into(),
            views: vec![view],
            listed: self.listed.clone(),
        }
    }
}

/// Returns the length of a list of these values.
fn listed_bytes<'a>(values: impl IntoIterator<Item = &'a String>) -> usize {
    values.into_iter().map(|value| value.len() + 1).sum()
}
