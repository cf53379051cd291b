//! What stands in the context in the place of folded messages.

use waterline::history::History;
use waterline::message::Message;
use waterline::plan::{Slot, Treatment};

/// Each note as the model reads it.
pub(super) fn notes(slots: &[Slot], history: &History) -> Vec<String> {
    let behind = slots.iter().skip(1).map(Some).chain([None]);
    let pairs = slots.iter().zip(behind).filter(|(slot, _)| slot.treatment == Treatment::Summary);
    pairs.filter_map(|(slot, next)| note(slot, next, history)).collect()
}

/// A note that stands alone; or one that was put in front of the message behind it, whose first
/// words it then is.
fn note(slot: &Slot, next: Option<&Slot>, history: &History) -> Option<String> {
    if slot.views.is_empty() {
        let joined = next?.views.first()?.message(history)?;
        return joined.texts().next().map(|text| text.trim_end().to_owned());
    }
    let texts: Vec<String> =
        slot.views.iter().filter_map(|view| view.message(history)).map(Message::text).collect();
    Some(texts.join("\n\n"))
}
