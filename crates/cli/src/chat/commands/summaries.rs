//! The summaries that replace folded messages in the context.

use waterline::history::History;
use waterline::message::Message;
use waterline::plan::{Slot, Treatment};

/// Returns each summary as the model reads it.
pub(super) fn summaries(slots: &[Slot], history: &History) -> Vec<String> {
    let next = slots.iter().skip(1).map(Some).chain([None]);
    let pairs = slots.iter().zip(next).filter(|(slot, _)| slot.treatment == Treatment::Summary);
    pairs.filter_map(|(slot, next)| summary(slot, next, history)).collect()
}

/// Returns the text of one summary. A summary without a message of its own was put in front of the
/// next message: it is the first text of that one.
fn summary(slot: &Slot, next: Option<&Slot>, history: &History) -> Option<String> {
    if slot.views.is_empty() {
        let joined = next?.views.first()?.message(history)?;
        return joined.texts().next().map(|text| text.trim_end().to_owned());
    }
    let texts: Vec<String> =
        slot.views.iter().filter_map(|view| view.message(history)).map(Message::text).collect();
    Some(texts.join("\n\n"))
}
