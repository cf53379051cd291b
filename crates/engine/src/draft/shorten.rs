//! Shortens what is sent for an atom.

use crate::history::{History, View};
use crate::message::Message;

/// Returns the largest limit such that the sizes, each reduced to it, add up to at most `target`.
pub(crate) fn max_size(sizes: &[usize], target: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = target;
    for (at, &size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if size > share {
            return share;
        }
        left -= size;
    }
    target
}

/// Applies `shorten` to the message of each view. Returns `None` if it shortened none.
pub(crate) fn shorten_views(
    history: &History,
    views: Vec<View>,
    shorten: impl Fn(&Message) -> Option<Message>,
) -> Option<Vec<View>> {
    let mut changed = false;
    let reduced = views
        .into_iter()
        .map(|view| match view.message(history).and_then(&shorten) {
            Some(shorter) => {
                changed = true;
                View::made(shorter)
            }
            None => view,
        })
        .collect();
    changed.then_some(reduced)
}
